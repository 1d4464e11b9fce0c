"""CSV and its relatives, streamed.

Rules: a row that can't be split (stray quote, giant field) is a refused row, not the end of the import; bytes that
are not in the file's encoding refuse their row alone.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO, TextIO

from projections.settlement.formats.base import Row, Rows
from projections.settlement.formats.decoding import choose_encoding, open_text, suggest_encoding
from projections.settlement.profiles import Profile


def read(stream: BinaryIO, profile: Profile) -> Rows:
    """Rows of a delimited file."""
    encoding, clean = choose_encoding(stream, profile.encodings)
    looks_like = "" if clean else suggest_encoding(stream)
    rows = _rows(stream, profile.delimiter, encoding, clean=clean)
    return Rows(rows=rows, encoding=encoding, looks_like=looks_like)


def _rows(stream: BinaryIO, delimiter: str, encoding: str, *, clean: bool) -> Iterator[Row]:
    with open_text(stream, encoding, clean=clean) as text:
        if clean:
            yield from _plainly(text, delimiter)
        else:
            yield from _split(text, delimiter, encoding)


def _plainly(text: TextIO, delimiter: str) -> Iterator[Row]:
    """Rows of a file that is in its encoding: the csv module gets what has quotes, a cut at each delimiter the rest.

    Without a quote both give the same, and a million lines are read in half the time.
    """
    make = partial(tuple.__new__, Row)  # a named tuple without its Python-level constructor
    longest = csv.field_size_limit()
    number = 1
    for line in text:
        if '"' not in line and len(line) <= longest:
            cut = line.rstrip("\r\n")
            yield make((number, cut.split(delimiter) if cut else [], ""))
            number += 1
        else:
            reader = csv.reader(chain((line,), text), delimiter=delimiter)
            try:
                yield make((number, next(reader), ""))
            except csv.Error as error:
                yield Row(number, [], f"not a row: {error}")
            number += reader.line_num


def _split(text: TextIO, delimiter: str, encoding: str) -> Iterator[Row]:
    reader = csv.reader(text, delimiter=delimiter)
    line = 1
    while True:
        try:
            for cells in reader:
                if _readable(cells):
                    yield Row(line, cells, "")
                else:
                    shown = [cell.encode("utf-8", "backslashreplace").decode() for cell in cells]
                    yield Row(line, shown, f"bytes that are not {encoding}")
                line = reader.line_num + 1
        except csv.Error as error:
            # The reader starts afresh on the next line, so one broken row costs only itself.
            yield Row(line, [], f"not a row: {error}")
            line = reader.line_num + 1
        else:
            return


def _readable(cells: list[str]) -> bool:
    return not any("\udc80" <= c <= "\udcff" or c == "\ufffd" for cell in cells for c in cell)
