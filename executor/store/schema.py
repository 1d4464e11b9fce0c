"""Tables of the record.

Rules: rows are only ever inserted; the one row that changes is a tenant's head. On SQLite triggers say so, on
PostgreSQL the application role has no right to do otherwise (``executor.store.roles``). ``NEWEST`` counts up with
every change of a database's layout; a higher one is refused, never guessed at.

``event.name`` and ``event.event_id`` repeat what the body says, for look-ups only: whoever reads evidence derives
them from the body, and ``proofreel fsck`` compares the two.

Both databases have the same columns, and PostgreSQL finds rows by unique indexes. On SQLite every index that an event
touches is a page more to write, so layout 2 keeps them apart (``domain/adr/0011``): an event's key is its tenant's
number and its position in one integer, and what finds events by id or stream (``event_place``, ``stream_place``) is
brought up to ``tenant_head.filed`` for many events at a time (``sqlite_end``). Behind that, at the end of the log, the
rows themselves are looked at.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

NEWEST: Final = {"sqlite": 2, "postgresql": 2}
"""Layout of the tables that this release writes, by database."""
POSITION_BITS: Final = 40
"""On SQLite an event's key is its tenant's number, shifted by so many bits, plus its position."""
LAST_POSITION: Final = (1 << POSITION_BITS) - 1

metadata = MetaData()
_Big = BigInteger().with_variant(Integer(), "sqlite")


def _table(
    name: str, *items: Column[int] | Column[str] | Column[bytes] | PrimaryKeyConstraint | UniqueConstraint
) -> Table:
    return Table(name, metadata, *items, sqlite_strict=True)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def big(name: str) -> Column[int]:
    """Column of a 64-bit integer on either database."""
    return Column(name, _Big, nullable=False)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


record_format = _table("record_format", big("format"), PrimaryKeyConstraint("format"))

tenant_head = _table(
    "tenant_head",
    _text("tenant"),
    big("size"),
    big("recorded_at_us"),
    _bytes("frontier"),
    PrimaryKeyConstraint("tenant"),
)
"""The end of each log; its root follows from the frontier."""

event = _table(
    "event",
    _text("tenant"),
    big("position"),
    _text("stream"),
    big("version"),
    _text("event_id"),
    _text("name"),
    big("recorded_at_us"),
    _bytes("entry_hash"),
    _bytes("body"),
    PrimaryKeyConstraint("tenant", "position", name="event_by_position"),
    UniqueConstraint("tenant", "stream", "version", name="event_by_stream"),
    UniqueConstraint("tenant", "event_id", name="event_by_id"),
)

claim = _table(
    "claim",
    _text("tenant"),
    _text("effect_key"),
    big("generation"),
    _text("stream"),
    _text("principal"),
    _text("event_id"),
    big("claimed_at_us"),
    PrimaryKeyConstraint("tenant", "effect_key", "generation", name="claim_by_effect"),
)

claim_release = _table(
    "claim_release",
    _text("tenant"),
    _text("effect_key"),
    big("generation"),
    _text("event_id"),
    big("released_at_us"),
    PrimaryKeyConstraint("tenant", "effect_key", "generation", name="release_by_effect"),
)

checkpoint = _table(
    "checkpoint",
    _text("tenant"),
    big("size"),
    _text("note"),
    big("signed_at_us"),
    PrimaryKeyConstraint("tenant", "size", name="checkpoint_by_size"),
)

attestation = _table(
    "attestation",
    _text("tenant"),
    big("size"),
    _text("kind"),
    _text("signer"),
    _bytes("content"),
    big("received_at_us"),
    PrimaryKeyConstraint("tenant", "size", "kind", "signer", name="attestation_by_signer"),
)

tracking = _table(
    "tracking",
    _text("application_name"),
    big("notification_id"),
    PrimaryKeyConstraint("application_name"),
)

APPEND_ONLY: Final = (record_format, event, claim, claim_release, checkpoint, attestation)
"""Tables in which no row is ever changed or removed."""

sqlite_metadata = MetaData()
for _shared in (record_format, claim, claim_release, checkpoint, attestation, tracking):
    _shared.to_metadata(sqlite_metadata)

sqlite_tenant = Table(
    "tenant",
    sqlite_metadata,
    Column("no", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    sqlite_strict=True,
)
"""Numbers of tenants; their names stand in every event too."""

sqlite_head = tenant_head.to_metadata(sqlite_metadata)
sqlite_head.append_column(big("filed"))

sqlite_event = Table(
    "event",
    sqlite_metadata,
    Column("id", Integer, primary_key=True),
    _text("tenant"),
    Column("position", Integer, Computed(f"id & {LAST_POSITION}", persisted=False)),
    _text("stream"),
    big("version"),
    _text("event_id"),
    _text("name"),
    big("recorded_at_us"),
    _bytes("entry_hash"),
    _bytes("body"),
    sqlite_strict=True,
)

event_place = Table(
    "event_place",
    sqlite_metadata,
    big("tenant"),
    _text("event_id"),
    big("id"),
    PrimaryKeyConstraint("tenant", "event_id"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Where an event stands, by its id."""

stream_place = Table(
    "stream_place",
    sqlite_metadata,
    big("tenant"),
    _text("stream"),
    big("version"),
    big("id"),
    big("count"),
    PrimaryKeyConstraint("tenant", "stream", "version"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Runs of a stream's events that stand in a row: first version, first key, how many."""

_SQLITE_APPEND_ONLY: Final = (*APPEND_ONLY, sqlite_tenant, event_place, stream_place)


def sqlite_guards() -> list[str]:
    """Statements that make SQLite refuse to change or remove what was recorded."""
    return [
        f"CREATE TRIGGER IF NOT EXISTS {table.name}_no_{verb.lower()} BEFORE {verb} ON {table.name} "
        f"BEGIN SELECT RAISE(ABORT, '{table.name} is append-only'); END"
        for table in _SQLITE_APPEND_ONLY
        for verb in ("UPDATE", "DELETE")
    ]
