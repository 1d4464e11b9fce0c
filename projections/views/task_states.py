"""Where every task stands: one row for each, folded with the domain's own state machine (D2).

Rules enforced here:

* The status is what ``domain.state.evolve`` says, never a second opinion of this view.
* Only the task's own stream moves its state; what other streams say about it doesn't.
* Verdicts are counted once for each step: its first objection, else ``pass``.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import PrincipalId
from domain.state import TERMINAL, Effect, Status, TaskState, evolve
from domain.values import Intent, Verdict
from projections.fold import Row
from projections.views.common import action_of, counted, first_objection, own_task, verdict_of


class Takeover(Row, frozen=True):
    """A person was asked for, last time."""

    verdict: Verdict
    reason: str
    severity: str
    requested_at_us: int
    due_at_us: int
    owner: PrincipalId | None = None
    resolution: str = ""


class TaskRow(Row, frozen=True):
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


class TaskStates:
    """Fold into ``TaskRow``; grouped by bill."""

    name = "task_states"
    version = 2
    row_type = TaskRow

    key = staticmethod(own_task)
    """The task in whose stream the event stands."""

    def group(self, view: TaskRow) -> str:
        """The bill."""
        return view.bill_id

    def initial(self) -> TaskRow:
        """Nothing is known."""
        return TaskRow()

    def apply(self, view: TaskRow, recorded: Recorded) -> TaskRow:
        """Row after one more event of the task."""
        event, envelope, at_us = recorded.event, recorded.envelope, recorded.envelope.occurred_at_us
        state = evolve(view.state, event)
        view = _told(_placed(view, recorded), event, at_us)
        run_id = envelope.run_id or ""
        ended = state.status in TERMINAL
        still = ended and view.status == state.status
        return replace(
            view,
            state=state,
            status=state.status,
            effect=state.effect,
            runs=view.runs if not run_id or run_id in view.runs else (*view.runs, run_id),
            ended_at_us=(view.ended_at_us if still else at_us) if ended else None,
            last_at_us=at_us,
            last_position=recorded.row.position,
            events=view.events + 1,
            steps=state.steps,
            approvers=tuple(state.approved_by) or view.approvers,
            sealed=state.sealed,
        )


def _placed(view: TaskRow, recorded: Recorded) -> TaskRow:
    """Row with what the first event settles."""
    if view.events:
        return view
    return replace(
        view,
        task_id=own_task(recorded) or "",
        tenant=recorded.row.tenant,
        run_id=recorded.envelope.run_id or "",
        principal=recorded.envelope.principal,
        opened_at_us=recorded.envelope.occurred_at_us,
        first_position=recorded.row.position,
    )


def _told(view: TaskRow, event: e.Event, at_us: int) -> TaskRow:
    match event:
        case e.TaskOpened() | e.TaskRefused():
            return _opened(view, event)
        case e.TaskClaimDenied():
            return replace(view, refusal=f"the effect is held by {event.holder_stream}")
        case e.TaskFailed() | e.TaskClaimReleased():
            return replace(view, refusal=event.reason)
        case e.TaskClaimed():
            return replace(view, refusal="")
        case e.TaskReopened():
            return replace(view, reopened=view.reopened + 1)
        case e.CompensationRegistered():
            return replace(view, residual_effects=event.residual_effects)
        case e.ActionProposed():
            return replace(view, rung=event.rung, last_verdict=None)
        case e.GuardJudged() | e.ActionBlocked() | e.ActionFailed():
            return _judged(view, event)
        case _:
            return _handed(view, event, at_us)


def _opened(view: TaskRow, event: e.TaskOpened | e.TaskRefused) -> TaskRow:
    view = replace(
        view,
        intent=event.intent,
        bill_id=event.intent.bill_id,
        action=event.intent.action,
        requested_by=event.requested_by,
    )
    if isinstance(event, e.TaskRefused):
        return replace(view, refusal=event.reason)
    return replace(
        view, effect_key=event.effect_key, mode=event.mode, rung=event.rung, reference=event.reference
    )


def _judged(view: TaskRow, event: e.GuardJudged | e.ActionBlocked | e.ActionFailed) -> TaskRow:
    said = verdict_of(event)
    current = view.state.action
    if said is None or current is None or action_of(event) != current.action_id:
        return view
    now = first_objection(view.last_verdict, said)
    return replace(view, verdicts=counted(view.verdicts, view.last_verdict, now), last_verdict=now)


def _handed(view: TaskRow, event: e.Event, at_us: int) -> TaskRow:
    match event:
        case e.TakeoverRequested():
            return replace(
                view,
                takeover=Takeover(
                    verdict=event.verdict,
                    reason=event.reason,
                    severity=event.severity,
                    requested_at_us=at_us,
                    due_at_us=event.due_at_us,
                ),
            )
        case e.TakeoverClaimed() if view.takeover:
            return replace(view, takeover=replace(view.takeover, owner=event.owner))
        case e.TakeoverResolved() if view.takeover:
            return replace(
                view, takeover=replace(view.takeover, owner=event.owner, resolution=event.resolution)
            )
        case _:
            return view
