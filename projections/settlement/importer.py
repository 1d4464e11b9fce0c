"""Reads a settlement file with its profile.

Rules: the import balances (rows read = accepted + refused + other), asserted; every refused row keeps line, column,
value and reason; identical lines are twins and both count; the file's own count and totals are checked and a
difference is a finding, never corrected (B16).
"""

from __future__ import annotations

import hashlib
import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from domain.errors import ConfigError
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
from projections.settlement.repeats import Repeats
from projections.settlement.rows import LineMaker, RowRefused
from projections.settlement.straight import straight

_SHOWN = 200
_SPILT = (1 << 16) - 1
"""Lines, less one, after which ids are put away."""


class SettlementReader:
    """Streams one file: iterate for accepted lines, and then ask for counts, refused rows and findings.

    Memory holds the refused rows, not the lines, nor what repeated ids are found by.
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
        self.repeats = Repeats()

    @property
    def month(self) -> str:
        """The month that the caller names, else the one the file declares."""
        return self._asked_month or self.declared.month

    def __iter__(self) -> Iterator[SettlementLine]:
        rows = self._rows.rows
        layout, preamble = self._layout(rows)
        self.read += len(preamble) + 1
        self.other += len(preamble) + 1
        for row in preamble:
            self.declared.look_at(row)
        make = LineMaker(self.profile, layout)
        usual, trailer, totals = straight(self.profile, layout, make), layout.is_trailer, self.totals
        hashed, placed = self.repeats.hashes.append, self.repeats.lines.append
        read = accepted = total = 0
        currency = ""
        try:
            for read, row in enumerate(rows, start=1):  # noqa: B007 - counted apart from what becomes of them
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
                accepted += 1
                if line.booked:
                    if line.currency != currency:
                        totals[currency] = totals.get(currency, 0) + total
                        currency, total = line.currency, 0
                    total += line.amount_minor
                if line.line_id:
                    hashed(hash(line.line_id))
                    placed(line.line)
                    if not accepted & _SPILT:
                        self.repeats.spill()
                yield line
        finally:
            # Counted in locals, which a million lines feel; whoever stops early has what was read so far.
            totals[currency] = totals.get(currency, 0) + total
            totals.pop("", None)
            self.accepted += accepted
            self.read += read
        assert self.counts().balanced, "every row read is accepted, refused or other"  # noqa: S101 - invariant, stays on

    def _layout(self, rows: Iterator[Row]) -> tuple[Layout, list[Row]]:
        try:
            return find_layout(rows, self.profile)
        except ConfigError as error:
            looks_like = self._rows.looks_like
            if not looks_like:
                raise
            raise ConfigError(
                f"{error.what}; bytes of the file are not {self.encoding}",
                remedy=f"it looks like {looks_like}: add that to the profile's encodings if the vendor says so",
            ) from error

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
        """Rows by what became of them, once the iteration is over."""
        return RowCounts(read=self.read, accepted=self.accepted, refused=len(self.refused), other=self.other)


def read_settlement(
    data: bytes, profile: Profile, month: str | None = None, *, file_name: str = ""
) -> SettlementFile:
    """Import a whole file; ``ConfigError`` when it can't be read with this profile at all."""
    return _file(io.BytesIO(data), profile, month, file_name, tuple)


def survey_settlement(
    file: BinaryIO, profile: Profile, month: str | None = None, *, file_name: str = ""
) -> SettlementFile:
    """The same of a seekable file without the lines: all that an import says, in memory that doesn't grow with it."""
    return _file(file, profile, month, file_name, _passed)


def _passed(lines: Iterable[SettlementLine]) -> tuple[SettlementLine, ...]:
    deque(lines, maxlen=0)
    return ()


def _file(
    stream: BinaryIO,
    profile: Profile,
    month: str | None,
    file_name: str,
    kept: Callable[[Iterable[SettlementLine]], tuple[SettlementLine, ...]],
) -> SettlementFile:
    reader = SettlementReader(stream, profile, month)
    lines = kept(reader)
    stream.seek(0)
    return SettlementFile(
        sha256=hashlib.file_digest(stream, "sha256").hexdigest(),  # type: ignore[arg-type] # its stub asks for less common methods
        file_name=file_name,
        profile=profile.name,
        encoding=reader.encoding,
        month=reader.month,
        lines=lines,
        refused=tuple(reader.refused),
        counts=reader.counts(),
        totals=dict(sorted(reader.totals.items())),
        findings=check_file(reader.declared, reader.counts(), reader.totals, reader.repeats.found(), month),
        effects={name: EffectRule(kind=e.kind, sign=e.sign) for name, e in profile.effects.items()},
        vendor_kinds=tuple(profile.vendor_kinds),
        timezone=profile.timezone,
        names_operator="account" in profile.columns,
    )
