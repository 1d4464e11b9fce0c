"""The usual row, read in one step.

Rules: gives exactly what ``LineMaker`` gives, or nothing, in which case the row takes the careful way; so this file
may only be about speed (a million lines must not cost much more than splitting them). A test compares both on every
file of the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
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
_SAFE_ID: Final = r"[A-DF-Z0-9_/.-]*[A-DF-Z_/-][A-DF-Z0-9_/.-]*"
"""Upper case without E: can't be a number that a spreadsheet has rounded, needs no folding and no trimming."""
_ROW: Final = re.compile(
    rf"({_SAFE_ID})\0({_SAFE_ID})\0(-?[0-9]{{1,12}})\.([0-9][0-9])\0"
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}) ((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])",
    re.ASCII,
).fullmatch
_SECOND_US: Final = 1_000_000


class Careful(Protocol):
    """What the careful way offers: it raises ``ValueError`` for anything it would refuse."""

    names: dict[Column, dict[str, str]]
    """Cleaned names by the text in the cell."""

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
    kind, currency, status = index["kind"], index["currency"], index["status"]
    midnight_of = time_parser(profile.time_formats, profile.zone())
    known: dict[tuple[str, str, str], tuple[LineKind, str, str, bool]] = {}
    days: dict[str, int] = {}
    clocks: dict[str, int] = {}
    c, n, o = (index.get(column, -1) for column in ("counterparty", "counterparty_id", "account"))
    parties, numbers, accounts = (
        careful.names[column] for column in ("counterparty", "counterparty_id", "account")
    )

    def read(row: Row) -> SettlementLine | None:
        number, cells, fault = row
        if len(cells) != width or fault:
            return None
        match = _ROW(f"{cells[first]}\0{cells[bill]}\0{cells[amount]}\0{cells[at]}")
        if match is None:
            return None
        line_id, bill_id, whole, cents, day, clock = match.groups()
        second = clocks.get(clock)
        if second is None:
            second = clocks[clock] = (
                int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:])
            ) * _SECOND_US
        mark = (cells[kind], cells[currency], cells[status])
        found = known.get(mark)
        midnight = days.get(day)
        try:
            if found is None:
                found = careful.words(cells)
                if exponent(found[1]) != 2:  # noqa: PLR2004 - the pattern reads two decimals
                    return None
                known[mark] = found
            if midnight is None:
                midnight = days[day] = midnight_of(f"{day} 00:00:00")
            # Names repeat from row to row: one look-up each.
            party = parties.get(cells[c]) if c >= 0 else ""
            if party is None:
                party = careful.name("counterparty", cells)
            number_of = numbers.get(cells[n]) if n >= 0 else ""
            if number_of is None:
                number_of = careful.name("counterparty_id", cells)
            account = accounts.get(cells[o]) if o >= 0 else ""
            if account is None:
                account = careful.name("account", cells)
        except ValueError:
            return None  # the careful way says what is wrong
        return SettlementLine(
            number,
            bill_id,
            found[0],
            int(whole + cents),
            found[1],
            line_id,
            party,
            number_of,
            midnight + second,
            account,
            found[2],
            found[3],
        )

    return read
