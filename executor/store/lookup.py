"""Finding stored events by position, by stream and by id, in each layout of the tables.

``Indexed`` is PostgreSQL's and SQLite's first layout: unique indexes. ``Filed`` is SQLite's second (``schema``): an
event's key holds its position, filed events are found through tables of places, the last ones by looking at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Integer,
    Select,
    false,
    func,
    literal,
    literal_column,
    select,
)

from executor.store import schema
from executor.store.schema import LAST_POSITION, POSITION_BITS

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

Fetch = Callable[[Select[Any] | CompoundSelect[Any]], Sequence[Any]]
_PAGE: Final = 500
_ID: Final[ColumnElement[int]] = literal_column("event.id", Integer)
"""By its name, so that statements over the columns of both databases may use it."""


class Lookup(Protocol):
    """Where events stand."""

    order: ColumnElement[Any]
    """What positions within a tenant are sorted by."""

    def span(self, tenant: str, after: int = 0, until: int = LAST_POSITION) -> ColumnElement[bool]:
        """Condition for a tenant's events at positions after ``after`` up to ``until``."""
        ...

    def stream(
        self, tenant: str, stream: str, *, after: int = -1, until: int = LAST_POSITION
    ) -> Iterator[Any]:
        """Rows of one stream in order of version, those after ``after`` up to ``until``."""
        ...

    def by_ids(self, tenant: str, event_ids: Sequence[str]) -> list[Any]:
        """Rows with these event ids, in no order."""
        ...


def lookup(engine: Engine, fetch: Fetch) -> Lookup:
    """The way that fits the database; a record of an earlier layout is read as that one."""
    if engine.dialect.name != "sqlite":
        return Indexed(fetch)
    with engine.connect() as connection:
        found = connection.execute(select(func.max(schema.record_format.c.format))).scalar() or 0
    return Indexed(fetch) if found == 1 else Filed(fetch)


class Indexed:
    """By the indexes of the event table."""

    order: ColumnElement[Any] = schema.event.c.position

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def span(self, tenant: str, after: int = 0, until: int = LAST_POSITION) -> ColumnElement[bool]:
        """See ``Lookup``."""
        columns = schema.event.c
        return (columns.tenant == tenant) & (columns.position > after) & (columns.position <= until)

    def stream(
        self, tenant: str, stream: str, *, after: int = -1, until: int = LAST_POSITION
    ) -> Iterator[Any]:
        """See ``Lookup``."""
        columns = schema.event.c
        while True:
            rows = self._fetch(
                select(schema.event)
                .where(columns.tenant == tenant, columns.stream == stream)
                .where(columns.version > after, columns.version <= until)
                .order_by(columns.version)
                .limit(_PAGE)
            )
            yield from rows
            if len(rows) < _PAGE:
                return
            after = rows[-1].version

    def by_ids(self, tenant: str, event_ids: Sequence[str]) -> list[Any]:
        """See ``Lookup``."""
        columns = schema.event.c
        found: list[Any] = []
        for start in range(0, len(event_ids), _PAGE):
            wanted = event_ids[start : start + _PAGE]
            found += self._fetch(
                select(schema.event).where(columns.tenant == tenant, columns.event_id.in_(wanted))
            )
        return found


class Filed:
    """By the key, the tables of places, and the end of the log."""

    order: ColumnElement[Any] = _ID

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._numbers: dict[str, int] = {}

    def span(self, tenant: str, after: int = 0, until: int = LAST_POSITION) -> ColumnElement[bool]:
        """See ``Lookup``."""
        number = self._number(tenant)
        if number is None:
            return false()
        base = number << POSITION_BITS
        return (base + after < _ID) & (base + min(until, LAST_POSITION) >= _ID)

    def stream(
        self, tenant: str, stream: str, *, after: int = -1, until: int = LAST_POSITION
    ) -> Iterator[Any]:
        """See ``Lookup``."""
        number = self._number(tenant)
        if number is None:
            return
        columns = schema.event.c
        filed, ids = self._places(number, tenant, stream, after, until)
        here = select(schema.event).where(columns.stream == stream, columns.version > after)
        for start in range(0, len(ids), _PAGE):
            yield from self._fetch(here.where(_ID.in_(ids[start : start + _PAGE])).order_by(_ID))
        yield from self._fetch(here.where(self.span(tenant, filed), columns.version <= until).order_by(_ID))

    def _places(self, number: int, tenant: str, stream: str, after: int, until: int) -> tuple[int, list[int]]:
        """Up to which position events are filed, and the keys of those of one stream that are, at one moment."""
        head, place = schema.sqlite_head.c, schema.stream_place.c
        filed = 0
        ids: list[int] = []
        for version, key, count in self._fetch(
            select(head.filed, literal(0), literal(0))
            .where(head.tenant == tenant)
            .union_all(
                select(place.version, place.id, place.count)
                .where(place.tenant == number, place.stream == stream)
                .where(place.version + place.count > after + 1, place.version <= until)
            )
        ):
            if not count:
                filed = version
                continue
            first, last = max(version, after + 1), min(version + count - 1, until)
            ids += range(key + first - version, key + last - version + 1)
        return filed, sorted(ids)

    def by_ids(self, tenant: str, event_ids: Sequence[str]) -> list[Any]:
        """See ``Lookup``."""
        number = self._number(tenant)
        if number is None:
            return []
        columns, head, place = schema.event.c, schema.sqlite_head.c, schema.event_place.c
        base = number << POSITION_BITS
        filed = select(base + head.filed).where(head.tenant == tenant).scalar_subquery()
        found: list[Any] = []
        for start in range(0, len(event_ids), _PAGE):
            wanted = event_ids[start : start + _PAGE]
            places = select(place.id).where(place.tenant == number, place.event_id.in_(wanted))
            here = select(schema.event).where(columns.event_id.in_(wanted))
            found += self._fetch(
                here.where(_ID.in_(places)).union_all(here.where(filed < _ID, base + LAST_POSITION >= _ID))
            )
        return found

    def _number(self, tenant: str) -> int | None:
        """The tenant's number; it never changes."""
        number = self._numbers.get(tenant)
        if number is None:
            table = schema.sqlite_tenant.c
            rows = self._fetch(select(table.no).where(table.name == tenant))
            if not rows:
                return None
            number = self._numbers[tenant] = rows[0][0]
        return number
