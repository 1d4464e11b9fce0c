"""Differences in time, from outside, and in the file itself."""

from __future__ import annotations

import msgspec

from domain import events as e
from projections.settlement.importer import read_settlement
from projections.settlement.profiles import StatusRule, load_profile
from projections.views.reconciliation import reconcile
from tests.support.events import (
    TENANT,
    Book,
    business,
    intent,
)
from tests.support.month_end import (
    MONTH,
    cause_of,
    declare,
    loop,
    month_end,
    only,
)
from tests.support.settlement import FileLine, month_bytes, month_file

# -- time --------------------------------------------------------------------------------------------------------------


def test_a_line_that_the_readback_had_refuted_was_posted_late() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.mismatch("pending")
    task.hand_over()
    found = only(month_end(book, month_file(FileLine())))
    finding = cause_of(found)
    assert (found.kind, found.amount_minor) == ("status_mismatch", 0)
    assert (finding.cause, finding.verdict, finding.party) == ("delayed_posting", "proven", "target_system")


def test_a_refuted_effect_that_a_person_did_by_hand_is_not_a_late_posting() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.mismatch("pending")
    task.hand_over()
    finding = cause_of(only(month_end(book, month_file(FileLine(account="wang.li")))))
    assert (finding.cause, finding.verdict, finding.responsible) == ("external_change", "supported", ())


def test_an_effect_that_appeared_after_the_first_look_and_missed_the_file_is_delayed() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write()
    task.mismatch("pending")
    task.hand_over()
    task.confirm(phase="later")
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.verdict) == ("delayed_posting", "supported")


def test_clocks_that_disagree_about_the_month_leave_it_undecided() -> None:
    book = Book()
    book.run().task("t1").done()
    last_minute = 1_796_054_340_000_000  # 2026-11-30 23:59 in Beijing
    moved = []
    for recorded in book.events:
        if isinstance(recorded.event, e.ActionAttempted | e.ReadbackConfirmed):
            envelope = msgspec.structs.replace(recorded.envelope, occurred_at_us=last_minute)
            row = msgspec.structs.replace(recorded.row, recorded_at_us=last_minute + 600_000_000)
            moved.append(msgspec.structs.replace(recorded, envelope=envelope, row=row))
        else:
            moved.append(recorded)
    result = reconcile(moved, month_file(), tenant=TENANT, month=MONTH, chain_verified=True)
    finding = cause_of(only(result))
    assert (finding.cause, finding.verdict) == ("clock_skew", "undecidable")


# -- outside -----------------------------------------------------------------------------------------------------------


def test_a_change_by_hand_under_an_account_that_is_not_ours_is_supported_at_most() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = cause_of(only(month_end(book, month_file(FileLine(), FileLine(bill="B9", account="wang.li")))))
    assert (finding.cause, finding.verdict, finding.responsible) == ("external_change", "supported", ())
    assert "wang.li" in finding.summary
    assert [c.found for c in finding.counter_evidence] == [False, False, False]


def test_a_change_under_an_account_of_ours_without_a_write_is_undecidable() -> None:
    book = Book()
    book.run().task("t1").done()
    found = only(month_end(book, month_file(FileLine(), FileLine(bill="B9"))))
    finding = cause_of(found)
    assert (finding.cause, finding.verdict) == ("manual_actor_in_shared_session", "undecidable")
    assert (finding.reason, finding.responsible) == ("shared_account", ())
    assert found.residual_minor == 12_000


def test_an_absence_is_not_argued_from_a_chain_that_nobody_verified() -> None:
    book = Book()
    book.run().task("t1").done()
    file = month_file(FileLine(), FileLine(bill="B9", account="wang.li"))
    finding = cause_of(only(month_end(book, file, verified=False)))
    assert (finding.verdict, finding.reason) == ("undecidable", "chain_not_verified")


def test_a_second_line_by_a_person_is_not_our_duplicate() -> None:
    book = Book()
    book.run().task("t1").done()
    found = only(month_end(book, month_file(FileLine(account="wang.li", at_us=1), FileLine())))
    finding = cause_of(found)
    assert (found.kind, finding.cause, finding.responsible) == ("duplicate_in_file", "external_change", ())


def test_a_fee_is_the_vendors_whoevers_account_stands_on_it() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = cause_of(only(month_end(book, month_file(FileLine(), FileLine(kind="fee", amount_minor=-10)))))
    assert (finding.cause, finding.party, finding.verdict) == (
        "external_change",
        "target_system",
        "supported",
    )


