"""A file may come twice, or again with corrections; what was concluded before stays to be seen."""

from __future__ import annotations

import pytest

from projections.settlement.reissue import compare_issues, compare_results
from projections.views.reconciliation import Reconciliation, reconcile
from tests.support.events import TENANT, Book, intent
from tests.support.settlement import FileLine, month_file


def _reconcile(book: Book, *lines: FileLine, month: str = "2026-11") -> Reconciliation:
    return reconcile(book.events, month_file(*lines), tenant=TENANT, month=month, chain_verified=True)


def test_the_same_bytes_are_the_same_file() -> None:
    issue = compare_issues(month_file(FileLine()), month_file(FileLine()))
    assert (issue.same_bytes, issue.kept, issue.added, issue.removed, issue.changed) == (True, 1, (), (), ())


def test_a_corrected_issue_shows_what_was_added_removed_and_changed() -> None:
    first = month_file(FileLine(line_id="A"), FileLine(line_id="B"), FileLine(line_id="C"))
    second = month_file(
        FileLine(line_id="A"), FileLine(line_id="C", amount_minor=12_001), FileLine(line_id="D")
    )
    issue = compare_issues(first, second)
    assert [line.line_id for line in issue.added] == ["D"]
    assert [line.line_id for line in issue.removed] == ["B"]
    assert [(a.amount_minor, b.amount_minor) for a, b in issue.changed] == [(12_000, 12_001)]
    assert (issue.kept, issue.totals, issue.same_bytes) == (1, {"CNY": 1}, False)


def test_files_of_two_months_are_no_issues_of_one() -> None:
    with pytest.raises(ValueError, match="not issues of one file"):
        compare_issues(month_file(FileLine()), month_file(FileLine(), month="2026-10"))


def test_a_late_file_closes_one_break_opens_another_and_keeps_the_earlier_word() -> None:
    book = Book()
    run = book.run()
    run.task("t1", intent("B1")).done()
    run.task("t2", intent("B2")).done()
    early = _reconcile(book, FileLine(bill="B1"), FileLine(bill="B9", account="wang.li"))
    late = _reconcile(
        book, FileLine(bill="B1"), FileLine(bill="B2"), FileLine(bill="B9", account=""), FileLine(bill="B8")
    )
    changes = {(c.earlier or c.later).bill: c for c in compare_results(early, late)}  # type: ignore[union-attr]
    assert {bill: change.kind for bill, change in changes.items()} == {
        "B2": "closed",
        "B8": "new",
        "B9": "changed",
    }
    earlier, later = changes["B9"].earlier, changes["B9"].later
    assert earlier is not None
    assert later is not None
    assert (earlier.findings[0].verdict, later.findings[0].verdict) == ("supported", "undecidable")


def test_a_month_reconciled_again_with_nothing_new_changes_nothing() -> None:
    book = Book()
    book.run().task("t1").done()
    result = _reconcile(book)
    assert [change.kind for change in compare_results(result, result)] == ["same"]
    with pytest.raises(ValueError, match="different tenants or months"):
        compare_results(result, _reconcile(book, month="2026-10"))
