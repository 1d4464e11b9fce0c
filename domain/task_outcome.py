"""Rules of what counts: readback, success, failure, undoing; see ``domain.task`` for all of them together."""

from __future__ import annotations

from typing import assert_never, get_args

from domain import commands as c
from domain import events as e
from domain.policy import ReadbackSource
from domain.task_state import TERMINAL, UNTOUCHED, TaskState, require

_INDEPENDENT: frozenset[str] = frozenset(get_args(ReadbackSource))


def decide_outcome(
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
    """Read back, ended, undone, sealed."""
    match command:
        case c.RegisterCompensation():
            require(state, state.status not in UNTOUCHED, "task.unknown", "there is no such task")
            require(
                state,
                state.effect == "none" and not state.compensating,
                "compensation.late",
                "the way back is registered before the write",
            )
        case c.ReadBack():
            _decide_readback(command.fact, state)
        case c.DeclareDone():
            require(
                state, state.mode == "record_only", "declare.mode", "only a wrapped loop declares itself done"
            )
        case c.Succeed():
            require(state, state.status not in TERMINAL, "task.ended", "the task has ended")
            require(state, not state.compensating, "compensate.running", "the effect is being undone")
            require(
                state, state.effect == "confirmed", "succeed.readback", "no readback has confirmed the effect"
            )
        case c.Fail():
            return _fail(command, state)
        case c.Reopen():
            require(state, state.status == "succeeded", "reopen.order", "only a succeeded task is reopened")
        case c.Compensate():
            _decide_compensate(command.fact, state)
        case c.ReportCompensation():
            _decide_undone(command.fact, state)
        case c.Seal():
            require(state, state.status in TERMINAL, "seal.order", "only an ended task is sealed")
            require(state, not state.sealed, "seal.twice", "the task is sealed")
            return (e.TaskSealed(events=state.version + 1),)
        case _:
            assert_never(command)
    return (command.fact,)


def _decide_readback(
    fact: e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive, state: TaskState
) -> None:
    require(
        state,
        state.effect != "none" or (state.status in TERMINAL - {"refused"}) or state.compensating,
        "readback.nothing",
        "nothing was written that could be read back",
    )
    if not isinstance(fact, e.ReadbackConfirmed):
        return  # bad news is taken from anybody
    require(state, fact.source in _INDEPENDENT, "readback.source", "a screen is evidence, never a verdict")
    require(
        state,
        not state.writer or fact.account != state.writer,
        "readback.account",
        "who wrote does not judge",
    )
    bill = state.intent.bill_id if state.intent else ""
    require(
        state,
        fact.found.bill_id == bill
        and fact.found.status == fact.expected_status
        and fact.expected_status in _wanted(state),
        "readback.state",
        "that state of that bill isn't what the task wants",
    )


def _wanted(state: TaskState) -> set[str]:
    """Statuses that may be confirmed now: the intended one, or while undoing the one before."""
    own = {state.intent.expected_status} if state.intent else set()
    before = {state.compensation.snapshot.status} if state.compensation else set()
    if state.compensating:
        return before
    return own if state.own_effect == "none" else own | before


def _decide_compensate(fact: e.CompensationStarted, state: TaskState) -> None:
    require(
        state,
        not state.compensating and state.own_effect == "none",
        "compensate.once",
        "the effect is being undone, or may have been undone",
    )
    require(
        state,
        state.status in {"succeeded", "taken_over", "refuted", "unknown"} and state.effect != "none",
        "compensate.order",
        "there is no effect to undo",
    )
    require(
        state,
        state.status != "taken_over" or state.owner in {None, fact.requested_by},
        "takeover.owner",
        "only its owner has it undone",
    )
    require(
        state,
        state.compensation is not None and state.compensation.action == fact.action != "",
        "compensate.unregistered",
        "that way back wasn't registered before the write",
    )


def _decide_undone(fact: e.CompensationConfirmed | e.CompensationFailed, state: TaskState) -> None:
    require(state, state.compensating, "compensate.order", "nothing is being undone")
    if isinstance(fact, e.CompensationFailed):
        return
    snapshot = state.compensation.snapshot if state.compensation else None
    require(
        state,
        state.effect == "confirmed"
        and snapshot is not None
        and (fact.restored.bill_id, fact.restored.status) == (snapshot.bill_id, snapshot.status),
        "compensate.readback",
        "no readback shows the state of the snapshot",
    )


def _fail(command: c.Fail, state: TaskState) -> tuple[e.TaskEvent, ...]:
    require(state, state.status not in TERMINAL and state.status != "new", "task.ended", "the task has ended")
    require(state, not state.compensating, "compensate.running", "the effect is being undone")
    refused = command.fact.verdict in {"session_expired", "forbidden"} and _is_as_before(state)
    require(
        state,
        state.effect == "none" or refused,
        "fail.outstanding",
        "a write may have taken effect; a person takes over instead",
    )
    if state.claimed and state.effect_key is not None:
        return (e.TaskClaimReleased(effect_key=state.effect_key, reason=command.fact.reason), command.fact)
    return (command.fact,)


def _is_as_before(state: TaskState) -> bool:
    """True if every source shows the bill as it was before the write, and none has ever shown the effect."""
    before = state.compensation.snapshot if state.compensation else None
    if before is None or state.effect != "refuted" or state.was_confirmed:
        return False
    return all(
        word.found is not None
        and (word.found.bill_id, word.found.status) == (before.bill_id, before.status)
        and word.found.ledger_lines in {-1, before.ledger_lines}
        for word in state.seen
    )
