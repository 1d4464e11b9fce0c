"""What the metrics need of each task: its writes and what was shown of them, its steps, its end, its undoings.

The definitions are in ``projections.views.metrics``. A position of 0 means "never". Times are the appender's clock in
microseconds since 1970 (UTC).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import BusinessState
from projections.fold import Folded, Row
from projections.views.common import ReadbackFact, VerdictFact, first_objection, own_task

DAY_US = 86_400_000_000
UI_DIGITS = 12
"""Digits of a structure's hash that name a UI version."""

Shown = Literal["", "intended", "untouched", "wrong", "differs"]
"""Last conclusive word about a write. ``untouched``: the state before it. ``wrong``: neither that nor the intended
one. ``differs``: not the intended one, and no snapshot says which of the two."""


class WriteTally(Row, frozen=True, array_like=True):
    """One attempted write; positions in the tenant's log."""

    position: int
    action_id: str
    key: str
    outcome: Literal["open", "executed", "unknown", "none"] = "open"
    """``none``: stopped or failed, certainly without effect."""
    shown: Shown = ""
    shown_at: int = 0
    read: bool = False
    """A readback followed, conclusive or not."""
    reopened: tuple[int, ...] = ()
    at_us: int = 0
    rung: str = ""
    """Rung of its proposal; empty when there is none on record."""
    principal: str = ""
    """Identity that attempted it."""
    ui: str = ""
    """UI version of the last page that was seen before it."""

    @property
    def executed(self) -> bool:
        """Whether it counts as executed."""
        return self.outcome in {"executed", "unknown"} or (self.outcome == "open" and self.read)


class Undoing(Row, frozen=True, array_like=True):
    """One compensation."""

    started: int
    ended: int = 0
    restored: bool = False
    at_us: int = 0
    """When it was asked for."""


class StepTally(Row, frozen=True, array_like=True):
    """One step, that is one proposed action."""

    position: int
    at_us: int
    action_id: str
    rung: str
    verdict: str = ""
    """First objection of a guard, else ``pass``; empty while nothing judged it."""
    executed: bool = False

    @property
    def ok(self) -> bool:
        """Performed, and nobody objected: the published measure of success (G6)."""
        return self.executed and self.verdict in {"", "pass"}


class Looks(Row, frozen=True, array_like=True):
    """How often a page was seen in one structure on one day."""

    day: int
    """Days since 1970 (UTC)."""
    page: str
    """Path of its address, with ``*`` for the parts that have digits."""
    structure: str
    """Hash of tags, roles and names: another one is another version of the UI."""
    first: int
    count: int = 1


class Tally(Row, frozen=True, array_like=True):
    """Row of the view: one task."""

    task_id: str = ""
    mode: str = ""
    key: str = ""
    bill_id: str = ""
    action: str = ""
    """Business action."""
    principal: str = ""
    """Identity that opened it."""
    run_id: str = ""
    rung: str = ""
    """Rung chosen at opening."""
    opened: int = 0
    """Position of ``task.opened``; 0 for what the router refused."""
    opened_at_us: int = 0
    denied: bool = False
    """Another task holds the effect."""
    over: bool = False
    """It came to an end at least once."""
    declared: int = 0
    succeeded: int = 0
    reopened: int = 0
    takeovers: tuple[int, ...] = ()
    writes: tuple[WriteTally, ...] = ()
    snapshot: BusinessState | None = None
    undoings: tuple[Undoing, ...] = ()
    undoing: bool = False
    steps: tuple[StepTally, ...] = ()
    looks: tuple[Looks, ...] = ()
    ui: str = ""
    """UI version of the last page that was seen: ``/bills 0123456789ab``."""

    @property
    def ended(self) -> bool:
        """Whether it counts as a task that came to an end."""
        return bool(self.opened) and self.over and not self.denied

    @property
    def last_executed(self) -> WriteTally | None:
        """The write that readbacks are about."""
        return next((write for write in reversed(self.writes) if write.executed), None)

    @property
    def completed_by(self) -> tuple[int, ...]:
        """Events that make it a success; empty when it is none."""
        if self.succeeded > self.reopened:
            return (self.succeeded,)
        last = self.last_executed
        if self.declared > self.reopened and last is not None and last.shown == "intended":
            return (self.declared, last.shown_at)
        return ()

    def undone_between(self, start: int, end: int) -> bool:
        """Whether an undoing was confirmed between two positions."""
        return any(start < undoing.ended < end and undoing.restored for undoing in self.undoings)


