"""``external_change`` by the vendor itself: one request of ours, booked twice.

Decisive: exactly one executed write, one request that left, and the vendor's own ledger with two lines in the readback
right after it. Without that readback the second line is undecidable (see the shared session). Counter-evidence: a
second write of ours; another operator on the line.
"""

from __future__ import annotations

from domain import events as e
from domain.envelope import Recorded
from projections.settlement.causes import Finding
from projections.settlement.rules.base import Question, event, events_of, line_of
from projections.settlement.rules.external import counter


def judge(question: Question) -> Finding | None:
    """See the module."""
    if question.difference.kind != "duplicate_in_file":
        return None
    line, twin = question.line, question.difference.twin
    if line is None or twin is None or not question.month.ours(line) or question.expected is None:
        return None
    writes = [(case, a) for case, a in question.writes() if a.executed is not None]
    if len(writes) != 1:
        return None
    case, attempt = writes[0]
    shown = next((r for r in case.readbacks() if _two_lines(r)), None)
    sent = attempt.executed.requests if attempt.executed else ()
    if shown is None or len(sent) > 1:
        return None
    return Finding(
        cause="external_change",
        verdict=question.strength(case, outside=len(sent) == 1),
        amount_minor=question.remaining,
        summary="One request of ours left the browser, and the vendor's own ledger shows two bookings.",
        party="target_system",
        decisive=(*events_of(attempt), event(shown), line_of(twin), line_of(line)),
        counter_evidence=counter(question),
    )


def _two_lines(recorded: Recorded) -> bool:
    fact = recorded.event
    return isinstance(fact, e.ReadbackMismatched) and fact.found.ledger_lines > 1 and fact.phase == "first"
