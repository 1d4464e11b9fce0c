"""What a case is told by a month's result, again and again, and what its row keeps of it."""

from __future__ import annotations

from domain import events as e
from domain.case import CaseState, Note, SignOff, decide
from domain.ids import PrincipalId, case_stream
from projections.fold import run_keys
from projections.settlement.cases import casework
from projections.settlement.reissue import compare_results
from projections.views.cases import CaseRow, Cases, listed
from projections.views.reconciliation import Reconciliation
from tests.support.events import PERSON, SERVICE, Book, intent
from tests.support.month_end import MONTH, declare, loop, month_end
from tests.support.settlement import FileLine, month_file

FOREIGN = FileLine(bill="B9", account="wang.li", amount_minor=500)


def keep(book: Book, result: Reconciliation, by: PrincipalId = SERVICE) -> None:
    """Record what the domain makes of the result, as the desk's command does."""
    known = {name: row.state for name, row in rows(book).items()}
    for work in casework(result, known, by=by):
        state = known.get(work.break_id, CaseState())
        for command in work.commands:
            for fact in decide(command, state):
                book.add(fact, stream=case_stream(work.break_id), principal=by)
                state = rows(book)[work.break_id].state


def rows(book: Book) -> dict[str, CaseRow]:
    return run_keys(Cases(), book.events)


def only(book: Book) -> CaseRow:
    (row,) = rows(book).values()
    return row


def signed(book: Book, row: CaseRow, by: PrincipalId = PERSON) -> None:
    fact = e.CaseSignedOff(by=by, digest=row.conclusions[-1].digest)
    (said,) = decide(SignOff(fact, kind="person"), row.state)
    book.add(said, stream=case_stream(row.break_id), principal=by)


def two_tasks() -> Book:
    """Two loops that wrote the same effect."""
    book = Book()
    run = book.run()
    declare(loop(run, "t1"))
    declare(loop(run, "t2"))
    return book


TWICE = (FileLine(), FileLine())


def test_each_difference_is_a_case_with_causes_and_their_places() -> None:
    book = two_tasks()
    result = month_end(book, month_file(*TWICE))
    keep(book, result)
    row, (found,) = only(book), result.breaks
    assert (row.break_id, row.bill_id, row.kind, row.month) == (found.id, "B1", found.kind, MONTH)
    (made,) = row.conclusions
    assert made.fact.file_sha256 == result.file_sha256
    assert made.fact.events_read == result.events_read
    assert (made.fact.amount_minor, made.fact.residual_minor) == (found.amount_minor, found.residual_minor)
    (cause,), (finding,) = made.fact.causes, found.findings
    assert (cause.cause, cause.verdict, cause.responsible) == (
        finding.cause,
        finding.verdict,
        finding.responsible,
    )
    assert set(cause.evidence) == {item.position for item in finding.decisive if item.position}
    assert all(1 <= position <= result.events_read for position in cause.evidence)
    assert row.responsible == finding.responsible
    assert row.standing == "waits"


def test_keeping_the_same_result_again_adds_nothing() -> None:
    book = two_tasks()
    file = month_file(*TWICE)
    keep(book, month_end(book, file))
    before = len(book.events)
    keep(book, month_end(book, file))
    assert len(book.events) == before


def test_cases_on_record_change_nothing_in_the_month() -> None:
    book = two_tasks()
    file = month_file(*TWICE)
    first = month_end(book, file)
    keep(book, first)
    again = month_end(book, file)
    assert (again.breaks, again.matched, again.totals) == (first.breaks, first.matched, first.totals)


def test_a_late_file_ends_a_case_and_what_was_concluded_stays() -> None:
    book = Book()
    book.run().task("t1", intent("B1")).done()
    keep(book, month_end(book, month_file(FOREIGN)))
    late = month_file(FOREIGN, FileLine())
    keep(book, month_end(book, late))
    by_bill = {row.bill_id: row for row in rows(book).values()}
    missing, foreign = by_bill["B1"], by_bill["B9"]
    assert missing.standing == "gone"
    assert [made.fact.standing for made in missing.conclusions] == [True, False]
    assert missing.conclusions[0].fact.amount_minor == -12_000
    assert foreign.conclusions[-1].fact.changes == ("file",)
    assert [row.bill_id for row in listed(rows(book).values())] == ["B9"]
    assert len(listed(rows(book).values(), closed=True)) == 2
    assert listed(rows(book).values(), month="2026-10", closed=True) == ()


