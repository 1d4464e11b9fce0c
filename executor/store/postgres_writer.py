"""The append side on PostgreSQL: one call for a request (``postgres.sql``).

Rules: a single request is one statement in autocommit mode, one round trip; requests of one tenant that wait
together share a transaction; requests of different tenants never do, because two heads locked in two orders would
be a deadlock. ``recorded_at`` is the server's clock, so that writers with skewed clocks can't push it about.
"""

from __future__ import annotations

import json
import os
import threading
import time
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, cast

import psycopg

from executor.store.postgres_call import APPEND_ONE, append_one, prepare_append
from executor.store.requests import Entry, Placed, Refusal, Refused, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import PoolProxiedConnection
    from sqlalchemy.engine import Engine

    from domain.ports import Clock

CHANNEL: Final = "proofreel"
"""NOTIFY channel; the payload is a tenant."""
HINT_EVERY_S: Final = 0.05
"""Seconds between two hints of a process, at least."""
SESSIONS_KEPT: Final = 8
"""Sessions that wait for the next request; more go back to the pool at once."""
_CALL_ALL: Final = (
    "SELECT proofreel_append_all(%s, %b::text[], %b::bigint[], %b::text[], %b::text[], %b::bytea[], %s::bigint,"
    " %s::text, %s::text, %s::text, %s::text, %s::text, %s::text, %s::text)"
)
_PLACE: Final = Struct(">QQ")
"""Last position and time, in front of the frontier."""
_NOTHING: Final = (None,) * 7

_TRACK: Final = (
    "INSERT INTO tracking AS t (application_name, notification_id) VALUES (%s, %s)"
    " ON CONFLICT (application_name) DO UPDATE SET notification_id = excluded.notification_id"
    " WHERE t.notification_id < excluded.notification_id RETURNING t.notification_id"
)


