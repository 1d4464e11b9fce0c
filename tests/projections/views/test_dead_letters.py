"""Alerts that reached nobody stay visible until they are delivered."""

from __future__ import annotations

from domain import events as e
from projections.fold import run_keys
from projections.views.dead_letters import DeadLetters, Letter, LettersRow, undelivered
from tests.support.events import Book


def alert(message: str = "read it", **delivered: str) -> e.AlertRaised:
    return e.AlertRaised(kind="takeover", severity="high", message=message, delivered=delivered)


def letters(book: Book) -> tuple[tuple[LettersRow, Letter], ...]:
    return undelivered(run_keys(DeadLetters(), book.events).values())


def test_an_alert_that_every_channel_has_had_is_no_dead_letter() -> None:
    book = Book()
    book.run().task("t1").add(alert(log="ok", webhook="ok"))
    assert letters(book) == ()


def test_an_alert_that_a_channel_has_not_had_is_shown_with_its_task_and_error() -> None:
    book = Book()
    book.run().task("t1").add(alert(log="ok", webhook="ConnectError, 3 tries"))
    ((row, letter),) = letters(book)
    assert (row.task_id, row.run_id) == ("t1", "run-1")
    assert (letter.failed, letter.tries) == ({"webhook": "ConnectError, 3 tries"}, 1)


def test_another_try_strikes_off_what_it_delivered_and_keeps_the_rest() -> None:
    book = Book()
    task = book.run().task("t1")
    task.add(alert(webhook="ConnectError, 3 tries", command="TimeoutExpired, 3 tries"))
    task.add(alert(webhook="ok", command="TimeoutExpired, 3 tries"))
    ((_, letter),) = letters(book)
    assert (letter.failed, letter.tries) == ({"command": "TimeoutExpired, 3 tries"}, 2)
    task.add(alert(command="ok"))
    assert letters(book) == ()


def test_two_alerts_of_a_task_are_two_letters() -> None:
    book = Book()
    task = book.run().task("t1")
    task.add(alert("first", webhook="ConnectError, 3 tries"))
    task.add(alert("second", webhook="ConnectError, 3 tries"))
    task.add(alert("first", webhook="ok"))
    assert [letter.message for _, letter in letters(book)] == ["second"]
