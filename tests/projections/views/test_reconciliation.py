"""Given a record and a month file, when the month is reconciled, then each difference has its right cause or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from domain import events as e
from domain.ids import ActionId, PrincipalId
from domain.values import BusinessState, Check, Verdict
from projections.settlement.causes import CAUSES, Cause, Finding
from projections.settlement.lines import SettlementFile
from projections.views.reconciliation import Break, Reconciliation, break_id, reconcile
from tests.support.events import (
    PERSON,
    SERVICE,
    TENANT,
    Book,
    RunBook,
    TaskBook,
    business,
    frame,
    intent,
    sha,
)
from tests.support.settlement import FileLine, month_file

LEGACY = PrincipalId("svc:legacy-loop")
MONTH = "2026-11"


def _reconcile(book: Book, file: SettlementFile, *, verified: bool = True) -> Reconciliation:
    return reconcile(book.events, file, tenant=TENANT, month=MONTH, chain_verified=verified)


def _only(result: Reconciliation) -> Break:
    assert len(result.breaks) == 1, [(b.bill, b.kind, b.findings[0].summary) for b in result.breaks]
    return result.breaks[0]


def _cause(found: Break) -> Finding:
    assert len(found.findings) == 1
    finding = found.findings[0]
    assert sum(f.amount_minor for f in found.findings) + found.residual_minor == found.amount_minor
    assert finding.decisive
    assert finding.counter_evidence
    return finding


def _loop(
    run: RunBook,
    task: str,
    bill: str = "B1",
    *,
    sent: str | None = None,
    verdict: Verdict = "pass",
    found: str = "",
    guard: str = "gate",
    amount_minor: int = 12_000,
    executed: bool = True,
) -> TaskBook:
    """A wrapped loop that writes once, with what the guard would have said."""
    book = run.task(task, intent(bill, amount_minor=amount_minor), mode="record_only")
    screen = f"list-{task}"
    book.observe(screen)
    action = book.propose(on=screen, writes=True)
    check = Check(guard=guard, verdict=verdict, expected=f"row {bill}" if found else "", found=found)
    book.add(
        e.GuardJudged(action_id=action, phase="event", verdict=verdict, enforced=False, checks=(check,)),
        frames=[frame(f"{screen}-at-click", "before")],
        principal=LEGACY,
    )
    book.add(e.ActionAttempted(action_id=action, writes=True, effect_key=book.key), principal=LEGACY)
    if executed:
        book.add(
            e.ActionExecuted(
                action_id=action,
                latency_us=900,
                toast="操作成功",
                requests=(f"POST /bills/{sent or bill}/actions 200",),
            ),
            frames=[frame(f"{screen}-after", "after")],
            principal=LEGACY,
        )
    return book


def _declare(book: TaskBook) -> TaskBook:
    book.add(e.TaskDeclaredDone(claim="done"), principal=LEGACY)
    return book


# -- what agrees ---------------------------------------------------------------------------------------------------


def test_a_confirmed_write_with_its_line_is_no_break() -> None:
    book = Book()
    book.run().task("t1").done()
    result = _reconcile(book, month_file(FileLine()))
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
    assert _reconcile(book, month_file()).breaks == ()


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
    assert _reconcile(book, month_file(FileLine())).breaks == ()


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
    assert _reconcile(book, month_file()).breaks == ()


def _refund(book: Book, *, approved: str = "before") -> TaskBook:
    task = book.run("run-refund").task("refund", intent("B1", action="refund"))
    task.claim()
    task.register("processed")
    task.observe("detail")
    action = task.propose(on="detail", writes=True, label="退款")
    if approved:
        task.add(
            e.ApprovalRequested(
                approval_id="a1",
                action_id=action,
                digest=sha("digest"),
                frame=None,
                rule="write.approval_required",
                reason="refunds wait",
                requested_by=SERVICE,
                expires_at_us=book.now_us + 3_600_000_000,
            )
        )
    if approved == "before":
        _grant(task, action)
    task.judge(action)
    task.attempt(action)
    task.execute(action, toast="操作成功")
    if approved == "after":
        _grant(task, action)
    return task


def _grant(task: TaskBook, action: ActionId) -> None:
    proposed = next(
        r.event
        for r in task.run.book.events
        if isinstance(r.event, e.ActionProposed) and r.event.action_id == action
    )
    task.add(e.ApprovalGranted(approval_id="a1", digest=proposed.digest, approver=PERSON), principal=PERSON)


def _undo(task: TaskBook, *, works: bool) -> None:
    task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="drill"))
    task.observe("detail-undo")
    action = task.propose(on="detail-undo", writes=True, label="撤销")
    task.judge(action)
    task.attempt(action)
    task.execute(action)
    if works:
        task.add(
            e.ReadbackConfirmed(
                source="api",
                phase="compensation",
                account="acme-reader",
                expected_status="processed",
                found=business("B1", "processed", lines=3),
            )
        )
        task.add(e.CompensationConfirmed(source="api", restored=business("B1", "processed", lines=3)))
    else:
        task.add(
            e.ReadbackMismatched(
                source="api",
                phase="compensation",
                account="acme-reader",
                expected_status="processed",
                found=business("B1", "refunded", lines=2),
                differences={"status": "processed → refunded"},
            )
        )
        task.add(
            e.CompensationFailed(reason="status unchanged", differences={"status": "processed → refunded"})
        )


REFUNDED = FileLine(kind="refund", amount_minor=-12_000)


def test_a_refund_that_was_undone_nets_to_zero_and_is_no_break() -> None:
    book = Book()
    book.run().task("t1").done()
    task = _refund(book)
    task.confirm()
    task.succeed()
    _undo(task, works=True)
    result = _reconcile(book, month_file(FileLine(), REFUNDED, FileLine(kind="undo")))
    assert result.breaks == ()
    assert len(result.matched) == 3


# -- execution -----------------------------------------------------------------------------------------------------


def test_two_tasks_for_one_effect_in_a_record_only_run_are_proven_duplicates() -> None:
    book = Book()
    run = book.run(mode="record_only")
    _declare(_loop(run, "t1"))
    _declare(_loop(run, "t2"))
    found = _only(_reconcile(book, month_file(FileLine(), FileLine())))
    finding = _cause(found)
    assert (found.kind, found.amount_minor, found.residual_minor) == ("duplicate_in_file", 12_000, 0)
    assert (finding.cause, finding.verdict) == ("duplicate_across_tasks", "proven")
    assert finding.responsible == (LEGACY,)
    assert {x.task_id for x in finding.decisive if x.kind == "event"} == {"t1", "t2"}
    assert {x.line for x in finding.decisive if x.kind == "line"} == {6, 7}
    assert any(x.frames for x in finding.decisive)


def test_who_wrote_first_is_not_to_blame_for_the_second_write() -> None:
    book = Book()
    book.run("guarded").task("t1").done()
    _declare(_loop(book.run("loop", mode="record_only"), "t2"))
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), FileLine()))))
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
    found = _only(_reconcile(book, month_file()))
    finding = _cause(found)
    assert (found.kind, found.amount_minor) == ("missing_in_file", -12_000)
    assert (finding.cause, finding.verdict, finding.party) == ("false_success", "proven", "target_system")
    assert finding.responsible == ()
    assert "操作成功" in finding.summary


def test_a_loop_that_declares_itself_done_without_writing_lied_itself() -> None:
    book = Book()
    task = book.run(mode="record_only").task("t1", mode="record_only")
    task.observe("list")
    _declare(task)
    finding = _cause(_only(_reconcile(book, month_file())))
    assert (finding.cause, finding.verdict, finding.responsible) == ("false_success", "proven", (LEGACY,))


def test_a_click_that_the_guard_saw_go_astray_explains_both_sides() -> None:
    book = Book()
    _declare(
        _loop(
            book.run(mode="record_only"), "t1", sent="B2", verdict="target_changed", found="row B2 标记处理"
        )
    )
    result = _reconcile(book, month_file(FileLine(bill="B2", amount_minor=700)))
    assert [(b.bill, b.kind, b.amount_minor) for b in result.breaks] == [
        ("B1", "missing_in_file", -12_000),
        ("B2", "extra_in_file", 700),
    ]
    for found in result.breaks:
        finding = _cause(found)
        assert (finding.cause, finding.verdict) == ("stale_frame_wrong_target", "proven")
        assert finding.responsible == (LEGACY,)
        judged = [x for x in finding.decisive if x.name == "guard.judged"]
        assert judged[0].frames == (sha("list-t1-at-click"),)


def test_one_stray_click_does_not_explain_two_foreign_lines() -> None:
    book = Book()
    _declare(_loop(book.run(mode="record_only"), "t1", sent="B2", verdict="target_changed", found="row B2"))
    result = _reconcile(book, month_file(FileLine(bill="B2"), FileLine(bill="B2", amount_minor=5)))
    causes = [_cause(found).cause for found in result.breaks if found.bill == "B2"]
    assert causes == ["stale_frame_wrong_target", "manual_actor_in_shared_session"]


def test_an_exchanged_button_explains_the_action_that_was_booked() -> None:
    book = Book()
    _declare(_loop(book.run(mode="record_only"), "t1", verdict="target_changed", found="退款"))
    result = _reconcile(book, month_file(FileLine(kind="refund", amount_minor=-12_000)))
    assert {(b.kind, _cause(b).cause, _cause(b).verdict) for b in result.breaks} == {
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
    _declare(_loop(book.run(mode="record_only"), "t1", verdict=verdict, guard=guard, found="amount 120.50"))
    found = _only(_reconcile(book, month_file(FileLine(amount_minor=12_050))))
    finding = _cause(found)
    assert (found.kind, found.amount_minor) == ("amount_mismatch", 50)
    assert (finding.cause, finding.verdict, finding.party) == ("amount_mismatch", strength, party)
    assert finding.responsible == responsible


def test_another_counterparty_is_a_break_of_no_amount() -> None:
    book = Book()
    _declare(
        _loop(
            book.run(mode="record_only"), "t1", verdict="intent_mismatch", guard="intent", found="N0rthwind"
        )
    )
    found = _only(_reconcile(book, month_file(FileLine(counterparty="N0rthwind"))))
    assert (found.kind, found.amount_minor) == ("unmatched_counterparty", 0)
    assert _cause(found).cause == "stale_frame_wrong_target"


def test_a_run_that_a_budget_stopped_leaves_a_partial_batch() -> None:
    book = Book()
    run = book.run()
    run.task("t1", intent("B1")).done()
    run.task("t2", intent("B2")).claim()
    run.add(e.RunEscalated(verdict="stuck", reason="three equal frames", steps=9))
    found = _only(_reconcile(book, month_file(FileLine())))
    finding = _cause(found)
    assert (found.bill, finding.cause, finding.verdict) == ("B2", "partial_batch", "proven")
    assert finding.responsible == (SERVICE,)


# -- recovery ------------------------------------------------------------------------------------------------------


def test_an_undoing_that_failed_is_a_break_of_its_own() -> None:
    book = Book()
    book.run().task("t1").done()
    task = _refund(book)
    task.confirm()
    task.succeed()
    _undo(task, works=False)
    found = _only(_reconcile(book, month_file(FileLine(), REFUNDED)))
    finding = _cause(found)
    assert (found.kind, found.amount_minor) == ("missing_in_file", -12_000)
    assert (finding.cause, finding.verdict, finding.party) == (
        "compensation_failed_or_not_reflected",
        "proven",
        "target_system",
    )


def test_an_undoing_that_was_read_back_and_is_not_in_the_file_is_the_issuers() -> None:
    book = Book()
    book.run().task("t1").done()
    task = _refund(book)
    task.confirm()
    task.succeed()
    _undo(task, works=True)
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), REFUNDED))))
    assert (finding.cause, finding.party) == ("compensation_failed_or_not_reflected", "settlement_issuer")


# -- time ----------------------------------------------------------------------------------------------------------


def test_a_line_that_the_readback_had_refuted_was_posted_late() -> None:
    book = Book()
    task = book.run().task("t1")
    task.claim()
    task.register()
    task.write(toast="操作成功")
    task.mismatch("pending")
    task.hand_over()
    found = _only(_reconcile(book, month_file(FileLine())))
    finding = _cause(found)
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
    finding = _cause(_only(_reconcile(book, month_file(FileLine(account="wang.li")))))
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
    finding = _cause(_only(_reconcile(book, month_file())))
    assert (finding.cause, finding.verdict) == ("delayed_posting", "supported")


def test_clocks_that_disagree_about_the_month_leave_it_undecided() -> None:
    book = Book()
    book.run().task("t1").done()
    last_minute = 1_796_054_340_000_000  # 2026-11-30 23:59 in Beijing
    moved = []
    for recorded in book.events:
        if isinstance(recorded.event, e.ActionAttempted | e.ReadbackConfirmed):
            envelope = replace(recorded.envelope, occurred_at_us=last_minute)
            row = replace(recorded.row, recorded_at_us=last_minute + 600_000_000)
            moved.append(replace(recorded, envelope=envelope, row=row))
        else:
            moved.append(recorded)
    result = reconcile(moved, month_file(), tenant=TENANT, month=MONTH, chain_verified=True)
    finding = _cause(_only(result))
    assert (finding.cause, finding.verdict) == ("clock_skew", "undecidable")


# -- authority -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("approved", "words"), [("after", "came after"), ("never", "no approval")])
def test_a_write_before_its_approval_is_found_whatever_the_amounts_say(approved: str, words: str) -> None:
    book = Book()
    book.run().task("t1").done()
    _refund(book, approved=approved).confirm()
    found = _only(_reconcile(book, month_file(FileLine(), REFUNDED)))
    finding = _cause(found)
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
    finding = _cause(_only(_reconcile(book, month_file())))
    assert (finding.cause, finding.party, finding.responsible) == ("approval_missing_or_late", "person", ())


def test_a_write_out_of_scope_that_went_out_is_its_principals() -> None:
    book = Book()
    _declare(_loop(book.run(mode="record_only"), "t1", verdict="out_of_scope", guard="scope"))
    found = _only(_reconcile(book, month_file(FileLine())))
    finding = _cause(found)
    assert (found.kind, finding.cause) == ("extra_in_file", "cross_tenant_or_over_authority")
    assert (finding.verdict, finding.responsible) == ("proven", (LEGACY,))


# -- outside -------------------------------------------------------------------------------------------------------


def test_a_change_by_hand_under_an_account_that_is_not_ours_is_supported_at_most() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), FileLine(bill="B9", account="wang.li")))))
    assert (finding.cause, finding.verdict, finding.responsible) == ("external_change", "supported", ())
    assert "wang.li" in finding.summary
    assert [c.found for c in finding.counter_evidence] == [False, False, False]


def test_a_change_under_an_account_of_ours_without_a_write_is_undecidable() -> None:
    book = Book()
    book.run().task("t1").done()
    found = _only(_reconcile(book, month_file(FileLine(), FileLine(bill="B9"))))
    finding = _cause(found)
    assert (finding.cause, finding.verdict) == ("manual_actor_in_shared_session", "undecidable")
    assert (finding.reason, finding.responsible) == ("shared_account", ())
    assert found.residual_minor == 12_000


def test_an_absence_is_not_argued_from_a_chain_that_nobody_verified() -> None:
    book = Book()
    book.run().task("t1").done()
    file = month_file(FileLine(), FileLine(bill="B9", account="wang.li"))
    finding = _cause(_only(_reconcile(book, file, verified=False)))
    assert (finding.verdict, finding.reason) == ("undecidable", "chain_not_verified")


def test_a_second_line_by_a_person_is_not_our_duplicate() -> None:
    book = Book()
    book.run().task("t1").done()
    found = _only(_reconcile(book, month_file(FileLine(account="wang.li", at_us=1), FileLine())))
    finding = _cause(found)
    assert (found.kind, finding.cause, finding.responsible) == ("duplicate_in_file", "external_change", ())


def test_a_fee_is_the_vendors_whoevers_account_stands_on_it() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), FileLine(kind="fee", amount_minor=-10)))))
    assert (finding.cause, finding.party, finding.verdict) == (
        "external_change",
        "target_system",
        "supported",
    )


def test_one_request_that_the_vendor_booked_twice_is_the_vendors() -> None:
    book = Book()
    task = _loop(book.run(mode="record_only"), "t1")
    task.mismatch("processed", lines=2)
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), FileLine()))))
    assert (finding.cause, finding.party, finding.responsible) == ("external_change", "target_system", ())


def test_a_confirmed_effect_that_the_file_leaves_out_is_the_issuers() -> None:
    book = Book()
    book.run().task("t1").done()
    finding = _cause(_only(_reconcile(book, month_file())))
    assert (finding.cause, finding.verdict, finding.party) == (
        "settlement_omission",
        "proven",
        "settlement_issuer",
    )


# -- the file ------------------------------------------------------------------------------------------------------


def test_a_line_that_could_not_be_read_is_the_files_error() -> None:
    book = Book()
    run = book.run()
    run.task("t1").done()
    run.task("t2", intent("B2")).done()
    bad = FileLine(bill="B2", raw_amount="120.00", currency="??")
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), bad, declared=2))))
    assert (finding.cause, finding.verdict) == ("settlement_file_error", "supported")
    assert finding.decisive[0].kind == "refused_row"


def test_a_file_that_does_not_add_up_leaves_a_missing_line_undecided() -> None:
    book = Book()
    book.run().task("t1").done()
    found = _only(_reconcile(book, month_file(declared=3)))
    finding = _cause(found)
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
    finding = _cause(_only(_reconcile(book, twice)))
    assert (finding.cause, finding.verdict) == ("settlement_file_error", "proven")
    _declare(_loop(run, "t2"))
    assert _cause(_only(_reconcile(book, twice))).cause == "duplicate_across_tasks"


# -- missing evidence ----------------------------------------------------------------------------------------------


def test_an_attempt_without_outcome_or_readback_is_undecidable() -> None:
    book = Book()
    _loop(book.run(mode="record_only"), "t1", executed=False)
    found = _only(_reconcile(book, month_file()))
    finding = _cause(found)
    assert (finding.cause, finding.verdict, finding.reason) == (
        "missing_evidence",
        "undecidable",
        "attempt_without_outcome",
    )
    assert (finding.responsible, found.residual_minor) == ((), -12_000)


def test_a_second_line_beside_an_attempt_without_outcome_is_undecidable() -> None:
    book = Book()
    run = book.run(mode="record_only")
    _declare(_loop(run, "t1"))
    _loop(run, "t2", executed=False)
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), FileLine()))))
    assert (finding.cause, finding.reason) == ("missing_evidence", "attempt_without_outcome")


def test_a_write_that_nobody_read_back_and_the_file_lacks_is_undecidable() -> None:
    book = Book()
    _declare(_loop(book.run(mode="record_only"), "t1"))
    finding = _cause(_only(_reconcile(book, month_file())))
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
    assert _cause(_only(result)).verdict == "supported"


def test_nothing_is_proven_without_a_verified_chain() -> None:
    book = Book()
    run = book.run(mode="record_only")
    _declare(_loop(run, "t1"))
    _declare(_loop(run, "t2"))
    finding = _cause(_only(_reconcile(book, month_file(FileLine(), FileLine()), verified=False)))
    assert (finding.cause, finding.verdict) == ("duplicate_across_tasks", "supported")


# -- the result ----------------------------------------------------------------------------------------------------


def test_the_same_month_reconciled_again_is_the_same_to_the_byte() -> None:
    book = Book()
    run = book.run(mode="record_only")
    _declare(_loop(run, "t1"))
    _declare(_loop(run, "t2"))
    file = month_file(FileLine(), FileLine(), FileLine(bill="B9", account="wang.li"))
    first, second = _reconcile(book, file), _reconcile(book, file)
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert msgspec.json.decode(msgspec.json.encode(first), type=Reconciliation) == first
    assert [b.id for b in first.breaks] == [
        break_id(TENANT, MONTH, "B1", "duplicate_in_file"),
        break_id(TENANT, MONTH, "B9", "extra_in_file"),
    ]


def test_events_of_another_tenant_explain_nothing() -> None:
    other = Book("globex")
    other.run().task("t1").done()
    finding = _cause(_only(_reconcile(other, month_file(FileLine()))))
    assert finding.cause == "external_change"


def test_every_cause_of_the_taxonomy_is_reached_by_a_test_of_this_file() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    missing: list[Cause] = [cause for cause in CAUSES if f'"{cause}"' not in text]
    assert missing == []


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
    finding = _cause(_only(_reconcile(book, month_file())))
    assert (finding.cause, finding.verdict, finding.responsible) == ("external_change", "supported", ())
