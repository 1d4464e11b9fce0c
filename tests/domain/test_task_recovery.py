"""People and undoing: one owner, one undoing, and an undoing ends as such."""

from __future__ import annotations

import pytest

from domain import commands as c
from domain import events as e
from tests.domain import facts as f
from tests.support.bdd import given
from tests.support.events import PERSON, SERVICE

UNDO = c.Compensate(f.undoing())
UNDO_WRITE = c.Attempt(f.attempted("undo", key=f.UNDO_KEY), at_us=f.NOW)
BACK = f.confirmed("pending", phase="compensation")


@pytest.mark.parametrize("past", [(), (f.refused(),), (f.opened(), f.claim_denied()), f.TAKEN_OVER])
def test_what_is_nobodys_work_or_somebodys_already_is_not_handed_over(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.HandOver(f.handed_over())).refused("takeover.order")


@pytest.mark.parametrize("past", [f.CLAIMED, f.ATTEMPTED, f.SUCCEEDED, (*f.UNDOING, f.not_restored())])
def test_anything_else_can_be_handed_over(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.HandOver(f.handed_over())).then(f.handed_over())


@pytest.mark.parametrize("past", [f.WRITTEN, f.SUCCEEDED, (*f.TAKEN_OVER, f.taken(), f.resolved())])
def test_a_task_that_waits_for_nobody_is_neither_taken_nor_resolved(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.TakeOver(f.taken())).refused("takeover.none")
    given(past).when(c.Resolve(f.resolved())).refused("takeover.none")


def test_one_person_owns_a_task_and_only_they_resolve_it() -> None:
    waiting = given(f.TAKEN_OVER)
    waiting.when(c.Resolve(f.resolved())).refused("takeover.owner")
    assert waiting.when(c.TakeOver(f.taken())).then(f.taken()).owner == PERSON
    owned = given(f.TAKEN_OVER, f.taken())
    owned.when(c.TakeOver(f.taken(f.CHIEF))).refused("takeover.owned")
    owned.when(c.Resolve(f.resolved(f.CHIEF))).refused("takeover.owner")
    assert owned.when(c.Resolve(f.resolved())).then(f.resolved()).status == "resolved"


def test_the_executor_keeps_its_hands_off_what_a_person_has() -> None:
    for command in (c.Propose(f.proposed("again")), c.Attempt(f.attempted(), at_us=f.NOW)):
        rule = "propose.order" if isinstance(command, c.Propose) else "attempt.guards"
        given(f.READY, f.handed_over(), f.taken()).when(command).refused(rule)


def test_a_resolved_task_can_be_handed_over_again_and_is_nobodys_then() -> None:
    state = given(f.TAKEN_OVER, f.taken(), f.resolved()).when(c.HandOver(f.handed_over())).accepted()
    assert (state.status, state.owner) == ("taken_over", None)


def test_an_effect_is_undone_by_the_registered_way_and_read_back() -> None:
    undone = given(f.SUCCEEDED).when(
        UNDO,
        c.Observe(f.observed()),
        c.Propose(f.proposed("undo")),
        c.Judge(f.judged(action="undo")),
        UNDO_WRITE,
        c.Report(f.executed("undo")),
        c.ReadBack(BACK),
        c.ReportCompensation(f.restored()),
        c.Seal(by=SERVICE),
    )
    assert undone.accepted().status == "compensated"


@pytest.mark.parametrize("past", [f.CLAIMED, f.READY, f.CONFIRMED, (*f.CLAIMED, f.handed_over())])
def test_where_no_effect_stands_there_is_nothing_to_undo(past: tuple[e.Event, ...]) -> None:
    given(past).when(UNDO).refused("compensate.order")


@pytest.mark.parametrize(
    "past",
    [
        f.SUCCEEDED,
        f.TAKEN_OVER,
        (*f.WRITTEN, f.mismatched()),
        (*f.WRITTEN, f.inconclusive()),
        (*f.SUCCEEDED, f.reopened()),
    ],
)
def test_an_effect_that_stands_or_may_stand_can_be_undone(past: tuple[e.Event, ...]) -> None:
    assert given(past).when(UNDO).then(f.undoing()).status == "compensating"


def test_only_the_registered_way_back_is_gone() -> None:
    given(f.SUCCEEDED).when(c.Compensate(f.undoing(action="refund"))).refused("compensate.unregistered")
    one_way = (*f.ALLOWED, f.registered(action=""), f.attempted(), f.executed(), f.confirmed(), f.succeeded())
    given(one_way).when(c.Compensate(f.undoing(action=""))).refused("compensate.unregistered")


