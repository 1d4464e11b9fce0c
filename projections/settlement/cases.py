"""A month's result as what its cases are told: opened, concluded anew, or gone.

Rules: a case is a break that somebody keeps, under the break's id, which stays the same when the month is reconciled
again; what was concluded before is compared, never replaced (``domain.case`` says what counts as a change, here and
for two whole results alike); a case whose difference the new result doesn't have is concluded as gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from domain import events as e
from domain.case import MATTERS, CaseCommand, CaseState, Conclude, OpenCase, changes_between
from domain.events.case import CauseFound
from domain.ids import PrincipalId, Sha256
from projections.settlement.causes import Evidence, Finding
from projections.views.reconciliation import Break, Reconciliation


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseWork:
    """What one case is told by a result, in order; the domain decides what of it becomes a fact."""

    break_id: str
    commands: tuple[CaseCommand, ...]


def opening(result: Reconciliation, found: Break) -> e.CaseOpened:
    """The break as the first fact of its case."""
    return e.CaseOpened(
        break_id=found.id,
        month=result.month,
        bill_id=found.bill,
        kind=found.kind,
        currency=found.currency,
    )


def conclusion(result: Reconciliation, found: Break) -> e.CaseConcluded:
    """What the result says of the break."""
    return e.CaseConcluded(
        standing=True,
        amount_minor=found.amount_minor,
        currency=found.currency,
        residual_minor=found.residual_minor,
        causes=tuple(_cause(finding) for finding in found.findings),
        file_sha256=Sha256(result.file_sha256),
        events_read=result.events_read,
        chain_verified=result.chain_verified,
    )


def gone(result: Reconciliation, currency: str) -> e.CaseConcluded:
    """That the result has no such difference."""
    return e.CaseConcluded(
        standing=False,
        amount_minor=0,
        currency=currency,
        residual_minor=0,
        causes=(),
        file_sha256=Sha256(result.file_sha256),
        events_read=result.events_read,
        chain_verified=result.chain_verified,
    )


def concluded_alike(earlier: Reconciliation, one: Break, later: Reconciliation, other: Break) -> bool:
    """True if a person who has read the earlier conclusion need not read the later one."""
    return MATTERS.isdisjoint(changes_between(conclusion(earlier, one), conclusion(later, other)))


def casework(
    result: Reconciliation, known: Mapping[str, CaseState], *, by: PrincipalId
) -> Iterator[CaseWork]:
    """Work for every break of the result, and for every known case of its month that the result has no break for.

    ``known`` are the month's cases by break id; ``by`` is who reconciled.
    """
    there = set()
    for found in result.breaks:
        there.add(found.id)
        state = known.get(found.id)
        first = () if state and state.status != "new" else (OpenCase(opening(result, found)),)
        yield CaseWork(break_id=found.id, commands=(*first, Conclude(conclusion(result, found), by=by)))
    for break_id, state in sorted(known.items()):
        opened = state.opened
        if break_id in there or opened is None or opened.month != result.month:
            continue
        yield CaseWork(break_id=break_id, commands=(Conclude(gone(result, opened.currency), by=by),))


def _cause(finding: Finding) -> CauseFound:
    against = [item for counter in finding.counter_evidence for item in counter.evidence]
    return CauseFound(
        cause=finding.cause,
        verdict=finding.verdict,
        amount_minor=finding.amount_minor,
        summary=finding.summary,
        party=finding.party,
        responsible=finding.responsible,
        reason=finding.reason,
        evidence=_positions(finding.decisive),
        counter_evidence=_positions(against),
        lines=tuple(sorted({item.line for item in finding.decisive if item.line})),
    )


def _positions(evidence: tuple[Evidence, ...] | list[Evidence]) -> tuple[int, ...]:
    return tuple(sorted({item.position for item in evidence if item.position}))
