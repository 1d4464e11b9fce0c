"""Causes on our side and in the target that months are made with; see ``tests.support.months``."""

# ruff: noqa: FBT001 - scenarios are all called alike
from __future__ import annotations

from domain import events as e
from domain.values import Intent
from projections.settlement.causes import BreakKind, Cause
from tests.support.events import PERSON, TaskBook, sha
from tests.support.months import (
    SERVICE,
    Month,
    changed,
    done,
    guarded,
    loop_of,
    read_back,
    refuted,
    state,
    watched,
)
from tests.support.settlement import FileLine


def good(month: Month, _: bool) -> None:
    """Nothing is wrong."""
    done(month, month.bill())


def blocked(month: Month, _: bool) -> None:
    """The guard stopped the click; another task did it later."""
    wanted = month.bill()
    task = month.task(wanted)
    task.claim()
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action, "target_changed", phase="event")
    task.add(e.ActionBlocked(action_id=action, guard="gate", verdict="target_changed"))
    task.add(e.TaskFailed(verdict="target_changed", reason="the row moved"))
    done(month, wanted)


def held_by_another(month: Month, _: bool) -> None:
    """Two executors at once; one got the claim."""
    wanted = month.bill()
    done(month, wanted)
    second = month.task(wanted, run="guarded-2")
    second.add(
        e.TaskClaimDenied(effect_key=second.key, holder_stream="t", holder_principal=SERVICE, since_us=1)
    )


def loops_twice(month: Month, withhold: bool) -> None:
    """Two unguarded loops at one bill."""
    wanted, second = month.bill(), loop_of(month)
    watched(month, wanted, loop_of(month))
    watched(month, wanted, second, outcome=not withhold)
    month.pays(wanted)
    month.pays(wanted)
    cause: Cause = "missing_evidence" if withhold else "duplicate_across_tasks"
    month.says(
        wanted,
        "duplicate_in_file",
        cause,
        decidable=not withhold,
        to_blame=() if withhold else (second,),
    )


def loop_after_guarded(month: Month, withhold: bool) -> None:
    """A loop that asks nobody does again what the batch has done."""
    wanted, loop = month.bill(), loop_of(month)
    done(month, wanted)
    watched(month, wanted, loop, outcome=not withhold)
    month.pays(wanted)
    cause: Cause = "missing_evidence" if withhold else "duplicate_across_tasks"
    month.says(
        wanted, "duplicate_in_file", cause, decidable=not withhold, to_blame=() if withhold else (loop,)
    )


def fake_success(month: Month, withhold: bool) -> None:
    """The vendor says done and does nothing."""
    wanted = month.bill()
    if withhold:
        task = guarded(month, wanted)
        task.add(
            e.ReadbackInconclusive(source="api", phase="first", account="acme-reader", reason="unreachable")
        )
        task.hand_over()
    else:
        refuted(month, wanted)
    cause: Cause = "missing_evidence" if withhold else "false_success"
    month.says(wanted, "missing_in_file", cause, decidable=not withhold)


def declared_only(month: Month, _: bool) -> None:
    """The loop says done without having tried."""
    wanted, loop = month.bill(), loop_of(month)
    task = month.task(wanted, run=str(loop))
    task.observe("list")
    task.add(e.TaskDeclaredDone(claim="done"), principal=loop)
    month.says(wanted, "missing_in_file", "false_success", to_blame=(loop,))


def refused_by_the_target(month: Month, _: bool) -> None:
    """The session had ended; the loop did not notice and said done."""
    wanted, loop = month.bill(), loop_of(month)
    watched(month, wanted, loop, status=401)
    month.says(wanted, "missing_in_file", "false_success", to_blame=(loop,))


def stray_click(month: Month, withhold: bool) -> None:
    """The row moved under the click and another bill was processed."""
    wanted, hit, loop = month.bill(), month.bill(), loop_of(month)
    if withhold:
        watched(month, wanted, loop, verdict=None, sent=None)
    else:
        watched(
            month,
            wanted,
            loop,
            verdict="target_changed",
            found=f"row {hit.bill_id} 标记处理",
            sent=hit.bill_id,
        )
    own = month.random.random() < 0.3
    if own:  # the bill that was hit had been done already
        done(month, hit)
    month.pays(hit)
    extra: BreakKind = "duplicate_in_file" if own else "extra_in_file"
    if withhold:
        month.says(wanted, "missing_in_file", "missing_evidence", decidable=False)
        month.says(hit, extra, "manual_actor_in_shared_session", decidable=False)
    else:
        month.says(wanted, "missing_in_file", "stale_frame_wrong_target", to_blame=(loop,))
        month.says(hit, extra, "stale_frame_wrong_target", to_blame=(loop,))


