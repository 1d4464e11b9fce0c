"""Reads a settlement file with its profile.

Rules: the import balances (rows read = accepted + refused + other), asserted; every refused row keeps line, column,
value and reason; identical lines are twins and both count; the file's own count and totals are checked and a
difference is a finding, never corrected (B16).
"""

from __future__ import annotations

import hashlib
import io
from array import array
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

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
from projections.settlement.rows import LineMaker, RowRefused
from projections.settlement.straight import straight

_SHOWN = 200


class SettlementReader:
    """Streams one file: iterate for accepted lines, and then ask for counts, refused rows and findings.

    Memory holds the refused rows and 16 bytes a line (to find repeated ids), not the lines.
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
        self._hashes = array("q")
        self._places = array("q")

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
        hashed, placed = self._hashes.append, self._places.append
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

    def repeated(self) -> list[tuple[int, int]]:
        """First and later line of each line id that stands more than once, by later line."""
        if not self._hashes:
            return []
        hashes, places = (
            np.frombuffer(self._hashes, dtype=np.int64),
            np.frombuffer(self._places, dtype=np.int64),
        )
        order = np.argsort(hashes, kind="stable")
        ranked = hashes[order]
        found: list[tuple[int, int]] = []
        first = 0
        for here in np.flatnonzero(ranked[1:] == ranked[:-1]) + 1:
            if ranked[first] != ranked[here]:
                first = int(here) - 1
            pair = (int(places[order[first]]), int(places[order[here]]))
            if pair[0] != pair[1]:
                found.append(pair)
        return sorted(found, key=lambda pair: pair[1])

    def counts(self) -> RowCounts:
        """Rows by what became of them, once the iteration is over."""
        return RowCounts(read=self.read, accepted=self.accepted, refused=len(self.refused), other=self.other)


def read_settlement(
    data: bytes, profile: Profile, month: str | None = None, *, file_name: str = ""
) -> SettlementFile:
    """Import a whole file; ``ConfigError`` when it can't be read with this profile at all."""
    reader = SettlementReader(io.BytesIO(data), profile, month)
    return _file(data, reader, tuple(reader), profile, month, file_name)


def survey_settlement(
    data: bytes, profile: Profile, month: str | None = None, *, file_name: str = ""
) -> SettlementFile:
    """The same without the lines: all that an import says of a file, in memory that doesn't grow with it."""
    reader = SettlementReader(io.BytesIO(data), profile, month)
    deque(reader, maxlen=0)
    return _file(data, reader, (), profile, month, file_name)


def _file(
    data: bytes,
    reader: SettlementReader,
    lines: tuple[SettlementLine, ...],
    profile: Profile,
    month: str | None,
    file_name: str,
) -> SettlementFile:
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
        findings=check_file(reader.declared, reader.counts(), reader.totals, reader.repeated(), month),
        effects={name: EffectRule(kind=e.kind, sign=e.sign) for name, e in profile.effects.items()},
        vendor_kinds=tuple(profile.vendor_kinds),
        timezone=profile.timezone,
        names_operator="account" in profile.columns,
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
