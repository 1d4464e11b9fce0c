"""``stale_frame_wrong_target``: the click or the form hit something else than was planned.

Decisive: a guard's verdict on the write (target changed, intent or request mismatch), which in a record-only run
stopped nothing, or a request that names another bill; with the file's line on that other bill. Explains both sides:
the line that is missing and the line that is too many. Counter-evidence: a task of ours that wanted the other bill;
another operator on its line; a readback that shows the intended effect.
"""

from __future__ import annotations

from domain import events as e
from domain.envelope import Recorded
from projections.settlement.casefile import TaskCase, WriteAttempt, bill_key
from projections.settlement.causes import Finding
from projections.settlement.lines import SettlementLine
from projections.settlement.rules.base import (
    Question,
    absent,
    astray,
    conclusive,
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
        return _missing(question)
    if question.difference.kind == "extra_in_file":
        return _extra(question) or _wrong_action(question)
    if question.difference.kind == "duplicate_in_file":
        return _extra(question)
    if question.difference.kind == "unmatched_counterparty":
        return _counterparty(question)
    return None


def _missing(question: Question) -> Finding | None:
    for case, attempt in question.writes():
        if attempt.executed is None:
            continue
        where = _landed(question, case, attempt)
        said = astray(attempt)
        if said is None and where is None:
            continue
        proven = where is not None and (said is not None or attempt.wrote_to(where.bill_id))
        return Finding(
            cause="stale_frame_wrong_target",
            verdict=question.strength(case, outside=proven),
            amount_minor=question.remaining,
            summary=f"The write meant for bill {case.intent.bill_id} "
            + (f"landed on line {where.line}, bill {where.bill_id}." if where else "hit another target."),
            party="executor",
            responsible=principals([(case, attempt)]),
            decisive=(*events_of(attempt), absent(question), *((line_of(where),) if where else ())),
            counter_evidence=(
                looked(
                    "a readback that shows the intended effect",
                    "readbacks of the bill",
                    events(r for r in [conclusive(case)] if r and isinstance(r.event, e.ReadbackConfirmed)),
                ),
                looked(
                    "another operator's line on the bill", "the settlement file", other_accounts(question)
                ),
            ),
        )
    return None


def _landed(question: Question, case: TaskCase, attempt: WriteAttempt) -> SettlementLine | None:
    """The surplus line that the write left, on another bill or as another action."""
    month = question.month
    own = [bill_key(case.intent.bill_id)] if astray(attempt) else []
    for bill in (*month.strayed_to.get(attempt.action_id, []), *own):
        for difference in month.extra.get(bill, []):
            line = difference.line
            if line is None or not month.ours(line) or month.meant(case, line) is (bill in own):
                continue  # on its own bill another kind, on another bill the kind that was meant
            if month.explains(attempt, line):
                return line
    return None


def _extra(question: Question) -> Finding | None:
    line = question.line
    if line is None or not question.month.ours(line):
        return None
    for stray in question.month.strays.get(bill_key(line.bill_id), []):
        if stray.attempt.executed is None:
            continue
        told = astray(stray.attempt) or stray.attempt.wrote_to(line.bill_id)
        if not told or not question.month.meant(stray.case, line):
            continue
        if not question.month.explains(stray.attempt, line):
            continue
        return _found(question, stray.case, stray.attempt, line)
    return None


def _wrong_action(question: Question) -> Finding | None:
    """Another action of the same bill, whose own line is missing: the button beside it was hit."""
    line = question.line
    if (
        line is None
        or not question.month.ours(line)
        or not question.month.missing.get(bill_key(line.bill_id))
    ):
        return None
    for case in question.tasks:
        for attempt in case.writes():
            if attempt.executed and astray(attempt) and question.month.explains(attempt, line):
                return _found(question, case, attempt, line)
    return None


def _found(question: Question, case: TaskCase, attempt: WriteAttempt, line: SettlementLine) -> Finding:
    return Finding(
        cause="stale_frame_wrong_target",
        verdict=question.strength(case),
        amount_minor=question.remaining,
        summary=f"A write meant for bill {case.intent.bill_id} ({case.intent.action}) left this line.",
        party="executor",
        responsible=principals([(case, attempt)]),
        decisive=(event(case.first), *events_of(attempt), line_of(line)),
        counter_evidence=(
            looked(
                "a task that wanted this line",
                "all tasks of the bill",
                events(_wanting(question, case)),
            ),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )


def _wanting(question: Question, but: TaskCase) -> list[Recorded]:
    return [case.first for case in question.tasks if case is not but and case.writes()]


def _counterparty(question: Question) -> Finding | None:
    line = question.line
    if line is None:
        return None
    for case, attempt in question.writes():
        said = astray(attempt)
        if attempt.executed is None or said is None:
            continue
        return Finding(
            cause="stale_frame_wrong_target",
            verdict=question.strength(case),
            amount_minor=question.remaining,
            summary=(
                f"The form was not the planned one: the file names “{line.counterparty}”, "
                f"the intent “{case.intent.counterparty}”."
            ),
            party="executor",
            responsible=principals([(case, attempt)]),
            decisive=(*events_of(attempt), line_of(line)),
            counter_evidence=(
                looked(
                    "a guard that compared the counterparty and let it pass",
                    "judgements of the attempt",
                    events(
                        r
                        for r in attempt.judged
                        if isinstance(r.event, e.GuardJudged) and r.event.verdict == "pass"
                    ),
                ),
            ),
        )
    return None
