"""The usual row, read in one step.

Rules: gives exactly what ``LineMaker`` gives, or nothing, in which case the row takes the careful way; so this file
may only be about speed (a million lines must not cost much more than splitting them). A test compares both on every
file of the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final, Protocol

from domain.values import exponent
from projections.settlement.cells import time_parser
from projections.settlement.formats.base import Row
from projections.settlement.header import Layout
from projections.settlement.lines import LineKind, SettlementLine
from projections.settlement.profiles import Column, Profile

Straight = Callable[[Row], SettlementLine | None]
_FORM: Final = "%Y-%m-%d %H:%M:%S"
_COVERED: Final[frozenset[Column]] = frozenset(
    {"line_id", "bill_id", "kind", "amount", "currency", "at", "status"}
)
_SAFE_ID: Final = r"[0-9.]*[A-DF-Z_/-][A-DF-Z0-9_/.-]*"
"""Upper case without E: can't be a number that a spreadsheet has rounded, needs no folding and no trimming."""
_ROW: Final = re.compile(
    rf"({_SAFE_ID})\0({_SAFE_ID})\0(-?[0-9]{{1,12}})\.([0-9][0-9])\0"
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}) ((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])",
    re.ASCII,
).fullmatch
_SECOND_US: Final = 1_000_000
_CACHED: Final = 16_384
"""Distinct combinations of words and names kept, so that memory stays flat."""


_NAMES: Final[tuple[Column, ...]] = ("counterparty", "counterparty_id", "account")
_REPEATED: Final[tuple[Column, ...]] = ("kind", "currency", "status", *_NAMES)
_Words = tuple[LineKind, str, str, bool, str, str, str]
"""Kind, currency, status, whether it is booked, counterparty, its number, account."""


class Careful(Protocol):
    """What the careful way offers: it raises ``ValueError`` for anything it would refuse."""

    def words(self, cells: list[str]) -> tuple[LineKind, str, str, bool]:
        """Kind, currency, status and whether it is booked."""
        ...

    def name(self, column: Column, cells: list[str]) -> str:
        """A name or number that repeats from row to row."""
        ...


def straight(profile: Profile, layout: Layout, careful: Careful) -> Straight:
    """A reader of usual rows; one that never reads anything where the profile is unusual."""
    zone = profile.zone()
    fixed = zone.utcoffset(datetime(2020, 1, 1, tzinfo=UTC)) == zone.utcoffset(
        datetime(2020, 7, 1, tzinfo=UTC)
    )
    usual = (
        fixed
        and profile.time_formats[0] == _FORM
        and profile.amounts.decimal == "."
        and profile.amounts.signs == "as_written"
        and profile.key_case == "keep"
        and {"line_id", "bill_id", "amount", "at", "kind", "currency", "status"} <= layout.index.keys()
        and layout.index.keys().isdisjoint({"time", "refund_amount"})
        and set(profile.required) <= _COVERED
    )
    return _reader(profile, layout, careful) if usual else lambda _: None


def _reader(profile: Profile, layout: Layout, careful: Careful) -> Straight:
    index, width = layout.index, layout.width
    first, bill, amount, at = index["line_id"], index["bill_id"], index["amount"], index["at"]
    midnight_of = time_parser(profile.time_formats, profile.zone())
    words_in = itemgetter(*sorted({index[column] for column in _REPEATED if column in index}))
    known: dict[tuple[str, ...], _Words] = {}
    days: dict[str, int] = {}
    clocks: dict[str, int] = {}

    def words(cells: list[str]) -> _Words | None:
        """What repeats from row to row, cleaned; None where the pattern's two decimals are not the currency's."""
        found = careful.words(cells)
        if exponent(found[1]) != 2:  # noqa: PLR2004 - the pattern reads two decimals
            return None
        names = (careful.name(column, cells) for column in _NAMES)
        return (*found, *names)  # type: ignore[return-value]

    def read(row: Row) -> SettlementLine | None:
        number, cells, fault = row
        if len(cells) != width or fault:
            return None
        match = _ROW(f"{cells[first]}\0{cells[bill]}\0{cells[amount]}\0{cells[at]}")
        if match is None:
            return None
        line_id, bill_id, whole, cents, day, clock = match.groups()
        mark = words_in(cells)
        found = known.get(mark)
        second, midnight = clocks.get(clock), days.get(day)
        if found is None or second is None or midnight is None:
            try:
                found = words(cells)
                midnight = days[day] = midnight_of(f"{day} 00:00:00")
            except ValueError:
                return None  # the careful way says what is wrong
            if found is None:
                return None
            if len(known) < _CACHED:
                known[mark] = found
            second = clocks[clock] = (
                int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:])
            ) * _SECOND_US
        kind, currency, status, booked, party, number_of, account = found
        return SettlementLine(
            number,
            bill_id,
            kind,
            int(whole + cents),
            currency,
            line_id,
            party,
            number_of,
            midnight + second,
            account,
            status,
            booked,
        )

    return read
