"""The bill list for the warehouse: the original bytes as rows, amounts exact, and nothing quietly shorter."""

from __future__ import annotations

import hashlib
import io
import json

import pyarrow.parquet as pq
import pytest

from domain import events as e
from domain.errors import IntegrityError
from domain.ids import RunId, Sha256, run_stream
from projections.exports.bills import OWN, bill_table
from projections.exports.report.flat import csv_bytes, parquet_bytes
from projections.exports.report.tables import Table
from tests.support.events import Book

PAGES = (
    {"bills": [{"bill_id": "B1", "amount": 1434.10, "open": True, "lines": 2}], "page": 1, "pages": 2},
    {
        "bills": [{"bill_id": "=B2", "amount": 0.1, "open": False, "lines": 3, "note": {"b": 1, "a": [2]}}],
        "page": 2,
    },
)


class Lane:
    """Lists in memory, and the events that fetched them."""

    def __init__(self) -> None:
        self.book = Book()
        self.kept: dict[Sha256, bytes] = {}

    def get(self, sha256: Sha256) -> bytes:
        return self.kept[sha256]

    def fetch(self, data: bytes, rows: int) -> None:
        name = Sha256(hashlib.sha256(data).hexdigest())
        self.kept[name] = data
        fact = e.BillListFetched(blob=name, rows=rows, source="list", account="acme-reader")
        self.book.add(fact, stream=run_stream(RunId("run-1")), run="run-1")

    def table(self, *, newest_only: bool = True) -> Table:
        return bill_table(self.book.events, self, newest_only=newest_only)


@pytest.fixture
def lane() -> Lane:
    return Lane()


def joined(*pages: object) -> bytes:
    return b"\n".join(json.dumps(page).encode() for page in pages)


def test_every_bill_of_every_page_is_a_row_with_where_it_came_from(lane: Lane) -> None:
    lane.fetch(joined(*PAGES), 2)
    table = lane.table()
    assert [column.name for column in table.columns[len(OWN) :]] == [
        "bill_id",
        "amount",
        "open",
        "lines",
        "note",
    ]
    assert [row[table.place("bill_id")] for row in table.rows] == ["B1", "=B2"]
    assert [row[:1] + row[2:5] for row in table.rows] == [
        (1, "list", "acme-reader", 1),
        (1, "list", "acme-reader", 2),
    ]


def test_amounts_stay_exactly_as_they_came(lane: Lane) -> None:
    data = b'{"bills":[{"amount":0.10},{"amount":1e3},{"amount":12345678901234567890.01}]}'
    lane.fetch(data, 3)
    table = lane.table()
    assert [row[table.place("amount")] for row in table.rows] == ["0.10", "1e3", "12345678901234567890.01"]


def test_the_warehouse_reads_types(lane: Lane) -> None:
    lane.fetch(joined(*PAGES), 2)
    found = pq.read_table(io.BytesIO(parquet_bytes(lane.table())))
    assert found.column("open").to_pylist() == [True, False]
    assert found.column("lines").to_pylist() == [2, 3]
    assert found.column("note").to_pylist() == [None, '{"a": [2], "b": 1}']
    assert "'=B2" in csv_bytes(lane.table()).decode()


def test_whole_numbers_beyond_what_a_table_holds_stay_text(lane: Lane) -> None:
    lane.fetch(joined({"bills": [{"serial": 2**70}]}), 1)
    table = lane.table()
    assert table.rows[0][table.place("serial")] == str(2**70)


def test_the_newest_list_alone_unless_all_are_asked_for(lane: Lane) -> None:
    lane.fetch(joined([{"bill_id": "B1"}]), 1)
    lane.fetch(joined([{"bill_id": "B1"}, {"bill_id": "B2"}]), 2)
    assert [row[0] for row in lane.table().rows] == [2, 2]
    assert [row[0] for row in lane.table(newest_only=False).rows] == [1, 2, 2]


def test_a_column_of_the_vendor_named_like_ours_keeps_apart(lane: Lane) -> None:
    lane.fetch(joined([{"row": "seven"}]), 1)
    table = lane.table()
    assert (table.rows[0][table.place("row")], table.rows[0][table.place("bill_row")]) == (1, "seven")


def test_no_list_is_an_empty_table(lane: Lane) -> None:
    assert lane.table().rows == ()
    assert pq.read_table(io.BytesIO(parquet_bytes(lane.table()))).num_rows == 0


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"<html>", 1),
        (b'{"bills": 3}', 1),
        (b'{"bills": [], "others": []}', 0),
        (b'[{"bill_id": "B1"}]', 2),
        (b"\xff\xfe", 1),
        (b"7", 1),
    ],
)
def test_a_list_of_another_shape_or_length_is_an_error(lane: Lane, data: bytes, rows: int) -> None:
    lane.fetch(data, rows)
    with pytest.raises(IntegrityError, match="bill list of event 1"):
        lane.table()
