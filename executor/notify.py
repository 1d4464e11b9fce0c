"""Telling people: the log always, a webhook and a command when configured (G8, B9).

Rules: a channel that fails is tried a few times more and never stops the others; what it failed with is part of the
``alert.raised`` fact, a dead letter that ``proofreel alerts`` shows; messages carry names and numbers of the
record, never page text that could hold a secret.
"""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

import httpx
import orjson

from domain.events import AlertRaised
from domain.events.recovery import Severity

LOG = logging.getLogger("proofreel.alerts")
TIMEOUT_S = 5.0
TRIES = 3
PAUSES_S = (0.2, 0.8)
"""Between the tries; an alert must not hold up the work for long."""

Channel = Callable[[Mapping[str, str]], None]
"""Delivers one alert (all values text); raises when it can't."""


def to_log(alert: Mapping[str, str]) -> None:
    """Write one line to the log."""
    LOG.warning("%s [%s] %s", alert["kind"], alert["severity"], alert["message"])


def to_webhook(url: str) -> Channel:
    """POST the alert as JSON; anything but 2xx is a failure."""

    def deliver(alert: Mapping[str, str]) -> None:
        httpx.post(url, json=dict(alert), timeout=TIMEOUT_S).raise_for_status()

    return deliver


def to_command(command: Sequence[str]) -> Channel:
    """Run a command with the alert as JSON on its standard input; a non-zero exit is a failure."""

    def deliver(alert: Mapping[str, str]) -> None:
        subprocess.run(  # noqa: S603 - the operator's own configured command, no shell
            list(command), input=orjson.dumps(dict(alert)), check=True, timeout=TIMEOUT_S, capture_output=True
        )

    return deliver


class Notifier:
    """All configured channels."""

    def __init__(
        self,
        channels: Mapping[str, Channel] | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._channels: dict[str, Channel] = {"log": to_log, **(channels or {})}
        self._sleep = sleep

    def alert(
        self, kind: str, severity: Severity | str, message: str, *, only: Sequence[str] = (), **context: str
    ) -> AlertRaised:
        """Deliver on every channel, or ``only`` on some; the fact says how each of them went."""
        body = {"kind": kind, "severity": severity, "message": message, **context}
        delivered: dict[str, str] = {}
        for name in only or self._channels:
            delivered[name] = self._deliver(name, body)
            if delivered[name] != "ok":
                LOG.warning("alert %s was not delivered by %s: %s", kind, name, delivered[name])
        return AlertRaised(kind=kind, severity=severity, message=message, delivered=delivered)

    def _deliver(self, name: str, body: Mapping[str, str]) -> str:
        """``ok``, or the last try's kind of error: its text may hold a secret of the channel."""
        channel = self._channels.get(name)
        if channel is None:
            return "not configured"
        word = ""
        for number in range(TRIES):
            try:
                channel(body)
            except Exception as error:  # noqa: BLE001 - one channel must not silence the others; on record
                word = f"{type(error).__name__}, {number + 1} tries"
            else:
                return "ok"
            if number < len(PAUSES_S):
                self._sleep(PAUSES_S[number])
        return word


def configured(webhook: str, command: Sequence[str]) -> Notifier:
    """Notifier from the configuration's ``notify`` section."""
    channels: dict[str, Channel] = {}
    if webhook:
        channels["webhook"] = to_webhook(webhook)
    if command:
        channels["command"] = to_command(command)
    return Notifier(channels)
