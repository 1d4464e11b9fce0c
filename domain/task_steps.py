"""Rules of one step and of the approvals it may need; see ``domain.task`` for all of them together."""

from __future__ import annotations

from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.errors import CommandRefused
from domain.task_state import TERMINAL, UNTOUCHED, Status, TaskState, require

_PLANNING: frozenset[Status] = frozenset(
    {"claimed", "observed", "blocked", "executed", "compensating", "allowed"}
)


def decide_step(
    command: c.Propose | c.Judge | c.Attempt | c.Report, state: TaskState
) -> tuple[e.TaskEvent, ...]:
    """Planned, judged, attempted, reported."""
    watching = state.mode == "record_only"
    match command:
        case c.Propose():
            require(
                state,
                state.status not in UNTOUCHED if watching else state.status in _PLANNING,
                "propose.order",
                "nothing can be proposed now",
            )
            fact = command.fact
            require(
                state,
                watching or fact.planned_on is not None or fact.rung in {"api", "mcp"},
                "propose.observation",
                "a step is planned on an observed frame",
            )
            require(
                state,
                watching or not (fact.writes and state.effect != "none"),
                "write.once",
                "the write was attempted before; it is read back, not repeated",
            )
        case c.Judge():
            require(
                state,
                _current(state, command.fact.action_id),
                "judge.action",
                "that step isn't the proposed one",
            )
            objections = [
                check for check in command.fact.checks if check.decisive and check.verdict != "pass"
            ]
            require(
                state,
                command.fact.verdict != "pass" or not objections,
                "judge.verdict",
                "a decisive finding against the step is no pass",
            )
        case c.Attempt():
            _decide_attempt(command, state)
        case c.Report():
            require(
                state,
                _is_open(state, command.fact.action_id) or _is_dropped(state, command.fact),
                "report.attempt",
                "no attempt of that step is open",
            )
        case _:
            assert_never(command)
    return (command.fact,)


def _current(state: TaskState, action_id: str) -> bool:
    return state.action is not None and state.action.action_id == action_id


def _is_open(state: TaskState, action_id: str) -> bool:
    return state.open_attempt is not None and state.open_attempt.action_id == action_id


def _is_dropped(state: TaskState, fact: object) -> bool:
    """A planned step may be dropped before it is attempted; one with an outcome has had its word."""
    return (
        isinstance(fact, e.ActionBlocked | e.ActionFailed)
        and _current(state, fact.action_id)
        and state.open_attempt is None
        and not state.settled
        and state.status not in TERMINAL
    )


def _decide_attempt(command: c.Attempt, state: TaskState) -> None:
    fact, action = command.fact, state.action
    if action is None or action.action_id != fact.action_id:
        raise CommandRefused(
            "attempt.proposal", f"only the proposed step can be attempted (task is {state.status})"
        )
    if state.mode == "record_only":
        return
    require(state, state.status == "allowed", "attempt.guards", "the guards have not let this step pass")
    require(
        state, fact.writes == action.writes, "attempt.writes", "the attempt must say whether the step writes"
    )
    if not action.writes:
        return
    require(
        state, fact.effect_key is not None, "attempt.key", "a write is attempted under its idempotency key"
    )
    require(
        state,
        not (action.irreversible and action.rung == "computer_use"),
        "write.vision",
        "vision never performs an irreversible write",
    )
    if state.compensating:
        require(
            state, fact.effect_key != state.effect_key, "write.key", "undoing is attempted under its own key"
        )
    else:
        require(state, state.claimed, "write.claim", "the effect isn't claimed by this task")
        require(state, fact.effect_key == state.effect_key, "write.key", "that key belongs to another effect")
        require(state, state.compensation is not None, "write.way_back", "the way back isn't registered yet")
    require(state, state.effect == "none", "write.once", "the write was attempted before; it is read back")
    if state.approval != "none":
        _decide_approved(state, action, command.at_us)


def _decide_approved(state: TaskState, action: e.ActionProposed, at_us: int) -> None:
    require(state, state.approval != "denied", "approval.denied", "a person refused this write")
    require(
        state,
        state.request is not None and state.approved_digest == action.digest,
        "approval.digest",
        "no approval covers this action",
    )
    require(
        state,
        state.request is not None and at_us < state.request.expires_at_us,
        "approval.expired",
        "the approval has expired",
    )


def decide_approval(
    command: c.RequestApproval | c.Grant | c.Deny | c.Lapse, state: TaskState
) -> tuple[e.TaskEvent, ...]:
    """Asked and answered: by another principal, for exactly this write, in time (B10)."""
    if isinstance(command, c.RequestApproval):
        require(
            state,
            state.status in {"proposed", "allowed"} and _current(state, command.fact.action_id),
            "approval.proposal",
            "an unproposed action cannot be approved",
        )
        require(
            state,
            state.action is not None and command.fact.digest == state.action.digest,
            "approval.digest",
            "the request must carry the proposed action's digest",
        )
        require(state, state.approval != "denied", "approval.denied", "a person refused this write")
        return (command.fact,)
    request = state.request
    if state.status != "awaiting_approval" or request is None:
        raise CommandRefused("approval.none", f"no approval is waited for (task is {state.status})")
    fact = command.fact
    require(
        state,
        fact.approval_id == request.approval_id and fact.digest == request.digest,
        "approval.digest",
        "that answer belongs to another request",
    )
    if isinstance(command, c.Lapse):
        require(
            state, command.at_us >= request.expires_at_us, "approval.early", "the request hasn't expired yet"
        )
        return (command.fact,)
    answer = command.fact
    require(state, command.at_us < request.expires_at_us, "approval.expired", "the request has expired")
    require(
        state,
        answer.approver not in {request.requested_by, state.requested_by},
        "approval.self",
        "an approval comes from another principal than the request",
    )
    require(
        state, answer.approver not in state.approved_by, "approval.twice", "that person has approved already"
    )
    return (answer,)
