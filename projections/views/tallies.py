"""What the four metrics need of each task: its writes and what was shown of them, its end, its takeovers, its undoings.

The definitions are in ``projections.views.metrics``. A position of 0 means "never".
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import BusinessState
from projections.fold import Row
from projections.views.common import own_task

Shown = Literal["", "intended", "untouched", "wrong", "differs"]
"""Last conclusive word about a write. ``untouched``: the state before it. ``wrong``: neither that nor the intended
one. ``differs``: not the intended one, and no snapshot says which of the two."""


class WriteTally(Row, frozen=True):
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

    @property
    def executed(self) -> bool:
        """Whether it counts as executed."""
        return self.outcome in {"executed", "unknown"} or (self.outcome == "open" and self.read)


class Undoing(Row, frozen=True):
    """One compensation."""

    started: int
    ended: int = 0
    restored: bool = False


class Tally(Row, frozen=True):
    """Row of the view: one task."""

    task_id: str = ""
    mode: str = ""
    key: str = ""
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
    version = 1
    row_type = Tally

    def key(self, recorded: Recorded) -> str | None:
        """The task in whose stream the event stands."""
        return own_task(recorded)

    def group(self, view: Tally) -> str:
        """The mode."""
        return view.mode

    def initial(self) -> Tally:
        """Nothing counted."""
        return Tally()

    def apply(self, view: Tally, recorded: Recorded) -> Tally:
        """Row after one more event of the task."""
        event, position = recorded.event, recorded.row.position
        if isinstance(event, e.TaskOpened):
            return replace(
                view,
                task_id=own_task(recorded) or "",
                mode=event.mode,
                key=event.effect_key,
                opened=position,
                opened_at_us=recorded.envelope.occurred_at_us,
            )
        return _people(_writes(_ends(view, event, position), event, position), event, position)


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


def _writes(view: Tally, event: e.Event, position: int) -> Tally:
    match event:
        case e.CompensationRegistered():
            return replace(view, snapshot=event.snapshot)
        case e.ActionAttempted() if event.writes and not view.undoing:
            write = WriteTally(position=position, action_id=event.action_id, key=event.effect_key or view.key)
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


def _people(view: Tally, event: e.Event, position: int) -> Tally:
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
            return replace(view, undoing=True, undoings=(*view.undoings, Undoing(started=position)))
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
