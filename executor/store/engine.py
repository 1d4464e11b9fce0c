"""One SQLAlchemy engine by URL, its schema, and what its failures mean.

Rules: SQLite runs in WAL mode with ``synchronous=FULL``, so that an acknowledged append survives a power cut; a
locked file is waited for, not given up at once; the schema is made once however many processes start together; a
database that is gone is a ``WorldError`` in one line without credentials.
"""

from __future__ import annotations

import sqlite3
import sys
import weakref
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError

from domain.errors import ConfigError, FormatTooNew, ProofreelError, WorldError
from executor.store import schema
from executor.store.urls import redacted

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy.engine import URL, Connection, Engine
    from sqlalchemy.pool import ConnectionPoolEntry

BUSY_TIMEOUT_MS: Final = 30_000
"""How long a writer waits for another process that holds the SQLite file."""
LOG_PAGES: Final = 4000
"""Pages of SQLite's write-ahead log (16 MB) before they are moved into the database, pages written often only once."""
_SCHEMA_LOCK: Final = 0x50524F4F46
"""PostgreSQL advisory lock under which the schema is made."""
_POOL: Final = "proofreel_pool"
"""Where a session keeps which pool it is of."""
_DISK_FULL: Final = "53100"
_BAD_URL_STATES: Final = {"3D000", "28P01", "28000"}
"""PostgreSQL: no such database, wrong password, no such role."""


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def open_engine(url: URL) -> Engine:
    """Engine in autocommit mode: transactions are begun by the statements that need them."""
    if not _is_sqlite(url):
        engine = create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_size=8,
            max_overflow=56,
            connect_args={"connect_timeout": 10, "application_name": "proofreel"},
        )
        _close_what_comes_late(engine)
        return engine
    engine = create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _close_what_comes_late(engine: Engine) -> None:
    """Close a session that comes back after its pool was disposed of: nobody would do so later.

    ``Engine.dispose`` closes what lies in the pool and makes another one; a session that some thread has at that
    moment would come back into a pool that is forgotten, and stay open until garbage is collected.
    """

    def opened(_connection: object, record: ConnectionPoolEntry) -> None:
        record.info[_POOL] = weakref.ref(engine.pool)

    def came_back(_connection: object, record: ConnectionPoolEntry) -> None:
        if _POOL in record.info and record.info[_POOL]() is not engine.pool:
            record.invalidate()

    event.listen(engine, "connect", opened)
    event.listen(engine, "checkin", came_back)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-65536")
    connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")


def driver_errors() -> tuple[type[Exception], ...]:
    """What the drivers in use raise; psycopg only where it is installed."""
    if "psycopg" in sys.modules:
        return sqlite3.Error, DBAPIError, sys.modules["psycopg"].Error
    return sqlite3.Error, DBAPIError


def is_disconnect(error: Exception) -> bool:
    """True if the session is lost, so that a new one may get through."""
    if isinstance(error, DBAPIError):
        return bool(error.connection_invalidated)
    if isinstance(error, sqlite3.Error):
        return False
    state = getattr(error, "sqlstate", None)
    return state is None or state.startswith(("08", "57P"))


def explain(error: Exception) -> ProofreelError:
    """The domain's word for a driver's failure; the text is one line without credentials."""
    cause: Any = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    lines = str(cause).strip().splitlines()
    first = redacted(lines[0]) if lines else type(cause).__name__
    if getattr(cause, "sqlstate", None) in _BAD_URL_STATES or _says_bad_url(str(cause)):
        return ConfigError(f"database: {first}", remedy="correct the store URL, or create what it names")
    if isinstance(cause, sqlite3.DatabaseError) and "not a database" in first:
        return ConfigError(f"store: {first}", remedy="name another file, or remove this one")
    if isinstance(cause, sqlite3.OperationalError) and "locked" in first:
        return WorldError(f"store: {first}", remedy="another process holds it; end that one or try again")
    if _says_full(cause, first):
        return WorldError(f"store: {first}", remedy="free some disk space; nothing was recorded")
    if isinstance(cause, sqlite3.OperationalError) and "readonly" in first:
        return WorldError(
            f"store: {first}", remedy="let this user write to its file and folder; nothing was recorded"
        )
    return WorldError(
        f"store: {first}", remedy="bring the database back and try again; a repeated append is safe"
    )


