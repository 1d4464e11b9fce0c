"""Readers that turn each file format into rows of text cells, one file a format.

A reader yields every row that the file has, in order; formats without columns (MT940, camt, BAI2) are written out as
a table: a header row of canonical field names, one row an entry, and rows ``#count,14`` or ``#total,EUR,12.30`` for
what the file declares of itself. Adding a format is one module and one line in ``READERS``.
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

__all__ = ["READERS", "Reader", "Row", "Rows"]
