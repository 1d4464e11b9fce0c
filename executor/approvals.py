"""Answers to approval requests: by another principal, for exactly the requested action, in time (B10).

An answer that is refused (late, given again, to a changed request, by somebody who may not) changes nothing and is on
record all the same, as an alert in the name of whoever gave it.
"""

from __future__ import annotations

from typing import Literal

from domain import commands as c
from domain.errors import CommandRefused, VersionConflict
from domain.events import ApprovalDenied, ApprovalGranted, ApprovalLapsed
from domain.ids import EffectKey
from domain.policy import Identity
from executor.notify import Notifier
from executor.runtime.streams import TaskStream


def may_approve(person: Identity, stream: TaskStream) -> None:
    """``CommandRefused`` unless the person may approve this business action for this tenant."""
    action = stream.state.intent.action if stream.state.intent else ""
    if stream.tenant not in person.tenants:
        raise CommandRefused("approval.tenant", f"{person.principal} does not act for tenant {stream.tenant}")
    if f"approve:{action}" not in person.actions:
        raise CommandRefused(
            "approval.right",
            f"{person.principal} may not approve {action}",
            remedy=f"give them approve:{action} in the configuration",
        )


def answer(
    stream: TaskStream,
    person: Identity,
    verdict: Literal["grant", "deny"],
    *,
    note: str,
    now_us: int,
    notifier: Notifier | None = None,
) -> None:
    """Record the person's answer.

    Raises:
        CommandRefused: it is late, given again, to a changed request or by the wrong person; the try is on record.
    """
    try:
        _answer(stream, person, verdict, note=note, now_us=now_us)
    except VersionConflict:
        raise  # somebody else's word came first; whether this one still counts is not known yet
    except CommandRefused as refused:
        _keep_refusal(stream, person, verdict, refused, notifier or Notifier())
        raise


def _keep_refusal(
    stream: TaskStream, person: Identity, verdict: str, refused: CommandRefused, notifier: Notifier
) -> None:
    sealed = stream.state.sealed
    message = f"{verdict} by {person.principal} was refused: {refused.what}"
    context = {"task": stream.task_id, "tenant": stream.tenant}
    alert = notifier.alert("approval_refused", "medium", message, **context)
    stream.stage(c.RaiseAlert(alert), principal=person.principal)
    if sealed:
        stream.stage(c.Seal(by=person.principal), principal=person.principal)
    stream.flush()


def _answer(
    stream: TaskStream, person: Identity, verdict: Literal["grant", "deny"], *, note: str, now_us: int
) -> None:
    may_approve(person, stream)
    request = stream.state.request
    if request is None:
        raise CommandRefused(
            "approval.none",
            f"no approval is waited for (task is {stream.state.status})",
            remedy="see 'proofreel approvals list'",
        )
    if verdict == "grant":
        granted = ApprovalGranted(
            approval_id=request.approval_id, digest=request.digest, approver=person.principal, note=note
        )
        stream.submit(c.Grant(granted, at_us=now_us), principal=person.principal)
        return
    denied = ApprovalDenied(
        approval_id=request.approval_id, digest=request.digest, approver=person.principal, note=note
    )
    stream.submit(c.Deny(denied, at_us=now_us), principal=person.principal)


def lapse_if_expired(stream: TaskStream, *, now_us: int) -> bool:
    """Close a request that nobody answered in time; True if it was closed."""
    request = stream.state.request
    if stream.state.status != "awaiting_approval" or request is None or now_us < request.expires_at_us:
        return False
    stream.submit(
        c.Lapse(ApprovalLapsed(approval_id=request.approval_id, digest=request.digest), at_us=now_us)
    )
    return True


def waiting_for(stream: TaskStream) -> EffectKey | None:
    """The idempotency key whose approval is waited for."""
    return stream.state.effect_key if stream.state.status == "awaiting_approval" else None
