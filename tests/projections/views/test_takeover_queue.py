"""The takeover queue: asked for, claimed, resolved; late ones first."""

from __future__ import annotations

from domain import events as e
from projections.fold import run_keys
from projections.views.takeover_queue import Aged, TakeoverQueue, aged
from tests.support.events import PERSON, SECOND_US, Book, intent, sha


def queue(book: Book, *, now_us: int, closed: bool = False) -> tuple[Aged, ...]:
    return aged(run_keys(TakeoverQueue(), book.events).values(), now_us=now_us, closed=closed)


def test_a_handed_over_task_waits_with_its_bill_its_screen_and_its_age() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    task.hand_over(due_in_us=60 * SECOND_US)
    (item,) = queue(book, now_us=book.now_us + 10 * SECOND_US)
    assert (item.task_id, item.run_id, item.last_frame) == ("t1", "run-1", sha("list"))
    assert item.intent == intent("B1")
    assert (item.age_us, item.left_us, item.breached) == (10 * SECOND_US, 50 * SECOND_US, False)
    assert (item.item.status, item.item.number) == ("open", 1)


def test_a_takeover_is_in_breach_only_after_its_due_time() -> None:
    book = Book()
    task = book.run().task("t1")
    task.hand_over(due_in_us=60 * SECOND_US)
    due = book.now_us + 60 * SECOND_US
    assert [queue(book, now_us=now)[0].breached for now in (due, due + 1)] == [False, True]


def test_late_ones_come_first_then_the_severe_then_the_soonest() -> None:
    book = Book()
    run = book.run()
    for name, severity, due in (("soon", "low", 50), ("grave", "critical", 90), ("late", "low", 1)):
        run.task(name, intent(name)).add(
            e.TakeoverRequested(
                verdict="noop",
                reason="",
                severity=severity,  # type: ignore[arg-type]
                due_at_us=book.now_us + due * SECOND_US,
            )
        )
    assert [item.task_id for item in queue(book, now_us=book.now_us + SECOND_US)] == ["late", "grave", "soon"]


def test_a_claimed_takeover_stays_in_the_queue_and_a_resolved_one_leaves_it() -> None:
    book = Book()
    task = book.run().task("t1")
    task.hand_over()
    task.add(e.TakeoverClaimed(owner=PERSON), principal=PERSON)
    (item,) = queue(book, now_us=book.now_us)
    assert (item.item.status, item.item.owner) == ("claimed", PERSON)
    task.add(e.TakeoverResolved(owner=PERSON, resolution="effect_absent", note="asked"), principal=PERSON)
    assert queue(book, now_us=book.now_us) == ()
    (item,) = queue(book, now_us=book.now_us + 999 * SECOND_US, closed=True)
    assert (item.item.status, item.item.resolution, item.item.note) == ("resolved", "effect_absent", "asked")
    assert item.age_us == 2 * SECOND_US  # ageing ended with the resolution


def test_undoing_the_effect_closes_the_takeover_and_a_second_one_is_its_own() -> None:
    book = Book()
    task = book.run().task("t1")
    task.hand_over()
    task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="wrong bill"))
    task.add(e.CompensationFailed(reason="locked", differences={}))
    task.hand_over(reason="could not be undone")
    rows = list(run_keys(TakeoverQueue(), book.events).values())
    first, second = rows[0].items
    assert (first.status, second.status, second.number) == ("compensating", "open", 2)
    assert TakeoverQueue().group(rows[0]) == "waiting"
