"""What the metrics need of each task: its writes and what was shown of them, its steps, its end, its undoings.

The definitions are in ``projections.views.metrics``. A position of 0 means "never". Times are the appender's clock in
microseconds since 1970 (UTC).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import BusinessState
from projections.fold import Row
from projections.views.common import action_of, first_objection, own_task, verdict_of

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


class Metrics:
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

    def apply(self, view: Tally, recorded: Recorded) -> Tally:
        """Row after one more event of the task."""
        event, position, at_us = recorded.event, recorded.row.position, recorded.envelope.occurred_at_us
        if isinstance(event, e.TaskOpened):
            return replace(
                view,
                task_id=own_task(recorded) or "",
                mode=event.mode,
                key=event.effect_key,
                opened=position,
                opened_at_us=at_us,
                bill_id=event.intent.bill_id,
                action=event.intent.action,
                principal=recorded.envelope.principal,
                run_id=recorded.envelope.run_id or "",
                rung=event.rung,
            )
        if isinstance(event, e.ObservationRecorded):
            return _looked(view, event, position, at_us)
        view = _ends(_step(view, event, position, at_us), event, position)
        return _people(_writes(view, recorded), event, position, at_us)


@lru_cache(maxsize=4096)
def page_of(url: str) -> str:
    """Path of an address, with ``*`` for the parts that have digits: ids are no pages of their own."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    return "/".join("*" if any(map(str.isdigit, part)) else part for part in path.split("/")) or "/"


def _looked(view: Tally, event: e.ObservationRecorded, position: int, at_us: int) -> Tally:
    day, page, structure = at_us // DAY_US, page_of(event.url), event.structure_sha256
    ui = f"{page} {structure[:UI_DIGITS]}"
    for index, seen in enumerate(view.looks):
        if (seen.day, seen.page, seen.structure) == (day, page, structure):
            more = replace(seen, count=seen.count + 1)
            return replace(view, ui=ui, looks=(*view.looks[:index], more, *view.looks[index + 1 :]))
    return replace(
        view, ui=ui, looks=(*view.looks, Looks(day=day, page=page, structure=structure, first=position))
    )


def _step(view: Tally, event: e.Event, position: int, at_us: int) -> Tally:
    if isinstance(event, e.ActionProposed):
        step = StepTally(position=position, at_us=at_us, action_id=event.action_id, rung=event.rung)
        return replace(view, steps=(*view.steps, step))
    step_now = view.steps[-1] if view.steps else None
    if step_now is None or action_of(event) != step_now.action_id:
        return view
    said = verdict_of(event)
    if isinstance(event, e.ActionExecuted):
        step_now = replace(step_now, executed=True)
    elif said is not None:
        kept = first_objection(step_now.verdict or None, said)  # type: ignore[arg-type]
        step_now = replace(step_now, verdict=kept)
    return replace(view, steps=(*view.steps[:-1], step_now))


def _ends(view: Tally, event: e.Event, position: int) -> Tally:
    match event:
        case e.TaskClaimDenied():
            return replace(view, denied=True)
        case e.TaskDeclaredDone():
            return replace(view, over=True, declared=position)
        case e.TaskSucceeded():
            return replace(view, over=True, succeeded=position)
        case e.TaskFailed():
            return replace(view, over=True)
        case e.TaskReopened():
            view = replace(view, reopened=position)
            last = view.last_executed
            return view if last is None else _put(view, replace(last, reopened=(*last.reopened, position)))
        case _:
            return view


def _writes(view: Tally, recorded: Recorded) -> Tally:
    event, position = recorded.event, recorded.row.position
    match event:
        case e.CompensationRegistered():
            return replace(view, snapshot=event.snapshot)
        case e.ActionAttempted() if event.writes and not view.undoing:
            step = view.steps[-1] if view.steps and view.steps[-1].action_id == event.action_id else None
            write = WriteTally(
                position=position,
                action_id=event.action_id,
                key=event.effect_key or view.key,
                at_us=recorded.envelope.occurred_at_us,
                rung=step.rung if step else "",
                principal=recorded.envelope.principal,
                ui=view.ui,
            )
            return replace(view, writes=(*view.writes, write))
        case e.ActionExecuted():
            return _outcome(view, event.action_id, "executed")
        case e.ActionOutcomeUnknown():
            return _outcome(view, event.action_id, "unknown")
        case e.ActionBlocked() | e.ActionFailed():
            return _outcome(view, event.action_id, "none")
        case e.ReadbackConfirmed() | e.ReadbackMismatched() | e.ReadbackInconclusive():
            return view if view.undoing or event.phase == "compensation" else _read(view, event, position)
        case _:
            return view


def _people(view: Tally, event: e.Event, position: int, at_us: int) -> Tally:
    match event:
        case e.TakeoverRequested():
            return replace(view, over=True, takeovers=(*view.takeovers, position))
        case e.TakeoverResolved(resolution="effect_absent" | "effect_present") if view.last_executed:
            last = view.last_executed
            absent = event.resolution == "effect_absent"
            if last.shown == "wrong" or (last.shown == "intended" and not absent):
                return view  # a readback that says more is not overruled
            word: Shown = "untouched" if absent else "intended"
            return _put(view, replace(last, shown=word, shown_at=position))
        case e.CompensationStarted():
            begun = Undoing(started=position, at_us=at_us)
            return replace(view, undoing=True, undoings=(*view.undoings, begun))
        case e.CompensationConfirmed() | e.CompensationFailed() if view.undoing:
            restored = isinstance(event, e.CompensationConfirmed)
            ended = replace(view.undoings[-1], ended=position, restored=restored)
            return replace(view, undoing=False, undoings=(*view.undoings[:-1], ended))
        case _:
            return view


def _put(view: Tally, write: WriteTally) -> Tally:
    return replace(
        view, writes=tuple(write if old.position == write.position else old for old in view.writes)
    )


def _outcome(view: Tally, action_id: str, outcome: Literal["executed", "unknown", "none"]) -> Tally:
    last = view.writes[-1] if view.writes else None
    if last is None or last.action_id != action_id or last.outcome != "open":
        return view
    return _put(view, replace(last, outcome=outcome))


def _read(
    view: Tally, event: e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive, position: int
) -> Tally:
    last = next((write for write in reversed(view.writes) if write.outcome != "none"), None)
    if last is None:
        return view
    last = replace(last, read=True)
    match event:
        case e.ReadbackConfirmed():
            last = replace(last, shown="intended", shown_at=position)
        case e.ReadbackMismatched():
            last = replace(last, shown=_shown(view.snapshot, event.found), shown_at=position)
        case e.ReadbackInconclusive():
            pass
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
