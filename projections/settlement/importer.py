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
from projections.settlement.straight import straight

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
        rows = self._rows.rows
        layout, preamble = find_layout(rows, self.profile)
        self.read += len(preamble) + 1
        self.other += len(preamble) + 1
        for row in preamble:
            self.declared.look_at(row)
        make = LineMaker(self.profile, layout)
        usual, trailer, totals, ids = (
            straight(self.profile, layout, make),
            layout.is_trailer,
            self.totals,
            self._ids,
        )
        for row in rows:
            self.read += 1
            line = None if self._trailer else usual(row)
            if line is None:
                if row.fault or self._trailer or not row.cells or trailer(row.cells):
                    self._frame(row)
                    continue
                try:
                    line = make(row)
                except RowRefused as refusal:
                    self._not_a_line(row, layout, refusal)
                    continue
            self.accepted += 1
            if line.booked:
                totals[line.currency] = totals.get(line.currency, 0) + line.amount_minor
            if line.line_id and ids.setdefault(line.line_id, line.line) != line.line:
                self.repeated.append((line.line_id, ids[line.line_id], line.line))
            yield line
        assert self.counts().balanced, "every row read is accepted, refused or other"  # noqa: S101 - invariant, stays on

    def _frame(self, row: Row) -> None:
        """A row that is no booking by its place: broken, blank, or trailer."""
        if row.fault:
            self._refuse(row, "", "", row.fault)
            return
        self.other += 1
        if row.cells:
            self._trailer = True
            self.declared.trailer_line = self.declared.trailer_line or row.line
            self.declared.look_at(row)

    def _not_a_line(self, row: Row, layout: Layout, refusal: RowRefused) -> None:
        if layout.is_blank(row.cells):
            self.other += 1
        else:
            self._refuse(row, refusal.column, refusal.value, refusal.reason)

    def _refuse(self, row: Row, column: str, value: str, reason: str) -> None:
        cells = tuple(cell[:_SHOWN] for cell in row.cells)
        self.refused.append(
            RefusedRow(line=row.line, column=column, value=value[:_SHOWN], reason=reason, cells=cells)
        )

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
