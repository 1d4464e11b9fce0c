"""Records as the first layout of the tables had them, made of records of today: the same rows, found otherwise."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy.engine import make_url

from domain.merkle import root_of
from tests.support.records import execute

_TABLES: Final = """
CREATE TABLE record_format (format INTEGER NOT NULL, PRIMARY KEY (format)) STRICT;
CREATE TABLE tenant_head (tenant TEXT NOT NULL, size INTEGER NOT NULL, recorded_at_us INTEGER NOT NULL,
  root BLOB NOT NULL, frontier BLOB NOT NULL, PRIMARY KEY (tenant)) STRICT;
CREATE TABLE event (tenant TEXT NOT NULL, position INTEGER NOT NULL, stream TEXT NOT NULL, version INTEGER NOT NULL,
  event_id TEXT NOT NULL, name TEXT NOT NULL, recorded_at_us INTEGER NOT NULL, entry_hash BLOB NOT NULL,
  body BLOB NOT NULL, CONSTRAINT event_by_position PRIMARY KEY (tenant, position),
  CONSTRAINT event_by_stream UNIQUE (tenant, stream, version), CONSTRAINT event_by_id UNIQUE (tenant, event_id)) STRICT;
CREATE TABLE claim (tenant TEXT NOT NULL, effect_key TEXT NOT NULL, generation INTEGER NOT NULL, stream TEXT NOT NULL,
  principal TEXT NOT NULL, event_id TEXT NOT NULL, claimed_at_us INTEGER NOT NULL,
  CONSTRAINT claim_by_effect PRIMARY KEY (tenant, effect_key, generation)) STRICT;
CREATE TABLE claim_release (tenant TEXT NOT NULL, effect_key TEXT NOT NULL, generation INTEGER NOT NULL,
  event_id TEXT NOT NULL, released_at_us INTEGER NOT NULL,
  CONSTRAINT release_by_effect PRIMARY KEY (tenant, effect_key, generation)) STRICT;
CREATE TABLE checkpoint (tenant TEXT NOT NULL, size INTEGER NOT NULL, note TEXT NOT NULL, signed_at_us INTEGER NOT NULL,
  CONSTRAINT checkpoint_by_size PRIMARY KEY (tenant, size)) STRICT;
CREATE TABLE attestation (tenant TEXT NOT NULL, size INTEGER NOT NULL, kind TEXT NOT NULL, signer TEXT NOT NULL,
  content BLOB NOT NULL, received_at_us INTEGER NOT NULL,
  CONSTRAINT attestation_by_signer PRIMARY KEY (tenant, size, kind, signer)) STRICT;
INSERT INTO record_format VALUES (1);
"""
_COPY: Final = """
INSERT INTO event SELECT tenant, position, stream, version, event_id, name, recorded_at_us, entry_hash, body
  FROM now.event ORDER BY id;
INSERT INTO tenant_head SELECT tenant, size, recorded_at_us, root_of(size, frontier), frontier FROM now.tenant_head;
INSERT INTO claim SELECT * FROM now.claim;
INSERT INTO claim_release SELECT * FROM now.claim_release;
INSERT INTO checkpoint SELECT * FROM now.checkpoint;
INSERT INTO attestation SELECT * FROM now.attestation;
"""
APPEND: Final = (
    "proofreel_append(text, text[], bigint[], text[], text[], bytea[], bigint,"
    " text, text, text, text, text, text, text)"
)
"""The one function of the first layout on PostgreSQL."""


def as_first_layout(url: str, folder: Path) -> str:
    """A SQLite record with the rows of the one behind ``url``; returns its URL."""
    path = folder / "first-layout.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.create_function("root_of", 2, root_of, deterministic=True)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("ATTACH ? AS now", (make_url(url).database,))
        connection.executescript(_TABLES)
        connection.executescript(_COPY)
    return f"sqlite:///{path}"


def back_to_first_layout(url: str) -> None:
    """Turn a PostgreSQL record back; nothing is appended by the old function, so that its name and rights will do."""
    execute(url, "ALTER TABLE tenant_head ADD COLUMN root bytea")
    for tenant, size, frontier in execute(url, "SELECT tenant, size, frontier FROM tenant_head"):
        execute(
            url, "UPDATE tenant_head SET root = ? WHERE tenant = ?", (root_of(size, bytes(frontier)), tenant)
        )
    execute(url, "DROP FUNCTION proofreel_append_one, proofreel_append_all, proofreel_claim, proofreel_deny")
    execute(url, f"CREATE FUNCTION {APPEND} RETURNS void LANGUAGE plpgsql AS 'BEGIN END'")
    execute(url, f"REVOKE ALL ON FUNCTION {APPEND} FROM PUBLIC")
    execute(url, "UPDATE record_format SET format = 1")
