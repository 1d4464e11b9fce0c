"""Readback from the vendor's settlement file: what was really booked, line by line (B16).

Rules: the file is fetched in the readback account's session and read by a parser that the wiring hands in; the bill's
status is what its booked lines add up to; every booked line of the bill counts, so that a fee or a second booking
that nobody ordered is a difference; a file that is missing, contradicts itself or was refused rows about the bill
decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from domain.errors import ConfigError, WorldError
from domain.policy import ReadbackSource
from domain.values import BusinessState
from executor.filling import in_path
from executor.readback import HttpSession, Readback


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """One booked line of the file."""

    bill_id: str
    kind: str
    amount_minor: int
    """Signed."""
    currency: str
    counterparty: str
    account: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementMonth:
    """A parsed file, as far as a readback needs it."""

    bookings: Sequence[Booking]
    doubts: Sequence[str] = ()
    """What the file says against itself: nothing can be confirmed from it then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the kinds of lines do to a bill."""

    statuses: Mapping[str, str]
    """Kind → status that it leads to."""
    undoing: frozenset[str] = frozenset()
    """Kinds that take the last booking back."""
    initial: str = "pending"
    """Status of a bill without bookings."""


Parser = Callable[[bytes, str], SettlementMonth]
"""File and month → bookings; ``ConfigError`` when it can't be read at all."""


class SettlementReadback:
    """See ``executor.readback.Readback``; the bill's month is asked of another source."""

    source: ReadbackSource = "settlement_file"

    def __init__(
        self, session: HttpSession, path: str, *, parse: Parser, meaning: Meaning, bills: Readback
    ) -> None:
        self.account = session.account
        self._session = session
        self._path = path
        self._parse = parse
        self._meaning = meaning
        self._bills = bills

    def read(self, bill_id: str) -> BusinessState:
        """The bill as the month's file has it; ``WorldError`` when the file decides nothing."""
        month = self._bills.read(bill_id).month
        path = in_path(self._path, month=month)
        data = self._session.get(path).content
        try:
            parsed = self._parse(data, month)
        except ConfigError as error:
            raise WorldError(f"the settlement file of {month} can't be read: {error.what}") from error
        if parsed.doubts:
            raise WorldError(f"the settlement file of {month} contradicts itself: {parsed.doubts[0]}")
        return self._state(bill_id, month, [line for line in parsed.bookings if line.bill_id == bill_id])

    def _state(self, bill_id: str, month: str, lines: Sequence[Booking]) -> BusinessState:
        booked: list[Booking] = []
        for line in lines:
            if line.kind in self._meaning.undoing and booked:
                booked.pop()
            elif line.kind in self._meaning.statuses:
                booked.append(line)
        last = booked[-1] if booked else None
        shown = last or (lines[-1] if lines else None)
        return BusinessState(
            bill_id=bill_id,
            status=self._meaning.statuses[last.kind] if last else self._meaning.initial,
            amount_minor=abs(shown.amount_minor) if shown else 0,
            currency=shown.currency if shown else "",
            counterparty=shown.counterparty if shown else "",
            month=month,
            history_length=-1,
            ledger_lines=len(lines),
            last_actor=lines[-1].account if lines else "",
        )
