"""A wrapped loop: guards speak, nothing is stopped, and its own word proves nothing."""

from __future__ import annotations

import pytest

from domain import commands as c
from domain import events as e
from tests.domain import facts as f
from tests.support.bdd import given
from tests.support.events import PERSON

ATTEMPT = c.Attempt(f.attempted(key=None), at_us=f.NOW)
DECLARED = e.TaskDeclaredDone(claim="all bills are processed")
WROTE = (*f.WATCHED, f.proposed(planned_on=None), f.attempted(key=None), f.executed())


def test_a_wrapped_loop_acts_without_claim_frame_guards_or_way_back() -> None:
    state = given(f.WATCHED).when(c.Propose(f.proposed(planned_on=None)), ATTEMPT).accepted()
    assert (state.status, state.effect) == ("attempted", "attempted")


def test_what_the_guards_would_have_stopped_is_recorded_and_goes_on() -> None:
    said = e.GuardJudged(
        action_id=f.WRITE, phase="before", verdict="stale", enforced=False, checks=f.judged("stale").checks
    )
    given(f.WATCHED, f.proposed()).when(c.Judge(said), ATTEMPT).then(said, f.attempted(key=None))


@pytest.mark.parametrize(
    "past",
    [
        (f.opened(mode="record_only"), f.claim_denied()),
        (*WROTE, f.confirmed()),
        (*WROTE, f.mismatched()),
        (*f.WATCHED, f.proposed("first"), f.attempted("first", key=None), f.outcome_unknown("first")),
        (*f.WATCHED, f.proposed(), f.requested()),
        (*WROTE, DECLARED),
    ],
    ids=["somebody else's effect", "confirmed", "refuted", "unknown", "asked", "declared done"],
)
def test_whatever_a_wrapped_loop_does_next_is_recorded(past: tuple[e.Event, ...]) -> None:
    again = c.Attempt(f.attempted("again", key=None), at_us=f.NOW)
    state = given(past).when(c.Propose(f.proposed("again")), again, c.Report(f.executed("again"))).accepted()
    assert (state.status, state.effect) == ("executed", "executed")


def test_a_loop_that_goes_on_after_the_take_over_is_recorded_and_the_person_keeps_the_task() -> None:
    again = c.Attempt(f.attempted("again", key=None), at_us=f.NOW)
    past = given(WROTE, f.handed_over(), f.taken())
    state = past.when(c.Propose(f.proposed("again")), again, c.Report(f.executed("again"))).accepted()
    assert (state.status, state.owner) == ("taken_over", PERSON)


def test_a_wrapped_loop_too_attempts_only_what_it_proposed() -> None:
    given(f.WATCHED).when(ATTEMPT).refused("attempt.proposal")
    given().when(c.Propose(f.proposed())).refused("propose.order")


def test_a_second_write_that_failed_does_not_make_the_first_one_unhappen() -> None:
    past = (*WROTE, f.proposed("again"), f.attempted("again", key=None), f.act_failed("again"))
    given(past).when(c.Fail(f.failed())).refused("fail.outstanding")


def test_only_a_wrapped_loop_declares_itself_done() -> None:
    given(f.WRITTEN).when(c.DeclareDone(DECLARED)).refused("declare.mode")
    state = given(WROTE).when(c.DeclareDone(DECLARED)).then(DECLARED)
    assert (state.status, state.effect) == ("declared_done", "executed")


def test_its_own_word_is_no_success() -> None:
    given(WROTE, DECLARED).when(c.Succeed(f.succeeded())).refused("task.ended")
    given(WROTE).when(c.Succeed(f.succeeded())).refused("succeed.readback")
    given(WROTE).when(c.ReadBack(f.confirmed()), c.Succeed(f.succeeded())).accepted()


def test_declaring_done_does_not_undo_an_ending() -> None:
    past = (*WROTE, f.confirmed(), f.succeeded())
    assert given(past).when(c.DeclareDone(DECLARED)).then(DECLARED).status == "succeeded"
