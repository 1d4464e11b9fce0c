"""Runs count for themselves: verdicts, success rate, stuck length, what became of each task."""

from __future__ import annotations

from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId
from projections.fold import run_keys
from projections.views.runs import STUCK_WINDOW, RunRow, Runs
from tests.projections.views.histories import histories
from tests.support.events import SECOND_US, START_US, Book, intent


def row_of(book: Book, run: str = "run-1") -> RunRow:
    return run_keys(Runs(), book.events)[run]


def test_a_run_counts_its_steps_tasks_and_verdicts() -> None:
    book = Book()
    run = book.run()
    run.task("t1").done()
    task = run.task("t2", intent("B2"))
    task.claim()
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action, "stale")
    task.add(e.ActionBlocked(action_id=action, guard="frame", verdict="stale"))
    run.add(e.RunFinished(outcomes={"succeeded": 9}, verdicts={}, steps=9, steps_ok=9))
    row = row_of(book)
    assert (row.steps, row.steps_ok, row.success_permille) == (2, 1, 500)
    assert row.verdicts == {"pass": 1, "stale": 1}
    assert row.outcomes == {"open": 1, "succeeded": 1}  # its own count, not the claim of the run's end
    assert (row.status, row.mode, row.tasks_planned) == ("finished", "guarded", 1)
    assert (row.started_at_us, row.ended_at_us) == (
        START_US + SECOND_US,
        START_US + len(book.events) * SECOND_US,
    )


def test_a_step_that_changed_nothing_is_not_ok_though_it_was_performed() -> None:
    book = Book()
    task = book.run().task("t1")
    task.write()
    assert row_of(book).steps_ok == 1
    task.judge(task_action(book), "noop", phase="after")
    assert row_of(book).steps_ok == 0
    assert row_of(book).verdicts == {"noop": 1}


def task_action(book: Book) -> ActionId:
    (action,) = {r.event.action_id for r in book.events if isinstance(r.event, e.ActionProposed)}
    return action


def test_stuck_length_is_how_many_of_the_last_five_screens_equal_the_newest() -> None:
    book = Book()
    task = book.run().task("t1")
    for screen in ("a", "b", "a", "c", "a", "a"):
        task.observe(screen)
    assert row_of(book).stuck_length == 3  # of b, a, c, a, a
    task.observe("d")
    assert row_of(book).stuck_length == 1


def test_a_budget_that_stopped_the_run_stays_its_outcome_after_the_end() -> None:
    book = Book()
    run = book.run()
    run.add(e.RunEscalated(verdict="stuck", reason="three equal screens", steps=3))
    run.add(e.RunFinished(outcomes={}, verdicts={}, steps=3, steps_ok=3))
    assert (row_of(book).status, row_of(book).stopped_by) == ("escalated", "stuck: three equal screens")


def test_a_resumed_run_is_running_again() -> None:
    book = Book()
    run = book.run()
    run.add(e.RunFinished(outcomes={}, verdicts={}, steps=0, steps_ok=0))
    run.add(e.RunResumed(unsettled=1))
    assert (row_of(book).status, row_of(book).resumed, row_of(book).ended_at_us) == ("running", 1, None)
    assert row_of(book).success_permille is None


@given(history=histories)
def test_counts_of_a_run_agree_with_each_other(history: list[Recorded]) -> None:
    for row in run_keys(Runs(), history).values():
        assert 0 <= row.steps_ok <= row.steps
        assert sum(row.verdicts.values()) <= row.steps
        assert sum(row.outcomes.values()) == len(row.tasks)
        assert row.stuck_length <= STUCK_WINDOW
