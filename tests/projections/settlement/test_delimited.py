"""Rows of a delimited file are those of Python's csv module, whichever way they are cut."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from projections.settlement.formats import READERS
from projections.settlement.formats.base import Row
from projections.settlement.profiles import load_profile

PORTAL = load_profile("portal")
TEXT = st.text(st.sampled_from('ab,"\r\n \t甲\x0b\x1c\u2028'), max_size=40)


def by_csv(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the physical line on which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""))
    line = 1
    for cells in reader:
        yield line, cells
        line = reader.line_num + 1


def read(text: str) -> list[Row]:
    return list(READERS["csv"](io.BytesIO(text.encode()), PORTAL).rows)


@given(TEXT)
@example('a,"b\r\nc",d\r\ne,f')
@example('a\r\r\n"",""\rb,')
@example('"never closed,\n a\nb')
@example('a"b,c\n')
def test_any_text_is_cut_as_the_csv_module_cuts_it(text: str) -> None:
    rows = read(text)
    assert [(row.line, row.cells) for row in rows] == list(by_csv(text))
    assert not any(row.fault for row in rows)


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_that_never_ends_is_a_refused_row_and_the_next_one_is_read(quote: str) -> None:
    rows = read(f"a,b\n{quote}{'x' * (csv.field_size_limit() + 1)}{quote}\nc,d\n")
    assert [(row.line, row.cells) for row in rows if not row.fault] == [(1, ["a", "b"]), (3, ["c", "d"])]
    (broken,) = (row for row in rows if row.fault)
    assert (broken.line, broken.fault[:9]) == (2, "not a row")
