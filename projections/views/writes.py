"""Each write of a task restored as a whole, out of the facts around it; rules are those of ``evidence_chain``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import BusinessState, FrameRef, Intent
from projections.fold import Row
from projections.views.common import ReadbackFact, VerdictFact, first_objection, task_of

Category = Literal[
    "task", "frame", "verdict", "approval", "attempt", "readback", "compensation", "takeover", "alert", "run"
]


class ChainItem(Row, frozen=True, array_like=True):
    """One event about the bill."""

    position: int
    event_id: str
    entry_hash: str
    """Link of its stream's hash chain, hexadecimal."""
    name: str
    category: Category
    at_us: int
    """Clock of whoever wrote it, microseconds since 1970 (UTC)."""
    recorded_at_us: int
    """Clock of the store."""
    principal: str
    task_id: str
    run_id: str
    action_id: str
    key: str
    frames: tuple[FrameRef, ...]
    sentence: str


class WriteEvidence(Row, frozen=True, array_like=True):
    """One attempt to change the business."""

    position: int
    """Of ``action.attempted``."""
    action_id: str
    task_id: str
    run_id: str
    principal: str
    key: str
    digest: str
    label: str
    rung: str
    undoing: bool
    """True for a write that takes an earlier one back."""
    verdict: str
    outcome: Literal["open", "executed", "blocked", "failed", "unknown"] = "open"
    toast: str = ""
    approved_by: tuple[str, ...] = ()
    approval_positions: tuple[int, ...] = ()
    state_before: BusinessState | None = None
    """Snapshot that was registered with the way back."""
    way_back: str = ""
    residual_effects: tuple[str, ...] = ()
    before: tuple[FrameRef, ...] = ()
    after: tuple[FrameRef, ...] = ()
    readback_positions: tuple[int, ...] = ()
    readback: Literal["", "confirmed", "mismatched", "inconclusive"] = ""
    """Last word of an independent source."""
    compensation: Literal["", "started", "confirmed", "failed"] = ""
    trace: str = ""
    """SHA-256 of the browser's trace that shows it, when one was kept."""
    trace_position: int = 0
    """Of its ``trace.attached``."""


class ChainRow(Row, frozen=True, array_like=True):
    """Row of the view: one task's part of the chain."""

    tenant: str = ""
    task_id: str = ""
    bill_id: str = ""
    intent: Intent | None = None
    requested_by: str = ""
    items: tuple[ChainItem, ...] = ()
    writes: tuple[WriteEvidence, ...] = ()
    proposed: e.ActionProposed | None = None
    verdict: str = ""
    look: tuple[FrameRef, ...] = ()
    """Frames of the latest observation."""
    before: tuple[FrameRef, ...] = ()
    """Screens of the step under way."""
    approved_by: tuple[str, ...] = ()
    approval_positions: tuple[int, ...] = ()
    approval_digest: str = ""
    """Action that those approvals are bound to."""
    registered: e.CompensationRegistered | None = None
    undoing: bool = False


def told(view: ChainRow, recorded: Recorded) -> ChainRow:
    """Row after what a fact says of the writes, and of what a later write stands on."""
    if type(recorded.event) in _TOLD:
        view = _TOLD[type(recorded.event)](view, recorded.event, recorded)
    return _screens(view, recorded) if recorded.envelope.frames else view


def key_of(recorded: Recorded) -> str:
    """Key of the business effect that an event is about; empty where it names none."""
    own = recorded.event.effect_key if type(recorded.event) in _NAMES_KEY else None  # type: ignore[union-attr]
    return own or recorded.envelope.idempotency_key or ""


_NAMES_KEY: frozenset[type] = frozenset(
    {e.TaskOpened, e.TaskClaimed, e.TaskClaimDenied, e.TaskClaimReleased, e.ActionAttempted}
)


