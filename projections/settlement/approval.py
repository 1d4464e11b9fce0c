"""Whether a write had the approval that it needed, when it needed it (B10).

Rules: an approval counts if another principal gave it, for the digest that was attempted, before the attempt and
before it expired; that an approval was needed is read from a request for one or from a guard's verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain import events as e
from domain.envelope import Recorded
from projections.settlement.casefile import TaskCase, WriteAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFault:
    """What was wrong with the approval of a write that went out."""

    what: str
    attempt: WriteAttempt
    evidence: tuple[Recorded, ...]


def approval_fault(case: TaskCase) -> ApprovalFault | None:
    """The first write of the task that went out without a good approval; None when all had theirs."""
    requested = case.fact(e.ApprovalRequested)
    for attempt in case.writes():
        asked = tuple(r for r, fact in attempt.objections() if fact.verdict == "approval_required")
        if requested is None and not asked:
            continue
        what = _fault(case, attempt, requested)
        if what:
            answers = tuple(case.facts(e.ApprovalGranted, e.ApprovalDenied, e.ApprovalLapsed))
            evidence = (*asked, *((requested,) if requested else ()), *answers, attempt.at)
            return ApprovalFault(what=what, attempt=attempt, evidence=evidence)
    return None


def _fault(case: TaskCase, attempt: WriteAttempt, requested: Recorded | None) -> str:
    granted = case.fact(e.ApprovalGranted)
    if case.fact(e.ApprovalDenied):
        return "the approval had been denied"
    if granted is None or not isinstance(granted.event, e.ApprovalGranted):
        return "no approval was ever given"
    if granted.row.position > attempt.at.row.position:
        return "the approval came after the write"
    request = requested.event if requested else None
    if isinstance(request, e.ApprovalRequested):
        if attempt.at.envelope.occurred_at_us >= request.expires_at_us:
            return "the approval had expired"
        if granted.event.approver == request.requested_by:
            return "the requester approved it"
    proposed = attempt.proposed.event if attempt.proposed else None
    if isinstance(proposed, e.ActionProposed) and proposed.digest != granted.event.digest:
        return "the approval was for another action"
    return ""
