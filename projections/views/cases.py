"""Cases: kept differences of month ends, with every conclusion, note and sign-off (X2).

Rules enforced here:

* Nothing is dropped: an earlier conclusion stays beside the newer ones, a sign-off that was taken away stays with the
  reason why.
* Where a case stands is the domain's own fold (``domain.case``), not a reading of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from domain import events as e
from domain.case import CaseState, digest_of, evolve
from domain.envelope import Recorded
from domain.ids import Sha256
from projections.fold import FoldedSingly, Row
from projections.views.sentences import sentence

_CASE = "case:"

Standing = Literal["opened", "waits", "signed_off", "gone"]
"""``waits``: a conclusion waits for a person's word; ``gone``: the difference is not there any more."""


class CaseEntry(Row, frozen=True):
    """One fact of the case, in order."""

    name: str
    position: int
    event_id: str
    at_us: int
    """Clock of the appender, microseconds since 1970 (UTC)."""
    by: str
    said: str


class Conclusion(Row, frozen=True):
    """One conclusion and what a sign-off of it is bound to."""

    position: int
    at_us: int
    by: str
    digest: Sha256
    fact: e.CaseConcluded


class Accepted(Row, frozen=True):
    """A sign-off; ``withdrawn`` says why it was taken away, and is empty while it holds."""

    position: int
    at_us: int
    by: str
    digest: Sha256
    note: str
    withdrawn: str = ""


class CaseRow(Row, frozen=True):
    """One case."""

    tenant: str = ""
    break_id: str = ""
    month: str = ""
    bill_id: str = ""
    kind: str = ""
    currency: str = ""
    state: CaseState = msgspec.field(default_factory=CaseState)
    conclusions: tuple[Conclusion, ...] = ()
    """In order; the last one is the newest."""
    sign_offs: tuple[Accepted, ...] = ()
    entries: tuple[CaseEntry, ...] = ()

    @property
    def standing(self) -> Standing:
        """Where it stands, in the words of a list."""
        if self.state.status == "signed_off":
            return "signed_off"
        if self.state.conclusion is None:
            return "opened"
        return "waits" if self.state.conclusion.standing else "gone"

    @property
    def amount_minor(self) -> int:
        """File minus record by the newest conclusion."""
        return self.state.conclusion.amount_minor if self.state.conclusion else 0

    @property
    def digest(self) -> str:
        """Of the newest conclusion; what is signed off next. Empty without a conclusion."""
        return self.conclusions[-1].digest if self.conclusions else ""

    @property
    def responsible(self) -> tuple[str, ...]:
        """Principals that the newest conclusion names; none of them may sign it off."""
        causes = self.state.conclusion.causes if self.state.conclusion else ()
        return tuple(dict.fromkeys(name for cause in causes for name in cause.responsible))


class Cases(FoldedSingly[CaseRow]):
    """Fold into ``CaseRow``; grouped by month."""

    name = "cases"
    version = 1
    row_type = CaseRow

    def key(self, recorded: Recorded) -> str | None:
        """The break in whose case the event stands."""
        stream = recorded.row.stream
        return stream.removeprefix(_CASE) if stream.startswith(_CASE) else None

    def group(self, view: CaseRow) -> str:
        """The month."""
        return view.month

    def initial(self) -> CaseRow:
        """No case yet."""
        return CaseRow()

    def apply(self, view: CaseRow, recorded: Recorded) -> CaseRow:
        """Row after one more event of the case."""
        event, envelope, row = recorded.event, recorded.envelope, recorded.row
        entry = CaseEntry(
            name=recorded.name,
            position=row.position,
            event_id=envelope.event_id,
            at_us=envelope.occurred_at_us,
            by=envelope.principal,
            said=sentence(event),
        )
        view = replace(
            view,
            tenant=row.tenant,
            break_id=row.stream.removeprefix(_CASE),
            state=evolve(view.state, event),
            entries=(*view.entries, entry),
        )
        return _noted(view, entry, event)


def _noted(view: CaseRow, entry: CaseEntry, event: e.Event) -> CaseRow:
    match event:
        case e.CaseOpened():
            return replace(
                view, month=event.month, bill_id=event.bill_id, kind=event.kind, currency=event.currency
            )
        case e.CaseConcluded():
            made = Conclusion(
                position=entry.position, at_us=entry.at_us, by=entry.by, digest=digest_of(event), fact=event
            )
            return replace(view, conclusions=(*view.conclusions, made))
        case e.CaseSignedOff():
            word = Accepted(
                position=entry.position,
                at_us=entry.at_us,
                by=event.by,
                digest=event.digest,
                note=event.note,
            )
            return replace(view, sign_offs=(*view.sign_offs, word))
        case e.CaseReopened() if view.sign_offs:
            last = replace(view.sign_offs[-1], withdrawn=event.reason or "reopened")
            return replace(view, sign_offs=(*view.sign_offs[:-1], last))
        case _:
            return view


def listed(rows: Iterable[CaseRow], *, month: str = "", closed: bool = False) -> tuple[CaseRow, ...]:
    """Cases by month and bill; without ``closed`` only those that wait for somebody."""
    chosen = (
        row for row in rows if month in {"", row.month} if closed or row.standing in {"opened", "waits"}
    )
    return tuple(sorted(chosen, key=lambda row: (row.month, row.bill_id, row.kind, row.break_id)))
