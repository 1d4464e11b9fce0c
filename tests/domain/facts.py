"""Facts and pasts of one task, as short as they can be said; each past is one that the rules allow."""

from __future__ import annotations

from typing import Literal

from domain import events as e
from domain.events.action import Phase, Rung
from domain.events.evidence import ReadbackPhase
from domain.events.task import RunMode
from domain.idempotency import action_digest, compensation_key
from domain.ids import ActionId, EffectKey, PrincipalId, Sha256, TaskId
from domain.values import Check, Verdict
from tests.support.events import PERSON, SERVICE, START_US, TENANT, business, intent, key_of, sha

INTENT = intent()
KEY = key_of(INTENT)
UNDO_KEY = compensation_key(TENANT, INTENT, "undo", TaskId("t1"))
REQUESTER = PrincipalId("svc:month-end")
CHIEF = PrincipalId("person:wang.wei")
WRITER_ACCOUNT = "acme-bot"
READER_ACCOUNT = "acme-reader"
NOW = START_US
EXPIRY = START_US + 3_600_000_000
DIGEST = action_digest(KEY, INTENT, kind="click", label="标记处理")
WRITE = ActionId("write")


def opened(*, mode: RunMode = "guarded", key: EffectKey = KEY) -> e.TaskOpened:
    return e.TaskOpened(intent=INTENT, effect_key=key, requested_by=REQUESTER, mode=mode)


def refused() -> e.TaskRefused:
    return e.TaskRefused(
        intent=INTENT,
        rule="scope.bill",
        verdict="out_of_scope",
        reason="another tenant's bill",
        requested_by=REQUESTER,
    )


def claimed(key: EffectKey = KEY) -> e.TaskClaimed:
    return e.TaskClaimed(effect_key=key)


def claim_denied(key: EffectKey = KEY) -> e.TaskClaimDenied:
    return e.TaskClaimDenied(
        effect_key=key, holder_stream="task:t0", holder_principal=SERVICE, since_us=START_US
    )


def observed(account: str = WRITER_ACCOUNT) -> e.ObservationRecorded:
    return e.ObservationRecorded(
        url="http://127.0.0.1:8800/bills",
        title="Difference bills",
        structure_sha256=sha("ui"),
        document_sha256=sha("list"),
        account=account,
    )


def proposed(
    action: str = WRITE,
    *,
    writes: bool = True,
    rung: Rung = "browser",
    irreversible: bool = False,
    digest: Sha256 = DIGEST,
    planned_on: Sha256 | None = sha("list"),  # noqa: B008 - a constant
) -> e.ActionProposed:
    return e.ActionProposed(
        action_id=ActionId(action),
        kind="click",
        rung=rung,
        label="标记处理",
        target="row B1 > button",
        writes=writes,
        irreversible=irreversible,
        digest=digest,
        planned_on=planned_on,
    )


def judged(
    verdict: Verdict = "pass", action: str = WRITE, *, phase: Phase = "before", found: Verdict | None = None
) -> e.GuardJudged:
    check = Check(guard="frame", verdict=found or verdict)
    return e.GuardJudged(
        action_id=ActionId(action), phase=phase, verdict=verdict, enforced=True, checks=(check,)
    )


def registered(status: str = "pending", *, action: str = "undo") -> e.CompensationRegistered:
    return e.CompensationRegistered(action=action, snapshot=business(status=status), source="detail")


def attempted(action: str = WRITE, *, writes: bool = True, key: EffectKey | None = KEY) -> e.ActionAttempted:
    return e.ActionAttempted(action_id=ActionId(action), writes=writes, effect_key=key if writes else None)


def executed(action: str = WRITE, *, toast: str = "处理成功") -> e.ActionExecuted:
    return e.ActionExecuted(action_id=ActionId(action), latency_us=900, toast=toast)


def blocked(action: str = WRITE, verdict: Verdict = "stale") -> e.ActionBlocked:
    return e.ActionBlocked(action_id=ActionId(action), guard="frame", verdict=verdict)


def act_failed(action: str = WRITE) -> e.ActionFailed:
    return e.ActionFailed(action_id=ActionId(action), verdict="page_changed", reason="no such button")


def outcome_unknown(action: str = WRITE) -> e.ActionOutcomeUnknown:
    return e.ActionOutcomeUnknown(action_id=ActionId(action), reason="time-out")


def requested(
    action: str = WRITE, *, digest: Sha256 = DIGEST, approvers: int = 1, name: str = "approval-1"
) -> e.ApprovalRequested:
    return e.ApprovalRequested(
        approval_id=name,
        action_id=ActionId(action),
        digest=digest,
        frame=sha("list"),
        rule="write.approval_required",
        reason="money leaves",
        requested_by=SERVICE,
        expires_at_us=EXPIRY,
        approvers_needed=approvers,
    )


def granted(
    approver: PrincipalId = PERSON, *, digest: Sha256 = DIGEST, name: str = "approval-1"
) -> e.ApprovalGranted:
    return e.ApprovalGranted(approval_id=name, digest=digest, approver=approver)


