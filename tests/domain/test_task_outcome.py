"""What counts: independent readback decides, screens don't; failure only when nothing is outstanding."""

from __future__ import annotations

import pytest

from domain import commands as c
from domain import events as e
from domain.values import Verdict
from tests.domain import facts as f
from tests.support.bdd import given
from tests.support.events import SERVICE, business

SUCCEED = c.Succeed(f.succeeded())
READ = (*f.CLAIMED, f.observed(), f.proposed("look", writes=False), f.judged(action="look"))


def test_a_confirming_readback_makes_success() -> None:
    state = given(f.WRITTEN).when(c.ReadBack(f.confirmed()), SUCCEED).then(f.confirmed(), f.succeeded())
    assert (state.status, state.effect) == ("succeeded", "confirmed")


@pytest.mark.parametrize(
    "word", [None, f.mismatched(), f.inconclusive()], ids=["nothing", "another state", "unreadable"]
)
def test_a_green_toast_is_no_success(
    word: e.ReadbackMismatched | e.ReadbackInconclusive | None,
) -> None:
    past = f.WRITTEN if word is None else (*f.WRITTEN, word)
    given(past).when(SUCCEED).refused("succeed.readback")


def test_one_source_that_disagrees_is_not_outvoted() -> None:
    wrong_list = f.mismatched(source="list")
    given(f.WRITTEN, wrong_list, f.confirmed()).when(SUCCEED).refused("succeed.readback")
    given(f.WRITTEN, f.confirmed(), wrong_list).when(SUCCEED).refused("succeed.readback")
    given(f.WRITTEN, f.inconclusive("list"), f.confirmed()).when(SUCCEED).refused("succeed.readback")
    now_right = f.confirmed(source="list")
    given(f.WRITTEN, wrong_list, f.confirmed(), now_right).when(SUCCEED).accepted()


@pytest.mark.parametrize("past", [f.CLAIMED, READ, (f.refused(),), (*f.ATTEMPTED, f.blocked())])
def test_what_was_never_written_is_not_read_back(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.ReadBack(f.confirmed())).refused("readback.nothing")


@pytest.mark.parametrize("past", [f.ATTEMPTED, f.WRITTEN, (*f.ATTEMPTED, f.outcome_unknown()), f.SUCCEEDED])
def test_what_may_have_been_written_is_read_back(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.ReadBack(f.confirmed())).then(f.confirmed())


GIVE_BACK = c.GiveBack(f.released())


@pytest.mark.parametrize("past", [f.CLAIMED, READ, f.READY, (*f.ATTEMPTED, f.blocked())])
def test_a_claim_is_given_back_while_nothing_was_written_and_taken_again(past: tuple[e.Event, ...]) -> None:
    state = given(past).when(GIVE_BACK).then(f.released())
    assert (state.status, state.claimed, state.sealed) == ("opened", False, False)
    again = given(*past, f.released()).when(c.Claim(f.claimed())).then(f.claimed())
    assert (again.status, again.claimed) == ("claimed", True)


@pytest.mark.parametrize("past", [f.ATTEMPTED, f.WRITTEN, (*f.ATTEMPTED, f.outcome_unknown())])
def test_a_claim_whose_write_may_have_taken_effect_is_kept(past: tuple[e.Event, ...]) -> None:
    given(past).when(GIVE_BACK).refused("release.outstanding")


@pytest.mark.parametrize(
    "past", [(f.opened(),), f.ASKED, f.SUCCEEDED, (*f.CLAIMED, f.released()), f.UNDOING, f.TAKEN_OVER]
)
def test_what_is_not_claimed_or_not_its_own_is_not_given_back(past: tuple[e.Event, ...]) -> None:
    given(past).when(GIVE_BACK).refused("release.order")


def test_a_write_needs_the_claim_to_be_taken_again() -> None:
    late = (*f.READY, f.released(), f.claimed(), f.observed())
    given(late).when(c.Attempt(f.attempted(), at_us=f.NOW)).refused("attempt.guards")


