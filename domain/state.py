"""How each event changes what is known of a task.

``evolve`` never validates and never raises: the past is the past. It is closed with ``assert_never``, so the type
checker names a forgotten event. A fact that comes after the end is kept and takes the task out of nobody's hands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, assert_never

from msgspec.structs import replace

from domain import events as e
from domain.task_state import GOES_ON, TERMINAL, Effect, Seen, Status, TaskState

__all__ = ["TERMINAL", "Effect", "Seen", "Status", "TaskState", "evolve", "fold"]


def fold(events: Iterable[e.Event], state: TaskState | None = None) -> TaskState:
    """State after ``events``, starting from ``state`` or from nothing."""
    current = state or TaskState()
    for event in events:
        current = evolve(current, event)
    return current


def evolve(state: TaskState, event: e.Event) -> TaskState:
    """State after one more event."""
    state = replace(state, version=state.version + 1, sealed=False)
    return _SHORTCUTS.get(type(event), _evolve_task)(state, event)


def _evolve_task(state: TaskState, event: e.Event) -> TaskState:
    match event:
        case e.TaskOpened():
            return replace(
                state,
                status="opened",
                mode=event.mode,
                intent=event.intent,
                effect_key=event.effect_key,
                requested_by=event.requested_by,
            )
        case e.TaskRefused():
            return replace(state, status="refused", intent=event.intent, requested_by=event.requested_by)
        case e.TaskClaimed():
            return replace(state, status="claimed", claimed=True)
        case e.TaskClaimDenied():
            return replace(state, status="already_in_progress")
        case e.TaskClaimReleased():
            return replace(state, claimed=False, settled=True, status=_moved(state, "opened"))
        case e.TaskDeclaredDone():
            return replace(state, status=_moved(state, "declared_done"))
        case e.TaskSucceeded():
            return replace(state, status="succeeded")
        case e.TaskFailed():
            return replace(state, status="failed")
        case e.TaskReopened():
            return replace(state, status="unknown", effect="unknown", seen=())
        case e.TaskSealed():
            return replace(state, sealed=True)
        case _:
            return _evolve_step(state, event)


def _moved(state: TaskState, status: Status) -> Status:
    """``status``, unless the task has ended: late facts are kept but take it out of nobody's hands."""
    return state.status if state.status in TERMINAL - GOES_ON else status


def _evolve_step(state: TaskState, event: e.Event) -> TaskState:
    match event:
        case e.ObservationRecorded():
            fresh = state.status in {"claimed", "blocked", "allowed", "proposed"}
            fresh = fresh or (state.status == "opened" and state.mode == "record_only")
            stepped = state.status == "executed" and not state.effect_outstanding
            status: Status = "observed" if fresh or stepped else state.status
            return replace(state, status=status, account=event.account or state.account)
        case e.ActionProposed():
            return replace(
                state,
                status=_moved(state, "proposed"),
                action=event,
                judged=None,
                settled=False,
                steps=state.steps + 1,
            )
        case e.GuardJudged():
            return _judged(state, event)
        case e.ActionAttempted():
            started = replace(state, status=_moved(state, "attempted"), open_attempt=event)
            if not event.writes:
                return started
            return replace(
                started, effect="attempted", effect_before=state.effect, seen=(), writer=state.account
            )
        case e.ActionBlocked() | e.ActionFailed() | e.ActionExecuted() | e.ActionOutcomeUnknown():
            return _reported(state, event)
        case _:
            return _evolve_people(state, event)


def _judged(state: TaskState, event: e.GuardJudged) -> TaskState:
    against = state.judged if state.judged is not None and state.judged.verdict != "pass" else None
    judged = against or event
    status = state.status
    if judged.verdict != "pass" and status == "allowed":
        status = "proposed"
    elif judged.verdict == "pass" and status == "proposed" and event.phase == "before":
        status = "allowed"
    return replace(state, judged=judged, status=status)


def _reported(
    state: TaskState, event: e.ActionBlocked | e.ActionFailed | e.ActionExecuted | e.ActionOutcomeUnknown
) -> TaskState:
    wrote = state.open_attempt is not None and state.open_attempt.writes
    effect, status, blocks = state.effect, state.status, state.blocks
    match event:
        case e.ActionBlocked():
            effect = state.effect_before if wrote else effect
            status, blocks = "blocked", blocks + 1
        case e.ActionFailed():
            effect = state.effect_before if wrote else effect
            status = "blocked"
        case e.ActionExecuted():
            effect = "executed" if wrote else effect
            status = "executed"
        case e.ActionOutcomeUnknown():
            effect = "unknown" if wrote else effect
            status = "unknown" if wrote else "blocked"
        case _:
            assert_never(event)
    return replace(
        state, status=_moved(state, status), effect=effect, open_attempt=None, settled=True, blocks=blocks
    )


def _evolve_people(state: TaskState, event: e.Event) -> TaskState:
    match event:
        case e.ApprovalRequested():
            return replace(
                state,
                status="awaiting_approval",
                approval="asked",
                request=event,
                approved_by=(),
                approved_digest="",
            )
        case e.ApprovalGranted():
            return _granted(state, event)
        case e.ApprovalDenied():
            return replace(
                state, status="claimed", approval="denied", request=None, approved_by=(), approved_digest=""
            )
        case e.ApprovalLapsed():
            return replace(state, status="claimed", request=None, approved_by=(), approved_digest="")
        case e.TakeoverRequested():
            return replace(_undoing_over(state), status="taken_over", takeover=event, owner=None)
        case e.TakeoverClaimed():
            return replace(state, owner=event.owner)
        case e.TakeoverResolved():
            return replace(state, status="resolved", takeover=None)
        case _:
            return _evolve_outcome(state, event)


