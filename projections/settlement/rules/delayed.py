"""``delayed_posting``: the vendor booked later than its answer said.

Decisive: a readback that refuted the effect within its deadline, and a later word from outside that shows it: the
file's line, a second readback, or a line in the file of a later month; or a second write, made because the first was
refuted, that is booked beside it. Counter-evidence: a person's account on the line
(then it was done by hand), a second write of ours.
"""

from __future__ import annotations

from domain import events as e
from domain.envelope import Recorded
from projections.settlement.causes import Finding
from projections.settlement.rules.base import (
    Question,
    absent,
    event,
    events_of,
    line_of,
    looked,
    other_accounts,
)
from projections.settlement.rules.clock import month_of


def judge(question: Question) -> Finding | None:
    """See the module."""
    if question.difference.kind == "status_mismatch" and question.line is not None and question.line.booked:
        return _in_the_file(question)
    if question.missing:
        return _after_the_file(question)
    if question.difference.kind == "duplicate_in_file":
        return _after_all(question)
    return _earlier_month(question) if question.difference.kind == "extra_in_file" else None


def _refuting(readbacks: list[Recorded]) -> Recorded | None:
    return next((r for r in readbacks if isinstance(r.event, e.ReadbackMismatched)), None)


def _in_the_file(question: Question) -> Finding | None:
    item, line = question.expected, question.line
    if item is None or line is None or item.basis != "refuted" or not question.month.ours(line):
        return None
    case = item.tasks[0]
    refuting = _refuting(case.readbacks(compensating=item.undoing))
    if refuting is None:
        return None
    return Finding(
        cause="delayed_posting",
        verdict=question.strength(case),
        amount_minor=question.remaining,
        summary="The effect was not there when it was read back, and the file has it: it was booked late.",
        party="target_system",
        decisive=(*(x for _, a in question.writes() for x in events_of(a)), event(refuting), line_of(line)),
        counter_evidence=(
            looked(
                "a second write of the same effect by us",
                "all tasks of the bill",
                [x for _, a in question.surplus_writes() for x in events_of(a)],
            ),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )


def _after_all(question: Question) -> Finding | None:
    """Refuted, therefore done again, and then the first was booked after all: who did it again was right to."""
    line, surplus = question.line, question.surplus_writes()
    if line is None or not question.month.ours(line) or len(surplus) < question.difference.ordinal:
        return None
    case, again = surplus[question.difference.ordinal - 1]
    refuting = [
        r
        for earlier in question.tasks
        if earlier is not case and earlier.writes()
        for r in [_refuting(earlier.readbacks())]
        if r is not None and r.row.position < again.at.row.position
    ]
    if not refuting:
        return None
    return Finding(
        cause="delayed_posting",
        verdict="supported",
        amount_minor=question.remaining,
        summary="The first write was read back as absent, the effect was brought about again, and both are booked.",
        party="target_system",
        decisive=(*map(event, refuting), *events_of(again), line_of(line)),
        counter_evidence=(
            looked(
                "a readback before the second write that shows the first one's effect",
                "readbacks of the bill",
                [
                    event(r)
                    for earlier in question.tasks
                    for r in earlier.readbacks()
                    if isinstance(r.event, e.ReadbackConfirmed) and r.row.position < again.at.row.position
                ],
            ),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )


def _after_the_file(question: Question) -> Finding | None:
    item = question.expected
    if item is None or item.undoing:
        return None
    case = item.tasks[0]
    readbacks = case.readbacks()
    refuting = _refuting(readbacks)
    later = [r for r in readbacks if isinstance(r.event, e.ReadbackConfirmed)]
    zone = question.month.file.timezone
    crossed = later and month_of(later[-1].envelope.occurred_at_us, zone) > question.month.month
    if not later or not (crossed or (refuting and refuting.row.position < later[-1].row.position)):
        return None
    return Finding(
        cause="delayed_posting",
        verdict="supported",
        amount_minor=question.remaining,
        summary="The effect appeared only after the first look; the file was made without it.",
        party="target_system",
        decisive=(*((event(refuting),) if refuting else ()), event(later[-1]), absent(question)),
        counter_evidence=(
            looked("the line in this file under another kind or amount", "the settlement file"),
            looked("a reversal by another operator", "the settlement file", other_accounts(question)),
        ),
    )


def _earlier_month(question: Question) -> Finding | None:
    """A line that belongs to work of an earlier month."""
    line = question.line
    if line is None or not question.month.ours(line):
        return None
    for case in question.tasks:
        writes = case.writes()
        if case.intent.month >= question.month.month or not writes:
            continue
        return Finding(
            cause="delayed_posting",
            verdict="supported",
            amount_minor=question.remaining,
            summary=f"The effect was meant for {case.intent.month} and is booked in {question.month.month}.",
            party="target_system",
            decisive=(event(case.first), *events_of(writes[0]), line_of(line)),
            counter_evidence=(
                looked("a task of this month for the bill", "all tasks of the bill"),
                looked(
                    "another operator's line on the bill", "the settlement file", other_accounts(question)
                ),
            ),
        )
    return None
