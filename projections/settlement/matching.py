"""Expected lines against the file's lines: what agrees, and each difference as one break.

Rules: per bill and kind, exact pairs first, then the same amount under another counterparty, then another amount; what
is left over is missing, extra or a duplicate. A break's amount is file minus record, so that the breaks of a currency
sum to the file's total minus the expected total, asserted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from projections.settlement.approval import approval_fault
from projections.settlement.casefile import Casebook, bill_key
from projections.settlement.causes import BreakKind
from projections.settlement.expected import Expected
from projections.settlement.lines import SettlementFile, SettlementLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An expected line and the line of the file that is it."""

    expected: Expected
    line: SettlementLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A break before anybody asked why."""

    bill_id: str
    kind: BreakKind
    amount_minor: int
    """File minus record."""
    currency: str
    expected: Expected | None = None
    line: SettlementLine | None = None
    twin: SettlementLine | None = None
    """For a duplicate: the line that was matched."""
    ordinal: int = 1
    """Number of this duplicate among those of its bill and kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Result of comparing a month."""

    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    expected: tuple[Expected, ...]


def match_month(book: Casebook, file: SettlementFile, expected: dict[str, list[Expected]]) -> Matching:
    """Compare bill by bill, in order of bill number."""
    by_bill: dict[str, list[SettlementLine]] = {}
    for line in file.lines:
        by_bill.setdefault(bill_key(line.bill_id), []).append(line)
    pairs: list[Pair] = []
    differences: list[Difference] = []
    ours = frozenset(book.accounts)
    for bill in sorted(by_bill.keys() | expected.keys()):
        found = _Bill(expected.get(bill, []), by_bill.get(bill, []), ours)
        pairs += found.pairs
        differences += found.differences
    everything = tuple(item for bill in sorted(expected) for item in expected[bill])
    _assert_sums(everything, file, differences)
    return Matching(pairs=tuple(pairs), differences=tuple(differences), expected=everything)


def _assert_sums(
    expected: Iterable[Expected], file: SettlementFile, differences: Iterable[Difference]
) -> None:
    sums: dict[str, int] = dict(file.totals)
    for item in expected:
        sums[item.currency] = sums.get(item.currency, 0) - item.amount_minor
    for difference in differences:
        sums[difference.currency] = sums.get(difference.currency, 0) - difference.amount_minor
    wrong = {currency: rest for currency, rest in sums.items() if rest}
    assert not wrong, f"breaks must sum to file minus record: {wrong}"  # noqa: S101 - invariant, stays on


class _Bill:
    """Matching of one bill."""

    def __init__(
        self, expected: Sequence[Expected], lines: Sequence[SettlementLine], ours: frozenset[str]
    ) -> None:
        self.pairs: list[Pair] = []
        self.differences: list[Difference] = []
        self._wanted = sorted(expected, key=lambda item: item.at_us)
        # Lines under accounts of ours are offered first: a surplus line is then the foreign one.
        order = sorted(lines, key=lambda line: (line.account not in ours, line.at_us, line.line))
        self._lines = [line for line in order if line.booked]
        self._unbooked = [line for line in order if not line.booked]
        self._pair(_same)
        self._pair(_same_amount)
        self._pair(_same_kind)
        self._surplus()
        self._missing()

    def _pair(self, fits: Callable[[Expected, SettlementLine], bool]) -> None:
        for item in list(self._wanted):
            line = next((line for line in self._lines if fits(item, line)), None)
            if line is None:
                continue
            self._wanted.remove(item)
            self._lines.remove(line)
            self.pairs.append(Pair(expected=item, line=line))
            kind = _difference_kind(item, line)
            if kind is not None:
                self.differences.append(
                    Difference(
                        bill_id=item.bill_id,
                        kind=kind,
                        amount_minor=line.amount_minor - item.amount_minor,
                        currency=item.currency,
                        expected=item,
                        line=line,
                    )
                )

    def _surplus(self) -> None:
        counts: dict[str, int] = {}
        for line in self._lines:
            twin = next(
                (
                    p.line
                    for p in self.pairs
                    if (p.line.kind, p.line.amount_minor, p.line.currency)
                    == (line.kind, line.amount_minor, line.currency)
                ),
                None,
            )
            if twin is not None:
                counts[line.kind] = counts.get(line.kind, 0) + 1
            pair = next((p for p in self.pairs if twin is not None and p.line is twin), None)
            self.differences.append(
                Difference(
                    bill_id=line.bill_id,
                    kind="extra_in_file" if twin is None else "duplicate_in_file",
                    amount_minor=line.amount_minor,
                    currency=line.currency,
                    expected=pair.expected if pair else None,
                    line=line,
                    twin=twin,
                    ordinal=counts.get(line.kind, 1),
                )
            )

    def _missing(self) -> None:
        for item in self._wanted:
            pending = next((line for line in self._unbooked if _same_amount(item, line)), None)
            self.differences.append(
                Difference(
                    bill_id=item.bill_id,
                    kind="status_mismatch" if pending else "missing_in_file",
                    amount_minor=-item.amount_minor,
                    currency=item.currency,
                    expected=item,
                    line=pending,
                )
            )


def _same_kind(item: Expected, line: SettlementLine) -> bool:
    return item.kind == line.kind and item.currency == line.currency


def _same_amount(item: Expected, line: SettlementLine) -> bool:
    return _same_kind(item, line) and item.amount_minor == line.amount_minor


def _same(item: Expected, line: SettlementLine) -> bool:
    return _same_amount(item, line) and same_counterparty(item.counterparty, line)


def same_counterparty(name: str, line: SettlementLine) -> bool:
    """True if the line names the counterparty, by name or number, or names none."""
    return same_name(name, line.counterparty, line.counterparty_id)


def same_name(name: str, *others: str) -> bool:
    """True if one of the others is the name, or if either side names nobody."""
    named = {_fold(other) for other in others} - {""}
    return not named or not name or _fold(name) in named


def _fold(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def _difference_kind(item: Expected, line: SettlementLine) -> BreakKind | None:
    """Why a pair is a break all the same; None when record and file agree."""
    if item.amount_minor != line.amount_minor:
        return "amount_mismatch"
    if not same_counterparty(item.counterparty, line):
        return "unmatched_counterparty"
    irregular = item.basis == "refuted" or any(approval_fault(case) for case in item.tasks)
    return "status_mismatch" if irregular else None
