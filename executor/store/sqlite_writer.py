"""The append side on SQLite: one pinned connection, SQL compiled once, everything under ``BEGIN IMMEDIATE``.

Rules: the write lock is taken before anything is read, so what is checked is still true when it is written; chain,
tree and head are made here and nowhere else; a request that breaks a rule rolls the whole transaction back.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import bindparam, insert, select
from sqlalchemy.dialects import sqlite as dialect_module

from domain.chain import GENESIS, body_hash, entry_hash
from domain.ids import StreamId, TenantId
from domain.log_format import encode_leaf, stream_tag
from domain.merkle import Frontier, leaf_hash
from executor.store import schema
from executor.store.requests import Entry, Placed, Refusal, Refused, Request

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


_head = schema.tenant_head
_event = schema.event
_claim = schema.claim
_release = schema.claim_release

SELECT_HEAD = _sql(
    select(_head.c.size, _head.c.recorded_at_us, _head.c.frontier).where(
        _head.c.tenant == bindparam("tenant")
    )
)
SAVE_HEAD = _insert(_head) + (
    " ON CONFLICT (tenant) DO UPDATE SET size = excluded.size, recorded_at_us = excluded.recorded_at_us,"
    " root = excluded.root, frontier = excluded.frontier"
)
SELECT_TAIL = (
    _sql(
        select(_event.c.version, _event.c.entry_hash)
        .where(_event.c.tenant == bindparam("tenant"), _event.c.stream == bindparam("stream"))
        .order_by(_event.c.version.desc())
    )
    + " LIMIT 1"
)
SELECT_ID = _sql(
    select(_event.c.position).where(
        _event.c.tenant == bindparam("tenant"), _event.c.event_id == bindparam("event_id")
    )
)
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
INSERT_EVENT = _insert(_event)
INSERT_CLAIM = _insert(_claim)
INSERT_RELEASE = _insert(_release)


class _Head:
    """A tenant's head within one transaction."""

    __slots__ = ("frontier", "recorded_at_us", "root")

    def __init__(self, size: int, recorded_at_us: int, frontier: bytes) -> None:
        self.frontier = Frontier(size, frontier)
        self.recorded_at_us = recorded_at_us
        self.root = b""


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

    def write(self, requests: Sequence[Request]) -> list[Placed]:
        """Append all requests in one transaction; raises ``Refused`` or the driver's error, then nothing is stored."""
        with self._lock:
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                placed = self._write(connection, requests)
                connection.execute("COMMIT")
            except BaseException:
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
            if pinned is not None and self._owner == os.getpid():
                pinned.invalidate()

    def _connection(self) -> sqlite3.Connection:
        if self._pinned is None or self._owner != os.getpid():
            if self._pinned is not None:
                # A forked child must not touch the parent's handles: closing one would drop the parent's locks.
                self._engine.dispose(close=False)
            self._pinned = self._engine.raw_connection()
            self._owner = os.getpid()
        return cast("sqlite3.Connection", self._pinned.driver_connection)

    def _write(self, connection: sqlite3.Connection, requests: Sequence[Request]) -> list[Placed]:
        heads: dict[str, _Head] = {}
        placed = []
        for request in requests:
            head = heads.get(request.tenant)
            if head is None:
                row = connection.execute(SELECT_HEAD, (request.tenant,)).fetchone()
                head = heads[request.tenant] = _Head(*(row or (0, 0, b"")))
            placed.append(self._place(connection, request, head))
        for tenant, head in heads.items():
            state = head.frontier.state()
            connection.execute(SAVE_HEAD, (tenant, head.frontier.size, head.recorded_at_us, head.root, state))
        return placed

    def _place(self, connection: sqlite3.Connection, request: Request, head: _Head) -> Placed:
        head.recorded_at_us = max(self._clock.now_us(), head.recorded_at_us)
        first = head.frontier.size + 1
        rows = _chained(connection, request, head)
        try:
            connection.executemany(INSERT_EVENT, rows)
        except sqlite3.IntegrityError as error:
            raise Refused(_reused_id(connection, request)) from error
        if request.claim is not None:
            _take(connection, request, head.recorded_at_us)
        if request.release is not None:
            _give_back(connection, request, head.recorded_at_us)
        if request.tracking is not None:
            _track(connection, request.tracking)
        head.root = head.frontier.root()
        return Placed(first, head.frontier.size, head.recorded_at_us, head.root)


def _chained(connection: sqlite3.Connection, request: Request, head: _Head) -> list[tuple[object, ...]]:
    """Rows of the request's events, linked to their streams and added to the tree."""
    tenant, at, frontier = request.tenant, head.recorded_at_us, head.frontier
    tails: dict[str, tuple[int, bytes, bytes]] = {}
    rows: list[tuple[object, ...]] = []
    for entry in request.entries:
        stream = entry.stream
        version, previous, tag = tails.get(stream) or _tail(connection, tenant, entry)
        if entry.version != version + 1:
            raise Refused(Refusal("version", stream, expected=entry.version - 1, found=version))
        position = frontier.size + 1
        link = entry_hash(previous, body_hash(entry.body), position=position, recorded_at_us=at)
        frontier.append(leaf_hash(encode_leaf(tag, entry.version, link)))
        tails[stream] = (entry.version, link, tag)
        rows.append(
            (tenant, position, stream, entry.version, entry.event_id, entry.name, at, link, entry.body)
        )
    return rows


def _tail(connection: sqlite3.Connection, tenant: str, entry: Entry) -> tuple[int, bytes, bytes]:
    """Last version and link of a stream, and its tag; a stream may start at version 0 or 1."""
    tag = stream_tag(TenantId(tenant), StreamId(entry.stream))
    row = connection.execute(SELECT_TAIL, (tenant, entry.stream)).fetchone()
    if row is None:
        return (-1 if entry.version == 0 else 0), GENESIS, tag
    return row[0], row[1], tag


def _reused_id(connection: sqlite3.Connection, request: Request) -> Refusal:
    for entry in request.entries:
        if connection.execute(SELECT_ID, (request.tenant, entry.event_id)).fetchone() is not None:
            return Refusal("event_id", entry.event_id)
    return Refusal("event_id", request.entries[0].event_id)


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
