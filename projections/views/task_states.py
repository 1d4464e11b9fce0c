"""Where every task stands: one row for each, folded with the domain's own state machine (D2).

Rules enforced here:

* The status is what ``domain.state.evolve`` says, never a second opinion of this view.
* Only the task's own stream moves its state; what other streams say about it doesn't.
* Verdicts are counted once for each step: its first objection, else ``pass``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import PrincipalId
from domain.state import TERMINAL, Effect, Status, TaskState, evolve
from domain.values import Intent, Verdict
from projections.fold import Folded, Row
from projections.views.common import VerdictFact, counted, first_objection, own_task


class Takeover(Row, frozen=True):
    """A person was asked for, last time."""

    verdict: Verdict
    reason: str
    severity: str
    requested_at_us: int
    due_at_us: int
    owner: PrincipalId | None = None
    resolution: str = ""


class TaskRow(Row, frozen=True, array_like=True):
    """One task; times are the appender's clock in microseconds since 1970 (UTC)."""

    task_id: str = ""
    tenant: str = ""
    status: Status = "new"
    effect: Effect = "none"
    """What is known of the business effect."""
    bill_id: str = ""
    action: str = ""
    intent: Intent | None = None
    effect_key: str = ""
    run_id: str = ""
    """Run that opened it."""
    runs: tuple[str, ...] = ()
    """Every run with an event in it, in order."""
    principal: str = ""
    """Identity that acted for it, from its first event."""
    requested_by: str = ""
    mode: str = ""
    rung: str = ""
    """Rung of the latest proposed step, or the one chosen at opening."""
    reference: str = ""
    opened_at_us: int = 0
    ended_at_us: int | None = None
    """When it last came to an end; None while the executor has something to do."""
    last_at_us: int = 0
    first_position: int = 0
    last_position: int = 0
    events: int = 0
    steps: int = 0
    verdicts: dict[str, int] = msgspec.field(default_factory=dict)
    last_verdict: Verdict | None = None
    """Of the step under way."""
    approvers: tuple[str, ...] = ()
    takeover: Takeover | None = None
    refusal: str = ""
    """Why the router, the claim or the task itself said no."""
    reopened: int = 0
    residual_effects: tuple[str, ...] = ()
    sealed: bool = False
    state: TaskState = msgspec.field(default_factory=TaskState)
    """The domain's fold, to continue with."""


class TaskStates(Folded[TaskRow]):
    """Fold into ``TaskRow``; grouped by bill."""

    name = "task_states"
    version = 3
    row_type = TaskRow

    key = staticmethod(own_task)
    """The task in whose stream the event stands."""

    def group(self, view: TaskRow) -> str:
        """The bill."""
        return view.bill_id

    def initial(self) -> TaskRow:
        """Nothing is known."""
        return TaskRow()

    def extend(self, view: TaskRow, events: Sequence[Recorded]) -> TaskRow:
        """Row after more events of the task."""
        if not view.events:
            view = _placed(view, events[0])
        state, ended_at_us, approvers, runs = view.state, view.ended_at_us, view.approvers, view.runs
        for recorded in events:
            event, envelope = recorded.event, recorded.envelope
            if type(event) in _TOLD:
                view = _TOLD[type(event)](view, event, state, envelope.occurred_at_us)
            before = state.status
            state = evolve(state, event)
            if state.status not in TERMINAL:
                ended_at_us = None
            elif state.status != before:
                ended_at_us = envelope.occurred_at_us
            if envelope.run_id and envelope.run_id not in runs:
                runs = (*runs, envelope.run_id)
            approvers = state.approved_by or approvers
        last = events[-1]
        return replace(
            view,
            state=state,
            status=state.status,
            effect=state.effect,
            runs=runs,
            ended_at_us=ended_at_us,
            last_at_us=last.envelope.occurred_at_us,
            last_position=last.row.position,
            events=view.events + len(events),
            steps=state.steps,
            approvers=approvers,
            sealed=state.sealed,
        )


