"""The month end over stored views says what the month end over the whole record says, to the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import events as e
from domain.envelope import Recorded
from domain.ids import TaskId, task_stream
from projections.settlement import agreeing, at_scale, effects, pages
from projections.settlement.at_scale import reconcile_stored
from projections.settlement.lines import SettlementFile
from projections.views.reconciliation import Reconciliation, reconcile
from tests.projections.settlement.odd_tasks import (
    ACTION,
    ORDINARY,
    SPECIAL,
    executed,
    file_of,
    lines_made,
    record_of,
    tasks_made,
)
from tests.support.events import SERVICE, TENANT, Book, business, intent
from tests.support.month_end import MONTH
from tests.support.months import make_month
from tests.support.scenarios import SCENARIOS
from tests.support.settlement import FileLine, month_file
from tests.support.stored_month import MemoryRecord


def views() -> sa.Engine:
    return sa.create_engine("sqlite://", poolclass=sa.StaticPool)


def both(
    events: list[Recorded], file: SettlementFile, *, verified: bool = True
) -> tuple[Reconciliation, Reconciliation, MemoryRecord]:
    record = MemoryRecord(events)
    engine = views()
    stored = reconcile_stored(record, engine, file, tenant=TENANT, month=MONTH, chain_verified=verified)
    engine.dispose()
    plain = reconcile(events, file, tenant=TENANT, month=MONTH, chain_verified=verified)
    return plain, stored, record


def assert_same(plain: Reconciliation, stored: Reconciliation) -> None:
    assert tuple(stored.matched) == plain.matched
    assert len(stored.matched) == len(plain.matched)
    assert stored.breaks == plain.breaks
    assert stored.totals == plain.totals
    assert stored == plain


@pytest.mark.parametrize("seed", range(12))
def test_months_with_every_cause_alone_and_combined_come_out_the_same(seed: int) -> None:
    events, file, _ = make_month(seed, SCENARIOS)
    plain, stored, _ = both(events, file, verified=seed % 3 > 0)
    assert plain.breaks
    assert_same(plain, stored)


def calm(bills: int) -> Book:
    book = Book()
    run = book.run()
    for n in range(bills):
        run.task(f"t{n}", intent(f"CY-{n}")).done()
    return book


def test_a_calm_month_is_judged_without_reading_the_log_again() -> None:
    book = calm(40)
    lines = [FileLine(bill=f"CY-{n}") for n in range(39)]
    plain, stored, record = both(book.events, month_file(*lines, FileLine(bill="CY-77", amount_minor=5)))
    assert_same(plain, stored)
    assert record.read_whole == 1, "once, to bring the views along"
    assert len(stored.matched) == 39
    assert [found.bill for found in stored.breaks] == ["CY-39", "CY-77"]


def test_a_slice_of_what_agrees_is_made_when_it_is_looked_at() -> None:
    plain, stored, _ = both(calm(12).events, month_file(*(FileLine(bill=f"CY-{n}") for n in range(12))))
    assert stored.matched[3:5] == plain.matched[3:5]
    assert stored.matched[-1] == plain.matched[-1]
    assert stored.matched != plain.matched[1:]


def test_views_go_on_from_where_they_were() -> None:
    book = calm(5)
    engine = views()
    lines = [FileLine(bill=f"CY-{n}") for n in range(6)]
    for _ in range(2):
        file = month_file(*lines)
        stored = reconcile_stored(
            MemoryRecord(book.events), engine, file, tenant=TENANT, month=MONTH, chain_verified=True
        )
        assert_same(reconcile(book.events, file, tenant=TENANT, month=MONTH, chain_verified=True), stored)
        book.run("run-2").task("late", intent("CY-5")).done()
    engine.dispose()


@pytest.mark.parametrize("bills", [3, 5, 8], ids=["shorter", "as long", "longer"])
def test_views_of_another_record_are_built_again(bills: int) -> None:
    engine = views()
    other = Book()
    run = other.run()
    for n in range(5):
        run.task(f"t{n}", intent(f"OTHER-{n}")).done()
    file = month_file(*(FileLine(bill=f"CY-{n}") for n in range(8)))
    for book in (other, calm(bills)):
        record = MemoryRecord(book.events)
        stored = reconcile_stored(record, engine, file, tenant=TENANT, month=MONTH, chain_verified=True)
        assert_same(reconcile(book.events, file, tenant=TENANT, month=MONTH, chain_verified=True), stored)
    engine.dispose()


def test_a_bill_that_is_called_like_a_word_of_every_request_goes_the_plain_way() -> None:
    book = Book()
    run = book.run()
    task = run.task("t1", intent("CY-1"))
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.attempt(action)
    task.add(
        e.ActionExecuted(
            action_id=action, latency_us=1, toast="ok", requests=("POST /bills/CY-1/actions 200",)
        )
    )
    run.task("t2", intent("ACTIONS")).done()
    file = month_file(FileLine(bill="CY-1"), FileLine(bill="ACTIONS"), FileLine(bill="ACTIONS"))
    plain, stored, record = both(book.events, file)
    assert_same(plain, stored)
    assert record.read_whole == 2
    quiet = month_file(FileLine(bill="CY-1"), FileLine(bill="ACTIONS"), FileLine(bill="CY-2"))
    plain, stored, record = both(book.events, quiet)
    assert_same(plain, stored)
    assert record.read_whole == 1


def test_a_month_that_grows_event_by_event_is_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few positions: pages are made, kept, and made again when a task leaves them."""
    for module in (effects, pages):
        monkeypatch.setattr(module, "BLOCK", 16)
    events, file, _ = make_month(3, SCENARIOS, bills=20)
    engine = views()
    for end in range(0, len(events) + 1, 7):
        stored = reconcile_stored(
            MemoryRecord(events[:end]), engine, file, tenant=TENANT, month=MONTH, chain_verified=True
        )
        assert_same(
            reconcile(events[:end], file, tenant=TENANT, month=MONTH, chain_verified=True),
            stored,
        )
    with engine.connect() as connection:
        assert connection.execute(sa.select(pages.PAGES.c.grouped)).all()
    engine.dispose()


