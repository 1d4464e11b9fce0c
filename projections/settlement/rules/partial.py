"""``partial_batch``: the run stopped before it came to this bill.

Decisive: the task was opened, no write was attempted, and the record shows how its run ended or stopped; the file has
no line. Undecidable when the run's record has no end and goes on elsewhere. Counter-evidence: a write attempt, a line
by another operator.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.causes import Finding
from projections.settlement.rules.base import Question, absent, event, looked, other_accounts


def judge(question: Question) -> Finding | None:
    """See the module."""
    item = question.expected
    if not question.missing or item is None or item.basis != "open" or item.undoing:
        return None
    case = item.tasks[0]
    run = question.month.book.runs.get(case.run_id) if case.run_id else None
    end = run.ended if run else None
    stopped = end is not None or (run is not None and run.last is not None and run.last is not run.started)
    escalated = end is not None and isinstance(end.event, e.RunEscalated)
    if escalated and end is not None:
        how = "The run was stopped by a budget"
    elif end is not None:
        how = "The run ended"
    else:
        how = "The record of the run breaks off without an end"
    decided = end is not None or (stopped and question.month.chain_verified)
    last = end or (run.last if run else None)
    finding = Finding(
        cause="partial_batch",
        verdict=question.strength(case, outside=end is not None) if decided else "undecidable",
        amount_minor=question.remaining if decided else 0,
        summary=f"{how} before anything was attempted on this bill.",
        party="executor" if decided else "unknown",
        responsible=(case.principal,) if decided else (),
        reason="" if decided else "run_without_end",
        decisive=(event(case.first), event(case.last), *((event(last),) if last else ()), absent(question)),
        counter_evidence=(
            looked("a write attempt of the task", "the task's stream"),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )
    return question.only_if_whole(finding, case)
