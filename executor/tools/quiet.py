"""Waiting after an action: until network and document are quiet, never for a fixed time.

Rules: volatile text (clocks, relative times) does not keep the page busy; a writing step waits for its request to leave
and for the answer; every wait has a limit.
"""

from __future__ import annotations

import time

from executor.guards.request import RequestHold
from executor.guards.world import IsolatedWorld, WorldGone
from executor.tools.base import Settle

TICK_MS = 20
WRITE_GRACE_MS = 1_000
"""How long a writing step may take until its request leaves."""


def wait_until_quiet(
    world: IsolatedWorld, hold: RequestHold, settle: Settle, *, awaits_write: bool = False, shown: str = ""
) -> str:
    """Wait; returns what a toast said meanwhile.

    Args:
        world: the page.
        hold: its network.
        settle: how long quiet has to last, and the limit.
        awaits_write: a request that may write is still to come.
        shown: what a toast said before; it does not count until it has gone.
    """
    began = quiet_since = time.monotonic()
    last, toast = "", ""
    while (time.monotonic() - began) * 1000 < settle.limit_ms:
        try:
            pulse = world.call("pulse")
        except WorldGone:
            quiet_since = time.monotonic()
            continue
        shown = shown if pulse["toast"] == shown else ""
        toast = pulse["toast"] if pulse["toast"] and not shown else toast
        now = time.monotonic()
        waits = awaits_write and not hold.has_sent() and (now - began) * 1000 < WRITE_GRACE_MS
        if pulse["state"] != last or waits or hold.is_busy() or not pulse["loaded"]:
            quiet_since, last = now, pulse["state"]
        elif (now - quiet_since) * 1000 >= settle.quiet_ms:
            break
        world.page.wait_for_timeout(TICK_MS)
    return toast
