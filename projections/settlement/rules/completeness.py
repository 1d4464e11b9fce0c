"""``missing_evidence``: what would decide was never recorded, or can't be relied on.

Undecidable, always: an attempt without an outcome that no readback settled; a write whose effect nobody read back, or
which two independent sources show differently;
events missing from a task's stream; an absence argued from a record whose chain was not verified. Counter-evidence:
whatever later rule would decide without the missing piece, so this rule steps back where guards, readbacks or a second
write speak.
"""

from __future__ import annotations

from projections.settlement.casefile import WriteAttempt, bill_key
from projections.settlement.causes import Evidence, Finding
from projections.settlement.expected import sources_disagree
from projections.settlement.rules.base import (
    Question,
    absent,
    astray,
    conclusive,
    event,
    events_of,
    line_of,
    looked,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    if question.missing:
        return _missing(question)
    return _surplus(question) if question.surplus else None


def _undecidable(question: Question, reason: str, summary: str, decisive: tuple[Evidence, ...]) -> Finding:
    readbacks = [r for case in question.tasks if (r := conclusive(case)) is not None]
    return Finding(
        cause="missing_evidence",
        verdict="undecidable",
        amount_minor=0,
        summary=summary,
        reason=reason,
        decisive=decisive,
        counter_evidence=(
            looked("a readback that settles it", "readbacks of the bill", [event(r) for r in readbacks]),
            looked("a guard's word on the write", "judgements of the attempts"),
        ),
    )


def _missing(question: Question) -> Finding | None:
    item = question.expected
    if item is None or item.basis in {"refuted", "by_hand"}:
        return None
    writes = question.writes()
    if any(astray(a) for _, a in writes):
        return None
    if any(case.gaps for case in item.tasks):
        cases = tuple(event(case.last) for case in item.tasks if case.gaps)
        return _undecidable(
            question, "events_missing", "Events of the task are missing from the record.", cases
        )
    torn = [case for case in item.tasks if sources_disagree(case)] if not item.undoing else []
    if torn:
        return _undecidable(
            question,
            "sources_disagree",
            "One independent source shows the effect and another its absence.",
            (*(event(r) for case in torn for r in case.readbacks()), absent(question)),
        )
    if item.basis == "attempted":
        attempts = tuple(e for _, a in writes for e in events_of(a))
        return _undecidable(
            question,
            "attempt_without_outcome",
            "A write was attempted, its outcome was never recorded, and nobody read the bill back.",
            (*attempts, absent(question)),
        )
    if item.basis == "executed" and not item.undoing:
        attempts = tuple(e for _, a in writes for e in events_of(a))
        return _undecidable(
            question,
            "no_independent_readback",
            "The tool says that it acted and the file says nothing; no independent source was read, so a false "
            "success, a late posting and an omission look alike.",
            (*attempts, absent(question)),
        )
    return None


def _surplus(question: Question) -> Finding | None:
    line = question.line
    if line is None or line.kind in question.month.file.vendor_kinds:
        return None
    if not question.month.ours(line):
        return None
    surplus = question.surplus_writes() if question.difference.kind == "duplicate_in_file" else []
    if question.difference.kind == "duplicate_in_file" and len(surplus) >= question.difference.ordinal:
        return None
    bill = bill_key(question.difference.bill_id)
    strays = question.month.strays.get(bill, [])
    if any(stray.attempt.executed for stray in strays):
        return None
    unsettled = [a for case in question.tasks for a in case.attempts.values() if a.open]
    unsettled += [stray.attempt for stray in strays if stray.attempt.open]
    if unsettled:
        return _undecidable(
            question,
            "attempt_without_outcome",
            "A write that may have left this line was attempted, and its outcome was never recorded.",
            (*_evidence(unsettled), line_of(line)),
        )
    gaps = [case for case in question.tasks if case.gaps]
    if gaps:
        return _undecidable(
            question,
            "events_missing",
            "Events of a task about this bill are missing from the record.",
            (*(event(case.last) for case in gaps), line_of(line)),
        )
    return None


def _evidence(attempts: list[WriteAttempt]) -> tuple[Evidence, ...]:
    return tuple(evidence for attempt in attempts for evidence in events_of(attempt))