def test_a_new_event_updates_the_case_and_takes_the_sign_off_away() -> None:
    book = Book()
    run = book.run()
    run.task("t0", intent("B0")).done()
    file = month_file(FileLine(bill="B0"), FileLine(bill="B1"))
    keep(book, month_end(book, file))
    first = only(book)
    signed(book, first)
    declare(loop(run, "t1"))
    declare(loop(run, "t2", sent="B1"))
    keep(book, month_end(book, file))
    row = rows(book)[first.break_id]
    assert row.standing == "gone"
    assert row.state.signed is None
    (word,) = row.sign_offs
    assert word.digest == first.digest
    assert word.withdrawn.startswith("concluded anew: standing, amount")
    assert [entry.name for entry in row.entries] == [
        "case.opened",
        "case.concluded",
        "case.signed_off",
        "case.reopened",
        "case.concluded",
    ]


def test_the_same_findings_in_a_new_file_keep_the_sign_off() -> None:
    book = two_tasks()
    book.run("run-9").task("t9", intent("B2")).done()
    keep(book, month_end(book, month_file(*TWICE)))
    duplicate = next(row for row in rows(book).values() if row.bill_id == "B1")
    signed(book, duplicate)
    keep(book, month_end(book, month_file(*TWICE, FileLine(bill="B2"))))
    row = rows(book)[duplicate.break_id]
    assert row.standing == "signed_off"
    assert [made.fact.changes for made in row.conclusions] == [(), ("file",)]
    assert row.sign_offs[0].withdrawn == ""


def test_a_case_of_another_month_is_left_alone() -> None:
    book = two_tasks()
    keep(book, month_end(book, month_file(*TWICE)))
    december = month_end(book, month_file(*TWICE))
    known = {name: row.state for name, row in rows(book).items()}
    (name,) = known
    october = CaseState(
        status="concluded",
        opened=e.CaseOpened(
            break_id="x", month="2026-10", bill_id="B1", kind="extra_in_file", currency="CNY"
        ),
    )
    assert [work.break_id for work in casework(december, {**known, "x": october}, by=SERVICE)] == [name]


def test_a_difference_that_came_back_is_concluded_again() -> None:
    book = two_tasks()
    whole, once = month_file(*TWICE), month_file(FileLine())
    for file in (whole, once, whole):
        keep(book, month_end(book, file))
    assert [made.fact.standing for made in only(book).conclusions] == [True, False, True]
    assert only(book).standing == "waits"


def test_notes_stand_in_the_story_in_order() -> None:
    book = two_tasks()
    keep(book, month_end(book, month_file(*TWICE)))
    row = only(book)
    (said,) = decide(Note(e.CaseNoted(by=PERSON, text="对方已来电")), row.state)
    book.add(said, stream=case_stream(row.break_id), principal=PERSON)
    assert only(book).entries[-1].said == f"{PERSON} noted: “对方已来电”."
    assert only(book).standing == "waits"


def test_results_and_cases_agree_on_what_has_to_be_read_again() -> None:
    """``compare_results`` says ``changed`` exactly where a sign-off would be taken away."""
    files = [
        month_file(*TWICE),
        month_file(*TWICE, FOREIGN),
        month_file(FileLine(), FileLine(account="wang.li")),
        month_file(FileLine()),
    ]
    for earlier_file in files:
        for later_file in files:
            fresh = two_tasks()
            earlier, later = month_end(fresh, earlier_file), month_end(fresh, later_file)
            keep(fresh, earlier)
            for row in rows(fresh).values():
                signed(fresh, row)
            keep(fresh, later)
            taken = {
                name for name, row in rows(fresh).items() if row.sign_offs and row.sign_offs[0].withdrawn
            }
            changed = {c.id for c in compare_results(earlier, later) if c.kind in {"changed", "closed"}}
            assert taken == changed
