"""Reads a settlement file with its profile.

Rules: the import balances (rows read = accepted + refused + other), asserted; every refused row keeps line, column,
value and reason; identical lines are twins and both count; the file's own count and totals are checked and a
difference is a finding, never corrected (B16).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import BinaryIO

from projections.settlement.checks import Declared, check_file
from projections.settlement.formats import READERS, Row
from projections.settlement.header import Layout, find_layout
from projections.settlement.lines import (
    EffectRule,
    RefusedRow,
    RowCounts,
    SettlementFile,
    SettlementLine,
)
from projections.settlement.profiles import Profile
from projections.settlement.rows import LineMaker, RowRefused

_SHOWN = 200


class SettlementReader:
    """Streams one file: iterate for accepted lines, then ask for counts, refused rows and findings.

    Memory holds the refused rows and the ids seen, not the lines.
    """

    def __init__(self, stream: BinaryIO, profile: Profile, month: str | None = None) -> None:
        self.profile = profile
        self.refused: list[RefusedRow] = []
        self.totals: dict[str, int] = {}
        self.declared = Declared(profile)
        self.accepted = self.other = self.read = 0
        self._asked_month = month
        self._stream = stream
        self._rows = READERS[profile.format](stream, profile)
        self.encoding = self._rows.encoding
        self._trailer = False
        self._ids: dict[str, int] = {}
        self.repeated: list[tuple[str, int, int]] = []
        """Line id, its first and its later line."""

    @property
    def month(self) -> str:
        """The month that the caller names, else the one the file declares."""
        return self._asked_month or self.declared.month

    def __iter__(self) -> Iterator[SettlementLine]:
        rows, make = self._rows.rows, None
        layout, preamble = find_layout(rows, self.profile)
        self.read += len(preamble) + 1
        self.other += len(preamble) + 1
        for row in preamble:
            self.declared.look_at(row)
        make = LineMaker(self.profile, layout)
        for row in rows:
            self.read += 1
            line = self._line(row, layout, make)
            if line is not None:
                self.accepted += 1
                if line.booked:
                    self.totals[line.currency] = self.totals.get(line.currency, 0) + line.amount_minor
                if line.line_id:
                    self._remember(line)
                yield line
        assert self.counts().balanced, "every row read is accepted, refused or other"  # noqa: S101 - invariant, stays on

    def _line(self, row: Row, layout: Layout, make: LineMaker) -> SettlementLine | None:
        if row.fault:
            self._refuse(row, "", "", row.fault)
            return None
        if self._trailer or layout.is_trailer(row.cells):
            self._trailer = True
            self.declared.trailer_line = self.declared.trailer_line or row.line
            self.declared.look_at(row)
            self.other += 1
            return None
        try:
            return make(row)
        except RowRefused as refusal:
            if layout.is_blank(row.cells):
                self.other += 1
            else:
                self._refuse(row, refusal.column, refusal.value, refusal.reason)
            return None

    def _refuse(self, row: Row, column: str, value: str, reason: str) -> None:
        cells = tuple(cell[:_SHOWN] for cell in row.cells)
        self.refused.append(
            RefusedRow(line=row.line, column=column, value=value[:_SHOWN], reason=reason, cells=cells)
        )

    def _remember(self, line: SettlementLine) -> None:
        first = self._ids.setdefault(line.line_id, line.line)
        if first != line.line:
            self.repeated.append((line.line_id, first, line.line))

    def counts(self) -> RowCounts:
        """Rows by what became of them, so far."""
        return RowCounts(read=self.read, accepted=self.accepted, refused=len(self.refused), other=self.other)


def read_settlement(
    data: bytes, profile: Profile, month: str | None = None, *, file_name: str = ""
) -> SettlementFile:
    """Import a whole file; ``ConfigError`` when it can't be read with this profile at all."""
    reader = SettlementReader(io.BytesIO(data), profile, month)
    lines = tuple(reader)
    return SettlementFile(
        sha256=_sha256(data),
        file_name=file_name,
        profile=profile.name,
        encoding=reader.encoding,
        month=reader.month,
        lines=lines,
        refused=tuple(reader.refused),
        counts=reader.counts(),
        totals=dict(sorted(reader.totals.items())),
        findings=check_file(reader.declared, reader.counts(), reader.totals, reader.repeated, month),
        effects={name: EffectRule(kind=e.kind, sign=e.sign) for name, e in profile.effects.items()},
        vendor_kinds=tuple(profile.vendor_kinds),
        timezone=profile.timezone,
        names_operator="account" in profile.columns,
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
