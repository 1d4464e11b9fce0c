"""Approvals: by another principal, for exactly this write, before it, in time; denied is final."""

from __future__ import annotations

import pytest

from domain import commands as c
from domain import events as e
from domain.ids import PrincipalId, Sha256
from tests.domain import facts as f
from tests.support.bdd import given
from tests.support.events import PERSON, SERVICE, sha

ATTEMPT = c.Attempt(f.attempted(), at_us=f.NOW)
GRANT = c.Grant(f.granted(), at_us=f.NOW)
AGAIN = (c.Observe(f.observed()), c.Propose(f.proposed()), c.Judge(f.judged()))
OTHER = sha("another amount")


def approved(*grants: e.ApprovalGranted, approvers: int = 1) -> tuple[e.Event, ...]:
    return (*f.ALLOWED, f.registered(), f.requested(approvers=approvers), *(grants or (f.granted(),)))


def test_an_unproposed_action_cannot_be_approved() -> None:
    given(f.CLAIMED).when(c.RequestApproval(f.requested())).refused("approval.proposal")
    given(f.ALLOWED).when(c.RequestApproval(f.requested("other"))).refused("approval.proposal")
    given(f.WRITTEN).when(c.RequestApproval(f.requested())).refused("approval.proposal")
    state = given(f.ALLOWED).when(c.RequestApproval(f.requested())).then(f.requested())
    assert state.status == "awaiting_approval"


def test_a_request_carries_the_digest_of_the_proposed_action() -> None:
    given(f.ALLOWED).when(c.RequestApproval(f.requested(digest=OTHER))).refused("approval.digest")


def test_the_approved_action_is_looked_at_again_and_then_attempted() -> None:
    state = given(f.ASKED, f.registered()).when(GRANT, *AGAIN, ATTEMPT).accepted()
    assert state.status == "attempted"
    assert state.approved_by == (PERSON,)


def test_nothing_is_attempted_while_an_answer_is_waited_for() -> None:
    given(f.ASKED, f.registered()).when(ATTEMPT).refused("attempt.guards")


@pytest.mark.parametrize("digest", [OTHER, Sha256("")])
def test_another_action_than_the_approved_one_is_not_attempted(digest: Sha256) -> None:
    given(approved()).when(
        c.Observe(f.observed()),
        c.Propose(f.proposed("other", digest=digest)),
        c.Judge(f.judged(action="other")),
    ).accepted()
    given(approved()).when(
        c.Observe(f.observed()),
        c.Propose(f.proposed("other", digest=digest)),
        c.Judge(f.judged(action="other")),
        c.Attempt(f.attempted("other"), at_us=f.NOW),
    ).refused("approval.digest")


def test_an_approval_is_used_before_it_expires() -> None:
    late = c.Attempt(f.attempted(), at_us=f.EXPIRY)
    given(approved()).when(*AGAIN, late).refused("approval.expired")
    last_moment = c.Attempt(f.attempted(), at_us=f.EXPIRY - 1)
    given(approved()).when(*AGAIN, last_moment).accepted()


def test_an_answer_comes_before_the_request_expires() -> None:
    given(f.ASKED).when(c.Grant(f.granted(), at_us=f.EXPIRY)).refused("approval.expired")
    given(f.ASKED).when(c.Deny(f.denied(), at_us=f.EXPIRY)).refused("approval.expired")
    given(f.ASKED).when(c.Grant(f.granted(), at_us=f.EXPIRY - 1)).accepted()


@pytest.mark.parametrize("principal", [SERVICE, f.REQUESTER])
def test_who_asked_does_not_approve(principal: PrincipalId) -> None:
    given(f.ASKED).when(c.Grant(f.granted(principal), at_us=f.NOW)).refused("approval.self")
    given(f.ASKED).when(GRANT).accepted()


def test_two_approvals_come_from_two_people() -> None:
    asked = (*f.ALLOWED, f.requested(approvers=2))
    first = given(asked).when(GRANT).then(f.granted())
    assert first.status == "awaiting_approval"
    given(asked, f.granted()).when(GRANT).refused("approval.twice")
    second = c.Grant(f.granted(f.CHIEF), at_us=f.NOW)
    state = given(asked, f.granted()).when(second).then(f.granted(f.CHIEF))
    assert (state.status, state.approved_by) == ("claimed", (PERSON, f.CHIEF))