@pytest.mark.parametrize("source", ["screen", "toast", "", "computer_use"])
def test_a_screen_confirms_nothing(source: str) -> None:
    given(f.WRITTEN).when(c.ReadBack(f.confirmed(source=source))).refused("readback.source")


@pytest.mark.parametrize("source", ["list", "detail", "api", "settlement_file"])
def test_independent_sources_confirm(source: str) -> None:
    state = given(f.WRITTEN).when(c.ReadBack(f.confirmed(source=source))).accepted()
    assert state.status == "confirmed"


def test_the_account_that_wrote_confirms_nothing() -> None:
    own = c.ReadBack(f.confirmed(account=f.WRITER_ACCOUNT))
    given(f.WRITTEN).when(own).refused("readback.account")
    given(f.WRITTEN, f.observed("another page's account")).when(own).refused("readback.account")


def test_bad_news_is_taken_from_anybody() -> None:
    doubt = e.ReadbackMismatched(
        source="screen",
        phase="first",
        account=f.WRITER_ACCOUNT,
        expected_status="processed",
        found=business(),
        differences={"status": "processed → pending"},
    )
    assert given(f.WRITTEN).when(c.ReadBack(doubt)).then(doubt).status == "refuted"


@pytest.mark.parametrize(
    "readback",
    [
        f.confirmed(bill="B2"),
        f.confirmed("pending"),
        f.confirmed("pending", expected="processed"),
        f.confirmed("processed", expected="pending"),
    ],
    ids=["another bill", "another status", "found differs", "expectation differs"],
)
def test_another_bill_or_state_confirms_nothing(readback: e.ReadbackConfirmed) -> None:
    given(f.WRITTEN).when(c.ReadBack(readback)).refused("readback.state")


def test_an_ended_task_does_not_succeed_again() -> None:
    given(f.SUCCEEDED).when(SUCCEED).refused("task.ended")
    given(f.CONFIRMED, f.handed_over()).when(SUCCEED).refused("task.ended")


@pytest.mark.parametrize("past", [(), f.SUCCEEDED, f.TAKEN_OVER, (f.refused(),)])
def test_what_has_not_begun_or_has_ended_does_not_fail(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.Fail(f.failed())).refused("task.ended")


@pytest.mark.parametrize("past", [f.CLAIMED, f.PLANNED, f.READY, READ, (*f.ATTEMPTED, f.blocked())])
def test_a_task_that_wrote_nothing_fails_and_gives_its_claim_back(past: tuple[e.Event, ...]) -> None:
    state = given(past).when(c.Fail(f.failed())).then(f.released(), f.failed())
    assert (state.status, state.claimed) == ("failed", False)


def test_an_unclaimed_task_has_no_claim_to_give_back() -> None:
    given(f.opened()).when(c.Fail(f.failed())).then(f.failed())


@pytest.mark.parametrize(
    "past",
    [
        f.ATTEMPTED,
        f.WRITTEN,
        (*f.ATTEMPTED, f.outcome_unknown()),
        f.CONFIRMED,
        (*f.WRITTEN, f.mismatched()),
        (*f.WRITTEN, f.inconclusive()),
    ],
)
def test_a_write_that_may_have_taken_effect_goes_to_a_person_instead_of_failing(
    past: tuple[e.Event, ...],
) -> None:
    given(past).when(c.Fail(f.failed())).refused("fail.outstanding")
    assert given(past).when(c.HandOver(f.handed_over())).then(f.handed_over()).status == "taken_over"


REFUSED_BY_TARGET: tuple[Verdict, ...] = ("session_expired", "forbidden")


