"""``compensation_failed_or_not_reflected``: the undoing that was ordered is not in the file.

Decisive: the order to undo, its failure (or the readback that confirmed it), and the missing line. Undecidable when the
undoing was attempted and its outcome never recorded (see completeness). Counter-evidence: a line that undoes it under
another operator; a later readback that shows the state from before.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.causes import Finding, Party
from projections.settlement.rules.base import (
    Question,
    absent,
    event,
    events,
    events_of,
    line_of,
    looked,
    other_accounts,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    item = question.expected
    if (
        item is None
        or not item.undoing
        or question.difference.kind not in {"missing_in_file", "amount_mismatch"}
    ):
        return None
    case = item.tasks[0]
    failed, confirmed = case.fact(e.CompensationFailed), case.fact(e.CompensationConfirmed)
    writes = case.writes(compensating=True)
    readbacks = case.readbacks(compensating=True)
    shown_absent = any(isinstance(r.event, e.ReadbackMismatched) for r in readbacks)
    acted = any(a.executed for a in writes)
    side: Party = "unknown"
    if failed is None and confirmed is None and not acted:
        how = "was ordered and never carried out"
    elif confirmed is not None:
        how, side = "was read back and is not in the file", "settlement_issuer"
    else:
        how, side = "failed", "target_system" if acted else "unknown"
    end = failed or confirmed
    finding = Finding(
        cause="compensation_failed_or_not_reflected",
        verdict=question.strength(case, outside=bool(shown_absent or confirmed or failed)),
        amount_minor=question.remaining,
        summary=f"The undoing of {case.intent.action} on bill {item.bill_id} {how}.",
        party=side,
        decisive=(
            *events(case.facts(e.CompensationStarted)),
            *(x for a in writes for x in events_of(a)),
            *((event(end),) if end else ()),
            *events(readbacks),
            line_of(question.line) if question.line else absent(question),
        ),
        counter_evidence=(
            looked(
                "a line that undoes it under another operator",
                "the settlement file",
                other_accounts(question),
            ),
            looked(
                "a readback that shows the state from before",
                "readbacks of the undoing",
                events(r for r in readbacks if isinstance(r.event, e.ReadbackConfirmed)),
            ),
        ),
    )
    if acted or end is not None:
        return finding
    return question.only_if_whole(finding, case)  # that it was never carried out is argued from an absence
