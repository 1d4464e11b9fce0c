"""Readers that turn each file format into rows of text cells, one file a format.

A reader yields every row that the file has, in order; formats without columns (MT940, camt, BAI2) are written out as
a table: a header row of canonical field names, one row an entry, and rows ``#count,14`` or ``#total,EUR,12.30`` for
what the file declares of itself. Adding a format is one module, one line in
``READERS`` and one in ``MEDIA_TYPES``.
"""

from __future__ import annotations

from projections.settlement.formats import bai2, camt, delimited, mt940, workbook
from projections.settlement.formats.base import Reader, Row, Rows

READERS: dict[str, Reader] = {
    "csv": delimited.read,
    "xlsx": workbook.read,
    "mt940": mt940.read,
    "camt": camt.read,
    "bai2": bai2.read,
}

MEDIA_TYPES: dict[str, str] = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "mt940": "text/plain",
    "camt": "application/xml",
    "bai2": "text/plain",
}
"""What an original of each format is kept as; SWIFT and BAI have no registered type of their own."""

__all__ = ["MEDIA_TYPES", "READERS", "Reader", "Row", "Rows"]
