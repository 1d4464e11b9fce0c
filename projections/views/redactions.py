"""Redactions: what was asked to be withheld, on which basis, and what became of it. One row for each request.

Their streams are few and short, so the view is folded when somebody asks and not stored.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from domain import events as e
from domain.envelope import Recorded
from domain.fields import SALT
from projections.fold import Row

Status = Literal["requested", "approved", "denied"]


class RedactionRow(Row, frozen=True):
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


class RedactionRows:
    """The projection; keyed by redaction, grouped by status."""

    name = "redactions"
    version = 1
    row_type = RedactionRow

    def key(self, recorded: Recorded) -> str | None:
        """Id of the redaction."""
        kind, _, name = recorded.row.stream.partition(":")
        return name if kind == "redaction" else None

    def group(self, view: RedactionRow) -> str:
        """Where it stands."""
        return view.status

    def initial(self) -> RedactionRow:
        """Nothing known."""
        return RedactionRow()

    def apply(self, view: RedactionRow, recorded: Recorded) -> RedactionRow:
        """Row after one more fact."""
        fact, at_us = recorded.event, recorded.envelope.occurred_at_us
        name = self.key(recorded) or ""
        view = msgspec.structs.replace(view, redaction=name, position=recorded.row.position)
        match fact:
            case e.RedactionRequested():
                return msgspec.structs.replace(
                    view,
                    kind=fact.kind,
                    subject=fact.subject,
                    parts=_parts(fact),
                    basis=fact.basis,
                    requested_by=fact.requested_by,
                    requested_at_us=at_us,
                )
            case e.RedactionApproved():
                return msgspec.structs.replace(
                    view, status="approved", answered_by=fact.approver, note=fact.note, answered_at_us=at_us
                )
            case e.RedactionDenied():
                return msgspec.structs.replace(
                    view, status="denied", answered_by=fact.approver, note=fact.note, answered_at_us=at_us
                )
            case _:
                return view


def _parts(fact: e.RedactionRequested) -> str:
    boxes = [f"{box.x},{box.y},{box.width},{box.height}" for box in fact.regions]
    fields = [name for name in fact.fields if name != SALT]
    return " ".join([*boxes, *fields]) or "all of it"
