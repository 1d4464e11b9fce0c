"""Values that facts are made of: immutable, without identity.

Numbers in the record are integers only: amounts in minor units, times in microseconds since 1970 (UTC),
lengths in pixels. Floats have no canonical bytes and are refused by the codec.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Literal

from domain.ids import Sha256

FrameRole = Literal["observed", "planned", "before", "after", "readback", "snapshot"]

MINOR_DIGITS = {"JPY": 0, "KRW": 0, "VND": 0, "CLP": 0, "KWD": 3, "BHD": 3, "OMR": 3, "TND": 3, "JOD": 3}
"""ISO 4217 exponents that differ from two digits."""


def exponent(currency: str) -> int:
    """Digits after the decimal mark of ``currency`` (ISO 4217)."""
    return MINOR_DIGITS.get(currency, 2)


def to_minor(amount: str, currency: str) -> int:
    """Amount text (``1434.74``) in minor units; ``ValueError`` when it has more digits than the currency."""
    try:
        scaled = Decimal(amount).scaleb(exponent(currency))
    except InvalidOperation as error:
        message = f"{amount!r} is not an amount"
        raise ValueError(message) from error
    if not scaled.is_finite() or scaled != scaled.to_integral_value():
        message = f"{amount!r} has more digits than {currency} allows"
        raise ValueError(message)
    return int(scaled)


def format_minor(amount_minor: int, currency: str) -> str:
    """``143474, "CNY"`` → ``"1434.74"``; no grouping, a point as decimal mark."""
    digits = exponent(currency)
    if not digits:
        return str(amount_minor)
    whole, part = divmod(abs(amount_minor), 10**digits)
    return f"{'-' if amount_minor < 0 else ''}{whole}.{part:0{digits}d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRef:
    """One screen capture, named by the SHA-256 of its stored bytes."""

    role: FrameRole
    sha256: Sha256
    width: int
    """Pixels of the image, not of the page."""
    height: int
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Pixel position in the frame the action was planned on; origin top left."""

    x: int
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Rectangle in frame pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What the business wants; compared with the form and with the request that leaves (X8)."""

    bill_id: str
    action: str
    """Business action: ``mark_processed``, ``refund``, ``undo``."""
    counterparty: str
    amount_minor: int
    currency: str
    month: str
    """Accounting month, ``YYYY-MM``."""
    expected_status: str
    """Status that an independent readback must find afterwards."""
    occurrence: str = "1"
    """Names a legitimate repetition of the same effect; part of the idempotency key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessState:
    """A bill as one source showed it, for snapshots and readbacks."""

    bill_id: str
    status: str
    amount_minor: int
    currency: str
    counterparty: str
    month: str
    history_length: int
    """Entries in the vendor's own history of the bill; -1 where the source doesn't show it."""
    ledger_lines: int
    """Ledger lines of the bill so far, -1 where the source doesn't show them; one too many is a double posting."""
    last_actor: str = ""
    """Account that the vendor's history names last."""
    extra: dict[str, str] = field(default_factory=dict)


Verdict = Literal[
    "pass",
    "stale",
    "stale_local",
    "noop",
    "target_changed",
    "intent_mismatch",
    "request_mismatch",
    "precondition_failed",
    "needs_confirm_screen",
    "session_expired",
    "forbidden",
    "page_changed",
    "server_trouble",
    "out_of_scope",
    "already_in_progress",
    "approval_required",
    "denied_by_policy",
    "budget_exhausted",
    "stuck",
    "low_success",
    "left_origin",
    "unreadable",
]
"""Closed vocabulary of guard verdicts; the published names where there are published ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One guard's finding about one action."""

    guard: str
    """``scope``, ``duplicate``, ``auth``, ``frame``, ``target``, ``gate``, ``intent``, ``request``,
    ``label``, ``confirm``, ``policy``, ``effect``, ``budget``."""
    verdict: Verdict
    decisive: bool = True
    """False for measures that are recorded and never stop an action (the published distances)."""
    expected: str = ""
    found: str = ""
    measures: dict[str, int] = field(default_factory=dict)
    """Whole numbers with their unit in the name: ``dhash_screen_bits``, ``latency_us``."""
