"""``settlement_omission``: the effect is there, and the file leaves it out.

Decisive: an independent readback that confirms the effect, with at least one ledger line where the source shows them,
and a file that adds up without the line. Undecidable when the file doesn't add up (see file integrity). Counter-
evidence: a later readback that shows it reversed; a booking in a later month; another operator's reversal.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.causes import Finding
from projections.settlement.rules.base import (
    Question,
    absent,
    conclusive,
    event,
    events,
    events_of,
    looked,
    other_accounts,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    item = question.expected
    if not question.missing or item is None or item.undoing or item.basis != "confirmed":
        return None
    case = item.tasks[0]
    readback = conclusive(case)
    if readback is None or not isinstance(readback.event, e.ReadbackConfirmed):
        return None  # reversed since, or confirmed by a person's word alone
    if readback.event.found.ledger_lines == 0:
        return None  # the vendor's own ledger has no line either: shown, but never booked
    return Finding(
        cause="settlement_omission",
        verdict=question.strength(case),
        amount_minor=question.remaining,
        summary=f"{readback.event.source} confirms the effect, and the settlement file leaves it out.",
        party="settlement_issuer",
        decisive=(
            *(x for _, a in question.writes() for x in events_of(a)),
            event(readback),
            absent(question),
        ),
        counter_evidence=(
            looked("a task that was reopened since", "the task's stream", events(case.facts(e.TaskReopened))),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
            looked("a finding about the file's own count or totals", "the settlement file"),
        ),
    )
