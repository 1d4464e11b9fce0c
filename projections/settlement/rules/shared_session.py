"""``manual_actor_in_shared_session``: a line under an account of ours that no write of ours explains.

Always undecidable: an account says which log-in was used, not who used it. It may have been a person with the
account's password, an executor that keeps no record, or the vendor. Looked for: a write of ours on the bill, a run of
ours at the time of the line, a request that names the bill.
"""

from __future__ import annotations

from domain.envelope import Recorded
from projections.settlement.casefile import bill_key
from projections.settlement.causes import Finding
from projections.settlement.rules.base import Question, events, events_of, line_of, looked


def judge(question: Question) -> Finding | None:
    """See the module."""
    line = question.line
    if not question.surplus or line is None or line.account not in question.month.book.accounts:
        return None
    if line.kind in question.month.file.vendor_kinds:
        return None
    strays = question.month.strays.get(bill_key(line.bill_id), [])
    return Finding(
        cause="manual_actor_in_shared_session",
        verdict="undecidable",
        amount_minor=0,
        summary=f"The line is under our account “{line.account}”, and no write on record explains it.",
        reason="shared_account",
        decisive=(line_of(line),),
        counter_evidence=(
            looked(
                "a write of ours on the bill",
                "all tasks of the bill",
                [x for _, a in question.writes() for x in events_of(a)],
            ),
            looked(
                "a request or click of ours that names the bill",
                "all write attempts of the tenant",
                [x for s in strays for x in events_of(s.attempt)],
            ),
            looked(
                "a run of ours at the time of the line", "all runs of the tenant", events(_running(question))
            ),
        ),
    )


def _running(question: Question) -> list[Recorded]:
    """Starts of the runs that were going on when the line was booked."""
    line = question.line
    if line is None or not line.at_us:
        return []
    runs = question.month.book.runs.values()
    return [
        run.started
        for run in runs
        if run.started is not None
        and run.last is not None
        and run.started.envelope.occurred_at_us <= line.at_us <= run.last.envelope.occurred_at_us
    ]
