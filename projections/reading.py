"""Reading the record without being able to change it.

Rules: nothing here is shared with the writer but the format (``domain``), so a reader doesn't inherit the writer's
mistakes; SQLite is opened read-only and a record on read-only media can be read; everything streams in pages, so
memory stays flat and no long transaction holds the writer up. What is yielded is what is stored: whether it is right
is ``projections.fsck``'s question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from domain.codec import read
from domain.envelope import Recorded, StoredRow
from domain.errors import ConfigError, FormatTooNew, WorldError
from domain.ids import EffectKey, EventId, StreamId, TenantId
from domain.log_format import encode_leaf, stream_tag
from projections.blobs import BlobReader, open_blob_reader
from projections.engines import EXAMPLES, engine_for, explained
from projections.rows import AttestationRow, CheckpointRow, ClaimRow, Head, IndexedRow
from projections.shown import Shown
from projections.withholding import Withholding

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

__all__ = [
    "AttestationRow",
    "BlobReader",
    "CheckpointRow",
    "ClaimRow",
    "Head",
    "IndexedRow",
    "RecordReader",
    "open_blob_reader",
    "open_reader",
]

SCHEMA_FORMAT: Final = 1
"""Newest layout of tables that this reader knows."""
PAGE: Final = 1000
"""Rows that are read at once."""
_COLUMNS: Final = "tenant, position, stream, version, recorded_at_us, body, entry_hash"

_OF_KIND: Final = "stream >= :low AND stream < :high AND stream LIKE :start"
"""Streams of one kind: bounds for the index, which hold in every collation of a database, and the name's own start."""


def _bounds(kind: str) -> tuple[str, str]:
    """They differ in a letter, because collations order punctuation as they like."""
    return kind, f"{kind[:-1]}{chr(ord(kind[-1]) + 1)}"