def denied(approver: PrincipalId = PERSON) -> e.ApprovalDenied:
    return e.ApprovalDenied(approval_id="approval-1", digest=DIGEST, approver=approver)


def lapsed() -> e.ApprovalLapsed:
    return e.ApprovalLapsed(approval_id="approval-1", digest=DIGEST)


def confirmed(
    status: str = "processed",
    *,
    bill: str = "B1",
    expected: str | None = None,
    source: str = "detail",
    account: str = READER_ACCOUNT,
    phase: ReadbackPhase = "first",
) -> e.ReadbackConfirmed:
    return e.ReadbackConfirmed(
        source=source,
        phase=phase,
        account=account,
        expected_status=expected or status,
        found=business(bill, status, lines=1),
    )


def mismatched(
    status: str = "pending",
    *,
    lines: int = 0,
    source: str = "detail",
    expected: str = "processed",
    phase: ReadbackPhase = "first",
) -> e.ReadbackMismatched:
    return e.ReadbackMismatched(
        source=source,
        phase=phase,
        account=READER_ACCOUNT,
        expected_status=expected,
        found=business(status=status, lines=lines),
        differences={"status": f"{expected} → {status}"},
    )


def inconclusive(source: str = "detail", *, phase: ReadbackPhase = "first") -> e.ReadbackInconclusive:
    return e.ReadbackInconclusive(source=source, phase=phase, account=READER_ACCOUNT, reason="time-out")


def succeeded() -> e.TaskSucceeded:
    return e.TaskSucceeded(source="detail")


def failed(verdict: Verdict = "page_changed") -> e.TaskFailed:
    return e.TaskFailed(verdict=verdict, reason="could not go on")


def released() -> e.TaskClaimReleased:
    return e.TaskClaimReleased(effect_key=KEY, reason="could not go on")


def reopened() -> e.TaskReopened:
    return e.TaskReopened(reason="reversed later")


def handed_over() -> e.TakeoverRequested:
    return e.TakeoverRequested(verdict="noop", reason="not read back", severity="high", due_at_us=EXPIRY)


def taken(owner: PrincipalId = PERSON) -> e.TakeoverClaimed:
    return e.TakeoverClaimed(owner=owner)


def resolved(
    owner: PrincipalId = PERSON, resolution: Literal["effect_present", "effect_absent"] = "effect_absent"
) -> e.TakeoverResolved:
    return e.TakeoverResolved(owner=owner, resolution=resolution, note="looked it up")


def undoing(requester: PrincipalId = PERSON, *, action: str = "undo") -> e.CompensationStarted:
    return e.CompensationStarted(action=action, requested_by=requester, reason="wrong bill")


def restored(status: str = "pending", *, bill: str = "B1") -> e.CompensationConfirmed:
    return e.CompensationConfirmed(source="detail", restored=business(bill, status))


def not_restored() -> e.CompensationFailed:
    return e.CompensationFailed(reason="locked", differences={"status": "pending → processed"})


def alert() -> e.AlertRaised:
    return e.AlertRaised(kind="auth", severity="high", message="session expired", delivered={"log": "ok"})


def model_asked() -> e.ModelRequested:
    return e.ModelRequested(
        provider="openai",
        model="computer-use",
        host="127.0.0.1:8801",
        call=1,
        image_width=1280,
        image_height=800,
        page_width=1280,
        page_height=800,
    )


def sealed(events: int) -> e.TaskSealed:
    return e.TaskSealed(events=events)


CLAIMED: tuple[e.Event, ...] = (opened(), claimed())
PLANNED: tuple[e.Event, ...] = (*CLAIMED, observed(), proposed())
ALLOWED: tuple[e.Event, ...] = (*PLANNED, judged())
READY: tuple[e.Event, ...] = (*ALLOWED, registered())
"""A write that may be attempted."""
ATTEMPTED: tuple[e.Event, ...] = (*READY, attempted())
WRITTEN: tuple[e.Event, ...] = (*ATTEMPTED, executed())
CONFIRMED: tuple[e.Event, ...] = (*WRITTEN, confirmed())
SUCCEEDED: tuple[e.Event, ...] = (*CONFIRMED, succeeded())
TAKEN_OVER: tuple[e.Event, ...] = (*WRITTEN, mismatched(), handed_over())
ASKED: tuple[e.Event, ...] = (*ALLOWED, requested())
UNDOING: tuple[e.Event, ...] = (*SUCCEEDED, undoing())
UNDO_READY: tuple[e.Event, ...] = (*UNDOING, proposed("undo"), judged(action="undo"))
UNDO_ATTEMPTED: tuple[e.Event, ...] = (*UNDO_READY, attempted("undo", key=UNDO_KEY))
UNDO_WRITTEN: tuple[e.Event, ...] = (*UNDO_ATTEMPTED, executed("undo"))
WATCHED: tuple[e.Event, ...] = (opened(mode="record_only"),)