def _new(view: ChainRow, event: e.ActionAttempted, recorded: Recorded) -> WriteEvidence:
    proposed = view.proposed if view.proposed and view.proposed.action_id == event.action_id else None
    approved = proposed is not None and proposed.digest == view.approval_digest
    return WriteEvidence(
        position=recorded.row.position,
        action_id=event.action_id,
        task_id=task_of(recorded) or "",
        run_id=recorded.envelope.run_id or "",
        principal=recorded.envelope.principal,
        key=key_of(recorded),
        digest=proposed.digest if proposed else "",
        label=proposed.label if proposed else "",
        rung=proposed.rung if proposed else "",
        undoing=view.undoing,
        verdict=view.verdict,
        approved_by=view.approved_by if approved else (),
        approval_positions=view.approval_positions if approved else (),
        state_before=view.registered.snapshot if view.registered else None,
        way_back=view.registered.action if view.registered else "",
        residual_effects=view.registered.residual_effects if view.registered else (),
        before=view.before,
    )


def _attempted(view: ChainRow, event: e.ActionAttempted, recorded: Recorded) -> ChainRow:
    return replace(view, writes=(*view.writes, _new(view, event, recorded))) if event.writes else view


def _wanted(view: ChainRow, event: e.TaskOpened | e.TaskRefused, _: Recorded) -> ChainRow:
    return replace(view, intent=event.intent, requested_by=event.requested_by)


def _proposed(view: ChainRow, event: e.ActionProposed, _: Recorded) -> ChainRow:
    planned = tuple(frame for frame in view.look if frame.sha256 == event.planned_on)
    return replace(view, proposed=event, verdict="", before=planned)


def _judged(view: ChainRow, event: VerdictFact, _: Recorded) -> ChainRow:
    last = view.writes[-1] if view.writes else None
    if last is not None and last.action_id == event.action_id:
        match event:
            case e.ActionBlocked():
                view = _last(view, replace(last, outcome="blocked", verdict=event.verdict))
            case e.ActionFailed():
                view = _last(view, replace(last, outcome="failed", verdict=event.verdict))
            case e.GuardJudged():
                view = view if event.verdict == "pass" else _last(view, replace(last, verdict=event.verdict))
    return replace(view, verdict=first_objection(view.verdict or None, event.verdict))  # type: ignore[arg-type]


def _executed(view: ChainRow, event: e.ActionExecuted, _: Recorded) -> ChainRow:
    last = view.writes[-1] if view.writes else None
    if last is None or last.action_id != event.action_id:
        return view
    return _last(view, replace(last, outcome="executed", toast=event.toast))


def _unknown(view: ChainRow, event: e.ActionOutcomeUnknown, _: Recorded) -> ChainRow:
    last = view.writes[-1] if view.writes else None
    if last is None or last.action_id != event.action_id:
        return view
    return _last(view, replace(last, outcome="unknown"))


def _asked(view: ChainRow, event: e.ApprovalRequested, recorded: Recorded) -> ChainRow:
    positions = (recorded.row.position,)
    return replace(view, approved_by=(), approval_positions=positions, approval_digest=event.digest)


def _granted(view: ChainRow, event: e.ApprovalGranted, recorded: Recorded) -> ChainRow:
    return replace(
        view,
        approved_by=(*view.approved_by, event.approver),
        approval_positions=(*view.approval_positions, recorded.row.position),
    )


def _not_granted(view: ChainRow, _: e.ApprovalDenied | e.ApprovalLapsed, __: Recorded) -> ChainRow:
    return replace(view, approved_by=(), approval_positions=())


def _registered(view: ChainRow, event: e.CompensationRegistered, _: Recorded) -> ChainRow:
    return replace(view, registered=event)


def _undoing(view: ChainRow, _: e.CompensationStarted, __: Recorded) -> ChainRow:
    return replace(_taken_back(view, "started"), undoing=True, approved_by=(), approval_positions=())