def test_what_a_person_owns_is_undone_at_their_word_alone() -> None:
    owned = given(f.TAKEN_OVER, f.taken())
    owned.when(c.Compensate(f.undoing(f.CHIEF))).refused("takeover.owner")
    owned.when(UNDO).accepted()


def test_undoing_is_attempted_under_a_key_of_its_own() -> None:
    given(f.UNDO_READY).when(c.Attempt(f.attempted("undo"), at_us=f.NOW)).refused("write.key")
    given(f.UNDO_READY).when(UNDO_WRITE).accepted()


def test_undoing_writes_once() -> None:
    given(f.UNDO_WRITTEN).when(c.Propose(f.proposed("undo again"))).refused("write.once")
    past = (*f.UNDO_WRITTEN, f.proposed("undo again"), f.judged(action="undo again"))
    again = c.Attempt(f.attempted("undo again", key=f.UNDO_KEY), at_us=f.NOW)
    given(past).when(again).refused("write.once")


def test_a_task_that_is_being_undone_is_not_undone_beside_it() -> None:
    given(f.UNDOING).when(UNDO).refused("compensate.once")


@pytest.mark.parametrize(
    "word", [f.executed("undo"), f.outcome_unknown("undo")], ids=["performed", "unknown"]
)
def test_what_may_have_been_undone_is_not_undone_again(word: e.Event) -> None:
    past = given(f.UNDO_ATTEMPTED, word, f.not_restored(), f.handed_over(), f.taken())
    past.when(UNDO).refused("compensate.once")


@pytest.mark.parametrize(
    "stopped",
    [f.UNDOING, (*f.UNDO_READY, f.blocked("undo")), (*f.UNDO_ATTEMPTED, f.act_failed("undo"))],
    ids=["nothing tried", "blocked", "failed"],
)
def test_an_undoing_that_certainly_did_nothing_can_be_begun_again(stopped: tuple[e.Event, ...]) -> None:
    given(stopped, f.not_restored(), f.handed_over()).when(UNDO).accepted()
    given(stopped, f.handed_over()).when(UNDO).accepted()


def test_undoing_counts_when_a_readback_shows_the_snapshot_again() -> None:
    report = c.ReportCompensation(f.restored())
    given(f.UNDO_WRITTEN).when(report).refused("compensate.readback")
    given(f.UNDO_WRITTEN, f.mismatched(expected="pending")).when(report).refused("compensate.readback")
    given(f.UNDO_WRITTEN, BACK).when(report).then(f.restored())


@pytest.mark.parametrize("restored", [f.restored("processed"), f.restored(bill="B2")])
def test_another_state_than_the_snapshot_is_not_restored(restored: e.CompensationConfirmed) -> None:
    given(f.UNDO_WRITTEN, BACK).when(c.ReportCompensation(restored)).refused("compensate.readback")


def test_the_effect_itself_does_not_confirm_its_undoing() -> None:
    given(f.UNDO_WRITTEN).when(c.ReadBack(f.confirmed(phase="compensation"))).refused("readback.state")
    given(f.UNDO_WRITTEN).when(c.ReadBack(BACK)).accepted()


@pytest.mark.parametrize("report", [f.restored(), f.not_restored()])
def test_only_a_running_undoing_is_reported(
    report: e.CompensationConfirmed | e.CompensationFailed,
) -> None:
    given(f.SUCCEEDED).when(c.ReportCompensation(report)).refused("compensate.order")
    given(f.UNDO_WRITTEN, f.handed_over()).when(c.ReportCompensation(report)).refused("compensate.order")


def test_an_undoing_ends_neither_as_success_nor_as_failure() -> None:
    given(f.UNDO_WRITTEN, BACK).when(c.Succeed(f.succeeded())).refused("compensate.running")
    given(f.UNDOING).when(c.Fail(f.failed())).refused("compensate.running")
    given(f.UNDOING).when(c.ReportCompensation(f.not_restored()), c.HandOver(f.handed_over())).accepted()


def test_after_a_failed_undoing_either_state_may_be_read_back() -> None:
    given(f.UNDO_WRITTEN, f.not_restored()).when(c.ReadBack(BACK)).then(BACK)
    given(f.UNDO_WRITTEN, f.not_restored()).when(c.ReadBack(f.confirmed())).then(f.confirmed())
    given(f.UNDO_WRITTEN, f.not_restored()).when(c.ReadBack(f.confirmed("lost"))).refused("readback.state")
