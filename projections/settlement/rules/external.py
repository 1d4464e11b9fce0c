"""``external_change``: somebody or something that is not ours changed the bill. Last rule, and never a default.

Decisive: a line whose operator is an account that no event of ours ever used, or a kind that only the vendor books, or
a confirmed effect that the vendor's history says somebody else reversed. ``supported`` at most for people: an account
is not a person. Undecidable when the file names no operator, or the record's completeness was not verified.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.casefile import bill_key
from projections.settlement.causes import CounterEvidence, Finding
from projections.settlement.rules.base import (
    Question,
    conclusive,
    event,
    events_of,
    line_of,
    looked,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    line = question.line
    if question.missing:
        return _reversed(question)
    if line is None or not line.booked:
        return None
    by_vendor = line.kind in question.month.file.vendor_kinds
    settled = question.difference.kind == "status_mismatch" and not question.month.ours(line)
    if not (question.surplus or settled):
        return None
    if not by_vendor and line.account in question.month.book.accounts:
        return None
    verified = question.month.chain_verified and (by_vendor or bool(line.account))
    reason = "" if verified else ("chain_not_verified" if line.account or by_vendor else "no_operator_named")
    if by_vendor:
        summary = f"“{line.kind}” is booked by the vendor itself; no action of an account brings it about."
    elif line.account:
        summary = f"The operator “{line.account}” is no account that any executor of ours was seen to use."
    else:
        summary = "The file names no operator, and no write on record explains the line."
    return Finding(
        cause="external_change",
        verdict="supported" if verified else "undecidable",
        amount_minor=question.remaining if verified else 0,
        summary=summary,
        party="target_system" if by_vendor else ("person" if line.account else "unknown"),
        reason=reason,
        decisive=(line_of(line),),
        counter_evidence=counter(question),
    )


def counter(question: Question) -> tuple[CounterEvidence, ...]:
    """What would make the line ours."""
    bill = bill_key(question.difference.bill_id)
    strays = question.month.strays.get(bill, [])
    book = question.month.book
    return (
        looked(
            "a write of ours on the bill that would explain the line",
            f"all {len(question.tasks)} tasks of the bill",
            [x for case in question.tasks for a in case.writes() for x in events_of(a)],
        ),
        looked(
            "a request or click of ours that names the bill",
            f"all write attempts of the tenant ({book.events} events)",
            [x for stray in strays for x in events_of(stray.attempt)],
        ),
        looked(
            "the operator's account among ours",
            f"accounts seen in observations and readbacks: {', '.join(sorted(book.accounts)) or 'none'}",
        ),
    )


def _reversed(question: Question) -> Finding | None:
    """Confirmed first, gone later, by an account that is not ours; a vendor that nets both leaves no line."""
    item = question.expected
    if item is None or item.undoing or item.basis != "confirmed":
        return None
    case = item.tasks[0]
    confirmed = next((r for r in case.readbacks() if isinstance(r.event, e.ReadbackConfirmed)), None)
    later = conclusive(case)
    if confirmed is None or later is None or not isinstance(later.event, e.ReadbackMismatched):
        return None
    actor = later.event.found.last_actor
    if not actor or actor in question.month.book.accounts:
        return None
    return Finding(
        cause="external_change",
        verdict="supported",
        amount_minor=question.remaining,
        summary=f"The effect was confirmed and later reversed; the vendor's history names “{actor}” last.",
        party="person",
        decisive=(event(confirmed), event(later)),
        counter_evidence=counter(question),
    )
