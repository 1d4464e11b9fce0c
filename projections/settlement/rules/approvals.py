"""``approval_missing_or_late``: a write that waited for another person's word and went without it.

Decisive: the request for approval (or the guard's ``approval_required``), the write, and the missing, late, expired or
mismatched answer; or a task that still waits, and whose line is therefore missing (then nobody of ours did wrong).
Counter-evidence: a grant for this digest before the write; another operator on the line.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.approval import approval_fault
from projections.settlement.causes import Finding
from projections.settlement.rules.base import (
    Question,
    absent,
    event,
    events,
    events_of,
    line_of,
    looked,
    other_accounts,
    principals,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    if question.missing:
        return _waiting(question)
    line = question.line
    if line is None or not line.booked or not question.month.ours(line):
        return None
    if question.difference.kind not in {"extra_in_file", "status_mismatch"}:
        return None
    cases = question.expected.tasks if question.expected else question.tasks
    for case in cases:
        fault = approval_fault(case)
        if fault is None or fault.attempt.executed is None:
            continue
        if question.surplus and not question.month.meant(case, line):
            continue
        if question.surplus and not question.month.explains(fault.attempt, line):
            continue
        finding = Finding(
            cause="approval_missing_or_late",
            verdict=question.strength(case),
            amount_minor=question.remaining,
            summary=f"The write needed an approval, and {fault.what}.",
            party="executor",
            responsible=principals([(case, fault.attempt)]),
            decisive=(*events_of(fault.attempt), *events(fault.evidence), line_of(line)),
            counter_evidence=(
                looked(
                    "a grant for this action before the write",
                    "the task's stream",
                    events(
                        r
                        for r in case.facts(e.ApprovalGranted)
                        if r.row.position < fault.attempt.at.row.position
                    ),
                ),
                looked(
                    "another operator's line on the bill", "the settlement file", other_accounts(question)
                ),
            ),
        )
        return question.only_if_whole(finding, case)
    return None


def _waiting(question: Question) -> Finding | None:
    item = question.expected
    if item is None or item.basis != "open" or item.undoing:
        return None
    case = item.tasks[0]
    requested = case.fact(e.ApprovalRequested)
    if requested is None or case.status != "awaiting_approval":
        return None
    finding = Finding(
        cause="approval_missing_or_late",
        verdict=question.strength(case),
        amount_minor=question.remaining,
        summary="The task waits for an approval that nobody has given.",
        party="person",
        decisive=(event(requested), event(case.last), absent(question)),
        counter_evidence=(
            looked("an answer to the request", "the task's stream"),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )
    return question.only_if_whole(finding, case)
