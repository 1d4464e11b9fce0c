"""Stored views: catch up with the record, build again, read rows.

Rules enforced here:

* Rows and position of a view are committed together. A catch-up that dies leaves the view at an earlier position,
  never between two.
* The position moves by compare-and-set before any row is touched, so of two catch-ups at the same time one goes
  first and the other starts again from what it finds.
* Positions of a tenant's log have no gaps; a reader that skips one is refused, because a view would be wrong for ever.
* A view of another version is built beside the old one, which is dropped once the new one has caught up; a release
  that still reads the old one builds it again.
* Only rows that a batch touches are loaded, so memory doesn't grow with the log.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakSet

import msgspec
import sqlalchemy as sa

from domain.envelope import Recorded
from domain.errors import IntegrityError
from domain.ids import TenantId
from projections.fold import BATCH, ByKey, Partitioned, batches
from projections.ports import EventSource
from projections.tables import METADATA, POSITIONS, ROWS

V = TypeVar("V")
X = TypeVar("X", bound=sa.Executable)

_COLUMNS = ("view", "version", "tenant", "key", "grouped", "body")
"""In the order of the table."""

Progress = Callable[[int], None]
"""Told the number of events that a batch has added."""


class _Overtaken(Exception):
    """Another catch-up moved a position in between."""


@dataclass(frozen=True, slots=True)
class _Work:
    """One view on its way from a position."""

    projection: Partitioned[Any]
    tenant: TenantId
    position: int

    @property
    def place(self) -> dict[str, object]:
        """Columns that name the view."""
        return _place(self.projection, self.tenant)


def catch_up(
    reader: EventSource,
    engine: sa.Engine,
    tenant: TenantId,
    projections: Sequence[Partitioned[Any]],
    progress: Progress | None = None,
    *,
    batch: int = BATCH,
) -> int:
    """Bring stored views up to the end of the tenant's log; returns that position.

    Args:
        reader: the record.
        engine: database of the views; tables are made when they are missing. It may be the record's own or another.
        tenant: whose log.
        projections: views to bring along, in one pass over the events.
        progress: told how many events each batch added.
        batch: events of one transaction.

    Raises:
        IntegrityError: the record has a gap or can't be decoded.
    """
    _prepare(engine)
    while True:
        works = _begin(engine, projections, tenant)
        try:
            with _RARELY:
                end = _follow(reader, engine, tenant, works, progress, batch)
        except _Overtaken:
            continue
        _drop_older(engine, projections, tenant)
        return end


def rebuild(
    reader: EventSource,
    engine: sa.Engine,
    tenant: TenantId,
    projections: Sequence[Partitioned[Any]],
    progress: Progress | None = None,
    *,
    batch: int = BATCH,
) -> int:
    """Throw the stored views away and build them from the first event; returns the position reached."""
    forget(engine, tenant, projections)
    return catch_up(reader, engine, tenant, projections, progress, batch=batch)


def forget(engine: sa.Engine, tenant: TenantId, projections: Sequence[Partitioned[Any]]) -> None:
    """Throw the stored views of a tenant away."""
    _prepare(engine)
    with engine.begin() as connection:
        for projection in projections:
            _drop(connection, POSITIONS, projection, tenant, below=projection.version + 1)
        nothing_left = connection.execute(sa.select(POSITIONS.c.position).limit(1)).first() is None
        if nothing_left and connection.dialect.name == "sqlite":
            # Nobody else writes meanwhile, and SQLite empties a whole table without a look at its rows.
            connection.execute(sa.delete(ROWS))
        else:
            for projection in projections:
                _drop(connection, ROWS, projection, tenant, below=projection.version + 1)


def position(engine: sa.Engine, projection: Partitioned[Any], tenant: TenantId) -> int:
    """Event up to which the stored view is true; 0 when it was never built."""
    _prepare(engine)
    with engine.connect() as connection:
        found = connection.execute(
            sa.select(POSITIONS.c.position).where(*_at(POSITIONS, projection, tenant))
        ).scalar()
    return 0 if found is None else int(found)


def row(engine: sa.Engine, projection: Partitioned[V], tenant: TenantId, key: str) -> V | None:
    """Stored row of one key, or None."""
    _prepare(engine)
    with engine.connect() as connection:
        return _load(connection, projection, tenant, [key]).get(key)


def rows(
    engine: sa.Engine, projection: Partitioned[V], tenant: TenantId, group: str | None = None
) -> Iterator[V]:
    """Stored rows, in order of key; ``group`` narrows to one run, bill or whatever the view groups by."""
    _prepare(engine)
    chosen = _at(ROWS, projection, tenant)
    with engine.connect() as connection:
        if group is None:
            found = (
                body
                for (body,) in connection.execute(sa.select(ROWS.c.body).where(*chosen).order_by(ROWS.c.key))
            )
        else:
            # Sorted here: asked for an order, SQLite walks all rows of the view by their key instead of the group's.
            grouped = sa.select(ROWS.c.key, ROWS.c.body).where(*chosen, ROWS.c.grouped == group)
            found = (body for _, body in sorted(map(tuple, connection.execute(grouped))))
        for body in found:
            yield msgspec.json.decode(body, type=projection.row_type)


_PAGE_BYTES = 16_384
_PREPARED: WeakSet[sa.Engine] = WeakSet()
"""Engines whose database has the tables; asking it takes longer than a look at a view."""


def _prepare(engine: sa.Engine) -> None:
    if engine in _PREPARED:
        return
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            # Takes effect in an empty file only. Rows of some kilobytes then fit in a page, where they are quicker.
            connection.exec_driver_sql(f"PRAGMA page_size = {_PAGE_BYTES}")
        METADATA.create_all(connection)
    _PREPARED.add(engine)


def _place(projection: Partitioned[Any], tenant: TenantId) -> dict[str, object]:
    return {"view": projection.name, "version": projection.version, "tenant": tenant}


def _at(
    table: sa.Table, projection: Partitioned[Any], tenant: TenantId
) -> tuple[sa.ColumnElement[bool], ...]:
    return tuple(table.c[name] == value for name, value in _place(projection, tenant).items())


def _begin(engine: sa.Engine, projections: Sequence[Partitioned[Any]], tenant: TenantId) -> list[_Work]:
    """Views with their positions; those that were never built start at 0."""
    known = _positions(engine, tenant)
    new = [view for view in projections if (view.name, view.version) not in known]
    if new:
        try:
            with engine.begin() as connection:
                connection.execute(
                    sa.insert(POSITIONS), [{**_place(view, tenant), "position": 0} for view in new]
                )
        except sa.exc.IntegrityError:  # another catch-up began the same views at the same moment
            known = _positions(engine, tenant)
    return [_Work(view, tenant, known.get((view.name, view.version), 0)) for view in projections]


def _positions(engine: sa.Engine, tenant: TenantId) -> dict[tuple[str, int], int]:
    """Positions of all the tenant's views, by name and version."""
    chosen = sa.select(POSITIONS.c.view, POSITIONS.c.version, POSITIONS.c.position)
    with engine.connect() as connection:
        found = connection.execute(chosen.where(POSITIONS.c.tenant == tenant)).all()
    return {(view, version): position for view, version, position in found}


