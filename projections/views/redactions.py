"""Redactions: what was asked to be withheld, on which basis, and what became of it. One row for each request.

Their streams are few and short, so the view is folded when somebody asks and not stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from domain import events as e
from domain.envelope import Recorded
from domain.fields import SALT

Status = Literal["requested", "approved", "denied"]


class RedactionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request with its answer."""

    redaction: str = ""
    kind: str = ""
    subject: str = ""
    """SHA-256 of the screen or document; id of the event."""
    parts: str = ""
    """Rectangles or fields, in words."""
    basis: str = ""
    requested_by: str = ""
    status: Status = "requested"
    answered_by: str = ""
    note: str = ""
    requested_at_us: int = 0
    answered_at_us: int = 0
    position: int = 0
    """Of the newest event about it."""


def redaction(events: Iterable[Recorded]) -> RedactionRow:
    """The row of one redaction, out of the events of its stream."""
    row = RedactionRow()
    for recorded in events:
        row = _apply(row, recorded)
    return row


def _apply(row: RedactionRow, recorded: Recorded) -> RedactionRow:
    fact, at_us = recorded.event, recorded.envelope.occurred_at_us
    name = recorded.row.stream.partition(":")[2]
    row = msgspec.structs.replace(row, redaction=name, position=recorded.row.position)
    match fact:
        case e.RedactionRequested():
            return msgspec.structs.replace(
                row,
                kind=fact.kind,
                subject=fact.subject,
                parts=_parts(fact),
                basis=fact.basis,
                requested_by=fact.requested_by,
                requested_at_us=at_us,
            )
        case e.RedactionApproved() | e.RedactionDenied():
            status: Status = "approved" if isinstance(fact, e.RedactionApproved) else "denied"
            return msgspec.structs.replace(
                row, status=status, answered_by=fact.approver, note=fact.note, answered_at_us=at_us
            )
        case _:
            return row


def _parts(fact: e.RedactionRequested) -> str:
    boxes = [f"{box.x},{box.y},{box.width},{box.height}" for box in fact.regions]
    fields = [name for name in fact.fields if name != SALT]
    return " ".join([*boxes, *fields]) or "all of it"