def test_a_task_that_was_plain_and_is_undone_later_is_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (effects, pages):
        monkeypatch.setattr(module, "BLOCK", 4)
    book = calm(6)
    engine = views()
    file = month_file(*(FileLine(bill=f"CY-{n}") for n in range(6)))
    first = reconcile_stored(
        MemoryRecord(book.events), engine, file, tenant=TENANT, month=MONTH, chain_verified=True
    )
    assert first.breaks == ()
    late = e.CompensationStarted(action="undo", requested_by=SERVICE, reason="wrong bill")
    book.add(late, stream=task_stream(TaskId("t2")), run="run-1", task="t2")
    again = reconcile_stored(
        MemoryRecord(book.events), engine, file, tenant=TENANT, month=MONTH, chain_verified=True
    )
    engine.dispose()
    assert_same(reconcile(book.events, file, tenant=TENANT, month=MONTH, chain_verified=True), again)
    assert [found.bill for found in again.breaks] == ["CY-2"]


def test_hashes_find_equal_bills_whatever_the_width_of_their_column() -> None:
    narrow, wide = pages.as_bytes(["B1", "CY-12345"]), pages.as_bytes(["B1", "CY-12345", "单" * 9])
    assert pages.hashes(narrow).tolist() == pages.hashes(wide).tolist()[:2]
    assert len(set(pages.hashes(wide).tolist())) == 3


def test_two_bills_of_one_hash_are_both_judged_from_their_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreeing, "hashes", lambda bills: np.zeros(len(bills), dtype=np.uint64))
    plain, stored, _ = both(calm(4).events, month_file(*(FileLine(bill=f"CY-{n}") for n in range(3))))
    assert_same(plain, stored)