def _says_full(cause: object, message: str) -> bool:
    """SQLite's word, or PostgreSQL's class 53 (a file of a table that can't grow)."""
    if isinstance(cause, sqlite3.OperationalError):
        return "full" in message
    return getattr(cause, "sqlstate", None) == _DISK_FULL


def _says_bad_url(message: str) -> bool:
    """Before a session exists, PostgreSQL's client library gives no SQLSTATE, only words."""
    refused = "FATAL" in message and ("does not exist" in message or "authentication failed" in message)
    return refused or "unable to open database file" in message


def prepare(engine: Engine, *, to_read: bool = False) -> None:
    """Make the schema where it is missing; refuse a newer one. Safe for processes that start together.

    A record of an earlier layout is refused too, unless it is only read. When it refuses, the engine's connections
    are given back.
    """
    try:
        _prepare(engine, to_read=to_read)
    except BaseException:
        engine.dispose()
        raise


def _prepare(engine: Engine, *, to_read: bool) -> None:
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table(schema.record_format.name):
                _create(connection)
            found = _layout(connection)
            if found == 1 and not to_read and connection.dialect.name == "postgresql":
                found = _upgrade(connection)
    except DBAPIError as error:
        raise explain(error) from error
    newest = schema.NEWEST[engine.dialect.name]
    if found is None:
        raise ConfigError("the database holds a half-made record", remedy="use an empty database")
    if found > newest:
        raise FormatTooNew(f"schema {found}, this release knows {newest}", where="store")
    if found < newest and not to_read:
        raise ConfigError(
            f"the record has layout {found} of an earlier release, this one appends to layout {newest}",
            remedy="proofreel migrate OLD NEW copies it and proves that nothing changed",
        )


def _layout(connection: Connection) -> int | None:
    layout: int | None = connection.execute(text("SELECT max(format) FROM record_format")).scalar()
    return layout


def _upgrade(connection: Connection) -> int | None:
    """From layout 1 to 2 in place: rows stay as they are, only the appending functions are others."""
    owner = text("SELECT pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE tablename = 'record_format'")
    if not connection.execute(owner).scalar():
        raise ConfigError(
            "the record has layout 1 of an earlier release, and only the owner of its tables may bring it up",
            remedy="run 'proofreel grant' once as the owner",
        )
    connection.exec_driver_sql("BEGIN")
    try:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
        if _layout(connection) == 1:
            for name in ("postgres", "postgres_upgrade"):
                _driver(connection).execute(_script(name))
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")
    return _layout(connection)


def _create(connection: Connection) -> None:
    sqlite = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "BEGIN")
    try:
        if not sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
        if inspect(connection).has_table(schema.record_format.name):
            connection.exec_driver_sql("COMMIT")
            return  # somebody else made it while we waited for the lock
        (schema.sqlite_metadata if sqlite else schema.metadata).create_all(connection)
        if sqlite:
            for statement in schema.sqlite_guards():
                connection.exec_driver_sql(statement)
        else:
            for name in ("postgres_tables", "postgres"):
                _driver(connection).execute(_script(name))
        if connection.execute(text("SELECT count(*) FROM record_format")).scalar() == 0:
            connection.execute(
                schema.record_format.insert(), {"format": schema.NEWEST[connection.dialect.name]}
            )
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    """The driver's own connection: a script of several statements can't go through a prepared one."""
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def _script(name: str) -> bytes:
    return files("executor.store").joinpath(f"{name}.sql").read_bytes()