def test_one_of_two_approvals_is_not_enough() -> None:
    asked = (*f.ALLOWED, f.requested(approvers=2), f.granted())
    given(asked).when(c.Propose(f.proposed("again"))).refused("propose.order")


@pytest.mark.parametrize("answer", [f.granted(name="approval-0"), f.granted(digest=OTHER)])
def test_an_answer_to_another_request_is_no_answer(answer: e.ApprovalGranted) -> None:
    given(f.ASKED).when(c.Grant(answer, at_us=f.NOW)).refused("approval.digest")


@pytest.mark.parametrize("past", [f.ALLOWED, approved(), (*f.ASKED, f.denied()), (*f.ASKED, f.lapsed())])
@pytest.mark.parametrize(
    "answer", [GRANT, c.Deny(f.denied(), at_us=f.NOW), c.Lapse(f.lapsed(), at_us=f.EXPIRY)]
)
def test_a_request_is_answered_once(past: tuple[e.Event, ...], answer: c.Command) -> None:
    given(past).when(answer).refused("approval.none")


def test_a_denied_write_cannot_be_attempted_nor_asked_for_again() -> None:
    denied = given(f.ASKED, f.registered())
    refuse = c.Deny(f.denied(), at_us=f.NOW)
    denied.when(refuse, *AGAIN, ATTEMPT).refused("approval.denied")
    again = c.RequestApproval(f.requested(name="approval-2"))
    denied.when(refuse, *AGAIN, again).refused("approval.denied")


def test_a_denied_task_fails_without_an_effect_and_gives_the_claim_back() -> None:
    fail = f.failed("approval_required")
    state = given(f.ASKED, f.denied()).when(c.Fail(fail)).then(f.released(), fail)
    assert (state.status, state.claimed, state.effect) == ("failed", False, "none")


def test_a_request_lapses_when_its_time_is_up_and_not_earlier() -> None:
    given(f.ASKED).when(c.Lapse(f.lapsed(), at_us=f.EXPIRY - 1)).refused("approval.early")
    given(f.ASKED).when(c.Lapse(f.lapsed(), at_us=f.EXPIRY)).then(f.lapsed())


def test_after_a_lapse_the_write_still_needs_an_approval() -> None:
    lapsed = given(f.ASKED, f.registered(), f.lapsed())
    lapsed.when(*AGAIN, ATTEMPT).refused("approval.digest")
    again = f.requested(name="approval-2")
    state = lapsed.when(
        *AGAIN,
        c.RequestApproval(again),
        c.Grant(f.granted(name="approval-2"), at_us=f.NOW),
        *AGAIN,
        ATTEMPT,
    ).accepted()
    assert state.status == "attempted"


def test_a_new_request_makes_the_old_approval_worthless() -> None:
    given(approved(), f.observed(), f.proposed(), f.judged(), f.requested(name="approval-2")).when(
        GRANT
    ).refused("approval.digest")


def test_an_approval_outlives_a_block_within_its_time() -> None:
    stopped = (*approved(), f.observed(), f.proposed(), f.judged("stale"), f.blocked())
    given(stopped).when(*AGAIN, ATTEMPT).accepted()


def test_an_approval_of_the_write_is_none_of_the_undoing() -> None:
    past = (*approved(), f.observed(), f.proposed(), f.judged(), f.attempted(), f.executed())
    undone = given(
        past, f.confirmed(), f.succeeded(), f.undoing(), f.proposed("undo"), f.judged(action="undo")
    )
    ask = c.RequestApproval(f.requested("undo", name="approval-2"))
    undone.when(ask, GRANT).refused("approval.digest")
    no = e.ApprovalDenied(approval_id="approval-2", digest=f.DIGEST, approver=f.CHIEF)
    undone.when(
        ask,
        c.Deny(no, at_us=f.NOW),
        c.Propose(f.proposed("undo")),
        c.Judge(f.judged(action="undo")),
        c.Attempt(f.attempted("undo", key=f.UNDO_KEY), at_us=f.NOW),
    ).refused("approval.denied")
