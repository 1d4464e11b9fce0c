"""A receiver that appends its records to a file: JSON lines, or CSV with a header.

Rules: a last line without its end is not there yet (the writer is writing it); any other line that can't be read is
trouble, never skipped; the record's number is its place, so that a line put in between shows.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import orjson

from domain.errors import WorldError
from executor.receivers.base import Record

MOST_BYTES = 64 << 20


class FileReceiver:
    """Reads the whole file each time: a file that shrinks or changes is a finding, not an error."""

    def __init__(self, path: Path, *, key: str = "") -> None:
        self.name = path.name
        self._path = path
        self._key = key

    def records(self) -> tuple[Record, ...]:
        """See ``Receiver``; a file that is not there yet has no records."""
        try:
            data = self._path.read_bytes() if self._path.exists() else b""
        except OSError as error:
            raise WorldError(f"{self.name} can't be read: {error.strerror}") from None
        if len(data) > MOST_BYTES:
            raise WorldError(
                f"{self.name} has {len(data)} bytes, more than {MOST_BYTES}",
                remedy="verify against a shorter file",
            )
        whole = data[: data.rfind(b"\n") + 1]
        try:
            text = whole.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WorldError(f"{self.name} is not UTF-8 (byte {error.start})") from None
        rows = self._csv(text) if self._path.suffix.lower() == ".csv" else self._lines(text)
        return tuple(
            Record(key=fields.get(self._key) or str(number), fields=fields)
            for number, fields in enumerate(rows, 1)
        )

    def _lines(self, text: str) -> list[dict[str, str]]:
        rows = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                value = orjson.loads(line)
            except ValueError as error:
                raise WorldError(f"{self.name}:{number} is no JSON: {error}") from None
            if not isinstance(value, dict):
                raise WorldError(f"{self.name}:{number} is no record")
            rows.append({str(name): _text(item) for name, item in value.items()})
        return rows

    def _csv(self, text: str) -> list[dict[str, str]]:
        reader = csv.reader(io.StringIO(text), strict=True)
        try:
            header, *lines = list(reader) or [[]]
        except csv.Error as error:
            raise WorldError(f"{self.name}:{reader.line_num} is no CSV: {error}") from None
        for number, line in enumerate(lines, 2):
            if len(line) != len(header):
                raise WorldError(f"{self.name}:{number} has {len(line)} cells, the header {len(header)}")
        return [dict(zip(header, line, strict=True)) for line in lines]


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