def _placed(view: TaskRow, first: Recorded) -> TaskRow:
    """Row with what the first event settles."""
    return replace(
        view,
        task_id=own_task(first) or "",
        tenant=first.row.tenant,
        run_id=first.envelope.run_id or "",
        principal=first.envelope.principal,
        opened_at_us=first.envelope.occurred_at_us,
        first_position=first.row.position,
    )


def _opened(view: TaskRow, event: e.TaskOpened, _: TaskState, __: int) -> TaskRow:
    return replace(
        _wanted(view, event),
        effect_key=event.effect_key,
        mode=event.mode,
        rung=event.rung,
        reference=event.reference,
    )


def _refused(view: TaskRow, event: e.TaskRefused, _: TaskState, __: int) -> TaskRow:
    return replace(_wanted(view, event), refusal=event.reason)


def _wanted(view: TaskRow, event: e.TaskOpened | e.TaskRefused) -> TaskRow:
    return replace(
        view,
        intent=event.intent,
        bill_id=event.intent.bill_id,
        action=event.intent.action,
        requested_by=event.requested_by,
    )


def _denied(view: TaskRow, event: e.TaskClaimDenied, _: TaskState, __: int) -> TaskRow:
    return replace(view, refusal=f"the effect is held by {event.holder_stream}")


def _ended(view: TaskRow, event: e.TaskFailed | e.TaskClaimReleased, _: TaskState, __: int) -> TaskRow:
    return replace(view, refusal=event.reason)


def _claimed(view: TaskRow, _: e.TaskClaimed, __: TaskState, ___: int) -> TaskRow:
    return replace(view, refusal="")


def _reopened(view: TaskRow, _: e.TaskReopened, __: TaskState, ___: int) -> TaskRow:
    return replace(view, reopened=view.reopened + 1)


def _registered(view: TaskRow, event: e.CompensationRegistered, _: TaskState, __: int) -> TaskRow:
    return replace(view, residual_effects=event.residual_effects)


def _proposed(view: TaskRow, event: e.ActionProposed, _: TaskState, __: int) -> TaskRow:
    return replace(view, rung=event.rung, last_verdict=None)


def _judged(view: TaskRow, event: VerdictFact, state: TaskState, _: int) -> TaskRow:
    if state.action is None or event.action_id != state.action.action_id:
        return view
    now = first_objection(view.last_verdict, event.verdict)
    return replace(view, verdicts=counted(view.verdicts, view.last_verdict, now), last_verdict=now)


def _handed(view: TaskRow, event: e.TakeoverRequested, _: TaskState, at_us: int) -> TaskRow:
    asked = Takeover(
        verdict=event.verdict,
        reason=event.reason,
        severity=event.severity,
        requested_at_us=at_us,
        due_at_us=event.due_at_us,
    )
    return replace(view, takeover=asked)


def _taken(view: TaskRow, event: e.TakeoverClaimed, _: TaskState, __: int) -> TaskRow:
    return replace(view, takeover=replace(view.takeover, owner=event.owner)) if view.takeover else view


def _resolved(view: TaskRow, event: e.TakeoverResolved, _: TaskState, __: int) -> TaskRow:
    if not view.takeover:
        return view
    return replace(view, takeover=replace(view.takeover, owner=event.owner, resolution=event.resolution))


_TOLD: dict[type, Callable[[TaskRow, Any, TaskState, int], TaskRow]] = {
    e.TaskOpened: _opened,
    e.TaskRefused: _refused,
    e.TaskClaimDenied: _denied,
    e.TaskClaimed: _claimed,
    e.TaskClaimReleased: _ended,
    e.TaskFailed: _ended,
    e.TaskReopened: _reopened,
    e.CompensationRegistered: _registered,
    e.ActionProposed: _proposed,
    e.GuardJudged: _judged,
    e.ActionBlocked: _judged,
    e.ActionFailed: _judged,
    e.TakeoverRequested: _handed,
    e.TakeoverClaimed: _taken,
    e.TakeoverResolved: _resolved,
}
"""What a fact says beside the state: row, fact, state before it and the appender's clock give the row after it."""
