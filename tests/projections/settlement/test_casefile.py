"""The record sorted by task says what the record says."""

from __future__ import annotations

import pytest

from domain.ids import TaskId
from domain.state import TERMINAL, fold
from projections.settlement.casefile import names_bill, sort_record
from projections.views.common import own_task
from tests.support.events import SERVICE, TENANT, Book, intent
from tests.support.months import make_month
from tests.support.scenarios import SCENARIOS


def test_a_task_has_ended_exactly_when_the_domain_says_so() -> None:
    compared = 0
    for seed in range(40, 46):
        events, _, _ = make_month(seed, SCENARIOS)
        streams: dict[TaskId, list[object]] = {}
        for recorded in events:
            if task := own_task(recorded):
                streams.setdefault(task, []).append(recorded.event)
        book = sort_record(events, TENANT)
        for task, facts in streams.items():
            state = fold(facts)  # type: ignore[arg-type]
            compared += 1
            assert book.tasks[task].ended == (state.status in TERMINAL), task
            assert (book.tasks[task].status == "awaiting_approval") == (state.status == "awaiting_approval")
    assert compared > 100


def test_our_accounts_are_those_that_our_events_name() -> None:
    book = Book()
    book.run().task("t1").done()
    assert sort_record(book.events, TENANT).accounts == {"acme-bot": {SERVICE}, "acme-reader": {SERVICE}}


def test_a_hole_in_a_stream_or_in_the_log_is_seen() -> None:
    book = Book()
    run = book.run()
    run.task("t1", intent("B1")).done()
    run.task("t2", intent("B2")).done()
    whole = sort_record(book.events, TENANT)
    assert whole.whole
    assert not any(case.gaps for case in whole.tasks.values())
    holed = sort_record([r for r in book.events if r.name != "task.claimed"], TENANT)
    assert not holed.whole
    assert all(case.gaps for case in holed.tasks.values())
    assert not sort_record(book.events[1:], TENANT).whole, "a log that doesn't begin at its beginning"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("POST /bills/CY202611-0007/actions 200", True),
        ("row cy202611-0007 标记处理", True),
        ("POST /bills/CY202611-00070/actions 200", False),
        ("POST /bills/XCY202611-0007/actions 200", False),
        ("CY202611-0007-2", False),
        ("", False),
    ],
)
def test_a_bill_is_named_only_as_a_whole_word(text: str, *, named: bool) -> None:
    assert names_bill(text, "CY202611-0007") is named
