"""Tables of the record, once for both databases.

Rules: rows are only ever inserted; the one row that changes is a tenant's head. On SQLite triggers say so, on
PostgreSQL the application role has no right to do otherwise (``executor.store.roles``). ``SCHEMA_FORMAT`` counts
up with every change of meaning; a higher one is refused, never guessed at.

``event.name`` and ``event.event_id`` repeat what the body says, for look-ups only: whoever reads evidence derives
them from the body, and ``proofreel fsck`` compares the two.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_FORMAT: Final = 1
"""Layout of the tables that this release writes and reads."""

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
    _bytes("root"),
    _bytes("frontier"),
    PrimaryKeyConstraint("tenant"),
)

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


def sqlite_guards() -> list[str]:
    """Statements that make SQLite refuse to change or remove what was recorded."""
    return [
        f"CREATE TRIGGER IF NOT EXISTS {table.name}_no_{verb.lower()} BEFORE {verb} ON {table.name} "
        f"BEGIN SELECT RAISE(ABORT, '{table.name} is append-only'); END"
        for table in APPEND_ONLY
        for verb in ("UPDATE", "DELETE")
    ]
