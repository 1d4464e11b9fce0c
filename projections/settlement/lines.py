"""What an import leaves behind: accepted lines, refused rows, and counts that balance.

Rules: amounts are signed minor units of their currency; every row of the file is counted exactly once (read =
accepted + refused + other); a refused row keeps its place, value and reason, so nothing is dropped silently (B16).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

LineKind = Literal["process", "refund", "undo", "fee", "other"]
"""What a line does to a bill; ``fee`` and ``other`` are never ordered by us."""
FileFindingCode = Literal[
    "count_mismatch",
    "total_mismatch",
    "trailer_missing",
    "control_mismatch",
    "repeated_line_id",
    "month_mismatch",
    "rows_refused",
]


class SettlementLine(msgspec.Struct, frozen=True, gc=False):
    """One booking as the vendor reports it."""

    line: int
    """Physical line of the file the row begins on, 1-based (row number in a workbook)."""
    bill_id: str
    kind: LineKind
    amount_minor: int
    """Signed: what the vendor pays out is positive."""
    currency: str
    line_id: str = ""
    counterparty: str = ""
    counterparty_id: str = ""
    at_us: int = 0
    """Microseconds since 1970 (UTC); 0 when the file gives no time."""
    account: str = ""
    """Operator account at the vendor that the file names."""
    status: str = ""
    """The vendor's own word."""
    booked: bool = True
    """False when the status says that the booking did not take effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """A row that is in the file and was not imported."""

    line: int
    column: str
    """Name of the column at fault; empty when the whole row is."""
    value: str
    """The value at fault as it stands in the file, cut at 200 characters."""
    reason: str
    cells: tuple[str, ...] = ()
    """The row, so that a bill it names can be found; each cell cut at 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows by what became of them; ``balanced`` is an invariant that the importer asserts."""

    read: int = 0
    accepted: int = 0
    refused: int = 0
    other: int = 0
    """Preamble, header, blank and trailer rows."""

    @property
    def balanced(self) -> bool:
        """True if every row read is accounted for."""
        return self.read == self.accepted + self.refused + self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFinding:
    """What disagrees within the file itself; what depends on it becomes undecidable."""

    code: FileFindingCode
    what: str
    line: int = 0
    declared: int = 0
    """Count, or minor units, that the file declares of itself."""
    found: int = 0
    currency: str = ""
    """Set when the finding is about the total of one currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRule:
    """How a business action of ours appears in this vendor's file."""

    kind: LineKind
    sign: Literal[1, -1, 0]
    """Sign of the amount; 0: the opposite of the effect that is undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementFile:
    """One imported file."""

    sha256: str
    """Of the original bytes."""
    file_name: str
    profile: str
    encoding: str
    month: str
    """``YYYY-MM``: as the caller says, else as the file declares; empty when neither does."""
    lines: tuple[SettlementLine, ...]
    refused: tuple[RefusedRow, ...]
    counts: RowCounts
    totals: dict[str, int]
    """Sum of the accepted, booked lines by currency, in minor units."""
    findings: tuple[FileFinding, ...]
    effects: dict[str, EffectRule] = field(default_factory=dict)
    """Business action → how it appears here."""
    vendor_kinds: tuple[LineKind, ...] = ("fee",)
    """Kinds that the vendor books by itself, whoever's account stands on the line."""
    timezone: str = "UTC"
    """Zone of the vendor's months."""
    names_operator: bool = False
    """True if the file has a column for the operator account."""
