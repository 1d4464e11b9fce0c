"""Where events stand in each layout of the tables, as parts of the reader's statements.

``Indexed`` is PostgreSQL's, and SQLite's first layout: unique indexes over the tenant's name. ``Filed`` is SQLite's
second: an event's key is its tenant's number, shifted by 40 bits, plus its position; ``event_place`` finds events by
id and ``stream_place`` runs of a stream's events, both up to the position ``tenant_head.filed``; the events behind it
are looked at themselves. None of these tables is believed by ``projections.fsck``, which compares them with the rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from domain.ids import EventId, StreamId, TenantId

Fetch = Callable[..., Sequence[Sequence[Any]]]
PAGE: Final = 1000
"""Rows that are read at once."""
COLUMNS: Final = "tenant, position, stream, version, recorded_at_us, body, entry_hash"
LAST: Final = (1 << 40) - 1
"""Highest position."""


_OF_KIND: Final = "stream >= :low AND stream < :high AND stream LIKE :start"
"""Streams of one kind: bounds for the index, which hold in every collation of a database, and the name's own start."""


def _named(kind: str) -> dict[str, str]:
    """Bounds that differ in a letter, because collations order punctuation as they like."""
    return {"low": kind, "high": f"{kind[:-1]}{chr(ord(kind[-1]) + 1)}", "start": f"{kind}:%"}


class Places(Protocol):
    """Finding stored events; rows have the columns ``COLUMNS``."""

    def tenants(self) -> list[str]:
        """Every tenant with events or a head, sorted."""
        ...

    def last(self, tenant: TenantId) -> int:
        """Highest position; 0 when there is none."""
        ...

    def page(
        self, columns: str, tenant: TenantId, after: int, limit: int, until: int = LAST
    ) -> Sequence[Sequence[Any]]:
        """So many columns of the first ``limit`` rows at positions after ``after`` up to ``until``."""
        ...

    def stream(self, tenant: TenantId, stream: StreamId, after: int) -> Iterator[Sequence[Any]]:
        """Rows of one stream in order of version."""
        ...

    def streams(self, tenant: TenantId, kind: str) -> list[str]:
        """Streams of one kind, in order of their first event."""
        ...

    def count(self, tenant: TenantId, kind: str) -> int:
        """Number of events in streams of one kind."""
        ...

    def event(self, tenant: TenantId, event_id: EventId) -> Sequence[Any] | None:
        """The row with this id."""
        ...

    def version(self, tenant: TenantId, stream: StreamId, version: int) -> tuple[int, bytes] | None:
        """Position and entry hash of one version of a stream."""
        ...

    def known(self, tenant: TenantId, event_ids: Sequence[str]) -> set[str]:
        """Those of the ids that are there."""
        ...

    def problems(self, tenant: TenantId) -> Iterator[tuple[str, int]]:
        """What the places say otherwise than the rows, and the position that it is about."""
        ...


