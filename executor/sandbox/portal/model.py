"""The vendor's words: bills, actions, statuses and money.

Rules of this module:

* A status changes only as `next_status` says; an undo restores the status before.
* The server is as careless as old back offices are: it takes a second "process" of a processed bill
  (from a second tab, or from a second robot) and books it again, unless it is told to be strict.
* Money is an integer of minor units with its currency; text is made only at the edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """Where a difference bill stands."""

    PENDING = "pending"
    PROCESSED = "processed"
    REFUNDED = "refunded"


class Action(StrEnum):
    """What an account can do to a bill."""

    PROCESS = "process"
    REFUND = "refund"
    UNDO = "undo"


class Kind(StrEnum):
    """What a ledger line is for: the action that caused it, or a fee of the vendor's own."""

    PROCESS = "process"
    REFUND = "refund"
    UNDO = "undo"
    FEE = "fee"


class Role(StrEnum):
    """What an account may do: `service` and `clerk` read and write, `readback` only reads."""

    SERVICE = "service"
    CLERK = "clerk"
    READBACK = "readback"


TRANSITIONS: Final[dict[tuple[Status, Action], Status]] = {
    (Status.PENDING, Action.PROCESS): Status.PROCESSED,
    (Status.PROCESSED, Action.REFUND): Status.REFUNDED,
    (Status.PROCESSED, Action.UNDO): Status.PENDING,
    (Status.REFUNDED, Action.UNDO): Status.PROCESSED,
}
"""The changes that the screens offer."""

REPEATS: Final[dict[tuple[Status, Action], Status]] = {
    (Status.PROCESSED, Action.PROCESS): Status.PROCESSED,
    (Status.REFUNDED, Action.REFUND): Status.REFUNDED,
}
"""The changes that only a stale page can ask for, and that a lenient server books once more."""

EXPONENTS: Final[dict[str, int]] = {"CNY": 2, "USD": 2, "EUR": 2, "HKD": 2, "JPY": 0, "KRW": 0}
"""Digits after the decimal point (ISO 4217)."""

MAX_AMOUNT_MINOR: Final = 10**15
"""No amount of this portal reaches it; a longer number in a form is refused."""


def next_status(status: Status, action: Action, *, strict: bool) -> Status | None:
    """Return the status after the action, or None when the vendor refuses it."""
    target = TRANSITIONS.get((status, action))
    if target is None and not strict:
        target = REPEATS.get((status, action))
    return target


def offered(status: Status) -> tuple[Action, ...]:
    """Return the actions whose buttons are enabled for a bill of this status."""
    return tuple(action for (start, action) in TRANSITIONS if start is status)


def sign(status: Status, action: Action) -> int:
    """Return +1 or -1: whether the action on a bill of this status pays out or takes back."""
    if action is Action.UNDO:
        return 1 if status is Status.REFUNDED else -1
    return 1 if action is Action.PROCESS else -1


def money(amount_minor: int, currency: str, *, grouped: bool = False) -> str:
    """Return the decimal text of an amount, such as `1434.74`, or `1,434.74` when grouped."""
    digits = EXPONENTS[currency]
    value = Decimal(amount_minor).scaleb(-digits)
    return f"{value:,.{digits}f}" if grouped else f"{value:.{digits}f}"


def minor_units(text: str, currency: str) -> int:
    """Return the minor units of a decimal text.

    Raises:
        ValueError: the currency is unknown, or the text is not a number with at most the currency's digits.
    """
    if currency not in EXPONENTS:
        message = f"unknown currency {currency!r}"
        raise ValueError(message)
    try:
        value = Decimal(text.replace(",", "")).scaleb(EXPONENTS[currency])
        whole = int(value)
    except (InvalidOperation, OverflowError, ValueError) as error:
        message = f"{text!r} is not an amount"
        raise ValueError(message) from error
    if value != whole or abs(whole) >= MAX_AMOUNT_MINOR:
        message = f"{text!r} is not an amount in {currency}"
        raise ValueError(message)
    return whole


def next_month(month: str) -> str:
    """Return the month after one such as `2026-11`."""
    year, number = int(month[:4]), int(month[5:])
    return f"{year + 1}-01" if number == 12 else f"{year}-{number + 1:02d}"  # noqa: PLR2004 - December


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A log-in that the portal is created with. The password is kept only as a scrypt hash."""

    name: str
    password: str
    tenant: str
    role: Role
    display: str = ""

    def __repr__(self) -> str:
        """Leave the password out: a repr ends in logs and in exception texts."""
        return f"Account(name={self.name!r}, tenant={self.tenant!r}, role={self.role.value!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What the vendor stored when the bill was handled: the values of the form, right or wrong."""

    counterparty_id: str
    amount_minor: int
    currency: str
    month: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A person's word that a bill is not to be worked on now."""

    account: str
    note: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """One difference bill."""

    id: str
    tenant: str
    counterparty_id: str
    counterparty: str
    month: str
    amount_minor: int
    currency: str
    status: Status
    created_at: str
    updated_by: str
    updated_at: str
    handled: Handled | None

    @property
    def amount(self) -> str:
        """The amount as a form field carries it: no grouping."""
        return money(self.amount_minor, self.currency)

    @property
    def amount_shown(self) -> str:
        """The amount as the screens show it."""
        return money(self.amount_minor, self.currency, grouped=True)

    @property
    def offered(self) -> tuple[Action, ...]:
        """The actions whose buttons are enabled."""
        return offered(self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """Who did what to a bill, and when. `source` (web, timer, queue, rule) is never shown to users."""

    seq: int
    bill_id: str
    at: str
    account: str
    action: Action
    from_status: Status
    to_status: Status
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One booking in the vendor's ledger: one line of the settlement file. The amount is signed."""

    line: int
    bill_id: str
    tenant: str
    counterparty_id: str
    counterparty: str
    month: str
    kind: Kind
    amount_minor: int
    currency: str
    at: str
    account: str
    source: str

    @property
    def line_id(self) -> str:
        """The line's number as the settlement file prints it."""
        return f"JS{self.month.replace('-', '')}-{self.line:06d}"

    @property
    def amount(self) -> str:
        """The signed amount as decimal text."""
        return money(self.amount_minor, self.currency)
