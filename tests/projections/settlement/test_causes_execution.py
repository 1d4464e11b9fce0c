"""Differences that executors, targets and missing evidence cause."""

from __future__ import annotations

import pytest

from domain import events as e
from domain.values import Verdict
from projections.views.reconciliation import reconcile
from tests.support.events import (
    SERVICE,
    TENANT,
    Book,
    intent,
    sha,
)
from tests.support.month_end import (
    LEGACY,
    MONTH,
    cause_of,
    declare,
    loop,
    month_end,
    only,
)
from tests.support.settlement import FileLine, month_file

# -- execution ---------------------------------------------------------------------------------------------------------


def test_two_tasks_for_one_effect_in_a_record_only_run_are_proven_duplicates() -> None:
    book = Book()
    run = book.run(mode="record_only")
    declare(loop(run, "t1"))
    declare(loop(run, "t2"))
    found = only(month_end(book, month_file(FileLine(), FileLine())))
    finding = cause_of(found)
    assert (found.kind, found.amount_minor, found.residual_minor) == ("duplicate_in_file", 12_000, 0)
    assert (finding.cause, finding.verdict) == ("duplicate_across_tasks", "proven")
    assert finding.responsible == (LEGACY,)
    assert {x.task_id for x in finding.decisive if x.kind == "event"} == {"t1", "t2"}
    assert {x.line for x in finding.decisive if x.kind == "line"} == {6, 7}
    assert any(x.frames for x in finding.decisive)


def test_who_wrote_first_is_not_to_blame_for_the_second_write() -> None:
    book = Book()
    book.run("guarded").task("t1").done()
    declare(loop(book.run("loop", mode="record_only"), "t2"))
    finding = cause_of(only(month_end(book, month_file(FileLine(), FileLine()))))
    assert finding.cause == "duplicate_across_tasks"
    assert finding.responsible == (LEGACY,)


def test_a_fake_success_in_a_guarded_batch_is_the_targets_and_proven() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.mismatch("pending")
    task.hand_over()
    found = only(month_end(book, month_file()))
    finding = cause_of(found)
    assert (found.kind, found.amount_minor) == ("missing_in_file", -12_000)
    assert (finding.cause, finding.verdict, finding.party) == ("false_success", "proven", "target_system")
    assert finding.responsible == ()
    assert "操作成功" in finding.summary


def test_a_loop_that_declares_itself_done_without_writing_lied_itself() -> None:
    book = Book()
    task = book.run(mode="record_only").task("t1", mode="record_only")
    task.observe("list")
    declare(task)
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.verdict, finding.responsible) == ("false_success", "proven", (LEGACY,))


def test_a_click_that_the_guard_saw_go_astray_explains_both_sides() -> None:
    book = Book()
    declare(
        loop(book.run(mode="record_only"), "t1", sent="B2", verdict="target_changed", found="row B2 标记处理")
    )
    result = month_end(book, month_file(FileLine(bill="B2", amount_minor=700)))
    assert [(b.bill, b.kind, b.amount_minor) for b in result.breaks] == [
        ("B1", "missing_in_file", -12_000),
        ("B2", "extra_in_file", 700),
    ]
    for found in result.breaks:
        finding = cause_of(found)
        assert (finding.cause, finding.verdict) == ("stale_frame_wrong_target", "proven")
        assert finding.responsible == (LEGACY,)
        judged = [x for x in finding.decisive if x.name == "guard.judged"]
        assert judged[0].frames == (sha("list-t1-at-click"),)


def test_one_stray_click_does_not_explain_two_foreign_lines() -> None:
    book = Book()
    declare(loop(book.run(mode="record_only"), "t1", sent="B2", verdict="target_changed", found="row B2"))
    result = month_end(book, month_file(FileLine(bill="B2"), FileLine(bill="B2", amount_minor=5)))
    causes = [cause_of(found).cause for found in result.breaks if found.bill == "B2"]
    assert causes == ["stale_frame_wrong_target", "manual_actor_in_shared_session"]


def test_an_exchanged_button_explains_the_action_that_was_booked() -> None:
    book = Book()
    declare(loop(book.run(mode="record_only"), "t1", verdict="target_changed", found="退款"))
    result = month_end(book, month_file(FileLine(kind="refund", amount_minor=-12_000)))
    assert {(b.kind, cause_of(b).cause, cause_of(b).verdict) for b in result.breaks} == {
        ("missing_in_file", "stale_frame_wrong_target", "proven"),
        ("extra_in_file", "stale_frame_wrong_target", "proven"),
    }


