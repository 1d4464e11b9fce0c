"""The rules of a task: which command is accepted in which state.

``decide`` is pure and closed with ``assert_never``. Rules carry stable
names; they are searched for and tested by them.

* one effect, one claim; no write without the claim (B4, B5)
* no step without a proposal, no proposal without an observation (a rung without a screen observes a document)
* a write needs: guards passed, approval where asked (other principal, same digest, not expired), the way
  back registered, and no earlier write attempt that may have taken effect (B6, B10, B11)
* success only after a confirming readback; failure only when no effect is outstanding (nothing was sent, or
  the target refused the session and a readback shows the state before); else a person takes over
* record-only tasks stop nothing: whatever the wrapped loop does is recorded
"""

from __future__ import annotations

from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.errors import CommandRefused
from domain.state import TERMINAL, Status, TaskState, evolve, fold

__all__ = ["TERMINAL", "Status", "TaskState", "decide", "evolve", "fold"]

_PLANNING: frozenset[Status] = frozenset(
    {"claimed", "observed", "blocked", "executed", "compensating", "allowed"}
)
_WATCHING: frozenset[Status] = _PLANNING | {"opened", "proposed", "attempted", "declared_done"}


def _require(state: TaskState, ok: bool, rule: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not ok:
        raise CommandRefused(rule, f"{what} (task is {state.status})")


def decide(command: c.Command, state: TaskState) -> tuple[e.TaskEvent, ...]:
    """Facts that the command brings about; ``CommandRefused`` names the rule that forbids it."""
    match command:
        case c.Open() | c.Refuse():
            _require(state, state.status == "new", "task.exists", "the task was opened before")
            return (command.fact,)
        case c.Claim():
            _require(
                state, state.status == "opened", "claim.order", "an effect is claimed right after opening"
            )
            _require(
                state,
                command.fact.effect_key == state.effect_key,
                "claim.key",
                "a task claims its own effect and no other",
            )
            return (command.fact,)
        case c.DenyClaim():
            _require(
                state, state.status == "opened", "claim.order", "an effect is claimed right after opening"
            )
            return (command.fact,)
        case c.Observe() | c.RaiseAlert():
            _require(state, state.status != "new", "task.unknown", "there is no such task")
            return (command.fact,)
        case c.Propose() | c.Judge() | c.Attempt() | c.Report():
            return _decide_step(command, state)
        case c.RequestApproval() | c.Grant() | c.Deny() | c.Lapse():
            return _decide_approval(command, state)
        case c.TakeOver() | c.Resolve() | c.HandOver():
            return _decide_takeover(command, state)
        case _:
            return _decide_outcome(command, state)


def _decide_step(
    command: c.Propose | c.Judge | c.Attempt | c.Report, state: TaskState
) -> tuple[e.TaskEvent, ...]:
    watching = state.mode == "record_only"
    match command:
        case c.Propose():
            _require(
                state,
                state.status in (_WATCHING if watching else _PLANNING),
                "propose.order",
                "nothing can be proposed now",
            )
            fact = command.fact
            _require(
                state,
                watching or fact.planned_on is not None or fact.rung in {"api", "mcp"},
                "propose.observation",
                "a step is planned on an observed frame",
            )
            _require(
                state,
                watching or not (fact.writes and state.effect != "none"),
                "write.once",
                "the write was attempted before; it is read back, not repeated",
            )
        case c.Judge():
            _require(
                state,
                _current(state, command.fact.action_id),
                "judge.action",
                "that step isn't the proposed one",
            )
        case c.Attempt():
            _decide_attempt(command, state)
        case c.Report():
            attempt = state.open_attempt
            early = isinstance(command.fact, e.ActionBlocked | e.ActionFailed) and _current(
                state, command.fact.action_id
            )
            _require(
                state,
                early or (attempt is not None and attempt.action_id == command.fact.action_id),
                "report.attempt",
                "no attempt of that step is open",
            )
        case _:
            assert_never(command)
    return (command.fact,)


def _current(state: TaskState, action_id: str) -> bool:
    return state.action is not None and state.action.action_id == action_id


def _decide_attempt(command: c.Attempt, state: TaskState) -> None:
    fact, action = command.fact, state.action
    if action is None or action.action_id != fact.action_id:
        raise CommandRefused(
            "attempt.proposal", f"only the proposed step can be attempted (task is {state.status})"
        )
    if state.mode == "record_only":
        return
    _require(state, state.status == "allowed", "attempt.guards", "the guards have not let this step pass")
    _require(
        state, fact.writes == action.writes, "attempt.writes", "the attempt must say whether the step writes"
    )
    if not action.writes:
        return
    _require(
        state, fact.effect_key is not None, "attempt.key", "a write is attempted under its idempotency key"
    )
    if not state.compensating:
        _require(state, state.claimed, "write.claim", "the effect isn't claimed by this task")
        _require(
            state, fact.effect_key == state.effect_key, "write.key", "that key belongs to another effect"
        )
        _require(state, state.compensation is not None, "write.way_back", "the way back isn't registered yet")
    _require(state, state.effect == "none", "write.once", "the write was attempted before; it is read back")
    if state.request is not None and not state.compensating:
        _require(
            state, state.approved_digest == action.digest, "approval.digest", "no approval covers this action"
        )
        _require(
            state, command.at_us < state.request.expires_at_us, "approval.expired", "the approval has expired"
        )


def _decide_approval(
    command: c.RequestApproval | c.Grant | c.Deny | c.Lapse, state: TaskState
) -> tuple[e.TaskEvent, ...]:
    if isinstance(command, c.RequestApproval):
        _require(
            state,
            state.status in {"proposed", "allowed"} and _current(state, command.fact.action_id),
            "approval.proposal",
            "an unproposed action cannot be approved",
        )
        _require(
            state,
            state.action is not None and command.fact.digest == state.action.digest,
            "approval.digest",
            "the request must carry the proposed action's digest",
        )
        return (command.fact,)
    request = state.request
    if state.status != "awaiting_approval" or request is None:
        raise CommandRefused("approval.none", f"no approval is waited for (task is {state.status})")
    fact = command.fact
    _require(
        state,
        fact.approval_id == request.approval_id and fact.digest == request.digest,
        "approval.digest",
        "that answer belongs to another request",
    )
    if isinstance(command, c.Lapse):
        _require(
            state, command.at_us >= request.expires_at_us, "approval.early", "the request hasn't expired yet"
        )
        return (command.fact,)
    answer = command.fact
    _require(state, command.at_us < request.expires_at_us, "approval.expired", "the request has expired")
    _require(
        state,
        answer.approver not in {request.requested_by, state.requested_by},
        "approval.self",
        "an approval comes from another principal than the request",
    )
    _require(
        state, answer.approver not in state.approved_by, "approval.twice", "that person has approved already"
    )
    return (answer,)


def _decide_takeover(
    command: c.TakeOver | c.Resolve | c.HandOver, state: TaskState
) -> tuple[e.TaskEvent, ...]:
    match command:
        case c.HandOver():
            _require(
                state,
                state.status not in {"new", "refused", "already_in_progress", "taken_over"},
                "takeover.order",
                "there is nothing to hand over",
            )
        case c.TakeOver():
            _require(state, state.status == "taken_over", "takeover.none", "the task waits for no person")
            _require(
                state, state.owner in {None, command.fact.owner}, "takeover.owned", "somebody owns it already"
            )
        case c.Resolve():
            _require(state, state.status == "taken_over", "takeover.none", "the task waits for no person")
            _require(state, state.owner == command.fact.owner, "takeover.owner", "only its owner resolves it")
        case _:
            assert_never(command)
    return (command.fact,)


def _decide_outcome(
    command: c.RegisterCompensation
    | c.ReadBack
    | c.DeclareDone
    | c.Succeed
    | c.Fail
    | c.Reopen
    | c.Compensate
    | c.ReportCompensation
    | c.Seal,
    state: TaskState,
) -> tuple[e.TaskEvent, ...]:
    match command:
        case c.RegisterCompensation():
            _require(
                state,
                state.effect == "none",
                "compensation.late",
                "the way back is registered before the write",
            )
        case c.ReadBack():
            _require(
                state,
                state.effect != "none" or state.status in TERMINAL or state.compensating,
                "readback.nothing",
                "nothing was written that could be read back",
            )
        case c.DeclareDone():
            _require(
                state, state.mode == "record_only", "declare.mode", "only a wrapped loop declares itself done"
            )
        case c.Succeed():
            _require(
                state, state.effect == "confirmed", "succeed.readback", "no readback has confirmed the effect"
            )
            _require(state, state.status not in TERMINAL, "task.ended", "the task has ended")
        case c.Fail():
            return _fail(command, state)
        case c.Reopen():
            _require(state, state.status == "succeeded", "reopen.order", "only a succeeded task is reopened")
        case c.Compensate():
            _require(
                state,
                state.status in {"succeeded", "taken_over", "refuted", "unknown"} and state.effect != "none",
                "compensate.order",
                "there is no effect to undo",
            )
            _require(
                state,
                state.compensation is not None and state.compensation.action == command.fact.action != "",
                "compensate.unregistered",
                "that way back wasn't registered before the write",
            )
        case c.ReportCompensation():
            _require(state, state.compensating, "compensate.order", "nothing is being undone")
            _require(
                state,
                isinstance(command.fact, e.CompensationFailed) or state.effect == "confirmed",
                "compensate.readback",
                "no readback shows the state of the snapshot",
            )
        case c.Seal():
            _require(state, state.status in TERMINAL, "seal.order", "only an ended task is sealed")
            _require(state, not state.sealed, "seal.twice", "the task is sealed")
            return (e.TaskSealed(events=state.version + 1),)
        case _:
            assert_never(command)
    return (command.fact,)


def _fail(command: c.Fail, state: TaskState) -> tuple[e.TaskEvent, ...]:
    _require(
        state, state.status not in TERMINAL and state.status != "new", "task.ended", "the task has ended"
    )
    refused = state.effect == "refuted" and command.fact.verdict in {"session_expired", "forbidden"}
    _require(
        state,
        state.effect == "none" or refused,
        "fail.outstanding",
        "a write may have taken effect; a person takes over instead",
    )
    if state.claimed and state.effect_key is not None:
        return (e.TaskClaimReleased(effect_key=state.effect_key, reason=command.fact.reason), command.fact)
    return (command.fact,)
