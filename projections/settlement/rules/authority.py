"""``cross_tenant_or_over_authority``: a write that the scope forbade, and that went out all the same.

Decisive: a guard's ``out_of_scope`` or ``denied_by_policy`` on the write, the tool's report that it acted, and the
line in the file. Undecidable without the tool's report. Counter-evidence: another operator on the line; the router's
refusal, after which nothing ran.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.causes import Finding
from projections.settlement.rules.base import (
    Question,
    events,
    events_of,
    line_of,
    looked,
    other_accounts,
    principals,
)

_FORBIDDEN = frozenset({"out_of_scope", "denied_by_policy"})


def judge(question: Question) -> Finding | None:
    """See the module."""
    line = question.line
    if not question.surplus or line is None or not question.month.ours(line):
        return None
    for case, attempt in question.writes():
        if attempt.executed is None or not any(f.verdict in _FORBIDDEN for _, f in attempt.objections()):
            continue
        if not question.month.meant(case, line) or not question.month.explains(attempt, line):
            continue
        return Finding(
            cause="cross_tenant_or_over_authority",
            verdict=question.strength(case),
            amount_minor=question.remaining,
            summary="The write was out of scope, the guard said so, and it was carried out.",
            party="executor",
            responsible=principals([(case, attempt)]),
            decisive=(*events_of(attempt), line_of(line)),
            counter_evidence=(
                looked(
                    "another operator's line on the bill", "the settlement file", other_accounts(question)
                ),
                looked(
                    "a refusal by the router, after which nothing runs",
                    "the task's stream",
                    events(case.facts(e.TaskRefused)),
                ),
            ),
        )
    return None