@pytest.mark.parametrize(
    ("verdict", "guard", "party", "responsible", "strength"),
    [
        ("intent_mismatch", "intent", "executor", (LEGACY,), "proven"),
        ("pass", "request", "target_system", (), "proven"),
        ("pass", "gate", "unknown", (), "undecidable"),
    ],
)
def test_another_amount_is_blamed_on_whom_the_guards_saw(
    verdict: Verdict, guard: str, party: str, responsible: tuple[str, ...], strength: str
) -> None:
    book = Book()
    declare(loop(book.run(mode="record_only"), "t1", verdict=verdict, guard=guard, found="amount 120.50"))
    found = only(month_end(book, month_file(FileLine(amount_minor=12_050))))
    finding = cause_of(found)
    assert (found.kind, found.amount_minor) == ("amount_mismatch", 50)
    assert (finding.cause, finding.verdict, finding.party) == ("amount_mismatch", strength, party)
    assert finding.responsible == responsible


def test_another_counterparty_is_a_break_of_no_amount() -> None:
    book = Book()
    declare(
        loop(book.run(mode="record_only"), "t1", verdict="intent_mismatch", guard="intent", found="N0rthwind")
    )
    found = only(month_end(book, month_file(FileLine(counterparty="N0rthwind"))))
    assert (found.kind, found.amount_minor) == ("unmatched_counterparty", 0)
    assert cause_of(found).cause == "stale_frame_wrong_target"


def test_a_run_that_a_budget_stopped_leaves_a_partial_batch() -> None:
    book = Book()
    run = book.run()
    run.task("t1", intent("B1")).done()
    run.task("t2", intent("B2")).claim()
    run.add(e.RunEscalated(verdict="stuck", reason="three equal frames", steps=9))
    found = only(month_end(book, month_file(FileLine())))
    finding = cause_of(found)
    assert (found.bill, finding.cause, finding.verdict) == ("B2", "partial_batch", "proven")
    assert finding.responsible == (SERVICE,)


# -- missing evidence --------------------------------------------------------------------------------------------------


def test_an_attempt_without_outcome_or_readback_is_undecidable() -> None:
    book = Book()
    loop(book.run(mode="record_only"), "t1", executed=False)
    found = only(month_end(book, month_file()))
    finding = cause_of(found)
    assert (finding.cause, finding.verdict, finding.reason) == (
        "missing_evidence",
        "undecidable",
        "attempt_without_outcome",
    )
    assert (finding.responsible, found.residual_minor) == ((), -12_000)


def test_a_second_line_beside_an_attempt_without_outcome_is_undecidable() -> None:
    book = Book()
    run = book.run(mode="record_only")
    declare(loop(run, "t1"))
    loop(run, "t2", executed=False)
    finding = cause_of(only(month_end(book, month_file(FileLine(), FileLine()))))
    assert (finding.cause, finding.reason) == ("missing_evidence", "attempt_without_outcome")


def test_a_write_that_nobody_read_back_and_the_file_lacks_is_undecidable() -> None:
    book = Book()
    declare(loop(book.run(mode="record_only"), "t1"))
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.reason) == ("missing_evidence", "no_independent_readback")


def test_events_that_were_taken_out_keep_a_finding_from_being_proven() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.mismatch("pending")
    task.hand_over()
    kept = [r for r in book.events if r.name != "observation.recorded"]
    result = reconcile(kept, month_file(), tenant=TENANT, month=MONTH, chain_verified=True)
    assert cause_of(only(result)).verdict == "supported"


def test_nothing_is_proven_without_a_verified_chain() -> None:
    book = Book()
    run = book.run(mode="record_only")
    declare(loop(run, "t1"))
    declare(loop(run, "t2"))
    finding = cause_of(only(month_end(book, month_file(FileLine(), FileLine()), verified=False)))
    assert (finding.cause, finding.verdict) == ("duplicate_across_tasks", "supported")


def test_sources_that_disagree_leave_it_undecided() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.confirm(source="list")
    task.mismatch("pending")
    task.hand_over()
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.verdict, finding.reason) == (
        "missing_evidence",
        "undecidable",
        "sources_disagree",
    )
    assert month_end(book, month_file(FileLine())).breaks == ()
