"""A report as one HTML page that needs nothing else: no script, no font, no address outside.

Rules enforced here:

* Everything from the record is escaped; the page's policy forbids scripts, pictures and connections besides.
* Figures open to the positions of the events that they count.
* The tables of all events are left to the other formats once they pass ``LISTED`` rows, and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from projections.exports.report.tables import Report, Table, shown

LISTED = 2_000
"""Rows up to which a table is on the page."""
_NUMBERS = frozenset({"count", "permille", "minor", "time"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    text: str
    number: bool
    positions: int
    """How many positions the text lists; 0 for other cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    title: str
    about: str
    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[_Cell, ...], ...]
    left_out: int


def html_bytes(report: Report) -> bytes:
    """The report as a page, UTF-8."""
    environment = Environment(
        loader=PackageLoader("projections.exports.report", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.get_template("report.html.jinja")
    return template.render(report=report, sections=[_section(table) for table in report.tables]).encode()


def _section(table: Table) -> _Section:
    return _Section(
        name=table.name,
        title=table.title,
        about=table.about,
        heads=tuple((column.title, column.kind in _NUMBERS) for column in table.columns),
        rows=tuple(
            tuple(_cell(table, row, index) for index in range(len(row))) for row in table.rows[:LISTED]
        ),
        left_out=max(len(table.rows) - LISTED, 0),
    )


def _cell(table: Table, row: tuple[object, ...], index: int) -> _Cell:
    kind, cell = table.columns[index].kind, row[index]
    return _Cell(
        text=shown(table, row, index),  # type: ignore[arg-type]
        number=kind in _NUMBERS,
        positions=len(cell) if kind == "positions" and isinstance(cell, tuple) else 0,
    )
