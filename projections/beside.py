"""A second process that builds some of the views from a long record (``python -m projections.beside``).

Rules enforced here:

* Views depend on nothing but events, so two processes that fold different ones need no word between them. Each does
  ``materialize.catch_up``; there is no other way of folding.
* Rows from the other process are taken over with their position, in one transaction, and only while the view still
  stands at the very beginning. Whatever is missing then, all of it if the process failed, is folded here as ever.
* The process ends with this one, and its file goes with it: nobody trusts a file that was left behind.

It takes a second to start, so it is asked for only from ``SHARED_FROM`` events on; and SQLite has one writer at a
time, so it writes to a file of its own, without a journal, beside that of the views.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import sqlalchemy as sa

from domain.ids import TenantId
from projections import materialize
from projections.fold import Partitioned
from projections.materialize import Progress
from projections.ports import EventSource
from projections.reading import open_reader
from projections.tables import METADATA, POSITIONS, ROWS
from projections.views import ALL

SHARED_FROM: Final = 60_000
"""Events to fold from which a second process pays."""
GIVEN_AWAY: Final = frozenset({"evidence_chain", "timeline"})
"""Views that the other process builds: about as much work as all others and taking these rows over."""
PART: Final = "part.db"
_log = logging.getLogger(__name__)


class Addressed(Protocol):
    """A record that another process can open; ``projections.reading.RecordReader`` is the real one."""

    @property
    def url(self) -> str:
        """Where it is."""
        ...

    @property
    def as_stored(self) -> bool:
        """Whether it shows also what is withheld."""
        ...

    def positions(self, tenant: TenantId) -> int:
        """Highest position in the tenant's log."""
        ...


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the other process is to do; a line of JSON on its standard input, because a URL may hold a password."""

    url: str
    as_stored: bool
    tenant: str
    views: tuple[str, ...]
    folder: str
    """For its file; goes when this process does."""


def catch_up(
    reader: EventSource,
    engine: sa.Engine,
    tenant: TenantId,
    projections: Sequence[Partitioned[Any]],
    progress: Progress | None = None,
    *,
    record: Addressed,
) -> int:
    """Bring stored views up to the end of the tenant's log, with a second process where that pays.

    Args:
        reader: the record, or what watches its events pass by; every event passes once.
        engine: database of the views.
        tenant: whose log.
        projections: views to bring along.
        progress: told how many events each batch added.
        record: the same record as ``reader``, for the other process.

    Raises:
        IntegrityError: the record has a gap or can't be decoded.
    """
    given = _given(engine, tenant, projections, record.positions(tenant))
    if given:
        kept = [view for view in projections if view not in given]
        with _running(record, engine, tenant, given) as process:
            materialize.catch_up(reader, engine, tenant, kept, progress)
            _take_over(process, engine, tenant, given)
        progress = None  # it has heard of them
    return materialize.catch_up(reader, engine, tenant, projections, progress)


def _given(
    engine: sa.Engine, tenant: TenantId, projections: Sequence[Partitioned[Any]], end: int
) -> list[Partitioned[Any]]:
    """Views for the other process: none where it doesn't pay, or there is no second processor or no file."""
    if end < SHARED_FROM or (os.cpu_count() or 1) < 2:  # noqa: PLR2004 - two processes
        return []
    given = [view for view in projections if view.name in GIVEN_AWAY and view in ALL]
    new = [view for view in given if materialize.position(engine, view, tenant) == 0]
    return new if _file(engine) is not None and len(new) < len(projections) else []


def _file(engine: sa.Engine) -> Path | None:
    """File of the views; None for a database that has none."""
    name = engine.url.database
    return Path(name) if engine.dialect.name == "sqlite" and name and Path(name).is_file() else None


class _Process:
    """The other process and its file."""

    def __init__(self, process: subprocess.Popen[bytes], part: Path) -> None:
        self._process = process
        self.part = part

    def done(self) -> bool:
        """Wait for its end; whether it did what it was asked to."""
        said = self._process.stdout.read()  # type: ignore[union-attr]
        if self._process.wait() == 0 and said.strip() == b"done":
            return True
        _log.warning("the process beside this one failed; its views are built here")
        return False


