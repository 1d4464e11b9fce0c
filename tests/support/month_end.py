"""Short words for specifications of the month end: a loop's write, a refund, its undoing, the only break."""

from __future__ import annotations

from domain import events as e
from domain.ids import ActionId, PrincipalId
from domain.values import Check, Verdict
from projections.settlement.causes import Finding
from projections.settlement.lines import SettlementFile
from projections.views.reconciliation import Break, Reconciliation, reconcile
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
from tests.support.settlement import FileLine

LEGACY = PrincipalId("svc:legacy-loop")
MONTH = "2026-11"


def month_end(book: Book, file: SettlementFile, *, verified: bool = True) -> Reconciliation:
    """The month's result over the record."""
    return reconcile(book.events, file, tenant=TENANT, month=MONTH, chain_verified=verified)


def only(result: Reconciliation) -> Break:
    """The one break there is."""
    assert len(result.breaks) == 1, [(b.bill, b.kind, b.findings[0].summary) for b in result.breaks]
    return result.breaks[0]


def cause_of(found: Break) -> Finding:
    """The one finding of a break, with what every finding must have."""
    assert len(found.findings) == 1
    finding = found.findings[0]
    assert sum(f.amount_minor for f in found.findings) + found.residual_minor == found.amount_minor
    assert finding.decisive
    assert finding.counter_evidence
    return finding


def loop(
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


def declare(book: TaskBook) -> TaskBook:
    """Let the loop say that it is done."""
    book.add(e.TaskDeclaredDone(claim="done"), principal=LEGACY)
    return book


def refund(book: Book, *, approved: str = "before") -> TaskBook:
    """A refund with its approval before, after or never."""
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
        grant(task, action)
    task.judge(action)
    task.attempt(action)
    task.execute(action, toast="操作成功")
    if approved == "after":
        grant(task, action)
    return task


def grant(task: TaskBook, action: ActionId) -> None:
    """A person allows the proposed action."""
    proposed = next(
        r.event
        for r in task.run.book.events
        if isinstance(r.event, e.ActionProposed) and r.event.action_id == action
    )
    task.add(e.ApprovalGranted(approval_id="a1", digest=proposed.digest, approver=PERSON), principal=PERSON)


def undo(task: TaskBook, *, works: bool) -> None:
    """Let the refund be undone, well or in vain."""
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
