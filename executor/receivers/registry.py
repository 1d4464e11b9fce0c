"""Which receiver belongs to which target, and what one effect must look like there.

A new target's receiver is one class and one line here; a target without one is asked for the bill's status instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domain.values import Intent, format_minor
from executor.readback import HttpSession
from executor.receivers.base import Expected, Receiver
from executor.receivers.http import PortalReceiver, SubmissionsReceiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a receiver is asked about."""

    session: HttpSession
    """Of the readback account."""
    intent: Intent
    code: str
    """The target's own word for the action."""
    writer: str
    """Account under which the effect must arrive."""
    known: Mapping[str, str]
    """Further values that an independent source gave before the write."""


def _portal(asked: Asked) -> tuple[Receiver, Expected]:
    intent = asked.intent
    fields = {
        "type": asked.code,
        "amount_minor": str(intent.amount_minor),
        "currency": intent.currency,
        "month": intent.month,
        "account": asked.writer,
    }
    return PortalReceiver(asked.session, intent.bill_id), Expected(fields=fields)


def _practice(asked: Asked) -> tuple[Receiver, Expected]:
    intent = asked.intent
    fields = {
        "reference": intent.bill_id,
        "counterparty": intent.counterparty,
        "amount": format_minor(intent.amount_minor, intent.currency),
        "currency": intent.currency,
        "month": intent.month,
        **{name: value for name, value in asked.known.items() if name == "address"},
    }
    return SubmissionsReceiver(asked.session), Expected(fields=fields)


RECEIVERS: Mapping[str, Callable[[Asked], tuple[Receiver, Expected]]] = {
    "vendor-portal": _portal,
    "practice-form": _practice,
}
"""By the recipe's name."""
