"""ISO 20022 camt.052, .053 and .054, streamed entry by entry, in any version and namespace.

Rules: every entry of every statement counts, not only the first; a batch is split into its transactions only when each
has its own amount and they sum to the entry, and otherwise stays one row (its total is never repeated); pending
entries are rows that are not booked; a document type, an entity or anything external is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import BinaryIO, Final, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from domain.errors import ConfigError
from projections.settlement.formats.base import Row, Rows
from projections.settlement.profiles import Profile

HEADER: Final = ["line_id", "reference", "counterparty", "code", "amount", "currency", "date", "status"]
_CHUNK: Final = 1 << 16
_OPENING: Final = frozenset({"OPBD", "PRCD"})


def read(stream: BinaryIO, profile: Profile) -> Rows:  # noqa: ARG001 - all readers are called alike
    """The entries as a table."""
    stream.seek(0)
    return Rows(rows=_rows(stream), encoding="xml")


class _Statement:
    """What one statement says of itself."""

    def __init__(self) -> None:
        self.balances: dict[str, tuple[str, Decimal]] = {}
        self.declared: dict[str, Decimal] = {}
        self.whole = True

    def balance(self, element: Element) -> None:
        """Keep the first balance of its kind."""
        code = _find(element, "Tp", "CdOrPrtry", "Cd")
        amount, currency = _amount(element)
        if amount is not None:
            kind = "opening" if code in _OPENING else "closing" if code == "CLBD" else ""
            self.balances.setdefault(kind, (currency, amount * _sign(element)))

    def end(self) -> None:
        """Add the movement between its balances."""
        opening, closing = self.balances.get("opening"), self.balances.get("closing")
        if opening and closing and opening[0] == closing[0]:
            self.declared[opening[0]] = self.declared.get(opening[0], Decimal(0)) + closing[1] - opening[1]
        else:
            self.whole = False
        self.balances = {}


def _rows(stream: BinaryIO) -> Iterator[Row]:
    yield Row(1, list(HEADER))
    parser = DefusedXMLParser(forbid_dtd=True, forbid_entities=True, forbid_external=True)
    pull = XMLPullParser(events=("start", "end"), _parser=parser)
    statement, seen, line = _Statement(), False, 1
    starts: list[int] = []
    try:
        for chunk in iter(lambda: stream.readline(_CHUNK), b""):
            line = parser.parser.CurrentLineNumber
            pull.feed(chunk)
            # Only starts and ends are asked for, and these come with an element.
            for moment, element in cast("Iterator[tuple[str, Element]]", pull.read_events()):
                name = _local(element)
                if moment == "start":
                    if name == "Ntry":
                        starts.append(line)
                    continue
                if name == "Bal":
                    statement.balance(element)
                elif name == "Ntry":
                    seen = True
                    yield from _entry(element, starts.pop())
                    element.clear()
                elif name in {"Stmt", "Rpt", "Ntfctn"}:
                    statement.end()
                    element.clear()
        pull.close()
    except (DefusedXmlException, ParseError) as error:
        raise ConfigError(
            f"line {line}: not a camt document that can be trusted: {type(error).__name__}",
            remedy="ask the bank for the file again; documents with a DTD or entities are never read",
        ) from error
    if seen and statement.whole:
        for currency, amount in sorted(statement.declared.items()):
            yield Row(line, ["#total", currency, f"{amount}"])


def _entry(entry: Element, line: int) -> Iterator[Row]:
    amount, currency = _amount(entry)
    details = [d for part in entry if _local(part) == "NtryDtls" for d in part if _local(d) == "TxDtls"]
    if amount is None:
        yield Row(line, [], "the entry has no readable amount")
        return
    parts = [_part_amount(detail) for detail in details]
    split = len(details) > 1 and all(p is not None and p[1] == currency for p in parts)
    if split and sum(p[0] for p in parts if p is not None) == amount:
        for detail, part in zip(details, parts, strict=True):
            if part is not None:
                yield Row(line, _cells(entry, detail, part[0] * _sign(entry), currency))
        return
    only = details[0] if len(details) == 1 else None
    yield Row(line, _cells(entry, only, amount * _sign(entry), currency))


def _part_amount(detail: Element) -> tuple[Decimal, str] | None:
    """A transaction's own amount: ``Amt`` since version 3, ``AmtDtls/TxAmt/Amt`` before."""
    holder = _child(detail, "AmtDtls")
    holder = _child(holder, "TxAmt") if holder is not None else detail
    amount, currency = _amount(holder if holder is not None else detail)
    return None if amount is None else (amount, currency)


def _cells(entry: Element, detail: Element | None, amount: Decimal, currency: str) -> list[str]:
    place = detail if detail is not None else entry
    refs = _child(place, "Refs")
    party = _child(place, "RltdPties")
    credit = _sign(entry) > 0
    other = _child(party, "Dbtr" if credit else "Cdtr") if party is not None else None
    structured = _find(place, "RmtInf", "Strd", "CdtrRefInf", "Ref")
    end_to_end = _find(refs, "EndToEndId") if refs is not None else ""
    reference = structured or ("" if end_to_end == "NOTPROVIDED" else end_to_end)
    own = (_find(refs, "TxId") or _find(refs, "AcctSvcrRef")) if refs is not None else ""
    return [
        own or (_find(entry, "AcctSvcrRef") if detail is None else ""),
        reference,
        (_find(other, "Nm") or _find(other, "Pty", "Nm")) if other is not None else "",
        _find(entry, "BkTxCd", "Domn", "Cd") or _find(entry, "BkTxCd", "Prtry", "Cd"),
        f"{amount}",
        currency,
        (_find(entry, "BookgDt", "Dt") or _find(entry, "BookgDt", "DtTm"))[:10],
        _find(entry, "Sts", "Cd") or _find(entry, "Sts") or "BOOK",
    ]


def _amount(element: Element) -> tuple[Decimal | None, str]:
    child = _child(element, "Amt")
    if child is None or not child.text:
        return None, ""
    try:
        return Decimal(child.text.strip()), child.get("Ccy", "")
    except InvalidOperation:
        return None, ""


def _sign(element: Element) -> int:
    return -1 if _find(element, "CdtDbtInd") == "DBIT" else 1


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if _local(child) == name), None)


def _find(element: Element, *path: str) -> str:
    """Text at a path of local names; empty when there is none."""
    place: Element | None = element
    for name in path:
        place = _child(place, name) if place is not None else None
    return (place.text or "").strip() if place is not None else ""
