"""The append side on SQLite: one pinned connection, SQL compiled once, everything under ``BEGIN IMMEDIATE``.

Rules: the write lock is taken before anything is read, and what is remembered is asked for again when another
connection has committed, so what is checked is still true when it is written; chain, tree and head are made here
(``sqlite_end``) and nowhere else; a request that breaks a rule rolls the whole transaction back.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import bindparam, insert, select
from sqlalchemy.dialects import sqlite as dialect_module

from executor.store import schema
from executor.store.requests import Placed, Refusal, Refused, Request
from executor.store.sqlite_end import LogEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table
    from sqlalchemy.engine import Engine
    from sqlalchemy.sql import ClauseElement

    from domain.ports import Clock

_DIALECT = dialect_module.dialect(paramstyle="qmark")


def _sql(statement: ClauseElement) -> str:
    return str(statement.compile(dialect=_DIALECT))


def _insert(table: Table) -> str:
    return _sql(insert(table).values({column.name: bindparam(column.name) for column in table.columns}))


_claim = schema.claim
_release = schema.claim_release

SELECT_CLAIM = (
    _sql(
        select(
            _claim.c.generation,
            _claim.c.stream,
            _claim.c.principal,
            _claim.c.claimed_at_us,
            _release.c.generation.is_not(None).label("released"),
        )
        .select_from(
            _claim.outerjoin(
                _release,
                (_release.c.tenant == _claim.c.tenant)
                & (_release.c.effect_key == _claim.c.effect_key)
                & (_release.c.generation == _claim.c.generation),
            )
        )
        .where(_claim.c.tenant == bindparam("tenant"), _claim.c.effect_key == bindparam("effect_key"))
        .order_by(_claim.c.generation.desc())
    )
    + " LIMIT 1"
)
TRACK = _insert(schema.tracking) + (
    " ON CONFLICT (application_name) DO UPDATE SET notification_id = excluded.notification_id"
    " WHERE notification_id < excluded.notification_id RETURNING notification_id"
)
INSERT_EVENT = _sql(
    insert(schema.sqlite_event).values(
        {column.name: bindparam(column.name) for column in schema.sqlite_event.columns if not column.computed}
    )
)
INSERT_CLAIM = _insert(_claim)
INSERT_RELEASE = _insert(_release)


TENANTS_KEPT: Final = 1024
"""Logs whose ends a writer remembers, at most."""


class SqliteWriter:
    """Writes requests, each all or nothing, into one SQLite file; safe to share between threads and after a fork."""

    tenants_apart = False
    """One file has one writer at a time, so requests of all tenants share a commit."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._lock = threading.Lock()
        self._pinned: Any = None
        self._owner = 0
        self._ends: dict[str, LogEnd] = {}
        self._seen = 0
        """SQLite's count of the commits of others, as this connection sees it."""

    def write(self, requests: Sequence[Request]) -> list[Placed]:
        """Append all requests in one transaction; raises ``Refused`` or the driver's error, then nothing is stored."""
        with self._lock:
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._look_round(connection)
                placed = [self._place(connection, request) for request in requests]
                for tenant in {request.tenant for request in requests}:
                    self._ends[tenant].save(connection)
                connection.execute("COMMIT")
            except BaseException:
                for request in requests:
                    self._ends.pop(request.tenant, None)
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return placed

    def hint(self, tenant: str) -> None:
        """SQLite tells nobody; readers poll."""

    def reset(self) -> None:
        """Forget the connection; the next request opens a new one."""
        with self._lock:
            pinned, self._pinned = self._pinned, None
            self._ends.clear()
            if pinned is not None and self._owner == os.getpid():
                pinned.invalidate()

    def _connection(self) -> sqlite3.Connection:
        if self._pinned is None or self._owner != os.getpid():
            if self._pinned is not None:
                # A forked child must not touch the parent's handles: closing one would drop the parent's locks.
                self._engine.dispose(close=False)
            self._ends.clear()
            self._pinned = self._engine.raw_connection()
            self._owner = os.getpid()
        return cast("sqlite3.Connection", self._pinned.driver_connection)

    def _look_round(self, connection: sqlite3.Connection) -> None:
        """Has another connection committed since? Then what is known of the logs is looked up again."""
        (seen,) = connection.execute("PRAGMA data_version").fetchone()
        if len(self._ends) > TENANTS_KEPT:
            self._ends.clear()
        if seen != self._seen:
            self._seen = seen
            for end in self._ends.values():
                end.stale = True

    def _place(self, connection: sqlite3.Connection, request: Request) -> Placed:
        end = self._ends.get(request.tenant)
        if end is None or (end.stale and not end.refresh(connection)):
            end = self._ends[request.tenant] = LogEnd(connection, request.tenant)
        at = max(self._clock.now_us(), end.recorded_at_us)
        first = end.frontier.size + 1
        rows = end.link(connection, request.entries, at)
        if len(rows) == 1:
            connection.execute(INSERT_EVENT, rows[0])
        else:
            connection.executemany(INSERT_EVENT, rows)
        if request.claim is not None:
            _take(connection, request, at)
        if request.release is not None:
            _give_back(connection, request, at)
        if request.tracking is not None:
            _track(connection, request.tracking)
        return Placed(first, end.frontier.size, at, end.frontier.state())


def _take(connection: sqlite3.Connection, request: Request, at: int) -> None:
    wanted = request.claim
    assert wanted is not None  # noqa: S101 - the caller looked
    row = connection.execute(SELECT_CLAIM, (request.tenant, wanted.effect_key)).fetchone()
    if row is not None and not row[4]:
        raise Refused(
            Refusal(
                "claim", wanted.effect_key, holder_stream=row[1], holder_principal=row[2], since_us=row[3]
            )
        )
    generation = 1 if row is None else row[0] + 1
    connection.execute(
        INSERT_CLAIM,
        (request.tenant, wanted.effect_key, generation, wanted.stream, wanted.principal, wanted.event_id, at),
    )


def _give_back(connection: sqlite3.Connection, request: Request, at: int) -> None:
    given = request.release
    assert given is not None  # noqa: S101 - the caller looked
    row = connection.execute(SELECT_CLAIM, (request.tenant, given.effect_key)).fetchone()
    if row is None or row[4] or row[1] != given.stream:
        raise Refused(Refusal("release", given.effect_key, holder_stream=row[1] if row else ""))
    connection.execute(INSERT_RELEASE, (request.tenant, given.effect_key, row[0], given.event_id, at))


def _track(connection: sqlite3.Connection, tracking: tuple[str, int]) -> None:
    if connection.execute(TRACK, tracking).fetchone() is None:
        raise Refused(Refusal("tracking", tracking[0], expected=tracking[1]))