class Metrics(Folded[Tally]):
    """Fold into ``Tally``; ``metrics.report`` joins the rows."""

    name = "metrics"
    version = 3
    row_type = Tally

    key = staticmethod(own_task)
    """The task in whose stream the event stands."""

    def group(self, view: Tally) -> str:
        """The mode."""
        return view.mode

    def initial(self) -> Tally:
        """Nothing counted."""
        return Tally()

    def extend(self, view: Tally, events: Sequence[Recorded]) -> Tally:
        """Row after more events of the task."""
        for recorded in events:
            if type(recorded.event) in _COUNTED:
                view = _COUNTED[type(recorded.event)](view, recorded.event, recorded)
        return view


@lru_cache(maxsize=4096)
def page_of(url: str) -> str:
    """Path of an address, with ``*`` for the parts that have digits: ids are no pages of their own."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    return "/".join("*" if any(map(str.isdigit, part)) else part for part in path.split("/")) or "/"


def _opened(view: Tally, event: e.TaskOpened, recorded: Recorded) -> Tally:
    envelope = recorded.envelope
    return replace(
        view,
        task_id=own_task(recorded) or "",
        mode=event.mode,
        key=event.effect_key,
        opened=recorded.row.position,
        opened_at_us=envelope.occurred_at_us,
        bill_id=event.intent.bill_id,
        action=event.intent.action,
        principal=envelope.principal,
        run_id=envelope.run_id or "",
        rung=event.rung,
    )


def _looked(view: Tally, event: e.ObservationRecorded, recorded: Recorded) -> Tally:
    day = recorded.envelope.occurred_at_us // DAY_US
    page, structure = page_of(event.url), event.structure_sha256
    ui = f"{page} {structure[:UI_DIGITS]}"
    for index, seen in enumerate(view.looks):
        if (seen.day, seen.page, seen.structure) == (day, page, structure):
            more = replace(seen, count=seen.count + 1)
            return replace(view, ui=ui, looks=(*view.looks[:index], more, *view.looks[index + 1 :]))
    first = Looks(day=day, page=page, structure=structure, first=recorded.row.position)
    return replace(view, ui=ui, looks=(*view.looks, first))


def _proposed(view: Tally, event: e.ActionProposed, recorded: Recorded) -> Tally:
    step = StepTally(
        position=recorded.row.position,
        at_us=recorded.envelope.occurred_at_us,
        action_id=event.action_id,
        rung=event.rung,
    )
    return replace(view, steps=(*view.steps, step))


def _judged(view: Tally, event: VerdictFact, _: Recorded) -> Tally:
    """The step's first objection."""
    step = view.steps[-1] if view.steps else None
    if step is None or step.action_id != event.action_id:
        return view
    said = first_objection(step.verdict or None, event.verdict)  # type: ignore[arg-type]
    return replace(view, steps=(*view.steps[:-1], replace(step, verdict=said)))


def _stopped(view: Tally, event: e.ActionBlocked | e.ActionFailed, recorded: Recorded) -> Tally:
    return _outcome(_judged(view, event, recorded), event.action_id, "none")


def _executed(view: Tally, event: e.ActionExecuted, _: Recorded) -> Tally:
    step = view.steps[-1] if view.steps else None
    if step is not None and step.action_id == event.action_id:
        view = replace(view, steps=(*view.steps[:-1], replace(step, executed=True)))
    return _outcome(view, event.action_id, "executed")


def _unknown(view: Tally, event: e.ActionOutcomeUnknown, _: Recorded) -> Tally:
    return _outcome(view, event.action_id, "unknown")


def _denied(view: Tally, _: e.TaskClaimDenied, __: Recorded) -> Tally:
    return replace(view, denied=True)


def _declared(view: Tally, _: e.TaskDeclaredDone, recorded: Recorded) -> Tally:
    return replace(view, over=True, declared=recorded.row.position)


def _succeeded(view: Tally, _: e.TaskSucceeded, recorded: Recorded) -> Tally:
    return replace(view, over=True, succeeded=recorded.row.position)


def _failed(view: Tally, _: e.TaskFailed, __: Recorded) -> Tally:
    return replace(view, over=True)


def _reopened(view: Tally, _: e.TaskReopened, recorded: Recorded) -> Tally:
    position = recorded.row.position
    view = replace(view, reopened=position)
    last = view.last_executed
    return view if last is None else _put(view, replace(last, reopened=(*last.reopened, position)))


def _registered(view: Tally, event: e.CompensationRegistered, _: Recorded) -> Tally:
    return replace(view, snapshot=event.snapshot)


