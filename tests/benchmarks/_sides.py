"""The others in the comparison: nothing but a commit of the same bytes, and the recorders of the library."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from sqlalchemy.engine import make_url

from domain.chain import GENESIS, entry_of
from domain.codec import encode
from domain.envelope import Draft
from domain.log_format import hashed_leaf, stream_tag
from domain.merkle import Frontier


class BareSqlite:
    """A commit of the same bytes, and nothing else: no chain, no tree, no index but the primary key."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")

    def put(self, bodies: Sequence[bytes]) -> None:
        """Commit them together."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany("INSERT INTO t (body) VALUES (?)", [(body,) for body in bodies])
        self.connection.execute("COMMIT")


class LeastSqlite(BareSqlite):
    """The same after encoding, chaining and hashing into the tree: what no layout of tables can save."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.frontier = Frontier()

    def append(self, drafts: Sequence[Draft]) -> None:
        """Commit events of one new stream together."""
        envelope = drafts[0].envelope
        tag, link = stream_tag(envelope.tenant, envelope.stream), GENESIS
        bodies = [encode(draft) for draft in drafts]
        leaves = []
        for version, body in enumerate(bodies, start=1):
            link = entry_of(link, body, self.frontier.size + version, envelope.occurred_at_us)
            leaves.append(hashed_leaf(tag, version, link))
        self.frontier.extend(leaves)
        self.put(bodies)


class BarePostgres:
    """The same on PostgreSQL, a session for each writer."""

    def __init__(self, dsn: str) -> None:
        self.session = psycopg.connect(dsn, autocommit=True)

    def make(self) -> BarePostgres:
        """Make the table."""
        self.session.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, body bytea)")
        return self

    def put(self, bodies: Sequence[bytes]) -> None:
        """Commit them together."""
        if len(bodies) == 1:
            self.session.execute("INSERT INTO bare (body) VALUES (%s)", (bodies[0],))
            return
        with self.session.transaction(), self.session.cursor() as cursor:
            cursor.executemany("INSERT INTO bare (body) VALUES (%s)", [(body,) for body in bodies])


class Library:
    """One of the library's recorders; each batch is an originator of its own."""

    def __init__(self, recorder: Any) -> None:  # noqa: ANN401 - recorders of both databases
        self.recorder = recorder

    def put(self, bodies: Sequence[bytes]) -> None:
        """Commit them together."""
        originator = uuid4()
        self.recorder.insert_events(
            [StoredEvent(originator, version, "note", body) for version, body in enumerate(bodies, start=1)]
        )


def library_sqlite(path: Path) -> Library:
    """The library's own recorder on SQLite."""
    recorder = SQLiteApplicationRecorder(SQLiteDatastore(str(path)))
    recorder.create_table()
    return Library(recorder)


def library_postgres(url: str) -> tuple[Library, PostgresDatastore]:
    """The library's own recorder on PostgreSQL, and its sessions, to be closed."""
    parsed = make_url(url)
    assert parsed.database is not None
    store = PostgresDatastore(
        parsed.database, str(parsed.host), str(parsed.port), str(parsed.username), "none"
    )
    recorder = PostgresApplicationRecorder(store, events_table_name="library_events")
    recorder.create_table()
    return Library(recorder), store