class Indexed:
    """By unique indexes of the event table."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def tenants(self) -> list[str]:
        """See ``Places``."""
        # From one tenant to the next through the index: DISTINCT would walk every event.
        statement = (
            "WITH RECURSIVE known(tenant) AS (SELECT min(tenant) FROM event"
            " UNION ALL SELECT (SELECT min(tenant) FROM event WHERE tenant > known.tenant) FROM known"
            " WHERE known.tenant IS NOT NULL)"
            " SELECT tenant FROM known WHERE tenant IS NOT NULL UNION SELECT tenant FROM tenant_head ORDER BY 1"
        )
        return [row[0] for row in self._fetch(statement)]

    def last(self, tenant: TenantId) -> int:
        """See ``Places``."""
        rows = self._fetch("SELECT max(position) FROM event WHERE tenant = :tenant", tenant=tenant)
        return rows[0][0] or 0

    def page(
        self, columns: str, tenant: TenantId, after: int, limit: int, until: int = LAST
    ) -> Sequence[Sequence[Any]]:
        """See ``Places``."""
        statement = (
            f"SELECT {columns} FROM event WHERE tenant = :tenant AND position > :after"  # noqa: S608 - constants
            " AND position <= :until ORDER BY position LIMIT :page"
        )
        return self._fetch(statement, tenant=tenant, after=after, until=until, page=limit)

    def stream(self, tenant: TenantId, stream: StreamId, after: int) -> Iterator[Sequence[Any]]:
        """See ``Places``."""
        statement = (
            f"SELECT {COLUMNS} FROM event WHERE tenant = :tenant"  # noqa: S608 - constants
            " AND stream = :stream AND version > :after ORDER BY version LIMIT :page"
        )
        while True:
            found = self._fetch(statement, tenant=tenant, stream=stream, after=after, page=PAGE)
            yield from found
            if len(found) < PAGE:
                return
            after = found[-1][3]

    def streams(self, tenant: TenantId, kind: str) -> list[str]:
        """See ``Places``."""
        statement = (
            f"SELECT stream FROM event WHERE tenant = :tenant AND {_OF_KIND}"  # noqa: S608 - constants
            " GROUP BY stream ORDER BY min(position)"
        )
        return [row[0] for row in self._fetch(statement, tenant=tenant, **_named(kind))]

    def count(self, tenant: TenantId, kind: str) -> int:
        """See ``Places``."""
        statement = f"SELECT count(*) FROM event WHERE tenant = :tenant AND {_OF_KIND}"  # noqa: S608
        return int(self._fetch(statement, tenant=tenant, **_named(kind))[0][0])

    def event(self, tenant: TenantId, event_id: EventId) -> Sequence[Any] | None:
        """See ``Places``."""
        statement = f"SELECT {COLUMNS} FROM event WHERE tenant = :tenant AND event_id = :event_id"  # noqa: S608
        rows = self._fetch(statement, tenant=tenant, event_id=event_id)
        return rows[0] if rows else None

    def version(self, tenant: TenantId, stream: StreamId, version: int) -> tuple[int, bytes] | None:
        """See ``Places``."""
        statement = (
            "SELECT position, entry_hash FROM event"
            " WHERE tenant = :tenant AND stream = :stream AND version = :version"
        )
        rows = self._fetch(statement, tenant=tenant, stream=stream, version=version)
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def known(self, tenant: TenantId, event_ids: Sequence[str]) -> set[str]:
        """See ``Places``."""
        found: set[str] = set()
        for start in range(0, len(event_ids), PAGE):
            page = event_ids[start : start + PAGE]
            names = {f"id{number}": value for number, value in enumerate(page)}
            marks = ", ".join(f":{name}" for name in names)
            statement = f"SELECT event_id FROM event WHERE tenant = :tenant AND event_id IN ({marks})"  # noqa: S608
            found.update(row[0] for row in self._fetch(statement, tenant=tenant, **names))
        return found

    def problems(self, tenant: TenantId) -> Iterator[tuple[str, int]]:
        """Indexes are the database's own business: ``PRAGMA integrity_check`` compares them."""
        del tenant
        return iter(())


_FILED: Final = "coalesce((SELECT filed FROM tenant_head WHERE tenant = :tenant), 0)"
_END: Final = f"id > :base + {_FILED} AND id <= :base + {LAST}"
"""The events that aren't filed yet."""