@contextmanager
def _running(
    record: Addressed, engine: sa.Engine, tenant: TenantId, views: Sequence[Partitioned[Any]]
) -> Iterator[_Process]:
    """The other process at work; it is ended, and its file gone, when this is left."""
    home = _file(engine)
    folder = Path(tempfile.mkdtemp(prefix=".views-", dir=None if home is None else home.parent))
    order = Order(
        url=record.url,
        as_stored=record.as_stored,
        tenant=tenant,
        views=tuple(view.name for view in views),
        folder=str(folder),
    )
    try:
        # A session of its own: Ctrl-C at the terminal is for the parent, whose end ends it.
        process = subprocess.Popen(
            [sys.executable, "-m", "projections.beside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        with process:
            try:
                with suppress(BrokenPipeError):  # it ended already, which is told when it is waited for
                    process.stdin.write(msgspec.json.encode(order) + b"\n")  # type: ignore[union-attr]
                yield _Process(process, folder / PART)
            finally:
                process.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_over(
    process: _Process, engine: sa.Engine, tenant: TenantId, views: Sequence[Partitioned[Any]]
) -> None:
    """Move the other process's rows in, unless somebody else has begun these views by now."""
    if not process.done():
        return
    with engine.connect() as connection:
        connection.exec_driver_sql("ATTACH DATABASE ? AS part", (str(process.part),))
        connection.commit()
        try:
            _copy(connection, tenant, views)
        finally:
            connection.rollback()
            connection.exec_driver_sql("DETACH DATABASE part")


def _copy(connection: sa.Connection, tenant: TenantId, views: Sequence[Partitioned[Any]]) -> None:
    for view in views:
        place = {"view": view.name, "version": view.version, "tenant": tenant}
        began = connection.execute(sa.text(_BEGUN), place).rowcount
        if began == 1:
            connection.execute(sa.text(_MOVED), place)
    connection.commit()


_MINE = "view = :view AND version = :version AND tenant = :tenant"
_BEGUN = (
    f"INSERT INTO main.{POSITIONS.name} SELECT * FROM part.{POSITIONS.name} WHERE {_MINE}"  # noqa: S608 - constants
    " ON CONFLICT (view, version, tenant) DO UPDATE SET position = excluded.position WHERE position = 0"
)
"""Position first, so that the database decides who goes on: changes nothing where the view is further already."""
_MOVED = f"INSERT INTO main.{ROWS.name} SELECT * FROM part.{ROWS.name} WHERE {_MINE}"  # noqa: S608 - constants


def build(order: Order) -> None:
    """The other process's work: the views from the first event on, in a file of their own."""
    by_name = {view.name: view for view in ALL}
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(Path(order.folder, PART))))
    sa.event.listen(engine, "connect", _careless)
    METADATA.create_all(engine)
    with engine.begin() as connection:
        for index in ROWS.indexes:  # rows are only copied from here
            index.drop(connection)
    with open_reader(order.url, as_stored=order.as_stored) as reader:
        views = [by_name[name] for name in order.views]
        materialize.catch_up(reader, engine, TenantId(order.tenant), views)
    engine.dispose()


def _careless(connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's own
    """A file that is thrown away after any failure needs no journal and no sync."""
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")


def _end_with_parent(folder: str) -> None:
    """Wait until nobody holds the other end of the standard input; then nobody waits for the work either."""
    sys.stdin.read()
    while Path(folder).exists():  # the work goes on meanwhile and may make its file again
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def main() -> None:
    """Do what the line on the standard input says, and say ``done``."""
    order = msgspec.json.decode(sys.stdin.readline(), type=Order)
    threading.Thread(target=_end_with_parent, args=(order.folder,), daemon=True).start()
    build(order)
    print("done", flush=True)  # noqa: T201 - what the parent waits for
    os._exit(0)  # the thread that watches the input can't be ended


if __name__ == "__main__":
    main()
