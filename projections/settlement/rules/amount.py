"""``amount_mismatch``: the vendor booked another amount than was wanted.

Decisive: the intent and the line. Who caused it needs more: a guard that saw another amount in form or request before
the write (then it was ours), or guards that let form and request pass with the right amount, or a readback that shows
the stored one (then the target changed it). Undecidable as to who, when neither was recorded; the difference itself is
still established. Counter-evidence: another operator on the line; several lines of the bill that sum to the intent.
"""

from __future__ import annotations

from domain import events as e
from domain.envelope import Recorded
from domain.values import format_minor
from projections.settlement.casefile import WriteAttempt, bill_key
from projections.settlement.causes import CounterEvidence, Finding
from projections.settlement.rules.base import (
    Question,
    astray,
    event,
    events,
    events_of,
    line_of,
    looked,
    other_accounts,
    principals,
)

_COMPARES_AMOUNT = frozenset({"intent", "request"})


def judge(question: Question) -> Finding | None:
    """See the module."""
    item, line = question.expected, question.line
    if question.difference.kind != "amount_mismatch" or item is None or line is None:
        return None
    wanted = f"{format_minor(item.amount_minor, item.currency)} {item.currency}"
    booked = f"{format_minor(line.amount_minor, line.currency)} {line.currency}"
    summary = f"{wanted} was wanted, {booked} is booked."
    if not question.month.ours(line):
        return Finding(
            cause="external_change",
            verdict="supported" if question.month.chain_verified else "undecidable",
            amount_minor=question.remaining if question.month.chain_verified else 0,
            summary=f"{summary} The line is by operator “{line.account}”, an account that is not ours.",
            party="person",
            reason="" if question.month.chain_verified else "chain_not_verified",
            decisive=(line_of(line),),
            counter_evidence=_counter(question),
        )
    writes = [(case, a) for case, a in question.writes() if a.executed is not None]
    for case, attempt in writes:
        if astray(attempt):
            return Finding(
                cause="amount_mismatch",
                verdict=question.strength(case),
                amount_minor=question.remaining,
                summary=f"{summary} The guard saw that the form or the request was not the planned one.",
                party="executor",
                responsible=principals([(case, attempt)]),
                decisive=(event(case.first), *events_of(attempt), line_of(line)),
                counter_evidence=_counter(question),
            )
    compared = [r for _, a in writes for r in _compared(a)]
    stored = [r for case in item.tasks for r in case.readbacks() if _shows(r, abs(line.amount_minor))]
    decided = bool(compared or stored)
    return Finding(
        cause="amount_mismatch",
        verdict=question.strength(*item.tasks) if decided else "undecidable",
        amount_minor=question.remaining if decided else 0,
        summary=summary
        + (" The form and the request carried the right amount." if compared else "")
        + (" A readback shows the stored amount." if stored else ""),
        party="target_system" if compared else "unknown",
        reason="" if decided else "form_and_request_not_recorded",
        decisive=(
            *(x for _, a in writes for x in events_of(a)),
            *events([*compared, *stored]),
            line_of(line),
        ),
        counter_evidence=_counter(question),
    )


def _compared(attempt: WriteAttempt) -> list[Recorded]:
    """Judgements that compared form or request with the intent and let them pass."""
    return [
        r
        for r in attempt.judged
        if isinstance(r.event, e.GuardJudged)
        and r.event.verdict == "pass"
        and any(check.guard in _COMPARES_AMOUNT and check.verdict == "pass" for check in r.event.checks)
    ]


def _shows(recorded: Recorded, amount_minor: int) -> bool:
    fact = recorded.event
    if not isinstance(fact, e.ReadbackConfirmed | e.ReadbackMismatched):
        return False
    amounts = {str(fact.found.amount_minor), *(v for k, v in fact.found.extra.items() if "amount" in k)}
    return str(amount_minor) in amounts


def _counter(question: Question) -> tuple[CounterEvidence, ...]:
    bill = bill_key(question.difference.bill_id)
    others = [line for line in question.month.lines.get(bill, []) if line is not question.line]
    return (
        looked(
            "further lines of the bill that make up the rest", "the settlement file", map(line_of, others)
        ),
        looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
    )
