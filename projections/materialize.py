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

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from domain.envelope import Recorded
from domain.errors import IntegrityError
from domain.ids import TenantId
from projections.fold import Partitioned, run
from projections.ports import EventSource
from projections.tables import METADATA, POSITIONS, ROWS

V = TypeVar("V")

BATCH = 4000
"""Events of one transaction: a row that many of them touch is loaded and written once."""
_KEYS = 400
"""Keys of one statement; SQLite's oldest limit is 999 parameters."""

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
    METADATA.create_all(engine)
    while True:
        works = [_begin(engine, projection, tenant) for projection in projections]
        try:
            end = _follow(reader, engine, tenant, works, progress, batch)
        except _Overtaken:
            continue
        for projection in projections:
            _drop(engine, projection, tenant, older_only=True)
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
    METADATA.create_all(engine)
    for projection in projections:
        _drop(engine, projection, tenant, older_only=False)
    return catch_up(reader, engine, tenant, projections, progress, batch=batch)


def position(engine: sa.Engine, projection: Partitioned[Any], tenant: TenantId) -> int:
    """Event up to which the stored view is true; 0 when it was never built."""
    METADATA.create_all(engine)
    with engine.connect() as connection:
        found = connection.execute(
            sa.select(POSITIONS.c.position).where(*_at(POSITIONS, projection, tenant))
        ).scalar()
    return 0 if found is None else int(found)


def row(engine: sa.Engine, projection: Partitioned[V], tenant: TenantId, key: str) -> V | None:
    """Stored row of one key, or None."""
    METADATA.create_all(engine)
    with engine.connect() as connection:
        return _load(connection, projection, tenant, [key]).get(key)


def rows(
    engine: sa.Engine, projection: Partitioned[V], tenant: TenantId, group: str | None = None
) -> Iterator[V]:
    """Stored rows, in order of key; ``group`` narrows to one run, bill or whatever the view groups by."""
    METADATA.create_all(engine)
    chosen = _at(ROWS, projection, tenant)
    if group is not None:
        chosen = (*chosen, ROWS.c.grouped == group)
    with engine.connect() as connection:
        for (body,) in connection.execute(sa.select(ROWS.c.body).where(*chosen).order_by(ROWS.c.key)):
            yield msgspec.json.decode(body, type=projection.row_type)


def _place(projection: Partitioned[Any], tenant: TenantId) -> dict[str, object]:
    return {"view": projection.name, "version": projection.version, "tenant": tenant}


def _at(
    table: sa.Table, projection: Partitioned[Any], tenant: TenantId
) -> tuple[sa.ColumnElement[bool], ...]:
    return tuple(table.c[name] == value for name, value in _place(projection, tenant).items())


def _begin(engine: sa.Engine, projection: Partitioned[Any], tenant: TenantId) -> _Work:
    """View with its position; a view that was never built starts at 0."""
    chosen = sa.select(POSITIONS.c.position).where(*_at(POSITIONS, projection, tenant))
    try:
        with engine.begin() as connection:
            found = connection.execute(chosen).scalar()
            if found is None:
                connection.execute(sa.insert(POSITIONS).values(**_place(projection, tenant), position=0))
                found = 0
    except sa.exc.IntegrityError:  # another catch-up began the same view at the same moment
        with engine.connect() as connection:
            found = connection.execute(chosen).scalar_one()
    return _Work(projection, tenant, int(found))


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
    while batch := list(islice(events, size)):
        for recorded in batch:
            if recorded.row.position != reached + 1:
                raise IntegrityError(
                    f"event {reached + 1} is missing, the next one is {recorded.row.position}",
                    where=f"log of {tenant}",
                )
            reached = recorded.row.position
        sorted_ = _Sorted(batch)
        with engine.begin() as connection:
            works = [_advance(connection, work, sorted_, reached) for work in works]
        if progress is not None:
            progress(len(batch))
    return reached


class _Sorted:
    """Events of a batch by key; views that share a way of telling the key share the sorting."""

    def __init__(self, batch: list[Recorded]) -> None:
        self._batch = batch
        self._made: dict[tuple[Callable[[Recorded], str | None], int], dict[str, list[Recorded]]] = {}

    def after(self, work: _Work) -> dict[str, list[Recorded]]:
        """What the view hasn't seen."""
        place = (work.projection.key, work.position)
        own = self._made.get(place)
        if own is None:
            own = self._made[place] = {}
            key_of = work.projection.key
            for recorded in self._batch:
                if recorded.row.position > work.position and (key := key_of(recorded)) is not None:
                    if key in own:
                        own[key].append(recorded)
                    else:
                        own[key] = [recorded]
        return own


def _advance(connection: sa.Connection, work: _Work, batch: _Sorted, reached: int) -> _Work:
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
    changed = {key: run(work.projection, events, before.get(key)) for key, events in own.items()}
    _save(connection, work, changed, before)
    return _Work(work.projection, work.tenant, reached)


def _load(
    connection: sa.Connection, projection: Partitioned[V], tenant: TenantId, keys: list[str]
) -> dict[str, V]:
    found: dict[str, V] = {}
    decoder = msgspec.json.Decoder(projection.row_type)
    for start in range(0, len(keys), _KEYS):
        chosen = sa.select(ROWS.c.key, ROWS.c.body).where(
            *_at(ROWS, projection, tenant), ROWS.c.key.in_(keys[start : start + _KEYS])
        )
        for key, body in connection.execute(chosen):
            found[key] = decoder.decode(body)
    return found


def _save(connection: sa.Connection, work: _Work, changed: dict[str, Any], before: Collection[str]) -> None:
    """Replace rows, of which ``before`` are stored already; deleting and inserting is the same on every database."""
    old = list(before)
    for start in range(0, len(old), _KEYS):
        chunk = old[start : start + _KEYS]
        connection.execute(
            sa.delete(ROWS).where(*_at(ROWS, work.projection, work.tenant), ROWS.c.key.in_(chunk))
        )
    if not changed:
        return
    projection, encode = work.projection, msgspec.json.Encoder().encode
    place = (projection.name, projection.version, work.tenant)
    rows = [(*place, key, projection.group(view), encode(view)) for key, view in changed.items()]
    insert = sa.insert(ROWS).compile(dialect=connection.dialect)
    named = [] if insert.positional else [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    # Straight to the driver: these values need no processing, and there are many.
    connection.exec_driver_sql(str(insert), rows if insert.positional else named)


def _drop(engine: sa.Engine, projection: Partitioned[Any], tenant: TenantId, *, older_only: bool) -> None:
    """Forget a view: versions before this one, or this one and those before it."""
    limit = projection.version if older_only else projection.version + 1
    with engine.begin() as connection:
        for table in (POSITIONS, ROWS):
            connection.execute(
                sa.delete(table).where(
                    table.c.view == projection.name, table.c.tenant == tenant, table.c.version < limit
                )
            )
