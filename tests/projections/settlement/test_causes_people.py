"""Differences around approvals, scope, undoing and people who take over."""

from __future__ import annotations

from typing import Literal

import pytest

from domain import events as e
from domain.ids import ActionId, PrincipalId, Sha256
from tests.support.events import (
    PERSON,
    SERVICE,
    Book,
    TaskBook,
    intent,
    sha,
)
from tests.support.month_end import (
    LEGACY,
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

# -- recovery ----------------------------------------------------------------------------------------------------------


def test_an_undoing_that_failed_is_a_break_of_its_own() -> None:
    book = Book()
    book.run().task("t1").done()
    task = refund(book)
    task.confirm()
    task.succeed()
    undo(task, works=False)
    found = only(month_end(book, month_file(FileLine(), REFUNDED)))
    finding = cause_of(found)
    assert (found.kind, found.amount_minor) == ("missing_in_file", -12_000)
    assert (finding.cause, finding.verdict, finding.party) == (
        "compensation_failed_or_not_reflected",
        "proven",
        "target_system",
    )


def test_an_undoing_that_was_read_back_and_is_not_in_the_file_is_the_issuers() -> None:
    book = Book()
    book.run().task("t1").done()
    task = refund(book)
    task.confirm()
    task.succeed()
    undo(task, works=True)
    finding = cause_of(only(month_end(book, month_file(FileLine(), REFUNDED))))
    assert (finding.cause, finding.party) == ("compensation_failed_or_not_reflected", "settlement_issuer")


# -- authority ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("approved", "words"), [("after", "came after"), ("never", "no approval")])
def test_a_write_before_its_approval_is_found_whatever_the_amounts_say(approved: str, words: str) -> None:
    book = Book()
    book.run().task("t1").done()
    refund(book, approved=approved).confirm()
    found = only(month_end(book, month_file(FileLine(), REFUNDED)))
    finding = cause_of(found)
    assert (finding.cause, finding.verdict) == ("approval_missing_or_late", "proven")
    assert finding.responsible == (SERVICE,)
    assert words in finding.summary
    assert found.amount_minor == (0 if approved == "after" else -12_000)


def test_a_task_that_still_waits_for_approval_is_nobodys_of_ours() -> None:
    book = Book()
    task = book.run().task("t1", intent("B1", action="refund"))
    task.claim()
    task.observe("detail")
    action = task.propose(on="detail", writes=True)
    task.add(
        e.ApprovalRequested(
            approval_id="a1",
            action_id=action,
            digest=sha("digest"),
            frame=None,
            rule="write.approval_required",
            reason="refunds wait",
            requested_by=SERVICE,
            expires_at_us=book.now_us + 1,
        )
    )
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.party, finding.responsible) == ("approval_missing_or_late", "person", ())


def test_a_write_out_of_scope_that_went_out_is_its_principals() -> None:
    book = Book()
    declare(loop(book.run(mode="record_only"), "t1", verdict="out_of_scope", guard="scope"))
    found = only(month_end(book, month_file(FileLine())))
    finding = cause_of(found)
    assert (found.kind, finding.cause) == ("extra_in_file", "cross_tenant_or_over_authority")
    assert (finding.verdict, finding.responsible) == ("proven", (LEGACY,))


# -- people ------------------------------------------------------------------------------------------------------------


def _taken_over(book: Book, resolution: Literal["effect_absent", "effect_present", "done_by_hand"]) -> None:
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.mismatch("pending")
    task.hand_over()
    task.add(e.TakeoverClaimed(owner=PERSON), principal=PERSON)
    task.add(e.TakeoverResolved(owner=PERSON, resolution=resolution, note=""), principal=PERSON)


def test_what_a_person_found_absent_is_not_expected() -> None:
    book = Book()
    _taken_over(book, "effect_absent")
    assert month_end(book, month_file()).breaks == ()


@pytest.mark.parametrize("resolution", ["effect_present", "done_by_hand"])
def test_what_a_person_did_or_found_is_expected_and_its_line_is_no_break(
    resolution: Literal["effect_present", "done_by_hand"],
) -> None:
    book = Book()
    _taken_over(book, resolution)
    assert month_end(book, month_file(FileLine(account="wang.li"))).breaks == ()
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.verdict, finding.responsible) == ("undecidable", ())


def _waiting_refund(book: Book) -> tuple[TaskBook, ActionId]:
    task = book.run().task("t1", intent("B1", action="refund"))
    task.claim()
    task.observe("detail")
    action = task.propose(on="detail", writes=True)
    proposed = book.events[-1].event
    assert isinstance(proposed, e.ActionProposed)
    task.add(
        e.ApprovalRequested(
            approval_id="a1",
            action_id=action,
            digest=proposed.digest,
            frame=None,
            rule="write.approval_required",
            reason="refunds wait",
            requested_by=SERVICE,
            expires_at_us=book.now_us + 2_500_000,
        )
    )
    return task, action


@pytest.mark.parametrize(
    ("approver", "wait_us", "digest", "words"),
    [
        (PERSON, 9_000_000, None, "expired"),
        (SERVICE, 1, None, "requester"),
        (PERSON, 1, sha("another"), "another action"),
    ],
)
def test_an_approval_that_does_not_cover_the_write_is_none(
    approver: PrincipalId, wait_us: int, digest: Sha256 | None, words: str
) -> None:
    book = Book()
    task, action = _waiting_refund(book)
    requested = book.events[-1].event
    assert isinstance(requested, e.ApprovalRequested)
    task.add(e.ApprovalGranted(approval_id="a1", digest=digest or requested.digest, approver=approver))
    task.add(e.ActionAttempted(action_id=action, writes=True, effect_key=task.key), after_us=wait_us)
    task.execute(action)
    finding = cause_of(only(month_end(book, month_file(REFUNDED))))
    assert (finding.cause, finding.responsible) == ("approval_missing_or_late", (SERVICE,))
    assert words in finding.summary


def test_a_write_after_a_denial_is_not_expected_and_is_its_principals() -> None:
    book = Book()
    task, action = _waiting_refund(book)
    task.add(e.ApprovalDenied(approval_id="a1", digest=sha("d"), approver=PERSON), principal=PERSON)
    task.attempt(action)
    task.execute(action)
    found = only(month_end(book, month_file(REFUNDED)))
    assert (found.kind, cause_of(found).cause) == ("extra_in_file", "approval_missing_or_late")
    assert "denied" in cause_of(found).summary


def test_an_undoing_that_was_ordered_and_never_carried_out_names_nobody() -> None:
    book = Book()
    book.run().task("t1").done()
    task = refund(book)
    task.confirm()
    task.succeed()
    task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="drill"))
    file = month_file(FileLine(), REFUNDED)
    finding = cause_of(only(month_end(book, file)))
    assert (finding.cause, finding.party) == ("compensation_failed_or_not_reflected", "unknown")
    assert "never carried out" in finding.summary
    assert cause_of(only(month_end(book, file, verified=False))).reason == "chain_not_verified"


def test_a_run_whose_record_breaks_off_leaves_a_partial_batch_that_needs_a_verified_chain() -> None:
    book = Book()
    book.run().task("t1").claim()
    finding = cause_of(only(month_end(book, month_file())))
    assert (finding.cause, finding.verdict) == ("partial_batch", "supported")
    assert cause_of(only(month_end(book, month_file(), verified=False))).responsible == ()