def _granted(state: TaskState, event: e.ApprovalGranted) -> TaskState:
    approvers = tuple(dict.fromkeys((*state.approved_by, event.approver)))
    needed = state.request.approvers_needed if state.request else 1
    if len(approvers) < needed:
        return replace(state, approved_by=approvers)
    return replace(state, status="claimed", approved_by=approvers, approved_digest=event.digest)


def _evolve_outcome(state: TaskState, event: e.Event) -> TaskState:
    match event:
        case e.ReadbackConfirmed() | e.ReadbackMismatched() | e.ReadbackInconclusive():
            return _read_back(state, event)
        case e.CompensationRegistered():
            return replace(state, compensation=event)
        case e.CompensationStarted():
            return _undoing(state)
        case e.CompensationConfirmed():
            return replace(state, status="compensated", compensating=False)
        case e.CompensationFailed():
            return replace(_undoing_over(state), status="compensation_failed")
        case (
            e.AlertRaised()
            | e.TraceAttached()
            | e.ModelRequested()
            | e.ModelResponded()
            | e.SafetyAcknowledged()
        ):
            return state  # words move nothing
        case (
            e.RunStarted()
            | e.RunResumed()
            | e.RunFinished()
            | e.RunEscalated()
            | e.BillListFetched()
            | e.SettlementImported()
            | e.EvidenceOpened()
            | e.TargetAccepted()
            | e.CommitmentsRecorded()
            | e.RedactionRequested()
            | e.RedactionApproved()
            | e.RedactionDenied()
            | e.HoldPlaced()
            | e.HoldReleased()
            | e.DeletionOrdered()
            | e.DataDeleted()
            | e.CaseOpened()
            | e.CaseConcluded()
            | e.CaseNoted()
            | e.CaseSignedOff()
            | e.CaseReopened()
        ):
            return state  # facts of other streams mean nothing to a task
        case (
            e.TaskOpened()
            | e.TaskRefused()
            | e.TaskClaimed()
            | e.TaskClaimDenied()
            | e.TaskClaimReleased()
            | e.TaskDeclaredDone()
            | e.TaskSucceeded()
            | e.TaskFailed()
            | e.TaskReopened()
            | e.TaskSealed()
            | e.ObservationRecorded()
            | e.ActionProposed()
            | e.GuardJudged()
            | e.ActionBlocked()
            | e.ActionAttempted()
            | e.ActionExecuted()
            | e.ActionFailed()
            | e.ActionOutcomeUnknown()
            | e.ApprovalRequested()
            | e.ApprovalGranted()
            | e.ApprovalDenied()
            | e.ApprovalLapsed()
            | e.TakeoverRequested()
            | e.TakeoverClaimed()
            | e.TakeoverResolved()
        ):
            return state  # handled above
        case _:
            assert_never(event)


def _undoing(state: TaskState) -> TaskState:
    """From here on ``effect`` and the approval are those of the undoing write."""
    return replace(
        state,
        status="compensating",
        compensating=True,
        own_effect=state.effect,
        effect="none",
        effect_before="none",
        seen=(),
        open_attempt=None,
        action=None,
        approval="none",
        request=None,
        approved_by=(),
        approved_digest="",
    )


def _undoing_over(state: TaskState) -> TaskState:
    """Undoing ended without success; if nothing was attempted, the task's own effect is still there to undo."""
    if not state.compensating:
        return state
    if state.effect != "none":
        return replace(state, compensating=False)
    return replace(state, compensating=False, effect=state.own_effect, own_effect="none")


def _read_back(
    state: TaskState, event: e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive
) -> TaskState:
    if event.phase == "later" or state.status in TERMINAL:
        return state  # what a second look means is decided by Reopen
    match event:
        case e.ReadbackConfirmed():
            word = Seen(source=event.source, effect="confirmed", found=event.found)
        case e.ReadbackMismatched():
            word = Seen(source=event.source, effect="refuted", found=event.found)
        case e.ReadbackInconclusive():
            word = Seen(source=event.source, effect="unknown")
        case _:
            assert_never(event)
    seen = (*(other for other in state.seen if other.source != event.source), word)
    effect = _agreed(seen)
    return replace(
        state,
        status="compensating" if state.compensating else effect,
        effect=effect,
        seen=seen,
        open_attempt=None,
        settled=state.settled or state.open_attempt is not None,
        was_confirmed=state.was_confirmed or (word.effect == "confirmed" and not state.compensating),
    )


def _agreed(seen: tuple[Seen, ...]) -> Literal["refuted", "unknown", "confirmed"]:
    """The worst word counts: one table alone misses a third of the faults."""
    words = {word.effect for word in seen}
    if "refuted" in words:
        return "refuted"
    return "unknown" if "unknown" in words else "confirmed"


_SHORTCUTS: dict[type, Callable[[TaskState, e.Event], TaskState]] = {
    **dict.fromkeys(
        (
            e.ObservationRecorded,
            e.ActionProposed,
            e.GuardJudged,
            e.ActionAttempted,
            e.ActionBlocked,
            e.ActionFailed,
            e.ActionExecuted,
            e.ActionOutcomeUnknown,
        ),
        _evolve_step,
    ),
    **dict.fromkeys(
        (e.ReadbackConfirmed, e.ReadbackMismatched, e.ReadbackInconclusive, e.CompensationRegistered),
        _evolve_outcome,
    ),
}
"""Where the most frequent facts enter the chain of functions, each of which hands on what it doesn't know."""
