"""Tables of a report: typed columns, so that every format writes the same values.

Rules enforced here:

* A cell is text, a whole number, a flag, a list of positions, or nothing. Rates are whole per mille, amounts minor
  units of the currency beside them, times microseconds since 1970 (UTC): no format rounds anything.
* ``shown`` is the one way a cell becomes text for people; every format that shows text uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from domain.values import format_minor

Kind = Literal["text", "count", "permille", "minor", "time", "flag", "positions"]
Cell = str | int | bool | tuple[int, ...] | None
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; ``minor`` amounts name the column that holds their currency."""

    name: str
    kind: Kind = "text"
    title: str = ""
    currency: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under typed columns."""

    name: str
    title: str
    about: str
    """What the table says, in one or two sentences."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        width = len(self.columns)
        assert all(len(row) == width for row in self.rows), self.name  # noqa: S101 - invariant, stays on

    def place(self, column: str) -> int:
        """Index of a column by its name."""
        return next(index for index, found in enumerate(self.columns) if found.name == column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a report says, before it takes a format."""

    title: str
    subtitle: str
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """One table by its name."""
        return next(table for table in self.tables if table.name == name)


def columns(*specs: str) -> tuple[Column, ...]:
    """Columns out of ``name``, ``name:kind`` or ``name:minor:currency column``; titles are the names in words."""
    found = []
    for spec in specs:
        name, _, rest = spec.partition(":")
        kind, _, currency = rest.partition(":")
        title = name.removesuffix("_permille").removesuffix("_minor").replace("_", " ").capitalize()
        found.append(Column(name=name, kind=_kind(kind or "text"), title=title, currency=currency))
    return tuple(found)


def _kind(text: str) -> Kind:
    for kind in KINDS:
        if kind == text:
            return kind
    message = f"{text} is no kind of column"
    raise ValueError(message)


KINDS: tuple[Kind, ...] = ("text", "count", "permille", "minor", "time", "flag", "positions")


def moment(at_us: int) -> datetime:
    """Microseconds since 1970 as a time in UTC, exactly."""
    return EPOCH + timedelta(microseconds=at_us)


def shown(table: Table, row: Sequence[Cell], index: int) -> str:
    """A cell as people read it; empty for nothing."""
    column, cell = table.columns[index], row[index]
    if cell is None:
        return ""
    match column.kind:
        case "permille":
            return f"{int(str(cell)) / 10:.1f} %"
        case "minor":
            currency = str(row[table.place(column.currency)])
            return format_minor(int(str(cell)), currency)
        case "time":
            return moment(int(str(cell))).strftime("%Y-%m-%d %H:%M:%S")
        case "flag":
            return "yes" if cell else "no"
        case "positions":
            return " ".join(map(str, cell)) if isinstance(cell, tuple) else ""
        case "text" | "count":
            return str(cell)
