"""MT940 and MT942 statements (SWIFT), parsed by the ``mt-940`` library.

Rules: one row for each ``:61:`` line; entries that the library could not read are refused rows, not silence; opening
balance plus entries must be the closing balance, statement by statement. ``NONREF`` is no reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import BinaryIO, Final

import mt940

from domain.errors import ConfigError
from projections.settlement.formats.base import Row, Rows
from projections.settlement.formats.decoding import choose_encoding, open_text
from projections.settlement.profiles import Profile

HEADER: Final = [
    "line_id",
    "reference",
    "counterparty",
    "counterparty_account",
    "code",
    "amount",
    "currency",
    "date",
    "details",
]
_TAG: Final = re.compile(r":[0-9]{2}[A-Z]?:")
_ENTRY: Final = mt940.tags.Statement().re
"""The library's own pattern of field 61."""
_NO_REFERENCE: Final = frozenset({"", "NONREF", "EREF", "KREF", "MREF"})
_CREDIT: Final = frozenset({"C", "RD"})
"""A reversal of a debit is a credit (SWIFT field 61, subfield 3)."""


def read(stream: BinaryIO, profile: Profile) -> Rows:
    """The statements as a table."""
    encoding, clean = choose_encoding(stream, profile.encodings)
    with open_text(stream, encoding, clean=clean) as text:
        return Rows(rows=_rows(text.read()), encoding=encoding)


def _rows(text: str) -> Iterator[Row]:
    yield Row(1, list(HEADER))
    kept, places, broken = _sift(text)
    try:
        statements = mt940.parse_statements(kept)
    except Exception as error:  # the library raises whatever its tags raise
        raise ConfigError(
            f"not an MT940 statement: {type(error).__name__}: {str(error)[:120]}",
            remedy="check the profile's format",
        ) from error
    entries = [entry.data for statement in statements for entry in statement]
    for place, data in zip(places, entries, strict=False):
        yield Row(place, _cells(data))
    for place in sorted([*broken, *places[len(entries) :]]):
        yield Row(place, [], "the entry can't be read as a statement line (field 61)")
    yield from _balances(statements, last=text.count("\n") + 1)


def _sift(text: str) -> tuple[str, list[int], list[int]]:
    """The text without entries that the library would choke on, and the lines of good and of broken entries.

    One broken entry would otherwise cost the whole file.
    """
    kept: list[str] = []
    places: list[int] = []
    broken: list[int] = []
    for start, field in _fields(text):
        tag, _, value = field.partition(":61:")
        if tag or not value:
            kept.append(field)
        elif _ENTRY.match(value.rstrip("\r\n").replace("\r\n", "\n")):
            kept.append(field)
            places.append(start)
        else:
            broken.append(start)
    return "".join(kept), places, broken


def _fields(text: str) -> Iterator[tuple[int, str]]:
    """Fields with their first line: a tag and everything up to the next one."""
    start, held = 1, ""
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if _TAG.match(line):
            if held:
                yield start, held
            start, held = number, line
        else:
            held += line
    if held:
        yield start, held


def _cells(data: Mapping[str, object]) -> list[str]:
    reference = next(
        (
            text
            for name in ("end_to_end_reference", "customer_reference", "bank_reference")
            if (text := _word(data.get(name))) not in _NO_REFERENCE
        ),
        "",
    )
    amount = getattr(data.get("amount"), "amount", None)
    signed = "" if amount is None else f"{abs(amount) if data.get('status') in _CREDIT else -abs(amount)}"
    bank = _word(data.get("bank_reference"))
    return [
        "" if bank in _NO_REFERENCE else bank,
        reference,
        _word(data.get("applicant_name")),
        _word(data.get("applicant_iban")),
        _word(data.get("id")),
        signed,
        _word(data.get("currency")),
        _word(data.get("date")),
        re.sub(r"\s+", " ", _word(data.get("transaction_details") or data.get("purpose"))),
    ]


def _word(value: object) -> str:
    return "" if value is None else str(value).strip()


def _balances(statements: list[mt940.models.Transactions], *, last: int) -> Iterator[Row]:
    """What the statements say of themselves: the movement between their balances, by currency."""
    moved: dict[str, Decimal] = {}
    whole = bool(statements)
    for statement in statements:
        opening = statement.data.get("final_opening_balance") or statement.data.get(
            "intermediate_opening_balance"
        )
        closing = statement.data.get("final_closing_balance") or statement.data.get(
            "intermediate_closing_balance"
        )
        first, final = getattr(opening, "amount", None), getattr(closing, "amount", None)
        if first is None or final is None or first.currency != final.currency:
            whole = False  # MT942 has no balances; then nothing is declared
            continue
        moved[first.currency] = moved.get(first.currency, Decimal(0)) + final.amount - first.amount
    if whole:
        for currency, amount in sorted(moved.items()):
            yield Row(last, ["#total", currency, f"{amount}"])