@pytest.mark.parametrize("verdict", REFUSED_BY_TARGET)
def test_a_refused_session_fails_once_every_source_shows_the_state_before(verdict: Verdict) -> None:
    past = (*f.WRITTEN, f.mismatched(), f.mismatched(source="list"))
    given(past).when(c.Fail(f.failed(verdict))).then(f.released(), f.failed(verdict))


@pytest.mark.parametrize("verdict", REFUSED_BY_TARGET)
@pytest.mark.parametrize(
    "words",
    [
        (),
        (f.mismatched("in review"),),
        (f.mismatched(lines=1),),
        (f.mismatched("processed", lines=2),),
        (f.mismatched(), f.inconclusive("list")),
        (f.mismatched(), f.confirmed(source="list")),
        (f.confirmed(), f.mismatched()),
    ],
    ids=[
        "unread",
        "third state",
        "posted without a status",
        "doubled",
        "one source unread",
        "sources disagree",
        "confirmed first",
    ],
)
def test_a_refused_session_is_no_excuse_when_the_state_is_not_the_one_before(
    verdict: Verdict, words: tuple[e.Event, ...]
) -> None:
    given(f.WRITTEN, words).when(c.Fail(f.failed(verdict))).refused("fail.outstanding")


def test_an_effect_that_was_there_once_never_ends_as_failed() -> None:
    reversed_later = (*f.SUCCEEDED, f.reopened(), f.mismatched())
    given(reversed_later).when(c.Fail(f.failed("forbidden"))).refused("fail.outstanding")


def test_only_a_succeeded_task_is_reopened() -> None:
    state = given(f.SUCCEEDED, f.sealed(11)).when(c.Reopen(f.reopened())).then(f.reopened())
    assert (state.status, state.effect, state.sealed, state.claimed) == ("unknown", "unknown", False, True)
    for past in (f.CONFIRMED, f.TAKEN_OVER, f.CLAIMED):
        given(past).when(c.Reopen(f.reopened())).refused("reopen.order")


def test_a_reopened_task_writes_nothing_and_succeeds_only_on_a_new_readback() -> None:
    open_again = given(f.SUCCEEDED, f.reopened())
    open_again.when(SUCCEED).refused("succeed.readback")
    open_again.when(c.Propose(f.proposed("again"))).refused("propose.order")
    open_again.when(c.ReadBack(f.confirmed(phase="recovery")), SUCCEED).accepted()


def test_a_later_readback_moves_nothing_by_itself() -> None:
    for word in (f.mismatched(phase="later"), f.confirmed(phase="later"), f.inconclusive(phase="later")):
        state = given(f.SUCCEEDED).when(c.ReadBack(word)).then(word)
        assert (state.status, state.effect) == ("succeeded", "confirmed")


@pytest.mark.parametrize("past", [(), f.CLAIMED, f.PLANNED, f.WRITTEN, f.CONFIRMED])
def test_only_an_ended_task_is_sealed(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.Seal(by=SERVICE)).refused("seal.order")


def test_a_seal_counts_every_event_including_itself() -> None:
    for past in (f.SUCCEEDED, f.TAKEN_OVER, (f.refused(),), (f.opened(), f.claim_denied())):
        state = given(past).when(c.Seal(by=SERVICE)).then(f.sealed(len(past) + 1))
        assert state.sealed


def test_a_task_is_sealed_once_until_something_is_added() -> None:
    closed = given(f.SUCCEEDED, f.sealed(len(f.SUCCEEDED) + 1))
    closed.when(c.Seal(by=SERVICE)).refused("seal.twice")
    later = f.confirmed(phase="later")
    closed.when(c.ReadBack(later), c.Seal(by=SERVICE)).then(later, f.sealed(len(f.SUCCEEDED) + 3))


def test_a_crash_between_attempt_and_outcome_is_settled_by_readback() -> None:
    state = given(f.ATTEMPTED).when(c.ReadBack(f.confirmed(phase="recovery")), SUCCEED).accepted()
    assert (state.status, state.open_attempt) == ("succeeded", None)
