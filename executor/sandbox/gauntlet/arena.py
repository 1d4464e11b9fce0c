"""The vendor's portal, dealt anew for every trial, and the fault that is about to land.

Rules: the same seed deals the same bills, the same target and the same moments to every loop; the truth is read from
the portal's own file.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from executor.sandbox.gauntlet.scenario import Blow, Scenario
from executor.sandbox.portal.client import ControlClient, PortalClient, PortalRefusedError
from executor.sandbox.portal.db import Database
from executor.sandbox.portal.model import Bill
from executor.sandbox.portal.seed import seed
from executor.sandbox.portal.server import PortalServer, PortalThread

TENANT: Final = "acme"
WRITER: Final = "svc-acme"
PERSON: Final = "wang.li"
COUNTS: Final = {"acme": 16, "globex": 2}
CHOICE: Final = slice(2, 11)
"""Rows of the list that the target is drawn from: in the middle, so that rows move in both directions."""
AFTER_MS: Final = 200
"""How long after the loop has made up its mind a random fault may still land."""
NOTICE_MS: Final = 100
"""An open page notices a fault that is fired within twice this time."""
JOBS_LIMIT_S: Final = 5.0
_TABLES: Final = ("ledger", "history", "held", "hold_log", "posts", "consents", "jobs", "faults", "bills")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """One trial's cards."""

    scenario: Scenario
    seed: int
    bill: Bill
    """The bill that is to be processed."""
    other: Bill
    """Another pending bill."""


class Arena:
    """The portal and the people around it."""

    def __init__(self, portal: PortalServer | PortalThread, *, think_ms: int) -> None:
        self.portal = portal
        self.think_ms = think_ms
        self._database = Database(portal.db)
        self._person: PortalClient | None = None

    def deal(self, scenario: Scenario, number: int) -> Deal:
        """Put the portal back to the start of this seed and draw the target."""
        self.portal.control.reset()
        with self._database.writing() as connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
        seed(self._database, COUNTS, number=number)
        chance = random.Random(f"{scenario.name}:{number}")  # noqa: S311 - a draw, not a secret
        rows = [bill for bill in self.portal.truth.bills(TENANT)[CHOICE] if bill.currency == "CNY"]
        bill, other = chance.sample(rows, 2)
        return Deal(scenario=scenario, seed=number, bill=bill, other=other)

    def person(self) -> PortalClient:
        """The colleague, logged in."""
        if self._person is None:
            self._person = self.portal.client(PERSON)
        return self._person

    def wait_for_jobs(self) -> None:
        """Wait until the vendor's timers have done what they still meant to do."""
        end = time.monotonic() + JOBS_LIMIT_S
        while self.portal.truth.pending_jobs() and time.monotonic() < end:
            time.sleep(0.03)

    def close(self) -> None:
        """Log the colleague out."""
        if self._person is not None:
            self._person.close()


class Striker:
    """Lands one trial's faults."""

    def __init__(self, arena: Arena, deal: Deal) -> None:
        self._arena = arena
        self._deal = deal
        self._waiting = list(deal.scenario.blows)
        self._timers: list[threading.Timer] = []
        self._chance = random.Random(f"moment:{deal.scenario.name}:{deal.seed}")  # noqa: S311 - a draw
        self.failures: list[str] = []

    def before(self) -> None:
        """Switch on what is on from the start or waits for the post."""
        for blow in self._take(lambda blow: blow.moment in {"before", "post"}):
            params: dict[str, Any] = {**blow.params, "account": WRITER}
            self._control.switch_on(blow.fault, self._deal.bill.id, **params)

    def at_step(self, number: int) -> None:
        """The loop has looked and begins to think: what strikes at this step is under way from now."""
        for blow in self._take(lambda blow: blow.step == number):
            if blow.moment == "random":
                landing_ms = self._chance.uniform(0, self._arena.think_ms + AFTER_MS)
                noticed = NOTICE_MS if blow.doer == "portal" else 0
                timer = threading.Timer(max(0.0, landing_ms - noticed) / 1000, self._strike, (blow,))
                timer.daemon = True
                timer.start()
                self._timers.append(timer)
            else:
                self._strike(blow)

    def finish(self) -> None:
        """Wait for what is under way; a fault that could not be landed is an error of the gauntlet."""
        for timer in self._timers:
            timer.join()
        if self.failures:
            message = f"{self._deal.scenario.name}: a fault could not be landed: {self.failures[0]}"
            raise RuntimeError(message)

    @property
    def _control(self) -> ControlClient:
        return self._arena.portal.control

    def _take(self, wanted: Callable[[Blow], bool]) -> list[Blow]:
        taken = [blow for blow in self._waiting if wanted(blow)]
        self._waiting = [blow for blow in self._waiting if not wanted(blow)]
        return taken

    def _strike(self, blow: Blow) -> None:
        deal = self._deal
        try:
            if blow.doer == "sessions":
                self._control.expire(WRITER)
            elif blow.doer == "portal":
                trigger = {"trigger": blow.moment} if blow.moment in {"pointer", "press"} else {}
                self._control.fire(blow.fault, deal.bill.id, account=WRITER, **trigger, **blow.params)
            else:
                bill = deal.bill if blow.doer == "colleague" else deal.other
                self._arena.person().process(bill.id)
        except PortalRefusedError as error:
            if error.status_code != 409:  # noqa: PLR2004 - Conflict: the loop had been faster
                self.failures.append(str(error))
        except Exception as error:  # noqa: BLE001 - in a timer's thread, where nobody else would hear of it
            self.failures.append(f"{type(error).__name__}: {error}")