def test_a_calm_month_that_goes_on_reads_no_task_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later events move a task to a later block: the page of the earlier one is made again without it."""
    for module in (effects, pages):
        monkeypatch.setattr(module, "BLOCK", 16)
    monkeypatch.setattr(at_scale, "_MANY", 0)
    book = calm(12)
    engine = views()
    file = month_file(*(FileLine(bill=f"CY-{n}") for n in range(13)))
    confirmed = e.ReadbackConfirmed(
        source="detail", phase="later", account="reader", expected_status="processed", found=business()
    )
    for number in (2, 5, 11):
        book.add(confirmed, stream=task_stream(TaskId(f"t{number}")), run="run-1", task=f"t{number}")
        if number == 11:
            book.run("run-2").task("t12", intent("CY-12")).done()
        record = MemoryRecord(book.events)
        stored = reconcile_stored(record, engine, file, tenant=TENANT, month=MONTH, chain_verified=True)
        assert_same(reconcile(book.events, file, tenant=TENANT, month=MONTH, chain_verified=True), stored)
        assert record.streams_read == 0
    assert stored.breaks == ()
    engine.dispose()


VARIANTS = [
    {"status": status, "without": without, "place": place}
    for status in ("200", "409")
    for without in (set(), {3}, {2, 3})
    for place in range(5)
]


@pytest.mark.parametrize("fact", SPECIAL, ids=lambda fact: type(fact).__name__)
def test_one_odd_fact_anywhere_in_an_ordinary_task_makes_no_difference_to_the_two(fact: e.Event) -> None:
    tasks = []
    for number, variant in enumerate(VARIANTS):
        about: Any = fact
        own = replace(about, action_id=f"action-{number}") if hasattr(fact, "action_id") else fact
        odd = [(variant["place"], own)]
        tasks.append({**ORDINARY, **variant, "bill": f"B{number}", "number": number, "odd": odd})
    events = record_of(tasks)
    for kept in (1, 2):
        lines = [FileLine(bill=f"B{number}") for number in range(len(tasks)) if number % kept == 0]
        plain, stored, _ = both(events, month_file(*lines))
        assert_same(plain, stored)


def test_what_was_stopped_and_then_performed_all_the_same_is_judged_from_its_events() -> None:
    objection = next(
        fact for fact in SPECIAL if isinstance(fact, e.GuardJudged) and fact.verdict == "approval_required"
    )
    quiet = replace(objection, checks=())
    for end in (
        e.ActionBlocked(action_id=ACTION, guard="policy", verdict="approval_required"),
        e.ActionFailed(action_id=ACTION, verdict="page_changed", reason="gone"),
    ):
        task = {**ORDINARY, "odd": [(1, quiet), (2, end)]}
        plain, stored, _ = both(record_of([task]), month_file(FileLine()))
        assert plain.breaks
        assert_same(plain, stored)


def test_a_task_of_another_month_that_strayed_here_is_asked_about() -> None:
    strayed = {**ORDINARY, "month": "2026-10", "odd": [(3, executed("POST /bills/B2/actions 200"))]}
    plain, stored, _ = both(record_of([strayed]), month_file(FileLine(bill="B2", account="")))
    assert "t0" in {item.task_id for f in plain.breaks[0].findings for item in f.decisive}
    assert_same(plain, stored)


@pytest.mark.parametrize("key", ["of B1", "none of ours"])
def test_tasks_that_share_a_key_of_another_bill_are_judged_together(key: str) -> None:
    strangers = [{**ORDINARY, "bill": bill, "key": key} for bill in ("B2", "B3")]
    for tasks in ([ORDINARY, *strangers], [*strangers, ORDINARY]):
        plain, stored, _ = both(record_of(tasks), file_of(tasks, [], set(), 9))
        assert_same(plain, stored)


def test_a_line_that_did_not_take_effect_agrees_with_nothing() -> None:
    plain, stored, _ = both(record_of([ORDINARY]), file_of([ORDINARY], [], {0}, 9))
    assert plain.breaks
    assert_same(plain, stored)


@given(
    tasks=st.lists(tasks_made, max_size=4),
    lines=st.lists(lines_made, max_size=2),
    unbooked=st.sets(st.integers(0, 5), max_size=1),
    missing=st.integers(0, 8),
    verified=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_any_tasks_and_any_lines_come_out_the_same(
    tasks: list[dict[str, Any]], lines: list[FileLine], unbooked: set[int], missing: int, *, verified: bool
) -> None:
    plain, stored, _ = both(record_of(tasks), file_of(tasks, lines, unbooked, missing), verified=verified)
    assert_same(plain, stored)
