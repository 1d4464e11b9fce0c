"""XLSX workbooks, read row by row.

Rules: the first sheet is the file; numbers that a spreadsheet holds as floating point are written out in full, and one
that has lost digits shows its exponent so that an id made of it is refused; a workbook that unpacks to more than the
limit is refused before it is parsed; XML with a document type is refused by the parser.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import BinaryIO, Final

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from domain.errors import ConfigError
from projections.settlement.formats.base import Row, Rows
from projections.settlement.profiles import Profile

MAX_UNPACKED_BYTES: Final = 2 << 30
MAX_RATIO: Final = 400
"""Sheets of text pack to a twentieth; a part that unpacks 400-fold is a bomb."""
_EXACT_FLOAT: Final = 10**15


def read(stream: BinaryIO, profile: Profile) -> Rows:  # noqa: ARG001 - all readers are called alike
    """Rows of the first sheet; ``ConfigError`` when it is no workbook."""
    stream.seek(0)
    try:
        _refuse_bomb(stream)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    except (zipfile.BadZipFile, InvalidFileException, KeyError, OSError, ValueError) as error:
        raise ConfigError(
            f"not an XLSX workbook: {type(error).__name__}", remedy="export it as XLSX, or use a CSV profile"
        ) from error
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # exporters write wrong ones, and rows would be cut
    return Rows(rows=_rows(sheet.iter_rows(values_only=True)), encoding="xlsx")


def _refuse_bomb(stream: BinaryIO) -> None:
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
    unpacked = sum(info.file_size for info in infos)
    dense = any(info.file_size > MAX_RATIO * max(info.compress_size, 4096) for info in infos)
    if unpacked > MAX_UNPACKED_BYTES or dense:
        raise ConfigError(
            f"the workbook unpacks to {unpacked} bytes", remedy="export the month as CSV, or in smaller parts"
        )
    stream.seek(0)


def _rows(values: Iterator[tuple[object, ...]]) -> Iterator[Row]:
    for number, cells in enumerate(values, start=1):
        yield Row(number, [_text(cell) for cell in cells])


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value)
        case float():
            exact = value.is_integer() and abs(value) < _EXACT_FLOAT
            if exact:
                return str(int(value))
            return f"{value:.5E}" if abs(value) >= _EXACT_FLOAT else f"{Decimal(repr(value)):f}"
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
        case date():
            return value.strftime("%Y-%m-%d 00:00:00")
        case _:
            return str(value)
