"""One row to one line, by the profile; called a million times, so the usual case is straight.

Rules: too few or too many cells refuse the row (a shifted row must not be half right); labels that the profile does
not list refuse the row; the sign comes from where the profile says, once.
"""

from __future__ import annotations

from collections.abc import Callable

from domain.values import exponent
from projections.settlement.amounts import AmountRefused, parse_amount
from projections.settlement.cells import CellRefused, clean_key, clean_label, clean_text, time_parser
from projections.settlement.formats.base import Row
from projections.settlement.header import Layout
from projections.settlement.lines import LineKind, SettlementLine
from projections.settlement.profiles import Column, Profile

_CODE_LETTERS = 3
_CACHED = 65_536
"""Distinct names kept; beyond, each is cleaned anew, so that memory stays flat."""


class RowRefused(ValueError):
    """The row can't be imported: the column at fault, its value and the reason."""

    def __init__(self, column: str, value: str, reason: str) -> None:
        self.column = column
        self.value = value
        self.reason = reason
        super().__init__(reason)


class LineMaker:
    """Turns rows into lines; raises ``RowRefused``."""

    def __init__(self, profile: Profile, layout: Layout) -> None:
        self._profile = profile
        self._layout = layout
        self._at: Callable[[str], int] = time_parser(profile.time_formats, profile.zone())
        self._kinds = {clean_label(t): kind for kind, texts in profile.kinds.items() for t in texts}
        self._directions = {clean_label(t): sign for t, sign in profile.directions.items()}
        self._style = profile.amounts
        self._plain = profile.amounts.decimal == "."
        self._kind_cache: dict[str, LineKind] = {}
        self._currency_cache: dict[str, tuple[str, int]] = {}
        self._status_cache: dict[str, tuple[str, bool]] = {}
        self.names: dict[Column, dict[str, str]] = {"counterparty": {}, "counterparty_id": {}, "account": {}}
        self._index = layout.index
        self._upper = profile.key_case == "upper"
        self._required = tuple((column, layout.index[column]) for column in profile.required)

    def words(self, cells: list[str]) -> tuple[LineKind, str, str, bool]:
        """Kind, currency, status and whether it is booked; ``RowRefused`` when one is unknown."""
        return (self._kind(cells), self._currency(cells)[0], *self._status(cells))

    def name(self, column: Column, cells: list[str]) -> str:
        """A counterparty, its number or an account, cleaned once for each distinct value."""
        i = self._index.get(column)
        if i is None:
            return ""
        found = self.names[column].get(cells[i])
        if found is None:
            found = self._key(column, cells) if column == "counterparty_id" else clean_text(cells[i])
            if len(self.names[column]) < _CACHED:
                self.names[column][cells[i]] = found
        return found

    def __call__(self, row: Row) -> SettlementLine:
        """The line of a row."""
        cells = row.cells
        if len(cells) != self._layout.width:
            self._check_width(cells)
        for column, i in self._required:
            if not cells[i]:
                raise self._refused(column, cells, "is empty")
        kind = self._kind(cells)
        currency, digits = self._currency(cells)
        status, booked = self._status(cells)
        if self._style.signs == "by_direction" and not self._direction(cells):
            kind, booked = "other", False  # neither income nor expense: kept, and in no total
        return SettlementLine(
            row.line,
            self._key("bill_id", cells),
            kind,
            self._amount(cells, kind, currency, digits),
            currency,
            self._key("line_id", cells),
            self.name("counterparty", cells),
            self.name("counterparty_id", cells),
            self._time(cells),
            self.name("account", cells),
            status,
            booked,
        )

    def _check_width(self, cells: list[str]) -> None:
        """Missing empty tails are no fault; anything else means that cells have shifted."""
        width = self._layout.width
        if len(cells) < width:
            raise RowRefused("", ",".join(cells), f"{len(cells)} cells where the header has {width}")
        if any(cell.strip() for cell in cells[width:]):
            raise RowRefused("", ",".join(cells[width:]), f"{len(cells)} cells where the header has {width}")

    def _refused(self, column: Column, cells: list[str], reason: str) -> RowRefused:
        i = self._index.get(column)
        return RowRefused(self._layout.names.get(column, column), cells[i] if i is not None else "", reason)

    def _text(self, column: Column, cells: list[str]) -> str:
        i = self._index.get(column)
        return clean_text(cells[i]) if i is not None else ""

    def _key(self, column: Column, cells: list[str]) -> str:
        i = self._index.get(column)
        if i is None:
            return ""
        try:
            key = clean_key(cells[i])
        except CellRefused as error:
            raise self._refused(column, cells, str(error)) from error
        if key in self._profile.empty_marks:
            key = ""
        if not key and column in self._profile.required:
            raise self._refused(column, cells, "is empty")
        return key.upper() if self._upper and column == "bill_id" else key

    def _kind(self, cells: list[str]) -> LineKind:
        i = self._index.get("kind")
        text = cells[i] if i is not None else ""
        kind = self._kind_cache.get(text)
        if kind is None:
            kind = self._kinds.get(clean_label(text)) or self._profile.default_kind
            if kind is None:
                raise self._refused("kind", cells, "the profile lists no such kind")
            self._kind_cache[text] = kind
        return kind

    def _currency(self, cells: list[str]) -> tuple[str, int]:
        i = self._index.get("currency")
        text = cells[i] if i is not None else ""
        known = self._currency_cache.get(text)
        if known is None:
            rule = self._profile.currency
            word = clean_text(text)
            code = rule.aliases.get(word, word.upper() if rule.upper else word) or rule.default
            if not (len(code) == _CODE_LETTERS and code.isascii() and code.isalpha() and code.isupper()):
                raise self._refused("currency", cells, "no ISO 4217 code, and the profile gives no alias")
            known = self._currency_cache[text] = (code, exponent(code))
        return known

    def _status(self, cells: list[str]) -> tuple[str, bool]:
        i = self._index.get("status")
        text = cells[i] if i is not None else ""
        known = self._status_cache.get(text)
        if known is None:
            word, rule = clean_text(text), self._profile.statuses
            booked = True
            if rule is not None and i is not None:
                label = clean_label(text)
                booked = label in {clean_label(t) for t in rule.booked}
                if not booked and label not in {clean_label(t) for t in rule.not_booked}:
                    raise self._refused("status", cells, "the profile lists no such status")
            known = self._status_cache[text] = (word, booked)
        return known

    def _time(self, cells: list[str]) -> int:
        i, j = self._index.get("at"), self._index.get("time")
        if i is None:
            return 0
        text = clean_text(cells[i])
        if j is not None:
            text = f"{text} {clean_text(cells[j])}"
        if not text:
            return 0
        try:
            return self._at(text)
        except CellRefused as error:
            raise self._refused("at", cells, str(error)) from error

    def _amount(self, cells: list[str], kind: LineKind, currency: str, digits: int) -> int:
        signs = self._style.signs
        if signs == "in_and_out":
            return self._in_and_out(cells, currency, digits)
        column: Column = "amount"
        if kind == "refund" and "refund_amount" in self._index:
            column = "refund_amount"
        minor = self._minor(column, cells, currency, digits)
        if signs == "by_kind":
            return abs(minor) * self._profile.kind_signs.get(kind, 1)
        if signs == "by_direction":
            return minor * (self._direction(cells) or 1)
        return minor

    def _direction(self, cells: list[str]) -> int:
        i = self._index.get("direction")
        sign = self._directions.get(clean_label(cells[i])) if i is not None else None
        if sign is None:
            raise self._refused("direction", cells, "the profile lists no such direction")
        return sign

    def _in_and_out(self, cells: list[str], currency: str, digits: int) -> int:
        """Two columns, one of them filled."""
        filled: list[tuple[Column, int]] = [
            (column, sign)
            for column, sign in (("amount_in", 1), ("amount_out", -1))
            if column in self._index and self._text(column, cells).strip("-")
        ]
        if len(filled) != 1:
            raise self._refused("amount_in", cells, f"{len(filled)} amounts where one is expected")
        column, sign = filled[0]
        return abs(self._minor(column, cells, currency, digits)) * sign

    def _minor(self, column: Column, cells: list[str], currency: str, digits: int) -> int:
        text = cells[self._index[column]]
        if self._plain and digits == 2 and text[-3:-2] == "." and text.isascii():  # noqa: PLR2004 - two decimals
            whole, cents = text[:-3], text[-2:]
            digits_only = whole[1:] if whole[:1] == "-" else whole
            if cents.isdigit() and digits_only.isdigit() and len(digits_only) <= 12:  # noqa: PLR2004 - 53 bits
                return int(whole + cents)
        style = self._style
        try:
            return parse_amount(
                text,
                currency,
                decimal=style.decimal,
                grouping=style.grouping,
                extra_digits=style.extra_digits,
            )
        except AmountRefused as error:
            raise self._refused(column, cells, str(error)) from error
