"""Connections that can only read; SQLite files are opened read-only, also on media that can't be written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from domain.errors import ConfigError, IntegrityError, WorldError

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

EXAMPLES: Final = (
    "name an existing record: sqlite:////path/record.db or postgresql+psycopg://user@host/database"
)
_DAMAGED: Final = {"XX001", "XX002"}
"""PostgreSQL: data corrupted, index corrupted."""


def engine_for(text_url: str) -> Engine:
    """Read-only engine for a URL; ``ConfigError`` when there is no record behind it."""
    try:
        url = make_url(text_url)
    except ArgumentError as error:
        raise ConfigError("the store's URL is no database URL", remedy=EXAMPLES) from error
    if "@" in (url.host or ""):  # else what follows a password's own @ is taken for the host, and told
        raise ConfigError(
            "the store's URL has an @ in its user or password that stands for itself",
            remedy="write it as %40, and : / ? # in the same way",
        )
    backend = url.get_backend_name()
    if backend == "postgresql":
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 10, "options": "-c default_transaction_read_only=on"},
        )
    if backend != "sqlite" or not url.database:
        raise ConfigError(f"no record can be read from {backend!r}", remedy=EXAMPLES)
    return _sqlite_engine(Path(url.database))


def _sqlite_engine(path: Path) -> Engine:
    if not path.is_file():
        raise ConfigError(f"there is no record at {path}", remedy=EXAMPLES)
    engine = _sqlite_readonly(path, "mode=ro")
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT count(*) FROM sqlite_master"))
    except DBAPIError as error:
        engine.dispose()
        message = str(error.orig)
        if "not a database" in message:
            raise ConfigError(f"{path} is no record", remedy=EXAMPLES) from error
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            what = f"{path} has an unfinished log ({log.name}) that can't be read where it is"
            raise ConfigError(what, remedy="copy both files to a folder that can be written") from error
        # In a folder that can't be written SQLite can't make its lock file; without a log none is needed.
        return _sqlite_readonly(path, "immutable=1")
    return engine


def _sqlite_readonly(path: Path, mode: str) -> Engine:
    location = f"file:{quote(str(path.absolute()))}"
    url = URL.create("sqlite", database=location, query={"uri": "true", **dict([mode.split("=")])})
    return create_engine(
        url, isolation_level="AUTOCOMMIT", connect_args={"timeout": 30, "check_same_thread": False}
    )


def explained(error: DBAPIError) -> WorldError | IntegrityError | ConfigError:
    """What a failure of the database means."""
    lines = str(error.orig).strip().splitlines()
    if getattr(error.orig, "sqlstate", None) in _DAMAGED or "malformed" in str(error.orig):
        return IntegrityError(lines[0], where="database")
    words = str(error.orig)
    if "FATAL" in words and ("authentication failed" in words or "does not exist" in words):
        return ConfigError(f"store: {lines[0]}", remedy="correct the user, password or database in its URL")
    return WorldError(
        f"store: {lines[0] if lines else 'failed'}", remedy="bring the database back and try again"
    )
