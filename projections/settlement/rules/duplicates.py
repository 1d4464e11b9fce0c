"""``duplicate_across_tasks``: the same business effect was brought about more than once by us.

Decisive: two executed writes under one effect key (two tasks, or one task twice) and as many lines in the file.
Responsible is who made the later write: the first one was right. Undecidable when the later write has no outcome (see
completeness). Counter-evidence: a named occurrence that makes the repetition legitimate; another operator on the
line; a vendor that booked one request twice.
"""

from __future__ import annotations

from domain import events as e
from domain.envelope import Recorded
from projections.settlement.casefile import TaskCase, WriteAttempt
from projections.settlement.causes import Finding
from projections.settlement.rules.base import (
    Question,
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
    line, twin = question.line, question.difference.twin
    if question.difference.kind != "duplicate_in_file" or line is None or twin is None:
        return None
    surplus = question.surplus_writes()
    if not question.month.ours(line) or len(surplus) < question.difference.ordinal:
        return None
    case, attempt = surplus[question.difference.ordinal - 1]
    first = _first(question, attempt)
    whole = [case, *([first[0]] if first else [])]
    across = first is not None and first[0].task_id != case.task_id
    finding = Finding(
        cause="duplicate_across_tasks",
        verdict=question.strength(*whole),
        amount_minor=question.remaining,
        summary=(
            f"Bill {question.difference.bill_id} was written twice under the key "
            f"{question.expected.key if question.expected else ''}, "
            + ("by two tasks." if across else "by one task.")
        ),
        party="executor",
        responsible=principals([(case, attempt)]),
        decisive=(
            *((event(first[0].first), *events_of(first[1])) if first else ()),
            event(case.first),
            *events_of(attempt),
            line_of(twin),
            line_of(line),
        ),
        counter_evidence=(
            looked(
                "another named occurrence of the effect, which would make the repetition legitimate",
                "all tasks of the bill",
                events(_occurrences(question)),
            ),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
            looked(
                "a claim that should have kept the second write out",
                "all tasks of the bill",
                events(r for task in whole for r in task.facts(e.TaskClaimed)),
            ),
        ),
    )
    # That nothing undid or refuted the first write in between is argued from an absence.
    return question.only_if_whole(finding, *question.tasks, verified=False)


def _first(question: Question, later: WriteAttempt) -> tuple[TaskCase, WriteAttempt] | None:
    earlier = [
        pair
        for pair in question.writes()
        if pair[1].executed is not None and pair[1].at.row.position < later.at.row.position
    ]
    return min(earlier, key=lambda pair: pair[1].at.row.position, default=None)


def _occurrences(question: Question) -> list[Recorded]:
    key = question.expected.key if question.expected else None
    action = question.expected.tasks[0].intent.action if question.expected else ""
    return [
        case.first
        for case in question.tasks
        if isinstance(case.first.event, e.TaskOpened)
        and case.first.event.effect_key != key
        and case.intent.action == action
    ]