def _follow(
    reader: EventSource,
    engine: sa.Engine,
    tenant: TenantId,
    works: list[_Work],
    progress: Progress | None,
    size: int,
) -> int:
    reached = min((work.position for work in works), default=0)
    events = reader.events(tenant, after=reached)
    for batch in batches(events, size):
        for recorded in batch:
            if recorded.row.position != reached + 1:
                raise IntegrityError(
                    f"event {reached + 1} is missing, the next one is {recorded.row.position}",
                    where=f"log of {tenant}",
                )
            reached = recorded.row.position
        mine = _Batch(batch)
        with engine.begin() as connection:
            works = [_advance(connection, work, mine, reached) for work in works]
        if progress is not None:
            progress(len(batch))
    return reached


class _Rarely:
    """Garbage is looked for less often while events are folded, which leave none.

    A batch is some hundred thousand objects, all of them gone with the next one; looking at them again and again takes
    a tenth of the time. Several threads may be inside at once.
    """

    _OBJECTS = 500_000
    """Made and not yet gone before garbage is looked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < self._OBJECTS:  # 0 is off
                    gc.set_threshold(self._OBJECTS, *self._before[1:])

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                gc.set_threshold(*self._before)


_RARELY = _Rarely()


class _Batch:
    """Events of a batch, sorted by key for views that need not all have seen the same of it."""

    def __init__(self, events: list[Recorded]) -> None:
        self._events = events
        self._after: dict[int, ByKey] = {}

    def after(self, work: _Work) -> dict[str, list[Recorded]]:
        """What the view hasn't seen, by key."""
        start = max(0, work.position - self._events[0].row.position + 1)
        by_key = self._after.get(start)
        if by_key is None:
            by_key = self._after[start] = ByKey(self._events[start:])
        return by_key.of(work.projection)


