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
from projections.places import COLUMNS, LAST, PAGE, Filed, Indexed, Places
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

NEWEST: Final = 2
"""Newest layout of tables that this reader knows."""


class RecordReader:
    """Read access to one record; every method raises ``WorldError`` when the database fails."""

    def __init__(self, engine: Engine, layout: int, *, url: str, as_stored: bool = False) -> None:
        """``layout`` is that of the tables, as the record says; ``url`` opens it once more."""
        self.url = url
        self.as_stored = as_stored
        self._engine = engine
        filed = engine.dialect.name == "sqlite" and layout > 1
        self._places: Places = Filed(self._fetch) if filed else Indexed(self._fetch)
        self._shown = (
            None if as_stored else Shown(RecordReader(engine, layout, url=url, as_stored=True), self.withheld)
        )

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
        kinds = ("redaction", "deletion")
        return sum(self._places.count(tenant, kind) for kind in kinds)

    def _reading(self, tenant: TenantId) -> Callable[[StoredRow], Recorded]:
        return read if self._shown is None else self._shown.reading(tenant)

    def tenants(self) -> list[TenantId]:
        """Every tenant with events or a head, sorted."""
        return [TenantId(name) for name in self._places.tenants()]

    def positions(self, tenant: TenantId) -> int:
        """Highest position in the tenant's log; 0 when there is none."""
        return self._places.last(tenant)

    def rows(self, tenant: TenantId, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Stored rows in order of position, from the one after ``after``, at most ``limit``."""
        left = limit
        while left is None or left > 0:
            page = PAGE if left is None else min(PAGE, left)
            found = self._places.page(COLUMNS, tenant, after, page)
            for item in found:
                yield _stored(item)
            if len(found) < page:
                return
            after = found[-1][1]
            left = None if left is None else left - page

    def indexed_rows(self, tenant: TenantId, after: int = 0) -> Iterator[IndexedRow]:
        """Stored rows with the columns that repeat their bodies, in order of position."""
        while True:
            found = self._places.page(f"{COLUMNS}, event_id, name", tenant, after, PAGE)
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
        shown = self._reading(tenant)
        for item in self._places.stream(tenant, stream, after):
            yield shown(_stored(item))

    def streams(self, tenant: TenantId, kind: str) -> list[StreamId]:
        """Names of the streams of one kind (``task``, ``run``), in order of their first event."""
        return [StreamId(name) for name in self._places.streams(tenant, kind)]

    def at(self, tenant: TenantId, position: int) -> Recorded | None:
        """The event at a position."""
        row = next(self.rows(tenant, after=position - 1, limit=1), None)
        return self._reading(tenant)(row) if row is not None and row.position == position else None

    def find(self, tenant: TenantId, event_id: EventId) -> Recorded | None:
        """One event by its id."""
        row = self._places.event(tenant, event_id)
        return self._reading(tenant)(_stored(row)) if row else None

    def head(self, tenant: TenantId) -> Head | None:
        """The stored head of a tenant's log; None when there is none."""
        statement = "SELECT size, recorded_at_us, frontier FROM tenant_head WHERE tenant = :tenant"
        rows = self._fetch(statement, tenant=tenant)
        if not rows:
            return None
        size, at, frontier = rows[0]
        return Head(tenant=tenant, size=size, recorded_at_us=at, frontier=frontier)

    def leaves(self, tenant: TenantId, size: int | None = None) -> bytes:
        """The 53-byte leaves of a tenant's log, joined, as they follow from the rows; the first ``size`` of them."""
        tags: dict[str, bytes] = {}
        parts = bytearray()
        for stream, version, entry in self._links(tenant, size):
            tag = tags.get(stream) or tags.setdefault(stream, stream_tag(tenant, StreamId(stream)))
            parts += encode_leaf(tag, version, entry)
        return bytes(parts)

    def _links(self, tenant: TenantId, size: int | None) -> Iterator[tuple[str, int, bytes]]:
        after, last = 0, LAST if size is None else size
        while True:
            found = self._places.page("stream, version, entry_hash, position", tenant, after, 10 * PAGE, last)
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
        return self._places.version(tenant, stream, version - 1)

    def missing_ids(self, tenant: TenantId, event_ids: Sequence[str]) -> set[str]:
        """Those of ``event_ids`` that the tenant's log doesn't hold."""
        missing = set(event_ids)
        return missing - self._places.known(tenant, list(missing))

    def place_problems(self, tenant: TenantId) -> Iterator[tuple[str, int]]:
        """Where the tables that find events say otherwise than the events, and the position; SQLite only."""
        return self._places.problems(tenant)

    def storage_problems(self) -> list[str]:
        """What the database itself finds wrong with its pages and indexes, one line each; SQLite only."""
        if self._engine.dialect.name != "sqlite":
            return []
        return [str(row[0]) for row in self._fetch("PRAGMA integrity_check(20)") if row[0] != "ok"]

    def _fetch(self, statement: str, **parameters: object) -> Sequence[Sequence[Any]]:
        try:
            with self._engine.connect() as connection:
                # The driver's own tuples: a row object around each takes a quarter of the time of reading.
                return connection.execute(text(statement), parameters).cursor.fetchall()
        except DBAPIError as error:
            raise explained(error) from error


def open_reader(url: str, *, as_stored: bool = False) -> RecordReader:
    """The record behind a URL, read-only; ``as_stored`` shows also what is withheld, for those who redact.

    Raises ``ConfigError`` when there is no record, ``FormatTooNew`` when a newer release wrote it, ``WorldError``
    when the database can't be reached.
    """
    engine = engine_for(url)
    try:
        layout = _layout(engine)
    except BaseException:
        engine.dispose()
        raise
    return RecordReader(engine, layout, url=url, as_stored=as_stored)


def _layout(engine: Engine) -> int:
    """Layout of the record's tables."""
    try:
        with engine.connect() as connection:
            found = connection.execute(text("SELECT max(format) FROM record_format")).scalar()
    except DBAPIError as caught:
        error = explained(caught)
        if isinstance(error, WorldError) and (
            "no such table" in error.what or "does not exist" in error.what
        ):
            raise ConfigError("the database holds no record", remedy=EXAMPLES) from caught
        raise error from caught
    if found is None or found > NEWEST:
        raise FormatTooNew(f"schema {found}, this release knows {NEWEST}", where="store")
    return int(found)


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
