"""Given a record and a month file, when the month is reconciled, then what agrees is no break, and so it stays."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from domain import events as e
from domain.values import BusinessState
from projections.views.reconciliation import Reconciliation, break_id
from tests.support.events import (
    PERSON,
    SERVICE,
    TENANT,
    Book,
    TaskBook,
    business,
    intent,
)
from tests.support.month_end import (
    MONTH,
    REFUNDED,
    cause_of,
    declare,
    loop,
    month_end,
    only,
    refund,
    undo,
)
from tests.support.settlement import FileLine, month_file

# -- what agrees -------------------------------------------------------------------------------------------------------


def test_a_confirmed_write_with_its_line_is_no_break() -> None:
    book = Book()
    book.run().task("t1").done()
    result = month_end(book, month_file(FileLine()))
    assert result.breaks == ()
    assert [(m.expected.bill, m.found.line_id) for m in result.matched] == [("B1", "JS202611-000001")]
    assert result.totals[0].file_minor == result.totals[0].expected_minor == 12_000


def test_a_write_that_was_blocked_is_no_break() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action, "target_changed", phase="event")
    task.add(e.ActionBlocked(action_id=action, guard="gate", verdict="target_changed"))
    task.add(e.TaskFailed(verdict="target_changed", reason="the row moved"))
    assert month_end(book, month_file()).breaks == ()


def test_work_that_another_task_was_already_doing_is_no_break() -> None:
    book = Book()
    run = book.run()
    run.task("t1").done()
    second = run.task("t2")
    second.add(
        e.TaskClaimDenied(
            effect_key=second.key, holder_stream="task:t1", holder_principal=SERVICE, since_us=1
        )
    )
    assert month_end(book, month_file(FileLine())).breaks == ()


def test_a_refused_bill_of_another_tenant_is_no_break() -> None:
    book = Book()
    run = book.run()
    refused = TaskBook(run, "t1", intent("G1"))
    refused.add(
        e.TaskRefused(
            intent=intent("G1"),
            rule="scope.bill",
            verdict="out_of_scope",
            reason="bill G1 belongs to globex",
            requested_by=PERSON,
            bill_tenant="globex",
        )
    )
    assert month_end(book, month_file()).breaks == ()


def test_a_refund_that_was_undone_nets_to_zero_and_is_no_break() -> None:
    book = Book()
    book.run().task("t1").done()
    task = refund(book)
    task.confirm()
    task.succeed()
    undo(task, works=True)
    result = month_end(book, month_file(FileLine(), REFUNDED, FileLine(kind="undo")))
    assert result.breaks == ()
    assert len(result.matched) == 3


# -- the result --------------------------------------------------------------------------------------------------------


def test_the_same_month_reconciled_again_is_the_same_to_the_byte() -> None:
    book = Book()
    run = book.run(mode="record_only")
    declare(loop(run, "t1"))
    declare(loop(run, "t2"))
    file = month_file(FileLine(), FileLine(), FileLine(bill="B9", account="wang.li"))
    first, second = month_end(book, file), month_end(book, file)
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    decoded = msgspec.json.decode(msgspec.json.encode(first), type=Reconciliation)
    assert replace(decoded, matched=tuple(decoded.matched)) == first  # JSON knows no tuples
    assert [b.id for b in first.breaks] == [
        break_id(TENANT, MONTH, "B1", "duplicate_in_file"),
        break_id(TENANT, MONTH, "B9", "extra_in_file"),
    ]


def test_events_of_another_tenant_explain_nothing() -> None:
    other = Book("globex")
    other.run().task("t1").done()
    finding = cause_of(only(month_end(other, month_file(FileLine()))))
    assert finding.cause == "external_change"


def _state(**changes: object) -> BusinessState:
    return msgspec.convert({**msgspec.to_builtins(business()), **changes}, BusinessState)


def test_an_effect_that_was_confirmed_and_reversed_by_somebody_else_is_external() -> None:
    book = Book()
    task = book.run().task("t1").done()
    task.add(
        e.ReadbackMismatched(
            source="api",
            phase="later",
            account="acme-reader",
            expected_status="processed",
            found=_state(status="pending", last_actor="system"),
            differences={"status": "processed → pending"},
        )
    )
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.verdict, finding.responsible) == ("external_change", "supported", ())
