"""The month end: settlement file against the record, each difference with its cause (B16, X2).

Rules: pure, the same events and file give the same result byte for byte; break ids come from tenant, month, bill and
kind; the breaks of a currency sum to the file's total minus the expected total; who runs ``fsck`` says whether the
chain is whole, and without it nothing is proven.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.envelope import Recorded
from domain.ids import EffectKey, TaskId, TenantId
from projections.settlement.attribution import attribute
from projections.settlement.casefile import Casebook, sort_record
from projections.settlement.causes import BreakKind, Finding
from projections.settlement.expected import Basis, Expected, expected_lines
from projections.settlement.lines import FileFinding, LineKind, RowCounts, SettlementFile, SettlementLine
from projections.settlement.matching import Difference, match_month
from projections.settlement.rules import Month


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedLine:
    """What the record leads one to expect."""

    bill: str
    kind: LineKind
    amount_minor: int
    currency: str
    counterparty: str
    effect_key: EffectKey
    basis: Basis
    undoing: bool
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLine:
    """The line of the file."""

    line: int
    line_id: str
    bill: str
    kind: LineKind
    amount_minor: int
    currency: str
    counterparty: str
    account: str
    at_us: int
    """Microseconds since 1970 (UTC); 0 when the file gives no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedLine:
    """An expected line and the line that is it."""

    expected: ExpectedLine
    found: FoundLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """One difference, with its causes."""

    id: str
    """16 hex digits; stays the same when the month is reconciled again."""
    bill: str
    kind: BreakKind
    amount_minor: int
    """File minus record; findings' amounts and ``residual_minor`` sum to it."""
    currency: str
    residual_minor: int
    """What no finding explains; it is nobody's."""
    expected: ExpectedLine | None
    found: FoundLine | None
    findings: tuple[Finding, ...]
    tasks: tuple[TaskId, ...]
    """Tasks about the bill, in order of the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyTotals:
    """Sums of one currency in minor units: file = expected + breaks; breaks = attributed + residual."""

    currency: str
    file_minor: int
    expected_minor: int
    breaks_minor: int
    attributed_minor: int
    residual_minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """A month of a tenant."""

    tenant: TenantId
    month: str
    file_sha256: str
    file_name: str
    profile: str
    chain_verified: bool
    """The caller's word, and that the events read were the whole log."""
    file_counts: RowCounts
    file_findings: tuple[FileFinding, ...]
    events_read: int
    matched: Sequence[MatchedLine]
    """Pairs that agree, in order of bill; a pair that is also a break is not here."""
    breaks: tuple[Break, ...]
    totals: tuple[CurrencyTotals, ...]


def reconcile(
    events: Iterable[Recorded], file: SettlementFile, *, tenant: TenantId, month: str, chain_verified: bool
) -> Reconciliation:
    """Compare the tenant's month with the file and attribute each difference.

    ``events`` are the tenant's log in order (others are left out); ``chain_verified`` is the word of whoever checked
    the chain of these very events. Events with gaps between their positions are not those, whatever it says.
    """
    return settle(sort_record(events, tenant), file, month=month, chain_verified=chain_verified)


def settle(book: Casebook, file: SettlementFile, *, month: str, chain_verified: bool) -> Reconciliation:
    """The same over a record that was sorted before."""
    tenant = book.tenant
    expected = expected_lines(book, file, month)
    matching = match_month(book, file, expected)
    verified = chain_verified and book.whole
    context = Month(book=book, file=file, month=month, chain_verified=verified, matching=matching)
    breaks = []
    numbers: dict[tuple[str, str], int] = {}
    for difference in matching.differences:
        findings, residual = attribute(context, difference)
        place = (difference.bill_id, difference.kind)
        numbers[place] = numbers.get(place, 0) + 1
        tasks = tuple(case.task_id for case in book.of_bill(difference.bill_id))
        breaks.append(_break(tenant, month, difference, numbers[place], findings, residual, tasks))
    broken = {id(difference.line) for difference in matching.differences if difference.expected}
    matched = tuple(
        MatchedLine(expected=_expected(pair.expected), found=found_line(pair.line))
        for pair in matching.pairs
        if id(pair.line) not in broken
    )
    return Reconciliation(
        tenant=tenant,
        month=month,
        file_sha256=file.sha256,
        file_name=file.file_name,
        profile=file.profile,
        chain_verified=verified,
        file_counts=file.counts,
        file_findings=file.findings,
        events_read=book.events,
        matched=matched,
        breaks=tuple(breaks),
        totals=_totals(file, matching.expected, breaks),
    )


def break_id(tenant: TenantId, month: str, bill: str, kind: BreakKind, number: int = 1) -> str:
    """Stable id: first 16 hex digits of SHA-256 over the parts, each ended by a NUL."""
    text = "".join(f"{part}\0" for part in (tenant, month, bill, kind, str(number)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _break(
    tenant: TenantId,
    month: str,
    difference: Difference,
    number: int,
    findings: tuple[Finding, ...],
    residual: int,
    tasks: tuple[TaskId, ...],
) -> Break:
    return Break(
        id=break_id(tenant, month, difference.bill_id, difference.kind, number),
        bill=difference.bill_id,
        kind=difference.kind,
        amount_minor=difference.amount_minor,
        currency=difference.currency,
        residual_minor=residual,
        expected=_expected(difference.expected) if difference.expected else None,
        found=found_line(difference.line) if difference.line else None,
        findings=findings,
        tasks=tasks,
    )


def _expected(item: Expected) -> ExpectedLine:
    return ExpectedLine(
        bill=item.bill_id,
        kind=item.kind,
        amount_minor=item.amount_minor,
        currency=item.currency,
        counterparty=item.counterparty,
        effect_key=item.key,
        basis=item.basis,
        undoing=item.undoing,
        tasks=tuple(case.task_id for case in item.tasks),
    )


def found_line(line: SettlementLine) -> FoundLine:
    """The line as results show it."""
    return FoundLine(
        line=line.line,
        line_id=line.line_id,
        bill=line.bill_id,
        kind=line.kind,
        amount_minor=line.amount_minor,
        currency=line.currency,
        counterparty=line.counterparty,
        account=line.account,
        at_us=line.at_us,
    )


def _totals(
    file: SettlementFile, expected: Sequence[Expected], breaks: Sequence[Break]
) -> tuple[CurrencyTotals, ...]:
    currencies = {*file.totals, *(item.currency for item in expected), *(item.currency for item in breaks)}
    totals = []
    for currency in sorted(currencies):
        mine = [item for item in breaks if item.currency == currency]
        amount = sum(item.amount_minor for item in mine)
        residual = sum(item.residual_minor for item in mine)
        totals.append(
            CurrencyTotals(
                currency=currency,
                file_minor=file.totals.get(currency, 0),
                expected_minor=sum(item.amount_minor for item in expected if item.currency == currency),
                breaks_minor=amount,
                attributed_minor=amount - residual,
                residual_minor=residual,
            )
        )
    return tuple(totals)
