"""The portal's one SQLite file.

Rules of this module:

* A writer takes the write lock at once (`BEGIN IMMEDIATE`), so that two posts never interleave.
* A connection lives for one operation: the file may be read by another process at any moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

Clock = Callable[[], datetime]
"""Gives the time as an aware UTC datetime."""


def system_clock() -> datetime:
    """Return the machine's time in UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """Return a time as UTC ISO 8601 with milliseconds, such as `2026-11-30T08:15:02.123Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def open_connection(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open the file with rows by name. Waits up to ten seconds for another writer."""
    location = f"{path.absolute().as_uri()}?mode=ro" if read_only else f"{path.absolute().as_uri()}?mode=rwc"
    connection = sqlite3.connect(location, uri=True, timeout=10, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


class Database:
    """The file, its schema and its clock."""

    def __init__(self, path: Path, clock: Clock = system_clock) -> None:
        """Create the file and the tables when they are not there yet."""
        self.path = path
        self.clock = clock
        connection = open_connection(path)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(files(__package__).joinpath("schema.sql").read_text(encoding="utf-8"))
        finally:
            connection.close()

    def now(self) -> str:
        """Return the present as the text that is stored."""
        return iso(self.clock())

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for reading."""
        connection = open_connection(self.path)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that holds the write lock; commit at the end, roll back on an exception."""
        connection = open_connection(self.path)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        finally:
            connection.close()
