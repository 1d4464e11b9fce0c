"""Telling people: the log always, a webhook and a command when configured (G8, B9).

Rules: a channel that fails never stops the others, and its failure is part of the ``alert.raised`` fact; messages carry
names and numbers of the record, never page text that could hold a secret.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Mapping, Sequence

import httpx
import orjson

from domain.events import AlertRaised
from domain.events.recovery import Severity

LOG = logging.getLogger("proofreel.alerts")
TIMEOUT_S = 5.0

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

    def __init__(self, channels: Mapping[str, Channel] | None = None) -> None:
        self._channels: dict[str, Channel] = {"log": to_log, **(channels or {})}

    def alert(self, kind: str, severity: Severity, message: str, **context: str) -> AlertRaised:
        """Deliver on every channel; the fact says how each of them went."""
        body = {"kind": kind, "severity": severity, "message": message, **context}
        delivered: dict[str, str] = {}
        for name, channel in self._channels.items():
            try:
                channel(body)
            except Exception as error:  # noqa: BLE001 - one channel must not silence the others; recorded below
                delivered[name] = type(error).__name__
                LOG.warning("alert %s was not delivered by %s: %s", kind, name, type(error).__name__)
            else:
                delivered[name] = "ok"
        return AlertRaised(kind=kind, severity=severity, message=message, delivered=delivered)


def configured(webhook: str, command: Sequence[str]) -> Notifier:
    """Notifier from the configuration's ``notify`` section."""
    channels: dict[str, Channel] = {}
    if webhook:
        channels["webhook"] = to_webhook(webhook)
    if command:
        channels["command"] = to_command(command)
    return Notifier(channels)
