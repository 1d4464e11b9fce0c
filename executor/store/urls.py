"""Where the record is, as one URL; and how a URL is shown.

Rules: a password never reaches a message; what is wrong with a URL is said in one line that names the remedy.
"""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from domain.errors import ConfigError

EXAMPLES = "use sqlite:////path/record.db or postgresql+psycopg://user@host/database"
_USERINFO = re.compile(r"(?<=://)[^/@\s]*:[^@\s]*@")
_PASSWORD = re.compile(r"(?i)(password|passwd|pwd)\s*=\s*('[^']*'|\S+)")


def redacted(text: str) -> str:
    """``text`` without the passwords of URLs and connection strings, on one line."""
    shown = _PASSWORD.sub(r"\1=***", _USERINFO.sub("***@", text))
    return " ".join(shown.split())


def store_url(text: str) -> URL:
    """The parsed URL of a record; ``ConfigError`` for one that can't hold a record."""
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise ConfigError(f"{redacted(text)!r} is no database URL", remedy=EXAMPLES) from error
    if "@" in (url.host or ""):  # else what follows a password's own @ is taken for the host, and told
        raise ConfigError(
            "the store's URL has an @ in its user or password that stands for itself",
            remedy="write it as %40, and : / ? # in the same way",
        )
    if url.drivername in {"postgresql", "postgres"}:
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "sqlite+pysqlite", "postgresql+psycopg"}:
        raise ConfigError(f"no record can be kept on {url.drivername!r}", remedy=EXAMPLES)
    if url.get_backend_name() == "sqlite":
        return _sqlite_url(url)
    if not url.database:
        raise ConfigError("the PostgreSQL URL names no database", remedy=EXAMPLES)
    return url


def _sqlite_url(url: URL) -> URL:
    if not url.database or url.database == ":memory:":
        raise ConfigError("a record in memory would be lost with the process", remedy=EXAMPLES)
    path = Path(url.database)
    if path.is_dir():
        raise ConfigError(f"{path} is a folder", remedy=f"name a file in it: sqlite:///{path}/record.db")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"folder {path.parent} does not exist", remedy=f"make it: mkdir -p {path.parent}")
    return url
