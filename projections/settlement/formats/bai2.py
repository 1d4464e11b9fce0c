"""BAI2 cash management files (BAI, version 2).

Rules: continuation records (88) belong to the record before; amounts are minor units of the account's or group's
currency; type codes 100-399 are credits and 400-699 debits; account control totals (49) and file record counts (99)
are checked, a difference is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from domain.errors import ConfigError
from domain.values import format_minor
from projections.settlement.formats.base import Row, Rows
from projections.settlement.formats.decoding import choose_encoding, open_text
from projections.settlement.profiles import Profile

HEADER: Final = ["line_id", "reference", "counterparty", "code", "amount", "currency", "date", "details"]
_FUNDS_EXTRA: Final = {"S": 3, "V": 2}
_FIRST_CREDIT, _FIRST_DEBIT, _END_DEBIT = 100, 400, 700


@dataclass(slots=True)
class _File:
    """Where the reading stands."""

    date: str = ""
    group_currency: str = "USD"
    currency: str = "USD"
    sum_minor: int = 0
    records: int = 0
    checks: list[Row] = field(default_factory=list)


def read(stream: BinaryIO, profile: Profile) -> Rows:
    """The transactions as a table; ``ConfigError`` when it does not begin with a file header (01)."""
    encoding, clean = choose_encoding(stream, profile.encodings)
    return Rows(rows=_opened(stream, encoding, clean=clean), encoding=encoding)


def _opened(stream: BinaryIO, encoding: str, *, clean: bool) -> Iterator[Row]:
    with open_text(stream, encoding, clean=clean) as text:
        yield from _rows(text)


def _rows(text: Iterator[str]) -> Iterator[Row]:
    yield Row(1, list(HEADER))
    file, first = _File(), True
    for line, record in _records(text, file):
        code, *fields = record.split(",")
        if first and code != "01":
            raise ConfigError(
                "not a BAI2 file: it does not begin with record 01", remedy="choose another profile"
            )
        first = False
        try:
            row = _record(file, line, code, fields)
        except (ValueError, IndexError):
            row = Row(line, [record], f"record {code} can't be read")
        if row is not None:
            yield row
    yield from file.checks


def _records(text: Iterator[str], file: _File) -> Iterator[tuple[int, str]]:
    """Logical records with their first line; a slash ends a field, without one the text goes on in the next line."""
    start, held, closed = 0, "", True
    for number, raw in enumerate(text, start=1):
        physical = raw.strip("\r\n\ufeff ")
        if not physical:
            continue
        file.records += 1
        if physical.startswith("88,"):
            held = f"{held}{',' if closed else ' '}{physical[3:].rstrip('/')}"
            closed = physical.endswith("/")
            continue
        if held:
            yield start, held
        start, held, closed = number, physical.rstrip("/"), physical.endswith("/")
    if held:
        yield start, held


def _record(file: _File, line: int, code: str, fields: list[str]) -> Row | None:
    match code:
        case "02":
            file.date = fields[3]
            file.group_currency = fields[5] or "USD"
        case "03":
            file.currency = fields[1] or file.group_currency
            file.sum_minor = sum(_summaries(fields[2:]))
        case "16":
            return _transaction(file, line, fields)
        case "49":
            declared = int(fields[0])
            if declared != file.sum_minor:
                what = f"account control total is {declared}, its amounts sum to {file.sum_minor}"
                file.checks.append(Row(line, ["#check", what]))
        case "99":
            declared, seen = int(fields[2]), file.records
            if declared != seen:
                what = f"the file declares {declared} records, {seen} are there"
                file.checks.append(Row(line, ["#check", what]))
        case _:
            return None
    return None


def _summaries(fields: list[str]) -> Iterator[int]:
    """Amounts of an account's status and summary groups: type, amount, item count, funds type."""
    place = 0
    while place + 1 < len(fields):
        if not fields[place]:
            place += 1  # writers differ in how many empty fields they close a line with
            continue
        amount, funds = fields[place + 1], fields[place + 3] if place + 3 < len(fields) else ""
        yield int(amount or 0)
        place += 4 + _extra(funds, fields, place + 4)


def _extra(funds: str, fields: list[str], place: int) -> int:
    if funds == "D":  # distributed availability: a count, then that many pairs
        return 1 + 2 * int(fields[place] or 0)
    return _FUNDS_EXTRA.get(funds, 0)


def _transaction(file: _File, line: int, fields: list[str]) -> Row | None:
    code, amount = int(fields[0]), int(fields[1] or 0)
    file.sum_minor += amount
    if not _FIRST_CREDIT <= code < _END_DEBIT:
        return None  # 700 and above: loan detail and non-monetary information
    place = 3 + _extra(fields[2] if len(fields) > 2 else "", fields, 3)  # noqa: PLR2004 - funds type
    bank, customer, *rest = [*fields[place:], "", ""]
    signed = -amount if code >= _FIRST_DEBIT else amount
    details = " ".join(part.strip() for part in rest if part.strip())
    text = format_minor(signed, file.currency)
    return Row(line, [bank, customer or bank, "", str(code), text, file.currency, file.date, details])
