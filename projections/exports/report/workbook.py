"""A report as one XLSX workbook.

Rules enforced here:

* No formula ever: text is written as text, whatever it begins with, and no text becomes a link or a number.
* Numbers are numbers with the format that shows them; long lists of positions are cut where the format's limit of
  32,767 characters a cell demands it, with a word that says so. They are whole in the CSV and Parquet files.
* A table with more rows than a sheet holds goes on in further sheets; nothing is left out.
* The same report gives the same bytes: the file says no time and no author.
"""

from __future__ import annotations

import io
from datetime import UTC, datetime

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from domain.values import exponent
from projections.exports.report.tables import Cell, Report, Table, moment, shown

CELL_CHARACTERS = 32_767
SHEET_ROWS = 1_048_576
"""Rows of a sheet, heading included."""
SHEET_NAME = 31
"""Characters of a sheet's name."""
CUT = " … (cut: whole in CSV and Parquet)"
WIDEST = 60
_CREATED = datetime(1980, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm:ss",
}


def xlsx_bytes(report: Report) -> bytes:
    """The report as a workbook, one sheet for each table."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, _OPTIONS)
    book.set_properties({"title": report.title, "subject": report.subtitle, "created": _CREATED})
    formats = _Formats(book)
    for table in report.tables:
        held = SHEET_ROWS - 1
        parts = [table.rows[at : at + held] for at in range(0, len(table.rows), held)] or [()]
        for number, rows in enumerate(parts, 1):
            name = table.name[:SHEET_NAME] if number == 1 else f"{table.name[: SHEET_NAME - 4]} {number}"
            sheet = book.add_worksheet(name)
            _heading(sheet, table, rows, formats)
            for place, row in enumerate(rows, 1):
                for index, cell in enumerate(row):
                    _cell(sheet, table, row, (place, index), cell, formats)
    book.close()
    return out.getvalue()


class _Formats:
    """Formats of one workbook, made once each."""

    def __init__(self, book: Workbook) -> None:
        self._book = book
        self._made: dict[str, Format] = {}
        self.head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self.text = self.of("@")

    def of(self, number: str) -> Format:
        """Format for a number."""
        if number not in self._made:
            self._made[number] = self._book.add_format({"num_format": number, "valign": "top"})
        return self._made[number]


def _heading(sheet: Worksheet, table: Table, rows: tuple[tuple[Cell, ...], ...], formats: _Formats) -> None:
    sheet.freeze_panes(1, 0)
    for index, column in enumerate(table.columns):
        sheet.write_string(0, index, column.title, formats.head)
        widest = max((len(shown(table, row, index)) for row in rows[:200]), default=0)
        sheet.set_column(index, index, min(max(widest, len(column.title)) + 2, WIDEST))
    if rows:
        sheet.autofilter(0, 0, len(rows), len(table.columns) - 1)


def _cell(
    sheet: Worksheet, table: Table, row: tuple[Cell, ...], at: tuple[int, int], cell: Cell, formats: _Formats
) -> None:
    line, index = at
    column = table.columns[index]
    if cell is None:
        return
    match column.kind:
        case "count":
            sheet.write_number(line, index, int(str(cell)), formats.of("0"))
        case "permille":
            sheet.write_number(line, index, int(str(cell)) / 1000, formats.of("0.0%"))
        case "minor":
            digits = exponent(str(row[table.place(column.currency)]))
            number = "#,##0" + ("." + "0" * digits if digits else "")
            sheet.write_number(line, index, int(str(cell)) / 10**digits, formats.of(number))
        case "time":
            at_time = moment(int(str(cell))).replace(tzinfo=None)
            sheet.write_datetime(line, index, at_time, formats.of("yyyy-mm-dd hh:mm:ss"))
        case "flag":
            sheet.write_boolean(line, index, bool(cell))
        case "text" | "positions":
            text = shown(table, row, index)
            if len(text) > CELL_CHARACTERS:
                text = text[: CELL_CHARACTERS - len(CUT)] + CUT
            sheet.write_string(line, index, text, formats.text)
