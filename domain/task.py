"""The rules of a task: which command is accepted in which state.

``decide`` is pure and closed with ``assert_never``. Rules carry stable
names; they are searched for and tested by them.

* one effect, one claim, and the key names the intent's effect; no write without the claim (B4, B5)
* a claim is given back by failing, or, the task staying open, while nothing was attempted
* no step without a proposal, no proposal without an observation (a rung without a screen observes a document)
* a write needs: guards passed, approval where asked (other principal, same digest, not expired), the way
  back registered, and no earlier write attempt that may have taken effect (B6, B10, B11)
* an answer to an approval request is needed once it was asked for: denied is final, lapsed is asked again
* success only after a confirming readback by every source that was asked, of the bill and status that were
  wanted, in another account than the one that wrote (B6); a screen is no source
* failure only when no effect is outstanding (nothing was sent, or the target refused the session and every
  source shows the state before); else a person takes over, and then nothing but their word moves the task
* what was undone, or may have been, isn't undone again; an undoing ends as such, never as success or failure
* record-only tasks stop nothing: whatever the wrapped loop does is recorded
"""

from __future__ import annotations

from typing import assert_never
from urllib.parse import unquote

from domain import commands as c
from domain import events as e
from domain.idempotency import effect_key
from domain.ids import TenantId
from domain.state import evolve, fold
from domain.task_outcome import decide_outcome
from domain.task_state import TERMINAL, Status, TaskState, require
from domain.task_steps import decide_approval, decide_step

__all__ = ["TERMINAL", "Status", "TaskState", "decide", "evolve", "fold"]


def decide(command: c.Command, state: TaskState) -> tuple[e.TaskEvent, ...]:
    """Facts that the command brings about; ``CommandRefused`` names the rule that forbids it."""
    match command:
        case c.Open() | c.Refuse():
            require(state, state.status == "new", "task.exists", "the task was opened before")
            if isinstance(command, c.Open):
                require(
                    state,
                    command.fact.mode == "record_only" or _names_its_effect(command.fact),
                    "task.key",
                    "the key names another effect than the intent",
                )
            return (command.fact,)
        case c.Claim() | c.DenyClaim():
            require(
                state, state.status == "opened", "claim.order", "an effect is claimed right after opening"
            )
            require(
                state,
                command.fact.effect_key == state.effect_key,
                "claim.key",
                "a task claims its own effect and no other",
            )
            return (command.fact,)
        case c.GiveBack():
            _decide_giving_back(command.fact, state)
            return (command.fact,)
        case c.Observe() | c.RaiseAlert() | c.Attach() | c.Converse():
            require(state, state.status != "new", "task.unknown", "there is no such task")
            return (command.fact,)
        case c.Propose() | c.Judge() | c.Attempt() | c.Report():
            return decide_step(command, state)
        case c.RequestApproval() | c.Grant() | c.Deny() | c.Lapse():
            return decide_approval(command, state)
        case c.TakeOver() | c.Resolve() | c.HandOver():
            return _decide_takeover(command, state)
        case _:
            return decide_outcome(command, state)


def _names_its_effect(fact: e.TaskOpened) -> bool:
    """Any other key would let a second task act on the same bill beside the claim (B5)."""
    tenant = TenantId(unquote(fact.effect_key.split(":", 1)[0]))
    return fact.effect_key == effect_key(tenant, fact.intent)


def _decide_giving_back(fact: e.TaskClaimReleased, state: TaskState) -> None:
    held = state.claimed and state.status not in TERMINAL and not state.compensating
    require(
        state,
        held and state.status != "awaiting_approval" and fact.effect_key == state.effect_key,
        "release.order",
        "there is no claim of the task's own to give back",
    )
    require(
        state,
        state.effect == "none" and state.open_attempt is None,
        "release.outstanding",
        "something was attempted; its outcome is settled first",
    )


def _decide_takeover(
    command: c.TakeOver | c.Resolve | c.HandOver, state: TaskState
) -> tuple[e.TaskEvent, ...]:
    match command:
        case c.HandOver():
            require(
                state,
                state.status not in {"new", "refused", "already_in_progress", "taken_over"},
                "takeover.order",
                "there is nothing to hand over",
            )
        case c.TakeOver():
            require(state, state.status == "taken_over", "takeover.none", "the task waits for no person")
            require(
                state, state.owner in {None, command.fact.owner}, "takeover.owned", "somebody owns it already"
            )
        case c.Resolve():
            require(state, state.status == "taken_over", "takeover.none", "the task waits for no person")
            require(state, state.owner == command.fact.owner, "takeover.owner", "only its owner resolves it")
        case _:
            assert_never(command)
    return (command.fact,)
