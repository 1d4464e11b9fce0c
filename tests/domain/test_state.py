"""What events mean for a task: the past is the past, and every event counts once."""

from __future__ import annotations

import typing

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import events as e
from domain.state import TERMINAL, TaskState, evolve, fold
from domain.task_state import GOES_ON, UNTOUCHED, Status
from tests.domain import facts as f
from tests.support.events import PERSON
from tests.support.examples import one_of_each

RUN_FACTS = tuple(
    fact
    for fact in one_of_each()
    if isinstance(
        fact,
        (
            *typing.get_args(e.RunEvent),
            *typing.get_args(e.CaseEvent),
            *typing.get_args(e.PrivacyEvent),
            e.SettlementImported,
            e.EvidenceOpened,
            e.TargetAccepted,
        ),
    )
)
WAITING = (*f.TAKEN_OVER, f.taken())
COURSE: tuple[tuple[e.Event, Status], ...] = (
    (f.opened(), "opened"),
    (f.claimed(), "claimed"),
    (f.observed(), "observed"),
    (f.proposed(), "proposed"),
    (f.judged(), "allowed"),
    (f.requested(), "awaiting_approval"),
    (f.granted(), "claimed"),
    (f.observed(), "observed"),
    (f.proposed(), "proposed"),
    (f.judged("stale"), "proposed"),
    (f.blocked(), "blocked"),
    (f.observed(), "observed"),
    (f.proposed(), "proposed"),
    (f.judged(), "allowed"),
    (f.registered(), "allowed"),
    (f.attempted(), "attempted"),
    (f.observed(), "attempted"),
    (f.executed(), "executed"),
    (f.observed(), "executed"),
    (f.inconclusive(), "unknown"),
    (f.mismatched(), "refuted"),
    (f.confirmed(), "confirmed"),
    (f.succeeded(), "succeeded"),
    (f.sealed(24), "succeeded"),
    (f.reopened(), "unknown"),
    (f.handed_over(), "taken_over"),
    (f.taken(), "taken_over"),
    (f.undoing(), "compensating"),
    (f.observed(), "compensating"),
    (f.not_restored(), "compensation_failed"),
    (f.handed_over(), "taken_over"),
    (f.taken(), "taken_over"),
    (f.resolved(), "resolved"),
)


def test_a_long_life_passes_through_the_states_one_by_one() -> None:
    state = TaskState()
    for number, (fact, status) in enumerate(COURSE, 1):
        state = evolve(state, fact)
        assert (number, state.status) == (number, status)
    assert state.version == len(COURSE)


@pytest.mark.parametrize(
    "past", [(), f.WRITTEN, f.SUCCEEDED, WAITING], ids=["new", "written", "ended", "owned"]
)
@pytest.mark.parametrize("fact", RUN_FACTS, ids=lambda fact: type(fact).__name__)
def test_facts_of_other_streams_mean_nothing_to_a_task(past: tuple[e.Event, ...], fact: e.Event) -> None:
    before = fold(past)
    after = evolve(before, fact)
    assert after == msgspec.structs.replace(before, version=before.version + 1, sealed=False)


def test_evolving_leaves_the_earlier_state_as_it_was() -> None:
    before = fold(f.WRITTEN)
    kept = msgspec.structs.replace(before)
    evolve(before, f.confirmed())
    assert before == kept


@pytest.mark.parametrize(
    ("past", "effect", "outstanding"),
    [
        (f.READY, "none", False),
        (f.ATTEMPTED, "attempted", True),
        ((*f.ATTEMPTED, f.outcome_unknown()), "unknown", True),
        (f.WRITTEN, "executed", True),
        ((*f.WRITTEN, f.mismatched()), "refuted", True),
        ((*f.WRITTEN, f.inconclusive()), "unknown", True),
        (f.CONFIRMED, "confirmed", False),
        ((*f.ATTEMPTED, f.act_failed()), "none", False),
        ((*f.ATTEMPTED, f.blocked()), "none", False),
    ],
)
def test_an_effect_is_outstanding_until_a_readback_confirms_it(
    past: tuple[e.Event, ...], effect: str, *, outstanding: bool
) -> None:
    state = fold(past)
    assert (state.effect, state.effect_outstanding) == (effect, outstanding)


def test_the_word_of_a_source_replaces_its_earlier_one() -> None:
    state = fold(
        (*f.WRITTEN, f.mismatched(), f.inconclusive("list"), f.confirmed(), f.confirmed(source="list"))
    )
    assert {(word.source, word.effect) for word in state.seen} == {
        ("detail", "confirmed"),
        ("list", "confirmed"),
    }


def test_a_new_write_attempt_makes_old_words_worthless() -> None:
    past = (*f.WRITTEN, f.confirmed(), f.proposed("undo"), f.attempted("undo", key=f.UNDO_KEY))
    assert fold(past).seen == ()
    assert fold((*f.SUCCEEDED, f.reopened())).seen == ()
    assert fold(f.UNDOING).seen == ()


@pytest.mark.parametrize("past", [f.SUCCEEDED, WAITING, (*WAITING, f.resolved())])
@pytest.mark.parametrize(
    "late", [f.executed(), f.blocked(), f.act_failed(), f.outcome_unknown(), f.attempted()]
)
def test_a_late_fact_of_the_executor_does_not_take_an_ended_task_back(
    past: tuple[e.Event, ...], late: e.Event
) -> None:
    assert fold((*past, late)).status == fold(past).status


def test_any_fact_after_the_seal_breaks_it() -> None:
    sealed = fold((*f.SUCCEEDED, f.sealed(11)))
    assert sealed.sealed
    assert not evolve(sealed, f.alert()).sealed


def test_who_owns_the_task_and_who_wrote_are_known() -> None:
    assert fold(WAITING).owner == PERSON
    assert fold(f.ATTEMPTED).writer == f.WRITER_ACCOUNT
    assert fold((*f.ATTEMPTED, f.observed("acme-reader"))).writer == f.WRITER_ACCOUNT


def test_the_closed_sets_hold_statuses_only() -> None:
    known = set(typing.get_args(Status))
    assert known >= TERMINAL
    assert TERMINAL >= GOES_ON
    assert known >= UNTOUCHED
    assert {"new", "opened", "attempted", "unknown", "compensating"}.isdisjoint(TERMINAL)


HISTORIES = st.lists(st.sampled_from((*one_of_each(), *f.UNDO_WRITTEN)), max_size=50)


@settings(deadline=None)
@given(history=HISTORIES, cut=st.integers(0, 50))
def test_folding_a_prefix_and_then_the_rest_is_folding_all(history: list[e.Event], cut: int) -> None:
    assert fold(history[cut:], fold(history[:cut])) == fold(history)


@settings(deadline=None)
@given(history=HISTORIES)
def test_every_event_counts_once_and_every_state_survives_json(history: list[e.Event]) -> None:
    state = fold(history)
    assert state.version == len(history)
    assert state.steps == sum(isinstance(fact, e.ActionProposed) for fact in history)
    assert state.blocks == sum(isinstance(fact, e.ActionBlocked) for fact in history)
    assert state.status in typing.get_args(Status)
    assert msgspec.json.decode(msgspec.json.encode(state), type=TaskState) == state