def _undone(view: ChainRow, _: e.CompensationConfirmed, __: Recorded) -> ChainRow:
    return replace(_taken_back(view, "confirmed"), undoing=False)


def _not_undone(view: ChainRow, _: e.CompensationFailed, __: Recorded) -> ChainRow:
    return replace(_taken_back(view, "failed"), undoing=False)


def _taken_back(view: ChainRow, word: Literal["started", "confirmed", "failed"]) -> ChainRow:
    """Mark the writes that are being taken back."""
    return replace(
        view,
        writes=tuple(
            write
            if write.undoing or write.outcome in {"blocked", "failed"}
            else replace(write, compensation=word)
            for write in view.writes
        ),
    )


def _read(view: ChainRow, event: ReadbackFact, recorded: Recorded) -> ChainRow:
    if not view.writes:
        return view
    last = view.writes[-1]
    word: Literal["confirmed", "mismatched", "inconclusive"]
    match event:
        case e.ReadbackConfirmed():
            word = "confirmed"
        case e.ReadbackMismatched():
            word = "mismatched"
        case e.ReadbackInconclusive():
            word = "inconclusive"
    positions = (*last.readback_positions, recorded.row.position)
    return _last(view, replace(last, readback=word, readback_positions=positions))


def _traced(view: ChainRow, event: e.TraceAttached, recorded: Recorded) -> ChainRow:
    """A trace shows its run's latest writes: those that did the task, or those that undid it."""
    if not view.writes:
        return view
    side = (recorded.envelope.run_id or "", view.writes[-1].undoing)
    shown = (
        replace(write, trace=event.blob, trace_position=recorded.row.position)
        if (write.run_id, write.undoing) == side and not write.trace
        else write
        for write in view.writes
    )
    return replace(view, writes=tuple(shown))


def _screens(view: ChainRow, recorded: Recorded) -> ChainRow:
    """Sort the event's screens to before or after a write."""
    frames = recorded.envelope.frames
    if isinstance(recorded.event, e.ObservationRecorded):
        view = replace(view, look=frames)
    before = tuple(frame for frame in frames if frame.role in {"before", "planned", "snapshot"})
    after = tuple(frame for frame in frames if frame.role == "after")
    if before:
        view = replace(view, before=_pictures(*view.before, *before))
    if after and view.writes:
        last = view.writes[-1]
        view = _last(view, replace(last, after=_pictures(*last.after, *after)))
    return view


def _pictures(*frames: FrameRef) -> tuple[FrameRef, ...]:
    """Each picture once, under the role it was first captured for."""
    first: dict[str, FrameRef] = {}
    for frame in frames:
        first.setdefault(frame.sha256, frame)
    return tuple(first.values())


def _last(view: ChainRow, write: WriteEvidence) -> ChainRow:
    return replace(view, writes=(*view.writes[:-1], write))


_TOLD: dict[type, Callable[[ChainRow, Any, Recorded], ChainRow]] = {
    e.TaskOpened: _wanted,
    e.TaskRefused: _wanted,
    e.ActionProposed: _proposed,
    e.GuardJudged: _judged,
    e.ActionBlocked: _judged,
    e.ActionFailed: _judged,
    e.ActionAttempted: _attempted,
    e.ActionExecuted: _executed,
    e.ActionOutcomeUnknown: _unknown,
    e.ApprovalRequested: _asked,
    e.ApprovalGranted: _granted,
    e.ApprovalDenied: _not_granted,
    e.ApprovalLapsed: _not_granted,
    e.ReadbackConfirmed: _read,
    e.ReadbackMismatched: _read,
    e.ReadbackInconclusive: _read,
    e.TraceAttached: _traced,
    e.CompensationRegistered: _registered,
    e.CompensationStarted: _undoing,
    e.CompensationConfirmed: _undone,
    e.CompensationFailed: _not_undone,
}
"""Facts that matter to a write; row, fact and its place in the log give the row after it."""