class Filed:
    """By the key, the tables of places, and the end of the log."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._bases: dict[str, int] = {}

    def tenants(self) -> list[str]:
        """See ``Places``; a tenant whose number is unknown is called as its first event says."""
        named = {row[0]: row[1] for row in self._fetch("SELECT no, name FROM tenant")}
        statement = (
            "WITH RECURSIVE known(no) AS (SELECT min(id) >> 40 FROM event"
            " UNION ALL SELECT (SELECT min(id) >> 40 FROM event WHERE id >= (known.no + 1) << 40) FROM known"
            " WHERE known.no IS NOT NULL)"
            " SELECT no, (SELECT tenant FROM event WHERE id >= no << 40 ORDER BY id LIMIT 1) FROM known"
            " WHERE no IS NOT NULL"
        )
        heads = (row[0] for row in self._fetch("SELECT tenant FROM tenant_head"))
        return sorted({*(named.get(no, first) for no, first in self._fetch(statement)), *heads})

    def _base(self, tenant: TenantId) -> int:
        """The key before the tenant's first event; of an unknown tenant that of nobody."""
        base = self._bases.get(tenant)
        if base is None:
            rows = self._fetch(
                "SELECT no FROM tenant WHERE name = :tenant UNION ALL"
                " SELECT id >> 40 FROM event WHERE tenant = :tenant"
                " AND NOT EXISTS (SELECT 1 FROM tenant WHERE name = :tenant) LIMIT 1",
                tenant=tenant,
            )
            if not rows:
                return -(1 << 40)
            base = self._bases[tenant] = rows[0][0] << 40
        return base

    def last(self, tenant: TenantId) -> int:
        """See ``Places``."""
        base = self._base(tenant)
        rows = self._fetch(
            "SELECT max(id) FROM event WHERE id > :base AND id <= :top", base=base, top=base + LAST
        )
        return 0 if rows[0][0] is None else rows[0][0] - base

    def page(
        self, columns: str, tenant: TenantId, after: int, limit: int, until: int = LAST
    ) -> Sequence[Sequence[Any]]:
        """See ``Places``."""
        base = self._base(tenant)
        statement = f"SELECT {columns} FROM event WHERE id > :after AND id <= :until ORDER BY id LIMIT :page"  # noqa: S608
        return self._fetch(statement, after=base + after, until=base + min(until, LAST), page=limit)

    def stream(self, tenant: TenantId, stream: StreamId, after: int) -> Iterator[Sequence[Any]]:
        """See ``Places``."""
        filed, keys = self._keys(tenant, stream, after)
        statement = (
            f"SELECT {COLUMNS} FROM event WHERE id IN (SELECT value FROM json_each(:keys))"  # noqa: S608 - constants
            " AND stream = :stream ORDER BY id"
        )
        for start in range(0, len(keys), PAGE):
            yield from self._fetch(statement, keys=json.dumps(keys[start : start + PAGE]), stream=stream)
        base = self._base(tenant)
        yield from self._fetch(
            f"SELECT {COLUMNS} FROM event WHERE id > :filed AND id <= :top"  # noqa: S608 - constants
            " AND stream = :stream AND version > :after ORDER BY id",
            filed=base + filed,
            top=base + LAST,
            stream=stream,
            after=after,
        )

    def _keys(self, tenant: TenantId, stream: StreamId, after: int) -> tuple[int, list[int]]:
        """Up to which position events are filed, and the keys of the stream's that are, at one moment."""
        filed = 0
        keys: list[int] = []
        for version, key, count in self._fetch(
            f"SELECT {_FILED}, 0, 0 UNION ALL SELECT version, id, count FROM stream_place"  # noqa: S608 - constants
            " WHERE tenant = :no AND stream = :stream AND version + count > :after + 1",
            tenant=tenant,
            no=self._base(tenant) >> 40,
            stream=stream,
            after=after,
        ):
            if count:
                skipped = max(0, after + 1 - version)
                keys += range(key + skipped, key + count)
            else:
                filed = version
        return filed, sorted(keys)

    def streams(self, tenant: TenantId, kind: str) -> list[str]:
        """See ``Places``."""
        base = self._base(tenant)
        rows = self._fetch(
            "SELECT stream FROM (SELECT stream, id FROM stream_place WHERE tenant = :no"  # noqa: S608 - constants
            f" AND {_OF_KIND} UNION ALL SELECT stream, id FROM event WHERE {_END}"
            f" AND {_OF_KIND}) GROUP BY stream ORDER BY min(id)",
            no=base >> 40,
            base=base,
            tenant=tenant,
            **_named(kind),
        )
        return [row[0] for row in rows]

    def count(self, tenant: TenantId, kind: str) -> int:
        """See ``Places``."""
        base = self._base(tenant)
        rows = self._fetch(
            "SELECT coalesce(sum(count), 0) FROM stream_place WHERE tenant = :no"  # noqa: S608 - constants
            f" AND {_OF_KIND} UNION ALL SELECT count(*) FROM event WHERE {_END}"
            f" AND {_OF_KIND}",
            no=base >> 40,
            base=base,
            tenant=tenant,
            **_named(kind),
        )
        return sum(int(row[0]) for row in rows)

    def event(self, tenant: TenantId, event_id: EventId) -> Sequence[Any] | None:
        """See ``Places``."""
        base = self._base(tenant)
        rows = self._fetch(
            f"SELECT {COLUMNS} FROM event WHERE event_id = :event_id AND id ="  # noqa: S608 - constants
            " (SELECT id FROM event_place WHERE tenant = :no AND event_id = :event_id) UNION ALL"
            f" SELECT {COLUMNS} FROM event WHERE {_END} AND event_id = :event_id LIMIT 1",
            no=base >> 40,
            base=base,
            tenant=tenant,
            event_id=event_id,
        )
        return rows[0] if rows else None

    def version(self, tenant: TenantId, stream: StreamId, version: int) -> tuple[int, bytes] | None:
        """See ``Places``."""
        base = self._base(tenant)
        rows = self._fetch(
            "SELECT position, entry_hash FROM event WHERE stream = :stream AND version = :version AND id ="  # noqa: S608
            " (SELECT id + :version - version FROM stream_place WHERE tenant = :no AND stream = :stream"
            " AND version <= :version ORDER BY version DESC LIMIT 1) UNION ALL"
            f" SELECT position, entry_hash FROM event WHERE {_END} AND stream = :stream AND version = :version LIMIT 1",
            no=base >> 40,
            base=base,
            tenant=tenant,
            stream=stream,
            version=version,
        )
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def known(self, tenant: TenantId, event_ids: Sequence[str]) -> set[str]:
        """See ``Places``."""
        base = self._base(tenant)
        rows = self._fetch(
            "SELECT e.event_id FROM event_place p JOIN event e ON e.id = p.id AND e.event_id = p.event_id"  # noqa: S608
            " WHERE p.tenant = :no AND p.event_id IN (SELECT value FROM json_each(:ids)) UNION ALL"
            f" SELECT event_id FROM event WHERE {_END} AND event_id IN (SELECT value FROM json_each(:ids))",
            no=base >> 40,
            base=base,
            tenant=tenant,
            ids=json.dumps(list(event_ids)),
        )
        return {row[0] for row in rows}

    def problems(self, tenant: TenantId) -> Iterator[tuple[str, int]]:
        """Both ways: every filed event has its places, and there are no others."""
        base = self._base(tenant)
        names = {"no": base >> 40, "base": base, "tenant": tenant}
        filed = f"id > :base AND id <= :base + {_FILED}"
        lost = (
            ("by its id", "SELECT id FROM event_place p WHERE p.tenant = :no AND p.event_id = e.event_id"),
            (
                "in its stream",
                (
                    "SELECT id + e.version - version FROM stream_place p WHERE p.tenant = :no"
                    " AND p.stream = e.stream AND p.version <= e.version AND e.version < p.version + p.count"
                ),
            ),
        )
        for where, place in lost:
            for (position,) in self._fetch(
                f"SELECT position FROM event e WHERE {filed} AND id IS NOT ({place}) LIMIT 20",  # noqa: S608
                **names,
            ):
                yield f"this event can't be found {where}", position
        (events, by_id, in_streams) = self._fetch(
            f"SELECT (SELECT count(*) FROM event WHERE {filed}),"  # noqa: S608 - constants
            " (SELECT count(*) FROM event_place WHERE tenant = :no),"
            " (SELECT coalesce(sum(count), 0) FROM stream_place WHERE tenant = :no)",
            **names,
        )[0]
        if events != by_id or events != in_streams:
            yield f"{events} events are filed, {by_id} by id and {in_streams} in streams", 0
