"""The record: appending events, and reading one stream to decide on it.

Rules: an append is one tenant's and one stream's, in order, all or nothing; its first version is the expected one;
the same events again are a success (``Receipt.repeated``), other bytes under a used event id are refused. A claim is
taken, and given back, in the transaction of the event that says so, and by no other way: there is no time-out that
hands a claim over. Nothing is ever changed or removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from sqlalchemy import CompoundSelect, Row, Select, select
from sqlalchemy.exc import DBAPIError

from domain.codec import encode, read
from domain.envelope import Draft, Recorded, StoredRow
from domain.errors import CommandRefused
from domain.events import TaskClaimed, TaskClaimReleased, name_of
from domain.ids import EffectKey, StreamId, TenantId
from domain.ports import ClaimInfo, Clock, Receipt
from executor.runtime.system import SystemClock
from executor.store import schema
from executor.store.committer import Committer, Writer
from executor.store.engine import explain, open_engine, prepare
from executor.store.lookup import Lookup, lookup
from executor.store.requests import ClaimRequest, Entry, Placed, ReleaseRequest, Request
from executor.store.sqlite_writer import SqliteWriter
from executor.store.tree import derive_frontier
from executor.store.urls import store_url

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

_SHAPE_REMEDY: Final = "append one tenant's and one stream's events in order of version"


class RecordLog:
    """The append side of the record on one database; implements ``domain.ports.EventLog``.

    Safe to share between threads, which then share commits; a forked process opens its own.
    """

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self.engine = engine
        self.committer = Committer(_writer(engine, clock), self._stored)
        self.lookup: Lookup = lookup(engine, self.fetch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back every connection."""
        self.committer.close()
        self.engine.dispose()

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        claim: EffectKey | None = None,
        release: EffectKey | None = None,
    ) -> Receipt:
        """Append events of one tenant and one stream, all or nothing; they are durable when this returns.

        ``claim`` is taken and ``release`` given back in the same transaction, each by an event among the drafts that
        says so. Raises ``VersionConflict``, ``ClaimTaken``, another ``CommandRefused`` for drafts that don't belong
        together, and ``WorldError`` when the database fails: then append the same drafts again.
        """
        request = _request(drafts, claim, release)
        placed = self.committer.submit(request)
        self.committer.hint(request.tenant)
        return Receipt(
            tenant=drafts[0].envelope.tenant,
            first_position=placed.first_position,
            last_position=placed.last_position,
            recorded_at_us=placed.recorded_at_us,
            frontier=placed.frontier,
            repeated=placed.repeated,
        )

    def stream(self, tenant: TenantId, stream: StreamId, *, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream in order of version, from the one after ``after``."""
        for row in self.lookup.stream(tenant, stream, after=after):
            yield read(_stored_row(row))

    def claim_of(self, tenant: TenantId, effect_key: EffectKey) -> ClaimInfo | None:
        """The open claim on an effect, if there is one."""
        claim, release = schema.claim, schema.claim_release
        given_back = (
            (release.c.tenant == claim.c.tenant)
            & (release.c.effect_key == claim.c.effect_key)
            & (release.c.generation == claim.c.generation)
        )
        rows = self.fetch(
            select(claim.c.stream, claim.c.principal, claim.c.claimed_at_us)
            .select_from(claim.outerjoin(release, given_back))
            .where(claim.c.tenant == tenant, claim.c.effect_key == effect_key, release.c.generation.is_(None))
            .order_by(claim.c.generation.desc())
            .limit(1)
        )
        if not rows:
            return None
        stream, principal, since_us = rows[0]
        return ClaimInfo(
            effect_key=effect_key, stream=StreamId(stream), principal=principal, since_us=since_us
        )

    def fetch(self, statement: Select[Any] | CompoundSelect[Any]) -> Sequence[Any]:
        """Rows of a query; ``WorldError`` when the database fails."""
        try:
            with self.engine.connect() as connection:
                return connection.execute(statement).all()
        except DBAPIError as error:
            raise explain(error) from error

    def _stored(self, request: Request) -> Placed | None:
        """Where the request's events stand, if these very events are stored already; None if they are not."""
        ids = [entry.event_id for entry in request.entries]
        by_id = {row.event_id: row for row in self.lookup.by_ids(request.tenant, ids)}
        for entry in request.entries:
            row = by_id.get(entry.event_id)
            if row is None or (row.stream, row.version, row.body) != (
                entry.stream,
                entry.version,
                entry.body,
            ):
                return None
        last = by_id[ids[-1]]
        return Placed(
            first_position=by_id[ids[0]].position,
            last_position=last.position,
            recorded_at_us=last.recorded_at_us,
            frontier=derive_frontier(self, TenantId(request.tenant), last.position).state(),
            repeated=True,
        )


def open_record(url: str, *, clock: Clock | None = None, to_read: bool = False) -> RecordLog:
    """The record behind a URL; its tables are made where they are missing.

    ``to_read`` also opens a record of an earlier layout, to which nothing can be appended. ``clock`` gives
    ``recorded_at``; by default it is this machine's on SQLite and the server's on PostgreSQL. Raises ``ConfigError``
    for a URL that can't hold a record or a record of an earlier layout, ``FormatTooNew`` for tables of a newer release
    and ``WorldError`` when the database can't be reached.
    """
    engine = open_engine(store_url(url))
    prepare(engine, to_read=to_read)
    return RecordLog(engine, clock)


def _writer(engine: Engine, clock: Clock | None) -> Writer:
    if engine.dialect.name == "sqlite":
        return SqliteWriter(engine, clock or SystemClock())
    from executor.store.postgres_writer import PostgresWriter  # noqa: PLC0415 - its driver is optional

    return PostgresWriter(engine, clock)


def _stored_row(row: Row[Any]) -> StoredRow:
    return StoredRow(
        tenant=TenantId(row.tenant),
        position=row.position,
        stream=StreamId(row.stream),
        version=row.version,
        recorded_at_us=row.recorded_at_us,
        body=row.body,
        entry_hash=row.entry_hash,
    )


def _request(drafts: Sequence[Draft], claim: EffectKey | None, release: EffectKey | None) -> Request:
    if not drafts:
        raise CommandRefused("append_shape", "an append of nothing", remedy=_SHAPE_REMEDY)
    first = drafts[0].envelope
    tenant, stream = first.tenant, first.stream
    entries = []
    for expected, draft in enumerate(drafts, start=first.version):
        envelope = draft.envelope
        version = envelope.version
        if envelope.tenant != tenant or envelope.stream != stream:
            raise CommandRefused("append_shape", "an append to more than one stream", remedy=_SHAPE_REMEDY)
        if version != expected or version < 1:
            what = f"version {version} where {max(expected, 1)} is due"
            raise CommandRefused("append_shape", what, remedy=_SHAPE_REMEDY)
        name, _ = name_of(draft.event)
        entries.append(Entry(stream, version, envelope.event_id, name, encode(draft)))
    return Request(
        tenant=tenant,
        entries=tuple(entries),
        claim=_claim_request(drafts, claim),
        release=_release_request(drafts, release),
    )


def _claim_request(drafts: Sequence[Draft], claim: EffectKey | None) -> ClaimRequest | None:
    """The claim and the event that says so: ``task.claimed``, or for an undoing the event under its key."""
    said = [draft for draft in drafts if isinstance(draft.event, TaskClaimed)]
    if claim is None and not said:
        return None
    under = said or [draft for draft in drafts if draft.envelope.idempotency_key == claim][:1]
    if claim is None or len(under) != 1 or not _says(under[0], claim):
        what = f"claim {claim} without the one event that says so"
        raise CommandRefused("claim_shape", what, remedy="append task.claimed and pass its effect key")
    envelope = under[0].envelope
    return ClaimRequest(claim, envelope.stream, envelope.principal, envelope.event_id)


def _release_request(drafts: Sequence[Draft], release: EffectKey | None) -> ReleaseRequest | None:
    said = [draft for draft in drafts if isinstance(draft.event, TaskClaimReleased)]
    if release is None and not said:
        return None
    if release is None or len(said) != 1 or not _says(said[0], release):
        what = f"release of {release} without the one task.claim_released that says so"
        raise CommandRefused("claim_shape", what, remedy="append task.claim_released and pass its effect key")
    envelope = said[0].envelope
    return ReleaseRequest(release, envelope.stream, envelope.event_id)


def _says(draft: Draft, key: EffectKey) -> bool:
    """True if the event is about this effect."""
    if isinstance(draft.event, TaskClaimed | TaskClaimReleased):
        return draft.event.effect_key == key
    return draft.envelope.idempotency_key == key