class RecordReader:
    """Read access to one record; every method raises ``WorldError`` when the database fails."""

    def __init__(self, engine: Engine, *, as_stored: bool = False) -> None:
        self._engine = engine
        self._shown = None if as_stored else Shown(RecordReader(engine, as_stored=True), self.withheld)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back every connection."""
        self._engine.dispose()

    def withholding(self, tenant: TenantId) -> Withholding:
        """What may no longer be shown; nothing for a reader of events as they are stored."""
        return Withholding() if self._shown is None else self._shown.withholding(tenant)

    def withheld(self, tenant: TenantId) -> int:
        """Events about redactions and deletions; grows when something is withheld."""
        count = "(SELECT count(*) FROM event WHERE tenant = :tenant AND stream >= '{0}' AND stream < '{1}'"
        count += " AND stream LIKE '{0}:%')"
        kinds = [count.format(*_bounds(kind)) for kind in ("redaction", "deletion")]
        return int(self._fetch(f"SELECT {' + '.join(kinds)}", tenant=tenant)[0][0])

    def _reading(self, tenant: TenantId) -> Callable[[StoredRow], Recorded]:
        return read if self._shown is None else self._shown.reading(tenant)

    def tenants(self) -> list[TenantId]:
        """Every tenant with events or a head, sorted."""
        # From one tenant to the next through the index: DISTINCT would walk every event.
        statement = (
            "WITH RECURSIVE known(tenant) AS (SELECT min(tenant) FROM event"
            " UNION ALL SELECT (SELECT min(tenant) FROM event WHERE tenant > known.tenant) FROM known"
            " WHERE known.tenant IS NOT NULL)"
            " SELECT tenant FROM known WHERE tenant IS NOT NULL UNION SELECT tenant FROM tenant_head ORDER BY 1"
        )
        return [TenantId(row[0]) for row in self._fetch(statement)]

    def positions(self, tenant: TenantId) -> int:
        """Highest position in the tenant's log; 0 when there is none."""
        rows = self._fetch("SELECT max(position) FROM event WHERE tenant = :tenant", tenant=tenant)
        return rows[0][0] or 0

    def rows(self, tenant: TenantId, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Stored rows in order of position, from the one after ``after``, at most ``limit``."""
        statement = (
            f"SELECT {_COLUMNS} FROM event WHERE tenant = :tenant AND position > :after"  # noqa: S608 - constants
            " ORDER BY position LIMIT :page"
        )
        left = limit
        while left is None or left > 0:
            page = PAGE if left is None else min(PAGE, left)
            found = self._fetch(statement, tenant=tenant, after=after, page=page)
            for item in found:
                yield _stored(item)
            if len(found) < page:
                return
            after = found[-1][1]
            left = None if left is None else left - page

    def indexed_rows(self, tenant: TenantId, after: int = 0) -> Iterator[IndexedRow]:
        """Stored rows with the columns that repeat their bodies, in order of position."""
        statement = (
            f"SELECT {_COLUMNS}, event_id, name FROM event"  # noqa: S608 - constants
            " WHERE tenant = :tenant AND position > :after ORDER BY position LIMIT :page"
        )
        while True:
            found = self._fetch(statement, tenant=tenant, after=after, page=PAGE)
            for item in found:
                yield IndexedRow(row=_stored(item), event_id=item[7], name=item[8])
            if len(found) < PAGE:
                return
            after = found[-1][1]

    def events(
        self, tenant: TenantId, after: int = 0, names: Sequence[str] | None = None
    ) -> Iterator[Recorded]:
        """Events in order of position, lifted to the current schema; ``names`` keeps only those stored names."""
        shown = self._reading(tenant)
        if names is None:
            yield from map(shown, self.rows(tenant, after))
            return
        wanted = frozenset(names)
        for item in self.indexed_rows(tenant, after):
            if item.name in wanted:
                yield shown(item.row)

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream in order of version."""
        statement = (
            f"SELECT {_COLUMNS} FROM event WHERE tenant = :tenant"  # noqa: S608 - constants
            " AND stream = :stream AND version > :after ORDER BY version LIMIT :page"
        )
        shown = self._reading(tenant)
        while True:
            found = self._fetch(statement, tenant=tenant, stream=stream, after=after, page=PAGE)
            for item in found:
                yield shown(_stored(item))
            if len(found) < PAGE:
                return
            after = found[-1][3]

    def streams(self, tenant: TenantId, kind: str) -> list[StreamId]:
        """Names of the streams of one kind (``task``, ``run``), in order of their first event."""
        statement = (
            f"SELECT stream FROM event WHERE tenant = :tenant AND {_OF_KIND}"  # noqa: S608 - constants
            " GROUP BY stream ORDER BY min(position)"
        )
        low, high = _bounds(kind)
        rows = self._fetch(statement, tenant=tenant, low=low, high=high, start=f"{kind}:%")
        return [StreamId(row[0]) for row in rows]

    def at(self, tenant: TenantId, position: int) -> Recorded | None:
        """The event at a position."""
        row = next(self.rows(tenant, after=position - 1, limit=1), None)
        return self._reading(tenant)(row) if row is not None and row.position == position else None

    def find(self, tenant: TenantId, event_id: EventId) -> Recorded | None:
        """One event by its id."""
        statement = f"SELECT {_COLUMNS} FROM event WHERE tenant = :tenant AND event_id = :event_id"  # noqa: S608
        rows = self._fetch(statement, tenant=tenant, event_id=event_id)
        return self._reading(tenant)(_stored(rows[0])) if rows else None

    def head(self, tenant: TenantId) -> Head | None:
        """The stored head of a tenant's log; None when there is none."""
        statement = "SELECT size, root, recorded_at_us, frontier FROM tenant_head WHERE tenant = :tenant"
        rows = self._fetch(statement, tenant=tenant)
        if not rows:
            return None
        size, root, at, frontier = rows[0]
        return Head(tenant=tenant, size=size, root=root, recorded_at_us=at, frontier=frontier)

    def leaves(self, tenant: TenantId, size: int | None = None) -> bytes:
        """The 53-byte leaves of a tenant's log, joined, as they follow from the rows; the first ``size`` of them."""
        tags: dict[str, bytes] = {}
        parts = bytearray()
        for stream, version, entry in self._links(tenant, size):
            tag = tags.get(stream) or tags.setdefault(stream, stream_tag(tenant, StreamId(stream)))
            parts += encode_leaf(tag, version, entry)
        return bytes(parts)

    def _links(self, tenant: TenantId, size: int | None) -> Iterator[tuple[str, int, bytes]]:
        statement = (
            "SELECT stream, version, entry_hash, position FROM event"
            " WHERE tenant = :tenant AND position > :after AND position <= :last ORDER BY position LIMIT :page"
        )
        after, last = 0, 2**62 if size is None else size
        while True:
            found = self._fetch(statement, tenant=tenant, after=after, last=last, page=10 * PAGE)
            for stream, version, entry, _ in found:
                yield stream, version, entry
            if len(found) < 10 * PAGE:
                return
            after = found[-1][3]

    def claims(self, tenant: TenantId) -> Iterator[ClaimRow]:
        """Every claim ever made, with its release, in order of effect key and generation."""
        statement = (
            "SELECT c.effect_key, c.generation, c.stream, c.principal, c.event_id, c.claimed_at_us,"
            " r.event_id, r.released_at_us FROM claim c LEFT JOIN claim_release r"
            " ON r.tenant = c.tenant AND r.effect_key = c.effect_key AND r.generation = c.generation"
            " WHERE c.tenant = :tenant AND (c.effect_key > :key OR c.effect_key = :key AND c.generation > :generation)"
            " ORDER BY c.effect_key, c.generation LIMIT :page"
        )
        key, generation = "", 0
        while True:
            found = self._fetch(statement, tenant=tenant, key=key, generation=generation, page=PAGE)
            for item in found:
                yield _claim(tenant, item)
            if len(found) < PAGE:
                return
            key, generation = found[-1][0], found[-1][1]

    def claims_of(self, tenant: TenantId, effect_key: EffectKey) -> list[ClaimRow]:
        """Every claim on one effect, in order of generation."""
        statement = (
            "SELECT c.effect_key, c.generation, c.stream, c.principal, c.event_id, c.claimed_at_us,"
            " r.event_id, r.released_at_us FROM claim c LEFT JOIN claim_release r"
            " ON r.tenant = c.tenant AND r.effect_key = c.effect_key AND r.generation = c.generation"
            " WHERE c.tenant = :tenant AND c.effect_key = :key ORDER BY c.generation"
        )
        return [_claim(tenant, item) for item in self._fetch(statement, tenant=tenant, key=effect_key)]

    def orphan_releases(self, tenant: TenantId) -> list[tuple[str, int]]:
        """Effect key and generation of releases without their claim; a sound record has none."""
        statement = (
            "SELECT r.effect_key, r.generation FROM claim_release r LEFT JOIN claim c"
            " ON r.tenant = c.tenant AND r.effect_key = c.effect_key AND r.generation = c.generation"
            " WHERE r.tenant = :tenant AND c.tenant IS NULL ORDER BY 1, 2"
        )
        return [(row[0], row[1]) for row in self._fetch(statement, tenant=tenant)]

    def checkpoints(self, tenant: TenantId) -> list[CheckpointRow]:
        """Signed checkpoints in order of size."""
        statement = "SELECT size, note, signed_at_us FROM checkpoint WHERE tenant = :tenant ORDER BY size"
        return [
            CheckpointRow(tenant=tenant, size=row[0], note=row[1], signed_at_us=row[2])
            for row in self._fetch(statement, tenant=tenant)
        ]

    def attestations(self, tenant: TenantId) -> list[AttestationRow]:
        """What witnesses and authorities said, in order of size."""
        statement = (
            "SELECT size, kind, signer, content, received_at_us FROM attestation"
            " WHERE tenant = :tenant ORDER BY size, kind, signer"
        )
        return [
            AttestationRow(
                tenant=tenant, size=row[0], kind=row[1], signer=row[2], content=row[3], received_at_us=row[4]
            )
            for row in self._fetch(statement, tenant=tenant)
        ]

    def predecessor(self, tenant: TenantId, stream: StreamId, version: int) -> tuple[int, bytes] | None:
        """Position and entry hash of the event before ``version`` in its stream."""
        statement = (
            "SELECT position, entry_hash FROM event"
            " WHERE tenant = :tenant AND stream = :stream AND version = :version"
        )
        rows = self._fetch(statement, tenant=tenant, stream=stream, version=version - 1)
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def missing_ids(self, tenant: TenantId, event_ids: Sequence[str]) -> set[str]:
        """Those of ``event_ids`` that the tenant's log doesn't hold."""
        missing = set(event_ids)
        wanted = list(missing)
        for start in range(0, len(wanted), PAGE):
            page = wanted[start : start + PAGE]
            names = {f"id{number}": value for number, value in enumerate(page)}
            marks = ", ".join(f":{name}" for name in names)
            statement = f"SELECT event_id FROM event WHERE tenant = :tenant AND event_id IN ({marks})"  # noqa: S608
            missing.difference_update(row[0] for row in self._fetch(statement, tenant=tenant, **names))
        return missing

    def storage_problems(self) -> list[str]:
        """What the database itself finds wrong with its pages and indexes, one line each; SQLite only."""
        if self._engine.dialect.name != "sqlite":
            return []
        return [str(row[0]) for row in self._fetch("PRAGMA integrity_check(20)") if row[0] != "ok"]

    def _fetch(self, statement: str, **parameters: object) -> Sequence[Sequence[Any]]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(text(statement), parameters).fetchall()
        except DBAPIError as error:
            raise explained(error) from error


def open_reader(url: str, *, as_stored: bool = False) -> RecordReader:
    """The record behind a URL, read-only; ``as_stored`` shows also what is withheld, for those who redact.

    Raises ``ConfigError`` when there is no record, ``FormatTooNew`` when a newer release wrote it, ``WorldError``
    when the database can't be reached.
    """
    reader = RecordReader(engine_for(url), as_stored=as_stored)
    try:
        found = reader._fetch("SELECT max(format) FROM record_format")[0][0]  # noqa: SLF001 - same module
    except WorldError as error:
        reader.close()
        if "no such table" in error.what or "does not exist" in error.what:
            raise ConfigError("the database holds no record", remedy=EXAMPLES) from error
        raise
    if found is None or found > SCHEMA_FORMAT:
        reader.close()
        raise FormatTooNew(f"schema {found}, this release knows {SCHEMA_FORMAT}", where="store")
    return reader


def _stored(item: Sequence[Any]) -> StoredRow:
    return StoredRow(
        tenant=item[0],
        position=item[1],
        stream=item[2],
        version=item[3],
        recorded_at_us=item[4],
        body=item[5],
        entry_hash=item[6],
    )


def _claim(tenant: TenantId, item: Sequence[Any]) -> ClaimRow:
    return ClaimRow(
        tenant=tenant,
        effect_key=EffectKey(item[0]),
        generation=item[1],
        stream=StreamId(item[2]),
        principal=item[3],
        event_id=EventId(item[4]),
        claimed_at_us=item[5],
        release_event_id=None if item[6] is None else EventId(item[6]),
        released_at_us=item[7],
    )
