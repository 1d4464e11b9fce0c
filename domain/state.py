"""What is known of a task after some of its events, and how each event changes it.

``evolve`` never validates and never raises: the past is the past. It is closed with ``assert_never``, so the type
checker names a forgotten event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from domain import events as e
from domain.ids import EffectKey, PrincipalId
from domain.values import Intent

Status = Literal[
    "new",
    "refused",
    "opened",
    "already_in_progress",
    "claimed",
    "observed",
    "proposed",
    "blocked",
    "awaiting_approval",
    "allowed",
    "attempted",
    "executed",
    "confirmed",
    "refuted",
    "unknown",
    "declared_done",
    "succeeded",
    "failed",
    "taken_over",
    "resolved",
    "compensating",
    "compensated",
    "compensation_failed",
]

TERMINAL: frozenset[Status] = frozenset(
    {
        "refused",
        "already_in_progress",
        "succeeded",
        "failed",
        "taken_over",
        "resolved",
        "declared_done",
        "compensated",
        "compensation_failed",
    }
)
"""States in which the executor has nothing more to do by itself."""

Effect = Literal["none", "attempted", "unknown", "executed", "confirmed", "refuted"]
"""What is known of the business effect, strongest last word first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """Fold of a task's stream."""

    status: Status = "new"
    version: int = 0
    mode: e.task.RunMode = "guarded"
    intent: Intent | None = None
    effect_key: EffectKey | None = None
    requested_by: PrincipalId | None = None
    claimed: bool = False
    action: e.ActionProposed | None = None
    judged: e.GuardJudged | None = None
    """Last judgement about ``action``."""
    request: e.ApprovalRequested | None = None
    approved_digest: str = ""
    approved_by: tuple[PrincipalId, ...] = ()
    compensation: e.CompensationRegistered | None = None
    compensating: bool = False
    open_attempt: e.ActionAttempted | None = None
    """Attempt without an outcome: unknown until read back."""
    effect: Effect = "none"
    """Of the task's own write (or, while compensating, of the undoing one)."""
    takeover: e.TakeoverRequested | None = None
    owner: PrincipalId | None = None
    sealed: bool = False
    steps: int = 0
    blocks: int = 0

    @property
    def effect_outstanding(self) -> bool:
        """True if the business may have been changed and no readback has said what happened."""
        return self.effect in {"attempted", "unknown", "executed", "refuted"}


def fold(events: Iterable[e.Event], state: TaskState | None = None) -> TaskState:
    """State after ``events``, starting from ``state`` or from nothing."""
    current = state or TaskState()
    for event in events:
        current = evolve(current, event)
    return current


def evolve(state: TaskState, event: e.Event) -> TaskState:
    """State after one more event."""
    state = replace(state, version=state.version + 1, sealed=False)
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
            return replace(state, claimed=False)
        case e.TaskDeclaredDone():
            return replace(state, status="declared_done")
        case e.TaskSucceeded():
            return replace(state, status="succeeded")
        case e.TaskFailed():
            return replace(state, status="failed")
        case e.TaskReopened():
            return replace(state, status="unknown", effect="unknown")
        case e.TaskSealed():
            return replace(state, sealed=True)
        case _:
            return _evolve_step(state, event)


def _evolve_step(state: TaskState, event: e.Event) -> TaskState:
    match event:
        case e.ObservationRecorded():
            fresh = state.status in {"opened", "claimed", "blocked", "allowed", "proposed"}
            stepped = state.status == "executed" and not state.effect_outstanding
            return replace(state, status="observed") if fresh or stepped else state
        case e.ActionProposed():
            return replace(state, status="proposed", action=event, judged=None, steps=state.steps + 1)
        case e.GuardJudged():
            passed = event.verdict == "pass" and state.status == "proposed"
            return replace(state, judged=event, status="allowed" if passed else state.status)
        case e.ActionBlocked():
            effect: Effect = "none" if state.open_attempt and state.open_attempt.writes else state.effect
            return replace(state, status="blocked", open_attempt=None, effect=effect, blocks=state.blocks + 1)
        case e.ActionAttempted():
            effect = "attempted" if event.writes else state.effect
            return replace(state, status="attempted", open_attempt=event, effect=effect)
        case e.ActionExecuted():
            effect = "executed" if state.open_attempt and state.open_attempt.writes else state.effect
            return replace(state, status="executed", open_attempt=None, effect=effect)
        case e.ActionFailed():
            effect = "none" if state.open_attempt and state.open_attempt.writes else state.effect
            return replace(state, status="blocked", open_attempt=None, effect=effect)
        case e.ActionOutcomeUnknown():
            effect = "unknown" if state.open_attempt and state.open_attempt.writes else state.effect
            status: Status = "unknown" if effect == "unknown" else "blocked"
            return replace(state, status=status, open_attempt=None, effect=effect)
        case _:
            return _evolve_people(state, event)


def _evolve_people(state: TaskState, event: e.Event) -> TaskState:
    match event:
        case e.ApprovalRequested():
            return replace(
                state, status="awaiting_approval", request=event, approved_by=(), approved_digest=""
            )
        case e.ApprovalGranted():
            return _granted(state, event)
        case e.ApprovalDenied() | e.ApprovalLapsed():
            return replace(state, status="claimed", request=None, approved_by=(), approved_digest="")
        case e.TakeoverRequested():
            return replace(state, status="taken_over", takeover=event, owner=None)
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
            return replace(
                state, status="compensating", compensating=True, effect="none", open_attempt=None, action=None
            )
        case e.CompensationConfirmed():
            return replace(state, status="compensated", compensating=False)
        case e.CompensationFailed():
            return replace(state, status="compensation_failed", compensating=False)
        case e.AlertRaised():
            return state
        case (
            e.RunStarted()
            | e.RunResumed()
            | e.RunFinished()
            | e.RunEscalated()
            | e.BillListFetched()
            | e.SettlementImported()
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


def _read_back(
    state: TaskState, event: e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive
) -> TaskState:
    match event:
        case e.ReadbackConfirmed():
            effect: Effect = "confirmed"
        case e.ReadbackMismatched():
            effect = "refuted"
        case e.ReadbackInconclusive():
            effect = "unknown"
        case _:
            assert_never(event)
    if event.phase == "later" or state.status in TERMINAL:
        return state  # what a second look means is decided by Reopen
    status: Status = "compensating" if state.compensating else effect if effect != "none" else state.status
    return replace(state, status=status, effect=effect, open_attempt=None)