class PostgresWriter:
    """Writes requests, each all or nothing; safe to share between threads."""

    tenants_apart = True

    def __init__(self, engine: Engine, clock: Clock | None) -> None:
        self._engine = engine
        self._clock = clock
        self._kept: list[PoolProxiedConnection] = []
        self._owner = os.getpid()
        self._parents: list[object] = []
        """What a forked child must neither use nor let go of."""
        self._hinted = 0.0
        self._hints = threading.Lock()
        self._hint_session: psycopg.Connection[Any] | None = None

    def write(self, requests: Sequence[Request]) -> list[Placed]:
        """Append all requests in one transaction; raises ``Refused`` or the driver's error, then nothing is stored."""
        pooled = self._take()
        try:
            connection = cast("psycopg.Connection[Any]", pooled.driver_connection)
            if len(requests) == 1 and requests[0].tracking is None:
                placed = [self._call(connection, requests[0])]
            else:
                with connection.transaction():
                    placed = [self._call(connection, request) for request in requests]
        except psycopg.Error as error:
            if pooled.driver_connection is not None and pooled.driver_connection.closed:
                pooled.invalidate(error)
            refusal = _refusal(error, requests)
            if refusal is not None:
                raise Refused(refusal) from error
            raise
        finally:
            self._give(pooled)
        return placed

    def _take(self) -> PoolProxiedConnection:
        """A session of its own for one request."""
        if self._owner != os.getpid():
            self._leave_to_the_parent()
        try:
            return self._kept.pop()  # atomic: no lock
        except IndexError:
            pooled = self._engine.raw_connection()
        if not pooled.info.get(APPEND_ONE):
            prepare_append(cast("psycopg.Connection[Any]", pooled.driver_connection))
            pooled.info[APPEND_ONE] = True
        return pooled

    def _leave_to_the_parent(self) -> None:
        """A forked child must not speak on the parent's sessions, nor close them."""
        self._parents += [*self._kept, self._hint_session]
        self._owner, self._kept, self._hint_session = os.getpid(), [], None
        self._engine.dispose(close=False)

    def _give(self, pooled: PoolProxiedConnection) -> None:
        session = pooled.driver_connection
        if session is not None and not session.closed and len(self._kept) < SESSIONS_KEPT:
            self._kept.append(pooled)
        else:
            pooled.close()

    def hint(self, tenant: str) -> None:
        """Wake readers that listen, now and then. Only a hint: a failure is ignored, since readers poll as well.

        It has a session of its own that waits for no disk: a NOTIFY commits under one lock for the whole server.
        """
        now = time.monotonic()
        if now - self._hinted < HINT_EVERY_S or not self._hints.acquire(blocking=False):
            return
        try:
            self._hinted = now
            self._hinting().execute("SELECT pg_notify(%s, %s)", (CHANNEL, tenant))
        except psycopg.Error:
            self._end_hinting()
        finally:
            self._hints.release()

    def _hinting(self) -> psycopg.Connection[Any]:
        if self._hint_session is None:
            pooled = self._engine.raw_connection()
            self._hint_session = cast("psycopg.Connection[Any]", pooled.driver_connection)
            pooled.detach()  # its setting must not come back into the pool
            self._hint_session.execute("SET synchronous_commit = off")
        return self._hint_session

    def _end_hinting(self) -> None:
        session, self._hint_session = self._hint_session, None
        if session is not None:
            session.close()

    def reset(self) -> None:
        """Forget all connections; the next request opens a new one."""
        with self._hints:
            self._end_hinting()
        self._engine.dispose()  # what is kept, or in use at this moment, is now of an older pool: closed when given
        while self._kept:
            self._kept.pop().close()

    def _call(self, connection: psycopg.Connection[Any], request: Request) -> Placed:
        entries = request.entries
        now_us = None if self._clock is None else self._clock.now_us()
        claiming = _claiming(request)
        if len(entries) == 1 and claiming is None:
            answer = append_one(connection, _plain(request.tenant, entries[0], now_us))
        else:
            parameters = (
                request.tenant,
                [entry.stream for entry in entries],
                [entry.version for entry in entries],
                [entry.event_id for entry in entries],
                [entry.name for entry in entries],
                [entry.body for entry in entries],
                now_us,
                *(claiming or _NOTHING),
            )
            row = connection.cursor(binary=True).execute(_CALL_ALL, parameters).fetchone()
            answer = row[0] if row else b""
        last, at = _PLACE.unpack_from(answer)
        if request.tracking is not None:
            _track(connection, request.tracking)
        return Placed(last - len(entries) + 1, last, at, answer[_PLACE.size :])


def _plain(tenant: str, one: Entry, now_us: int | None) -> tuple[bytes | None, ...]:
    """Parameters of the prepared statement, as libpq sends them."""
    return (
        tenant.encode(),
        one.stream.encode(),
        b"%d" % one.version,
        one.event_id.encode(),
        one.name.encode(),
        one.body,
        None if now_us is None else b"%d" % now_us,
    )


def _claiming(request: Request) -> tuple[str | None, ...] | None:
    """The claim and the release of a request as seven parameters; None when it has neither."""
    claim, release = request.claim, request.release
    if claim is None and release is None:
        return None
    return (
        *((claim.effect_key, claim.stream, claim.principal, claim.event_id) if claim else (None,) * 4),
        *((release.effect_key, release.stream, release.event_id) if release else (None,) * 3),
    )


def _track(connection: psycopg.Connection[Any], tracking: tuple[str, int]) -> None:
    if connection.execute(_TRACK, tracking).fetchone() is None:
        raise Refused(Refusal("tracking", tracking[0], expected=tracking[1]))


def _refusal(error: psycopg.Error, requests: Sequence[Request]) -> Refusal | None:
    """The broken rule that the server names, if it is one."""
    if error.sqlstate == "PR001":
        return Refusal(**json.loads(error.diag.message_detail or "{}"))
    if isinstance(error, psycopg.errors.UniqueViolation):
        return Refusal("event_id", requests[0].entries[0].event_id)
    return None
