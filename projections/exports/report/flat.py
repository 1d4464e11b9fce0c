"""A report's tables as CSV and as Parquet, one file each.

Rules enforced here:

* The same table gives the same bytes.
* CSV is UTF-8 with LF. Text that a spreadsheet would take for a formula (it begins with ``=``, ``+``, ``-``, ``@``, a
  tab or a line break; OWASP, "CSV injection") gets an apostrophe in front; numbers stay numbers. Whoever needs the text
  untouched takes the Parquet file.
* Parquet keeps types: whole numbers, flags, times in UTC with microseconds, lists of positions. Nothing of the moment
  or the machine is in it.
"""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq

from projections.exports.report.tables import Cell, Kind, Table, moment

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "count": pa.int64(),
    "permille": pa.int32(),
    "minor": pa.int64(),
    "time": pa.timestamp("us", tz="UTC"),
    "flag": pa.bool_(),
    "positions": pa.list_(pa.int64()),
}


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula when it opens a CSV file."""
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_bytes(table: Table) -> bytes:
    """The table as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    kinds = [column.kind for column in table.columns]
    for row in table.rows:
        writer.writerow([_flat(kind, cell) for kind, cell in zip(kinds, row, strict=True)])
    return out.getvalue().encode()


def _flat(kind: Kind, cell: Cell) -> str:
    if cell is None:
        return ""
    match kind:
        case "text":
            return harmless(str(cell))
        case "time":
            return moment(int(str(cell))).isoformat(timespec="microseconds")
        case "flag":
            return "true" if cell else "false"
        case "positions":
            return " ".join(map(str, cell)) if isinstance(cell, tuple) else ""
        case "count" | "permille" | "minor":
            return str(cell)


def parquet_bytes(table: Table) -> bytes:
    """The table as Parquet."""
    arrays = [
        pa.array([row[index] for row in table.rows], type=_TYPES[column.kind])
        for index, column in enumerate(table.columns)
    ]
    schema = pa.schema([pa.field(column.name, _TYPES[column.kind]) for column in table.columns])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())
