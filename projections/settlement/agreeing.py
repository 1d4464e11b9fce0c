"""Which lines of a file agree with which plain effects: a month compared in columns.

Rules: a bill agrees only if it stands once on either side and kind, currency, counterparty and amount say the same, as
``matching`` would say it; whatever can't be told in bulk (a number too long, two of one hash, another task that names
it) is left to be looked at, never taken to agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Final

import numpy as np

from projections.settlement.casefile import bill_key
from projections.settlement.effects import MAX_BILL
from projections.settlement.lines import SettlementFile, SettlementLine
from projections.settlement.matching import same_name
from projections.settlement.pages import Bytes, Columns, Hashes, Ints, as_bytes, hashes

_AMOUNT: Final = attrgetter("amount_minor")
_SPACES: Final = " \t\r\x0b\x0c\x1c\x1d\x1e\x1f"
"""All white space of ASCII but the line feed, which stands between the bills here."""
_MARKS: Final = attrgetter("kind", "currency", "booked", "counterparty", "counterparty_id")


@dataclass(frozen=True, slots=True)
class Compared:
    """Which lines agree with which effects, and what is left to look at."""

    columns: Columns
    bills: list[str]
    """Of the file's lines."""
    lines: Ints
    """Places of the lines that agree."""
    effects: Ints
    """Places of their effects among the columns."""
    suspects: set[str]
    rest: tuple[SettlementLine, ...]
    """Lines of the suspects, in order of the file."""


def bills_of(lines: Sequence[SettlementLine]) -> list[str] | None:
    """Bill of each line for comparison; None when one holds a NUL, which columns take for padding."""
    raw = "\n".join([line.bill_id for line in lines])
    # Plain words need no folding one by one. ``bill_key`` would fold others' width and cut the space around them.
    keys: list[str] = []
    if raw.isascii() and not any(space in raw for space in _SPACES):
        keys = raw.upper().split("\n")
    if len(keys) != len(lines):
        keys = [bill_key(line.bill_id) for line in lines]
    return None if "\0" in raw else keys


def compare(
    file: SettlementFile,
    bills: list[str],
    columns: Columns,
    odd: set[str],
    strayed: Callable[[set[str]], Iterable[str]],
) -> Compared:
    """Bills with one plain effect and one line that says the same; all others are suspects."""
    long = (
        {bill for bill in bills if len(bill) > MAX_BILL}
        if max(map(len, bills), default=0) > MAX_BILL
        else set()
    )
    # One character more than any effect's bill has, so that a long one is nobody's.
    line_bills = as_bytes([bill[: MAX_BILL + 1] for bill in bills] if long else bills)
    of_lines, of_effects = hashes(line_bills), hashes(columns.bills)
    lines, effects = _once_in_both(of_lines, of_effects)
    same = line_bills[lines] == columns.bills[effects]
    lines, effects = lines[same], effects[same]
    amounts = np.fromiter(map(_AMOUNT, file.lines), dtype=np.int64, count=len(file.lines))
    signs = _signs(file, columns, lines, effects)
    same = (signs != 0) & (signs * columns.amounts[effects] == amounts[lines])
    lines, effects = lines[same], effects[same]
    suspects = odd | long
    suspects.update(_others(line_bills, lines), _others(columns.bills, effects))
    suspects.update(strayed(suspects))
    named = [bill for bill in suspects if len(bill) <= MAX_BILL and "\0" not in bill]
    doubted = np.isin(of_lines[lines], hashes(as_bytes(named)))
    suspects.update(bills[place] for place in lines[doubted].tolist())
    lines, effects = lines[~doubted], effects[~doubted]
    left = np.ones(len(bills), dtype=np.bool_)
    left[lines] = False
    rest = tuple(file.lines[place] for place in np.flatnonzero(left).tolist())
    return Compared(columns, bills, lines, effects, suspects, rest)


def _once_in_both(one: Hashes, other: Hashes) -> tuple[Ints, Ints]:
    """Places of what stands exactly once on either side, in order of its hash."""
    places, ours = _once(one)
    others, theirs = _once(other)
    at = np.searchsorted(theirs, ours)
    at[at == len(theirs)] = 0
    there = theirs[at] == ours if len(theirs) else np.zeros(len(ours), dtype=np.bool_)
    return places[there], others[at[there]] if len(theirs) else others


def _once(values: Hashes) -> tuple[Ints, Hashes]:
    order = np.argsort(values)
    ranked = values[order]
    twin = np.zeros(len(values), dtype=np.bool_)
    twin[1:] = ranked[1:] == ranked[:-1]
    twin[:-1] |= twin[1:].copy()
    return order[~twin], ranked[~twin]


def _others(bills: Bytes, agreeing: Ints) -> Iterator[str]:
    """All bills but those that agree."""
    left = np.ones(len(bills), dtype=np.bool_)
    left[agreeing] = False
    return (bill.decode() for bill in bills[left].tolist())


def _signs(file: SettlementFile, columns: Columns, lines: Ints, effects: Ints) -> Ints:
    """1 or -1 where the line is of the kind that the effect leaves; 0 where not, or where only events can say."""
    codes: defaultdict[tuple[object, ...], int] = defaultdict(count().__next__)
    of_lines = np.fromiter(
        map(codes.__getitem__, map(_MARKS, file.lines)), dtype=np.int64, count=len(file.lines)
    )
    marks = list(codes)
    both = columns.tail_codes[effects] * len(marks) + of_lines[lines]
    distinct, inverse = np.unique(both, return_inverse=True)
    signs = [
        _sign(file, columns.tails[place // len(marks)], marks[place % len(marks)])
        for place in distinct.tolist()
    ]
    return np.array(signs, dtype=np.int64)[inverse] if signs else np.zeros(0, dtype=np.int64)


def _sign(file: SettlementFile, tail: str, mark: tuple[object, ...]) -> int:
    action, currency, counterparty = tail.split("\0")
    kind, of_line, booked, *names = mark
    rule = file.effects.get(action)
    if rule is None or rule.kind != kind or of_line != currency or not booked:
        return 0
    return rule.sign if same_name(counterparty, *map(str, names)) else 0
