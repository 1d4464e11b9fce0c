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
from projections.settlement.pages import Bytes, Columns, Flags, Hashes, Ints, as_bytes, hashes

_AMOUNT: Final = attrgetter("amount_minor")
_BILL: Final = attrgetter("bill_id")
_SPACES: Final = " \t\r\x0b\x0c\x1c\x1d\x1e\x1f"
"""All white space of ASCII but the line feed, which stands between the bills here."""
_PIECE: Final = 16_384
"""Lines of a piece: a call over a million would hold the interpreter for a tenth of a second. Beside numpy's thread,
which needs it back some thirty times, pieces of 131,072 took a seventh longer in all, pieces of 2,048 as well."""
_TABLE: Final = 1 << 22
"""Combinations of effects' and lines' words for which a table is kept; more are sorted."""
_MARKS: Final = attrgetter("kind", "currency", "booked", "counterparty", "counterparty_id")


@dataclass(frozen=True, slots=True)
class Side:
    """Bills of one side: the hash of each, and where those are that stand once, in order of their hash."""

    bills: Bytes
    hashes: Hashes
    places: Ints
    ranked: Hashes
    """Hashes of ``places``."""

    @classmethod
    def of(cls, bills: Bytes) -> Side:
        """Hash and sort; numpy lets other threads run meanwhile."""
        values = hashes(bills)
        order = np.argsort(values)
        ranked = values[order]
        follows = ranked[1:] == ranked[:-1]
        if follows.any():
            twin = np.append(follows, [False]) | np.append([False], follows)
            order, ranked = order[~twin], ranked[~twin]
        return cls(bills, values, order, ranked)

    @property
    def twins(self) -> int:
        """Number of bills that stand more than once."""
        return len(self.bills) - len(self.places)


@dataclass(frozen=True, slots=True)
class LineBills:
    """Bills of a file's lines in a column, as they are compared."""

    bytes_: Bytes
    long: set[str]
    """Bills too long for ``bytes_``, where they are cut."""

    def bill(self, place: int) -> str:
        """The bill of a line that is not too long."""
        return bytes(self.bytes_[place]).decode()


@dataclass(frozen=True, slots=True)
class LineWords:
    """What else a file's lines say, in columns."""

    amounts: Ints
    marks: list[tuple[object, ...]]
    """Distinct combinations of kind, currency, whether it is booked, counterparty and its number."""
    codes: Ints
    """Place of each line's combination among ``marks``."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Which lines agree with which effects, and what is left to look at."""

    columns: Columns
    bills: LineBills
    """Of the file's lines."""
    lines: Ints
    """Places of the lines that agree."""
    effects: Ints
    """Places of their effects among the columns."""
    suspects: set[str]
    rest: tuple[SettlementLine, ...]
    """Lines of the suspects, in order of the file."""


def bills_of(lines: Sequence[SettlementLine]) -> LineBills | None:
    """The lines' bills; None when one holds a NUL, which columns take for padding."""
    raw = "\n".join(["\n".join(map(_BILL, some)) for some in _pieces(lines)])
    plain = raw.isascii()
    if plain and (even := _even(raw, len(lines))) is not None:
        return LineBills(even, set())
    if "\0" in raw:
        return None
    # Plain words need no folding one by one. ``bill_key`` would fold others' width and cut the space around them.
    plain = plain and not any(space in raw for space in _SPACES)
    bills = raw.upper().split("\n") if plain else []
    if len(bills) != len(lines):
        bills = [bill_key(line.bill_id) for line in lines]
    long: set[str] = set()
    if max(map(len, bills), default=0) > MAX_BILL:
        long = {bill for bill in bills if len(bill) > MAX_BILL}
    # One character more than any effect's bill has, so that a long one is nobody's.
    return LineBills(as_bytes([bill[: MAX_BILL + 1] for bill in bills] if long else bills), long)


def _even(joined: str, number: int) -> Bytes | None:
    """Bills of ASCII joined by line feeds, when all are of one length and of visible characters; else None."""
    width, rest = divmod(len(joined) + 1, number or 1)
    if rest or not 1 < width <= MAX_BILL + 1:
        return None
    table = np.frombuffer(f"{joined}\n".encode().upper(), dtype=np.uint8).reshape(number, width)
    unseen = table <= ord(" ")  # what stands between them, and what would have to be cut or folded
    if np.count_nonzero(unseen) != number or not unseen[:, -1].all() or not (table[:, -1] == ord("\n")).all():
        return None
    return np.ascontiguousarray(table[:, :-1]).view(f"S{width - 1}").reshape(number)


def words_of(lines: Sequence[SettlementLine]) -> LineWords:
    """Everything else that is compared."""
    codes: defaultdict[tuple[object, ...], int] = defaultdict(count().__next__)
    amounts, placed = np.empty(len(lines), dtype=np.int64), np.empty(len(lines), dtype=np.int64)
    start = 0
    for some in _pieces(lines):
        here = slice(start, start := start + len(some))
        amounts[here] = np.fromiter(map(_AMOUNT, some), dtype=np.int64, count=len(some))
        placed[here] = np.fromiter(map(codes.__getitem__, map(_MARKS, some)), dtype=np.int64, count=len(some))
    return LineWords(amounts=amounts, codes=placed, marks=list(codes))


