"""Targets come from a sample that anybody can draw again, and hold once a person has accepted them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import events as e
from domain.errors import ConfigError
from domain.ids import PrincipalId, targets_stream
from projections.canary import CANARY_ENOUGH, Canary, Proposals, acceptance, drawn, propose
from projections.fold import run_keys
from projections.views.interval import Rate, wilson
from projections.views.tallies import Metrics, Tally
from projections.views.targets import Targets, standing
from tests.support.events import PERSON, SERVICE, START_US, Book, intent

WHOLE = Canary(since_us=START_US, until_us=START_US + 10**12, share_permille=1000, seed="s")


def tallies(tasks: int, *, failed: int = 0, unread: int = 0) -> list[Tally]:
    book = Book()
    run = book.run()
    for number in range(tasks):
        task = run.task(f"t{number}", intent(f"B{number}"))
        if number < failed:
            task.claim()
            task.hand_over()
        elif number < failed + unread:
            task.claim()
            task.write()
            task.hand_over()
        else:
            task.done()
    return list(run_keys(Metrics(), book.events).values())


def proposals(tasks: int = 40, **how: int) -> Proposals:
    return propose(tallies(tasks, **how), WHOLE, through_position=7)


def test_a_rate_that_should_be_high_gets_the_lower_end_of_its_interval() -> None:
    found = proposals(40, failed=4).of("completion")
    rate = wilson(36, 40)
    assert rate is not None
    assert (found.direction, found.proposed_permille) == ("at_least", rate.low_permille)
    assert (len(found.sample.numerator), len(found.sample.denominator)) == (36, 40)


def test_a_rate_that_should_be_low_gets_the_upper_end() -> None:
    found = proposals(40, failed=4).of("takeover")
    rate = wilson(4, 40)
    assert rate is not None
    assert (found.direction, found.proposed_permille) == ("at_most", rate.high_permille)


def test_what_nobody_decided_counts_against_the_target() -> None:
    found = proposals(40, unread=3).of("mis_operation")
    worst = wilson(3, 40)
    assert worst is not None
    assert len(found.sample.numerator) == 0
    assert found.proposed_permille == worst.high_permille


def test_a_small_sample_proposes_nothing() -> None:
    found = proposals(CANARY_ENOUGH - 1).of("completion")
    assert (found.proposed_permille, found.note) == (None, "not enough data (29 of at least 30)")
    assert proposals(CANARY_ENOUGH).of("completion").proposed_permille is not None


def test_the_same_seed_draws_the_same_tasks_and_another_one_others() -> None:
    rows = tallies(200)
    fifth = replace(WHOLE, share_permille=200)
    first = propose(rows, fifth, through_position=7)
    assert propose(reversed(rows), fifth, through_position=7) == first
    assert propose(rows, replace(fifth, seed="t"), through_position=7).sampled != first.sampled
    assert (first.eligible, set(first.sampled) < {row.task_id for row in rows}) == (200, True)
    assert 10 < len(first.sampled) < 80


@given(task=st.text(max_size=20), seed=st.text(max_size=5), share=st.integers(1, 999))
def test_a_larger_share_holds_the_smaller_one(task: str, seed: str, share: int) -> None:
    small = replace(WHOLE, seed=seed, share_permille=share)
    assert drawn(task, small) <= drawn(task, replace(small, share_permille=share + 1))
    assert drawn(task, replace(small, share_permille=1000))


def test_tasks_outside_the_period_are_not_sampled() -> None:
    rows = tallies(40)
    half = replace(WHOLE, until_us=sorted(row.opened_at_us for row in rows)[20])
    assert propose(rows, half, through_position=7).eligible == 20


@pytest.mark.parametrize(
    "canary",
    [
        replace(WHOLE, until_us=START_US),
        replace(WHOLE, share_permille=0),
        replace(WHOLE, share_permille=1001),
    ],
    ids=["empty period", "no task", "more than all"],
)
def test_a_period_or_share_that_means_nothing_is_refused(canary: Canary) -> None:
    with pytest.raises(ConfigError):
        propose(tallies(1), canary, through_position=7)


def test_a_person_accepts_the_proposed_target_and_the_sample_is_on_record() -> None:
    found = proposals(40, failed=4)
    fact = acceptance(found, "completion", by=PERSON)
    proposal = found.of("completion")
    assert fact.target_permille == fact.proposed_permille == proposal.proposed_permille
    assert (fact.hits, fact.trials, fact.seed, fact.share_permille) == (36, 40, "s", 1000)
    assert (fact.since_us, fact.until_us, fact.through_position) == (WHOLE.since_us, WHOLE.until_us, 7)


def test_nobody_but_a_person_accepts_a_target() -> None:
    with pytest.raises(ConfigError, match="no person"):
        acceptance(proposals(), "completion", by=SERVICE)


def test_a_target_without_a_sample_is_refused() -> None:
    with pytest.raises(ConfigError, match="not enough data"):
        acceptance(proposals(10), "completion", by=PERSON)


def test_another_figure_than_the_proposed_one_needs_its_reason() -> None:
    with pytest.raises(ConfigError, match="needs its reason"):
        acceptance(proposals(), "completion", by=PERSON, target_permille=990)
    fact = acceptance(
        proposals(), "completion", by=PERSON, target_permille=990, note="agreed with the vendor"
    )
    assert (fact.target_permille, fact.note) == (990, "agreed with the vendor")
    assert fact.proposed_permille != 990


def test_the_newest_accepted_target_of_a_metric_holds_and_earlier_ones_stay() -> None:
    book = Book()
    fact = acceptance(proposals(), "completion", by=PERSON)
    stream = targets_stream("completion")
    book.add(fact, stream=stream, principal=PERSON)
    newer = replace(fact, target_permille=950, note="raised")
    other = PrincipalId("person:controller")
    book.add(newer, stream=stream, principal=other)
    (row,) = run_keys(Targets(), book.events).values()
    assert row.holds is not None
    assert (row.holds.fact, row.holds.by, row.holds.position) == (newer, other, 2)
    assert [one.fact for one in row.accepted] == [fact, newer]


@pytest.mark.parametrize(
    ("direction", "low", "high", "word"),
    [
        ("at_least", 900, 990, "met"),
        ("at_least", 899, 990, "open"),
        ("at_least", 700, 899, "missed"),
        ("at_most", 100, 900, "met"),
        ("at_most", 100, 901, "open"),
        ("at_most", 901, 990, "missed"),
    ],
)
def test_a_target_is_met_or_missed_by_the_whole_interval_only(
    direction: str, low: int, high: int, word: str
) -> None:
    book = Book()
    fact = replace(acceptance(proposals(), "completion", by=PERSON), target_permille=900)
    fact = replace(fact, direction="at_least" if direction == "at_least" else "at_most")
    book.add(fact, stream=targets_stream("completion"), principal=PERSON)
    (row,) = run_keys(Targets(), book.events).values()
    rate = Rate(permille=(low + high) // 2, low_permille=low, high_permille=high)
    assert standing(row.holds, rate) == word
    assert standing(row.holds, None) == "open"
    assert standing(None, rate) == "no_target"


def test_a_fact_of_another_kind_is_no_target() -> None:
    book = Book()
    book.run().add(e.RunResumed(unsettled=0))
    assert run_keys(Targets(), book.events) == {}