def test_one_request_that_the_vendor_booked_twice_is_the_vendors() -> None:
    book = Book()
    task = loop(book.run(mode="record_only"), "t1")
    task.mismatch("processed", lines=2)
    finding = cause_of(only(month_end(book, month_file(FileLine(), FileLine()))))
    assert (finding.cause, finding.party, finding.responsible) == ("external_change", "target_system", ())


def test_a_confirmed_effect_that_the_file_leaves_out_is_the_issuers() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.verdict, finding.party) == (
        "settlement_omission",
        "proven",
        "settlement_issuer",
    )


# -- the file ----------------------------------------------------------------------------------------------------------


def test_a_line_that_could_not_be_read_is_the_files_error() -> None:
    book = Book()
    run = book.run()
    run.task("t1").done()
    run.task("t2", intent("B2")).done()
    bad = FileLine(bill="B2", raw_amount="120.00", currency="??")
    finding = cause_of(only(month_end(book, month_file(FileLine(), bad, declared=2))))
    assert (finding.cause, finding.verdict) == ("settlement_file_error", "supported")
    assert finding.decisive[0].kind == "refused_row"


def test_a_file_that_does_not_add_up_leaves_a_missing_line_undecided() -> None:
    book = Book()
    book.run().task("t1").done()
    found = only(month_end(book, month_file(declared=3)))
    finding = cause_of(found)
    assert (finding.cause, finding.verdict, found.residual_minor) == (
        "settlement_file_error",
        "undecidable",
        -12_000,
    )


def test_a_line_id_that_stands_twice_is_the_files_error_unless_we_wrote_twice() -> None:
    book = Book()
    run = book.run()
    run.task("t1").done()
    twice = month_file(FileLine(line_id="JS1"), FileLine(line_id="JS1"))
    finding = cause_of(only(month_end(book, twice)))
    assert (finding.cause, finding.verdict) == ("settlement_file_error", "proven")
    declare(loop(run, "t2"))
    assert cause_of(only(month_end(book, twice))).cause == "duplicate_across_tasks"


# -- amounts and the file ----------------------------------------------------------------------------------------------


def test_an_amount_that_the_files_own_total_contradicts_is_the_files_error() -> None:
    book = Book()
    book.run().task("t1").done()
    exact = cause_of(only(month_end(book, month_file(FileLine(amount_minor=12_500), extra_minor=-500))))
    assert (exact.cause, exact.verdict) == ("settlement_file_error", "supported")
    other = cause_of(only(month_end(book, month_file(FileLine(amount_minor=12_500), extra_minor=7))))
    assert (other.cause, other.verdict) == ("settlement_file_error", "undecidable")


def test_another_amount_under_a_persons_account_is_not_ours() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = cause_of(only(month_end(book, month_file(FileLine(amount_minor=1, account="wang.li")))))
    assert (finding.cause, finding.party, finding.responsible) == ("external_change", "person", ())


def test_a_line_too_many_in_a_file_that_declares_fewer_is_undecidable() -> None:
    book = Book()
    book.run().task("t1").done()
    found = only(month_end(book, month_file(FileLine(), FileLine(bill="B9", account="wang.li"), declared=1)))
    assert (cause_of(found).cause, cause_of(found).verdict) == ("settlement_file_error", "undecidable")


def test_a_line_that_the_vendor_has_not_booked_counts_for_nothing() -> None:
    book = Book()
    book.run().task("t1").done()
    data = month_bytes(FileLine()).replace(b"Booked", b"Failed").replace(b"CNY 120.00", b"CNY 0.00")
    profile = load_profile("portal")
    rule = msgspec.structs.replace(profile.statuses or StatusRule(), not_booked=["Failed"])
    file = read_settlement(data, msgspec.structs.replace(profile, statuses=rule))
    found = only(month_end(book, file))
    assert (found.kind, found.amount_minor) == ("status_mismatch", -12_000)
    assert cause_of(found).cause == "settlement_omission"


def test_a_file_is_no_witness_about_itself() -> None:
    book = Book()
    task = book.run().task("t1").done()
    task.add(
        e.ReadbackMismatched(
            source="settlement_file",
            phase="later",
            account="acme-reader",
            expected_status="processed",
            found=business("B1", "pending"),
            differences={"status": "processed → pending"},
        )
    )
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.party) == ("settlement_omission", "settlement_issuer")