def stopped_run(month: Month, _: bool) -> None:
    """A budget stopped the run before this bill."""
    wanted = month.bill()
    task = month.task(wanted, run=f"guarded-stopped-{month.bills}")
    task.claim()
    task.run.add(e.RunEscalated(verdict="stuck", reason="three equal frames", steps=7))
    month.says(wanted, "missing_in_file", "partial_batch", to_blame=(SERVICE,))


def over_authority(month: Month, withhold: bool) -> None:
    """A loop does what its scope forbids."""
    wanted, loop = month.bill(), loop_of(month)
    watched(month, wanted, loop, verdict="out_of_scope", guard="scope", outcome=not withhold)
    month.pays(wanted)
    cause: Cause = "missing_evidence" if withhold else "cross_tenant_or_over_authority"
    month.says(wanted, "extra_in_file", cause, decidable=not withhold, to_blame=() if withhold else (loop,))


def _refund(month: Month, wanted: Intent, *, granted: str, outcome: bool = True) -> TaskBook:
    refund = changed(wanted, action="refund", expected_status="refunded")
    task = month.task(refund)
    task.claim()
    task.register("processed")
    task.observe("detail")
    action = task.propose(on="detail", writes=True, label="退款")
    proposed = month.book.events[-1].event
    assert isinstance(proposed, e.ActionProposed)
    task.add(
        e.ApprovalRequested(
            approval_id="a",
            action_id=action,
            digest=proposed.digest,
            frame=sha("detail"),
            rule="write.approval_required",
            reason="refunds wait",
            requested_by=SERVICE,
            expires_at_us=month.book.now_us + 10**12,
        )
    )
    grant = e.ApprovalGranted(approval_id="a", digest=proposed.digest, approver=PERSON)
    if granted == "before":
        task.add(grant, principal=PERSON)
    task.judge(action)
    task.attempt(action)
    if outcome:
        task.execute(action, toast="操作成功")
    if granted == "after":
        task.add(grant, principal=PERSON)
    if outcome:
        read_back(task, "refunded")
    return task


def approval_late(month: Month, _: bool) -> None:
    """The word came after the deed."""
    wanted = month.bill()
    done(month, wanted)
    task = _refund(month, wanted, granted="after")
    month.pays(task.intent)
    month.says(wanted, "status_mismatch", "approval_missing_or_late", to_blame=(SERVICE,))


def approval_never(month: Month, withhold: bool) -> None:
    """Nobody was heard."""
    wanted = month.bill()
    done(month, wanted)
    task = _refund(month, wanted, granted="never", outcome=not withhold)
    month.pays(task.intent)
    cause: Cause = "missing_evidence" if withhold else "approval_missing_or_late"
    month.says(
        wanted, "extra_in_file", cause, decidable=not withhold, to_blame=() if withhold else (SERVICE,)
    )


def undone(month: Month, withhold: bool) -> None:
    """A refund is undone: well, or in vain, or without a trace in the file."""
    wanted = month.bill()
    done(month, wanted)
    task = _refund(month, wanted, granted="before")
    task.succeed()
    month.pays(task.intent)
    how = month.random.choice(["well", "in vain", "not in the file"])
    month.undoing.add(wanted.bill_id)
    task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="drill"))
    task.observe("detail-undo")
    action = task.propose(on="detail-undo", writes=True, label="撤销")
    task.judge(action)
    task.attempt(action)
    undo = FileLine(bill=wanted.bill_id, amount_minor=wanted.amount_minor, kind="undo")
    if how == "well":
        task.execute(action)
        read_back(task, "processed", phase="compensation", expected="processed")
        task.add(e.CompensationConfirmed(source="api", restored=state(wanted, "processed")))
        month.lines.append(undo)
        return
    if withhold:
        month.says(wanted, "missing_in_file", "missing_evidence", decidable=False)
        return
    task.execute(action)
    if how == "in vain":
        read_back(task, "refunded", phase="compensation", expected="processed")
        task.add(e.CompensationFailed(reason="unchanged", differences={"status": "processed → refunded"}))
    else:
        read_back(task, "processed", phase="compensation", expected="processed")
        task.add(e.CompensationConfirmed(source="api", restored=state(wanted, "processed")))
    lost = how == "not in the file"
    month.says(wanted, "missing_in_file", "compensation_failed_or_not_reflected", needs_file=lost)
