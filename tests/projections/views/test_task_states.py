"""Where a task stands is what the domain says, with who, when and how often beside it."""

from __future__ import annotations

from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from domain.state import fold
from projections.fold import run_keys
from projections.views.task_states import TaskRow, TaskStates
from tests.projections.views.histories import histories
from tests.support.events import PERSON, SECOND_US, START_US, Book, key_of


def row_of(book: Book, task: str = "t1") -> TaskRow:
    return run_keys(TaskStates(), book.events)[task]


def test_a_task_that_was_read_back_succeeded() -> None:
    book = Book()
    book.run().task("t1").done()
    row = row_of(book)
    assert (row.status, row.effect, row.bill_id, row.action) == (
        "succeeded",
        "confirmed",
        "B1",
        "mark_processed",
    )
    assert (row.effect_key, row.run_id, row.principal) == (key_of(row.intent), "run-1", "svc:acme-batch")  # type: ignore[arg-type]
    assert (row.mode, row.rung, row.requested_by) == ("guarded", "browser", "svc:month-end")
    assert row.verdicts == {"pass": 1}
    assert row.opened_at_us == START_US + 2 * SECOND_US
    assert row.ended_at_us == row.last_at_us == START_US + len(book.events) * SECOND_US


def test_a_step_that_passed_first_and_was_stopped_later_counts_as_stopped() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action)
    task.judge(action, "target_changed", phase="event")
    task.add(e.ActionBlocked(action_id=action, guard="target", verdict="target_changed"))
    assert row_of(book).verdicts == {"target_changed": 1}
    assert row_of(book).status == "blocked"
    assert row_of(book).ended_at_us is None


def test_a_fake_success_waits_for_a_person_with_its_limit() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="处理成功")
    task.mismatch("pending")
    task.hand_over(due_in_us=60 * SECOND_US)
    takeover = row_of(book).takeover
    assert row_of(book).status == "taken_over"
    assert takeover is not None
    assert (takeover.severity, takeover.owner) == ("high", None)
    assert takeover.due_at_us == takeover.requested_at_us + 60 * SECOND_US
    task.add(e.TakeoverClaimed(owner=PERSON), principal=PERSON)
    task.add(e.TakeoverResolved(owner=PERSON, resolution="done_by_hand", note=""), principal=PERSON)
    takeover = row_of(book).takeover
    assert takeover is not None
    assert (row_of(book).status, takeover.owner, takeover.resolution) == ("resolved", PERSON, "done_by_hand")


def test_a_reopened_task_has_not_ended_any_more() -> None:
    book = Book()
    task = book.run().task("t1").done()
    task.add(e.TaskReopened(reason="reversed later"))
    assert (row_of(book).status, row_of(book).reopened, row_of(book).ended_at_us) == ("unknown", 1, None)


def test_a_denied_claim_names_the_holder() -> None:
    book = Book()
    task = book.run().task("t1")
    task.add(
        e.TaskClaimDenied(
            effect_key=task.key, holder_stream="task:t0", holder_principal=PERSON, since_us=START_US
        )
    )
    assert row_of(book).status == "already_in_progress"
    assert row_of(book).refusal == "the effect is held by task:t0"


def test_a_task_resumed_in_another_run_keeps_the_run_that_opened_it() -> None:
    book = Book()
    task = book.run().task("t1")
    book.run("run-2")
    task.add(e.TaskClaimed(effect_key=task.key), run="run-2")
    assert (row_of(book).run_id, row_of(book).runs) == ("run-1", ("run-1", "run-2"))


@given(history=histories)
def test_the_status_is_the_domains_own_whatever_is_on_record(history: list[Recorded]) -> None:
    for task, row in run_keys(TaskStates(), history).items():
        own = [recorded.event for recorded in history if recorded.row.stream == f"task:{task}"]
        assert row.state == fold(own)
        assert (row.status, row.events) == (row.state.status, len(own))


@given(history=histories)
def test_verdicts_never_count_more_than_the_steps(history: list[Recorded]) -> None:
    for row in run_keys(TaskStates(), history).values():
        assert sum(row.verdicts.values()) <= row.steps
        assert all(count > 0 for count in row.verdicts.values())