def _advance(connection: sa.Connection, work: _Work, batch: _Batch, reached: int) -> _Work:
    """Apply what the view hasn't seen; position first, so that the database decides who goes on."""
    if reached <= work.position:
        return work
    moved = connection.execute(
        sa.update(POSITIONS)
        .where(*_at(POSITIONS, work.projection, work.tenant), POSITIONS.c.position == work.position)
        .values(position=reached)
    )
    if moved.rowcount != 1:
        raise _Overtaken
    own = batch.after(work)
    before = _load(connection, work.projection, work.tenant, list(own)) if work.position else {}
    extend, initial = work.projection.extend, work.projection.initial()
    changed = {key: extend(before.get(key, initial), events) for key, events in own.items()}
    _save(connection, work, changed, before)
    return _Work(work.projection, work.tenant, reached)


def _load(
    connection: sa.Connection, projection: Partitioned[V], tenant: TenantId, keys: Sequence[str]
) -> dict[str, V]:
    if not keys:
        return {}
    decoder = msgspec.json.Decoder(projection.row_type)
    found = connection.execute(*_of_keys(_LOAD, connection, projection, tenant, keys))
    return {key: decoder.decode(body) for key, body in found}


def _of_keys(
    statements: dict[str, X],
    connection: sa.Connection,
    projection: Partitioned[Any],
    tenant: TenantId,
    keys: Sequence[str],
) -> tuple[X, dict[str, object]]:
    """A statement about rows by their keys, and its parameters."""
    sqlite = connection.dialect.name == "sqlite"
    listed = msgspec.json.encode(keys).decode() if sqlite else list(keys)
    place = {"of_view": projection.name, "of_version": projection.version, "of_tenant": tenant}
    return statements["sqlite" if sqlite else "postgresql"], {**place, "keys": listed}


_HERE = (
    ROWS.c.view == sa.bindparam("of_view"),
    ROWS.c.version == sa.bindparam("of_version"),
    ROWS.c.tenant == sa.bindparam("of_tenant"),
)
_KEYS: sa.BindParameter[Any] = sa.bindparam("keys")
_AMONG = {
    "sqlite": ROWS.c.key.in_(sa.select(sa.func.json_each(_KEYS).table_valued("value").c.value)),
    "postgresql": ROWS.c.key == sa.func.any(_KEYS),
}
"""Any number of keys in one parameter, so that a statement is compiled once."""
_LOAD = {name: sa.select(ROWS.c.key, ROWS.c.body).where(*_HERE, among) for name, among in _AMONG.items()}
_DELETE = {name: sa.delete(ROWS).where(*_HERE, among) for name, among in _AMONG.items()}


def _save(connection: sa.Connection, work: _Work, changed: dict[str, Any], before: Collection[str]) -> None:
    """Replace rows, of which ``before`` are stored already; deleting and inserting is the same on every database."""
    if before:
        connection.execute(*_of_keys(_DELETE, connection, work.projection, work.tenant, list(before)))
    if not changed:
        return
    projection, encode = work.projection, msgspec.json.Encoder().encode
    place = (projection.name, projection.version, work.tenant)
    rows = [(*place, key, projection.group(view), encode(view)) for key, view in changed.items()]
    insert = sa.insert(ROWS).compile(dialect=connection.dialect)
    named = [] if insert.positional else [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    # Straight to the driver: these values need no processing, and there are many.
    connection.exec_driver_sql(str(insert), rows if insert.positional else named)


def _drop_older(engine: sa.Engine, projections: Sequence[Partitioned[Any]], tenant: TenantId) -> None:
    """Forget versions of views before these."""
    known = _positions(engine, tenant)
    for view in projections:
        if any(name == view.name and version < view.version for name, version in known):
            with engine.begin() as connection:
                for table in (POSITIONS, ROWS):
                    _drop(connection, table, view, tenant, below=view.version)


def _drop(
    connection: sa.Connection, table: sa.Table, projection: Partitioned[Any], tenant: TenantId, *, below: int
) -> None:
    """Forget a view's part of a table in versions below one."""
    named = (table.c.view == projection.name, table.c.tenant == tenant, table.c.version < below)
    connection.execute(sa.delete(table).where(*named))