def _pieces(lines: Sequence[SettlementLine]) -> Iterator[Sequence[SettlementLine]]:
    """Lines in pieces of some hundredths of a second, between which other threads get their turn."""
    return (lines[start : start + _PIECE] for start in range(0, len(lines), _PIECE))


@dataclass(frozen=True, slots=True)
class Met:
    """Lines and effects of one bill that stands once on either side."""

    bills: LineBills
    ours: Side
    lines: Ints
    """Places of the lines."""
    effects: Ints
    """Places of their effects."""
    same: Flags
    """Whether the two are of one bill, and not only of one hash."""


def meet(bills: LineBills, columns: Columns, theirs: Side) -> Met:
    """Bring bills of lines and effects together; nearly all of it is numpy's, which lets other threads run."""
    ours = Side.of(bills.bytes_)
    lines, effects = _once_in_both(ours, theirs)
    return Met(bills, ours, lines, effects, bills.bytes_[lines] == columns.bills[effects])


def compare(
    file: SettlementFile,
    met: Met,
    words: LineWords,
    columns: Columns,
    odd: set[str],
    strayed: Callable[[set[str]], Iterable[str]],
) -> Compared:
    """Bills with one plain effect and one line that says the same; all others are suspects.

    Args:
        file: what the lines are of.
        met: its lines beside the effects.
        words: what else the lines say.
        columns: plain effects of the month.
        odd: bills that are looked at in any case.
        strayed: bills of tasks that name one of these.
    """
    bills, ours, lines, effects = met.bills, met.ours, met.lines, met.effects
    signs = _signs(file, words, columns, lines, effects)
    same = met.same & (signs * columns.amounts[effects] == words.amounts[lines])
    same &= signs != 0
    if not same.all():
        lines, effects = lines[same], effects[same]
    suspects = odd | bills.long
    suspects.update(_others(bills.bytes_, lines), _others(columns.bills, effects))
    suspects.update(strayed(suspects))
    named = [bill for bill in suspects if len(bill) <= MAX_BILL and "\0" not in bill]
    doubted = _found(ours.hashes[lines], hashes(as_bytes(named)))
    if len(doubted):
        suspects.update(bills.bill(place) for place in lines[doubted].tolist())
        lines, effects = np.delete(lines, doubted), np.delete(effects, doubted)
    rest = tuple(file.lines[place] for place in _left(len(file.lines), lines))
    return Compared(columns, bills, lines, effects, suspects, rest)


def _once_in_both(one: Side, other: Side) -> tuple[Ints, Ints]:
    """Places of what stands exactly once on either side, in order of its hash."""
    if not len(one.places) or not len(other.places):
        return one.places[:0], other.places[:0]
    at = np.searchsorted(other.ranked, one.ranked)
    at[at == len(other.ranked)] = 0
    there = other.ranked[at] == one.ranked
    return (one.places, other.places[at]) if there.all() else (one.places[there], other.places[at[there]])


def _found(ranked: Hashes, named: Hashes) -> Ints:
    """Places of these hashes among different ones that stand in order."""
    if not len(ranked):
        return np.zeros(0, dtype=np.int64)
    at = np.searchsorted(ranked, named)
    at[at == len(ranked)] = 0
    return np.unique(at[ranked[at] == named])


def _left(number: int, agreeing: Ints) -> list[int]:
    """Places that are not among those that agree."""
    left = np.ones(number, dtype=np.bool_)
    left[agreeing] = False
    return np.flatnonzero(left).tolist()


def _others(bills: Bytes, agreeing: Ints) -> Iterator[str]:
    """All bills but those that agree."""
    return (bill.decode() for bill in bills[_left(len(bills), agreeing)].tolist())


def _signs(file: SettlementFile, words: LineWords, columns: Columns, lines: Ints, effects: Ints) -> Ints:
    """1 or -1 where the line is of the kind that the effect leaves; 0 where not, or where only events can say."""
    width = len(words.marks)
    both = columns.tail_codes[effects] * width + words.codes[lines]
    if width * len(columns.tails) <= _TABLE:
        met = np.flatnonzero(np.bincount(both, minlength=1))
        inverse = both
    else:
        met, inverse = np.unique(both, return_inverse=True)
    signs = [_sign(file, columns.tails[pair // width], words.marks[pair % width]) for pair in met.tolist()]
    if inverse is not both:
        return np.array(signs, dtype=np.int64).take(inverse)
    table = np.zeros(width * len(columns.tails) + 1, dtype=np.int64)
    table[met] = signs
    return table.take(both)


def _sign(file: SettlementFile, tail: str, mark: tuple[object, ...]) -> int:
    action, currency, counterparty = tail.split("\0")
    kind, of_line, booked, *names = mark
    rule = file.effects.get(action)
    if rule is None or rule.kind != kind or of_line != currency or not booked:
        return 0
    return rule.sign if same_name(counterparty, *map(str, names)) else 0
