"""One prepared statement over libpq, for the call that every event takes.

psycopg's cursors adapt, look up and convert what here are seven plain parameters; measured, that is three quarters of
the client's time. The wait is on the socket, so that it can be interrupted as psycopg's own can.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final

from psycopg import errors
from psycopg.pq import ExecStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import psycopg
    from psycopg.abc import Buffer
    from psycopg.pq.abc import PGconn, PGresult

APPEND_ONE: Final = b"proofreel_append_one"
_STATEMENT: Final = (
    b"SELECT proofreel_append_one($1::text, $2::text, $3::bigint, $4::text, $5::text, $6::bytea, $7::bigint)"
)
_FORMATS: Final = (0, 0, 0, 0, 0, 1, 0)
"""The body is binary, all else is text."""
_BINARY: Final = 1


def prepare_append(session: psycopg.Connection[Any]) -> None:
    """Make the statement known to a session; raises the driver's error."""
    result = session.pgconn.prepare(APPEND_ONE, _STATEMENT)
    if result.status != ExecStatus.COMMAND_OK:
        raise errors.error_from_result(result)


def append_one(session: psycopg.Connection[Any], parameters: Sequence[Buffer | None]) -> bytes:
    """What the prepared statement gives; raises the driver's error."""
    connection = session.pgconn
    connection.send_query_prepared(APPEND_ONE, parameters, _FORMATS, _BINARY)
    result = _answer(connection)
    if result is None or result.status != ExecStatus.TUPLES_OK:
        raise errors.OperationalError("no answer") if result is None else errors.error_from_result(result)
    return result.get_value(0, 0) or b""


def _answer(connection: PGconn) -> PGresult | None:
    """The one result of what was sent."""
    socket = connection.socket
    while connection.flush():
        select.select([socket], [socket], [])
        connection.consume_input()
    first: PGresult | None = None
    while True:
        while connection.is_busy():
            select.select([socket], [], [])
            connection.consume_input()
        result = connection.get_result()
        if result is None:
            return first
        first = first or result
