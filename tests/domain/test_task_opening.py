"""Opening, refusing and claiming: one effect, one claim."""

from __future__ import annotations

import pytest

from domain import commands as c
from domain import events as e
from domain.ids import EffectKey
from tests.domain import facts as f
from tests.support.bdd import given
from tests.support.events import intent, key_of


def test_work_that_is_in_scope_is_opened() -> None:
    state = given().when(c.Open(f.opened())).then(f.opened())
    assert state.status == "opened"
    assert state.intent == f.INTENT
    assert state.effect_key == f.KEY
    assert state.requested_by == f.REQUESTER


def test_work_that_the_router_refuses_is_on_record_and_over() -> None:
    state = given().when(c.Refuse(f.refused())).then(f.refused())
    assert state.status == "refused"
    given(f.refused()).when(c.Claim(f.claimed())).refused("claim.order")


@pytest.mark.parametrize("past", [(f.opened(),), (f.refused(),), f.SUCCEEDED, f.TAKEN_OVER])
@pytest.mark.parametrize("command", [c.Open(f.opened()), c.Refuse(f.refused())])
def test_a_task_begins_once(past: tuple[e.Event, ...], command: c.Command) -> None:
    given(past).when(command).refused("task.exists")


@pytest.mark.parametrize(
    "key",
    [
        key_of(intent("B2")),
        key_of(intent(action="refund")),
        EffectKey(f"{f.KEY}2"),
        EffectKey("acme:t1:B1:mark_processed"),
        EffectKey(""),
    ],
)
def test_a_task_whose_key_names_another_effect_than_its_intent_is_not_opened(key: EffectKey) -> None:
    given().when(c.Open(f.opened(key=key))).refused("task.key")


def test_a_wrapped_loop_may_be_observed_under_a_key_of_its_own() -> None:
    opened = f.opened(mode="record_only", key=EffectKey("line 7"))
    given().when(c.Open(opened)).then(opened)


def test_an_effect_is_claimed_right_after_opening() -> None:
    state = given(f.opened()).when(c.Claim(f.claimed())).then(f.claimed())
    assert state.claimed
    assert state.status == "claimed"


@pytest.mark.parametrize("past", [(), f.CLAIMED, f.PLANNED, f.WRITTEN, f.SUCCEEDED])
@pytest.mark.parametrize("command", [c.Claim(f.claimed()), c.DenyClaim(f.claim_denied())])
def test_an_effect_is_claimed_at_no_other_time(past: tuple[e.Event, ...], command: c.Command) -> None:
    given(past).when(command).refused("claim.order")


def test_a_look_at_the_screen_before_the_claim_neither_stands_for_it_nor_bars_it() -> None:
    looked = given(f.opened(), f.observed())
    looked.when(c.Propose(f.proposed(writes=False))).refused("propose.order")
    looked.when(c.Claim(f.claimed())).then(f.claimed())


@pytest.mark.parametrize(
    "command", [c.Claim(f.claimed(EffectKey("x"))), c.DenyClaim(f.claim_denied(EffectKey("x")))]
)
def test_a_task_claims_its_own_effect_and_no_other(command: c.Command) -> None:
    given(f.opened()).when(command).refused("claim.key")


def test_the_loser_of_a_claim_ends_without_touching_anything() -> None:
    state = given(f.opened()).when(c.DenyClaim(f.claim_denied())).then(f.claim_denied())
    assert state.status == "already_in_progress"
    assert not state.claimed
    lost = given(f.opened(), f.claim_denied())
    lost.when(c.Observe(f.observed()), c.Propose(f.proposed())).refused("propose.order")


@pytest.mark.parametrize(
    "command",
    [
        c.Observe(f.observed()),
        c.RaiseAlert(f.alert()),
        c.Converse(f.model_asked()),
        c.RegisterCompensation(f.registered()),
    ],
)
def test_nothing_is_recorded_about_a_task_that_does_not_exist(command: c.Command) -> None:
    given().when(command).refused("task.unknown")
    given(f.CLAIMED).when(command).accepted()


def test_a_task_that_was_refused_needs_no_way_back() -> None:
    given(f.refused()).when(c.RegisterCompensation(f.registered())).refused("task.unknown")
