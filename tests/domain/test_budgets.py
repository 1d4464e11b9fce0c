"""Budgets with no way round: steps, stuck length, success rate (G7)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.budgets import Budget, Spent, exceeded, spend

STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60)


def after(*steps: tuple[str, bool]) -> Spent:
    spent = Spent()
    for state, succeeded in steps:
        spent = spend(spent, state=state, succeeded=succeeded)
    return spent


def verdict(spent: Spent, budget: Budget | None = None) -> str:
    found = exceeded(budget or Budget(), spent)
    return found.verdict if found else "pass"


def test_a_task_that_has_not_begun_has_spent_nothing() -> None:
    assert verdict(Spent()) == "pass"


def test_forty_steps_are_the_published_limit() -> None:
    assert verdict(after(*((str(number), True) for number in range(39)))) == "pass"
    assert verdict(after(*((str(number), True) for number in range(40)))) == "budget_exhausted"


def test_three_equal_states_in_a_row_are_stuck() -> None:
    assert verdict(after(("a", True), ("a", True))) == "pass"
    assert verdict(after(("a", True), ("a", True), ("a", True))) == "stuck"


def test_an_equal_state_that_comes_back_later_is_not_stuck() -> None:
    assert verdict(after(("a", True), ("a", True), ("b", True), ("a", True), ("a", True))) == "pass"


def test_the_same_screen_with_another_intent_is_another_state() -> None:
    assert verdict(after(("list B1", True), ("list B2", True), ("list B3", True))) == "pass"


def test_the_success_rate_counts_from_the_eighth_step() -> None:
    bad = [(str(number), number >= 4) for number in range(7)]
    assert verdict(after(*bad[:7])) == "pass"
    all_bad = [(str(number), False) for number in range(8)]
    assert verdict(after(*all_bad[:7])) == "pass"
    assert verdict(after(*all_bad)) == "low_success"


def test_exactly_half_is_enough_and_less_is_not() -> None:
    half = [(str(number), number % 2 == 0) for number in range(8)]
    assert verdict(after(*half)) == "pass"
    assert verdict(after(*half, ("next", False))) == "low_success"


def test_budgets_are_configurable() -> None:
    tight = Budget(max_steps=2, stuck_frames=9, min_success_percent=100, success_after_steps=1)
    assert verdict(after(("a", False)), tight) == "low_success"
    assert verdict(after(("a", True), ("b", True)), tight) == "budget_exhausted"


def test_the_finding_carries_its_numbers() -> None:
    found = exceeded(Budget(), after(*((str(number), False) for number in range(9))))
    assert found is not None
    assert found.guard == "budget"
    assert found.measures == {"success_percent": 0}
    assert found.expected == "at least 50 % of steps succeed"
    assert found.found == "0 % of 9"


@settings(deadline=None)
@given(steps=STEPS, more=STEPS)
def test_used_up_steps_never_come_back(steps: list[tuple[str, bool]], more: list[tuple[str, bool]]) -> None:
    spent = after(*steps)
    assert spent.steps == len(steps)
    assert spent.succeeded == sum(succeeded for _, succeeded in steps)
    if spent.steps >= Budget().max_steps:
        assert verdict(after(*steps, *more)) == "budget_exhausted"


@settings(deadline=None)
@given(steps=STEPS)
def test_stuck_is_the_length_of_the_last_equal_run(steps: list[tuple[str, bool]]) -> None:
    run = 0
    for state, _ in reversed(steps):
        if state != steps[-1][0]:
            break
        run += 1
    assert after(*steps).same_state == max(run, 1)


def test_time_that_is_used_up_stops_the_work() -> None:
    over = exceeded(Budget(max_seconds=60), Spent(elapsed_us=60_000_000))
    assert over is not None
    assert (over.verdict, over.found, over.measures) == ("budget_exhausted", "60 seconds", {"seconds": 60})
    assert exceeded(Budget(max_seconds=60), Spent(elapsed_us=59_999_999)) is None


def test_tokens_that_are_used_up_stop_the_work() -> None:
    over = exceeded(Budget(max_tokens=1000), Spent(tokens=1000))
    assert over is not None
    assert (over.verdict, over.found) == ("budget_exhausted", "1000 tokens")
    assert exceeded(Budget(max_tokens=1000), Spent(tokens=999)) is None