def _attempted(view: Tally, event: e.ActionAttempted, recorded: Recorded) -> Tally:
    if not event.writes or view.undoing:
        return view
    step = view.steps[-1] if view.steps and view.steps[-1].action_id == event.action_id else None
    write = WriteTally(
        position=recorded.row.position,
        action_id=event.action_id,
        key=event.effect_key or view.key,
        at_us=recorded.envelope.occurred_at_us,
        rung=step.rung if step else "",
        principal=recorded.envelope.principal,
        ui=view.ui,
    )
    return replace(view, writes=(*view.writes, write))


def _handed(view: Tally, _: e.TakeoverRequested, recorded: Recorded) -> Tally:
    return replace(view, over=True, takeovers=(*view.takeovers, recorded.row.position))


def _resolved(view: Tally, event: e.TakeoverResolved, recorded: Recorded) -> Tally:
    last = view.last_executed
    if last is None or event.resolution not in {"effect_absent", "effect_present"}:
        return view
    absent = event.resolution == "effect_absent"
    if last.shown == "wrong" or (last.shown == "intended" and not absent):
        return view  # a readback that says more is not overruled
    word: Shown = "untouched" if absent else "intended"
    return _put(view, replace(last, shown=word, shown_at=recorded.row.position))


def _undoing(view: Tally, _: e.CompensationStarted, recorded: Recorded) -> Tally:
    begun = Undoing(started=recorded.row.position, at_us=recorded.envelope.occurred_at_us)
    return replace(view, undoing=True, undoings=(*view.undoings, begun))


def _undone(view: Tally, event: e.CompensationConfirmed | e.CompensationFailed, recorded: Recorded) -> Tally:
    if not view.undoing:
        return view
    restored = isinstance(event, e.CompensationConfirmed)
    ended = replace(view.undoings[-1], ended=recorded.row.position, restored=restored)
    return replace(view, undoing=False, undoings=(*view.undoings[:-1], ended))


def _put(view: Tally, write: WriteTally) -> Tally:
    return replace(
        view, writes=tuple(write if old.position == write.position else old for old in view.writes)
    )


def _outcome(view: Tally, action_id: str, outcome: Literal["executed", "unknown", "none"]) -> Tally:
    last = view.writes[-1] if view.writes else None
    if last is None or last.action_id != action_id or last.outcome != "open":
        return view
    return _put(view, replace(last, outcome=outcome))


def _read(view: Tally, event: ReadbackFact, recorded: Recorded) -> Tally:
    last = next((write for write in reversed(view.writes) if write.outcome != "none"), None)
    if last is None or view.undoing or event.phase == "compensation":
        return view
    position = recorded.row.position
    match event:
        case e.ReadbackConfirmed():
            last = replace(last, read=True, shown="intended", shown_at=position)
        case e.ReadbackMismatched():
            last = replace(last, read=True, shown=_shown(view.snapshot, event.found), shown_at=position)
        case e.ReadbackInconclusive():
            last = replace(last, read=True)
    return _put(view, last)


def _shown(before: BusinessState | None, found: BusinessState) -> Shown:
    """What a mismatch means. The vendor's history may grow by mere looking, so it isn't compared."""
    if before is None:
        return "differs"
    return "untouched" if _business(before) == _business(found) else "wrong"


def _business(state: BusinessState) -> tuple[object, ...]:
    return (
        state.status,
        state.amount_minor,
        state.currency,
        state.counterparty,
        state.month,
        state.ledger_lines,
    )


_COUNTED: dict[type, Callable[[Tally, Any, Recorded], Tally]] = {
    e.TaskOpened: _opened,
    e.TaskClaimDenied: _denied,
    e.TaskDeclaredDone: _declared,
    e.TaskSucceeded: _succeeded,
    e.TaskFailed: _failed,
    e.TaskReopened: _reopened,
    e.ObservationRecorded: _looked,
    e.ActionProposed: _proposed,
    e.GuardJudged: _judged,
    e.ActionBlocked: _stopped,
    e.ActionFailed: _stopped,
    e.ActionAttempted: _attempted,
    e.ActionExecuted: _executed,
    e.ActionOutcomeUnknown: _unknown,
    e.ReadbackConfirmed: _read,
    e.ReadbackMismatched: _read,
    e.ReadbackInconclusive: _read,
    e.CompensationRegistered: _registered,
    e.CompensationStarted: _undoing,
    e.CompensationConfirmed: _undone,
    e.CompensationFailed: _undone,
    e.TakeoverRequested: _handed,
    e.TakeoverResolved: _resolved,
}
"""Facts that count for anything; row, fact and its place in the log give the row after it."""
