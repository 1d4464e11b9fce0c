"""Where the header row is and which column is which.

Rules: the header is the first row that names every required field; a missing or repeated column is refused with the
texts that were looked for, because a file whose columns moved must not be read by position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from domain.errors import ConfigError
from projections.settlement.cells import clean_label
from projections.settlement.formats.base import Row
from projections.settlement.profiles import Column, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Positions of the fields in a row."""

    index: dict[Column, int]
    names: dict[Column, str]
    """Field → header text as it stands in the file, for the list of refused rows."""
    width: int
    """Cells that a full row has: the header's without its empty tail."""
    trailer: tuple[str, ...] = field(default=())
    trailer_starts: frozenset[str] = field(default=frozenset())
    """First characters of the trailer's texts, in either case."""

    def is_trailer(self, cells: list[str]) -> bool:
        """True if the row begins as the profile says that the trailer does."""
        first = cells[0]
        if self._bookings(first):
            return False
        if not first and len(cells) > 1:
            first = next((cell for cell in cells if cell.strip()), "")
        return bool(first) and clean_label(first).startswith(self.trailer)

    def _bookings(self, first: str) -> bool:
        """True for the usual case, a first cell of plain ASCII that can't begin a trailer (a million rows a second)."""
        return not self.trailer or (first[:1] not in self.trailer_starts and first[:1].isalnum())

    @staticmethod
    def is_blank(cells: list[str]) -> bool:
        """True if nothing but padding and rules stands in the row."""
        return not any(cell.strip().strip("-=_*# ") for cell in cells)


def find_layout(rows: Iterator[Row], profile: Profile) -> tuple[Layout, list[Row]]:
    """Consume rows up to and with the header; the rows before it are the preamble."""
    wanted = {
        clean_label(text): (column, rank)
        for column, texts in profile.columns.items()
        for rank, text in enumerate(texts)
    }
    preamble: list[Row] = []
    for row in rows:
        index, names = _match(row, wanted)
        if all(column in index for column in profile.required):
            width = max(i for i, cell in enumerate(row.cells) if cell.strip()) + 1
            trailer = tuple(clean_label(text) for text in profile.trailer)
            starts = frozenset(c for text in trailer for c in (text[0].lower(), text[0].upper()))
            layout = Layout(index=index, names=names, width=width, trailer=trailer, trailer_starts=starts)
            return layout, preamble
        preamble.append(row)
        if len(preamble) >= profile.header_within:
            break
    missing = next(
        column for column in profile.required if not any(column in _match(r, wanted)[0] for r in preamble)
    )
    raise ConfigError(
        f"no header row of profile {profile.name} within the first {profile.header_within} rows: "
        f"no column {missing} ({' / '.join(profile.columns[missing])})",
        remedy="choose the profile that fits the file, or add the column's text to a copy of it",
    )


def _match(row: Row, wanted: dict[str, tuple[Column, int]]) -> tuple[dict[Column, int], dict[Column, str]]:
    """Of several columns that a field may have, the one that the profile names first."""
    best: dict[Column, tuple[int, int]] = {}
    for i, cell in enumerate(row.cells):
        column, rank = wanted.get(clean_label(cell), (None, 0))
        if column is not None and (column not in best or rank < best[column][0]):
            best[column] = (rank, i)
    index = {column: i for column, (_, i) in best.items()}
    return index, {column: row.cells[i].strip() for column, i in index.items()}
