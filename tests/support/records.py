"""Records on real databases, drafts to append to them, and ways to damage them by hand."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import uuid
from typing import TYPE_CHECKING, Any, Literal

import psycopg
from sqlalchemy.engine import make_url

from domain.envelope import Draft, Envelope
from domain.events import (
    AlertRaised,
    Event,
    TaskClaimed,
    TaskClaimReleased,
    TaskOpened,
    TaskSealed,
)
from domain.ids import EffectKey, EventId, PrincipalId, StreamId, TaskId, TenantId
from domain.values import FrameRef, Intent
from tests.support.postgres import cluster

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Backend = Literal["sqlite", "postgres"]
BACKENDS: tuple[Backend, ...] = ("sqlite", "postgres")
ACME = TenantId("acme")
GLOBEX = TenantId("globex")
SERVICE = PrincipalId("svc:acme-batch")


def fresh_url(backend: Backend, folder: Path) -> str:
    """URL of an empty database of its own; a PostgreSQL cluster is started where none runs yet."""
    if backend == "postgres":
        return cluster().url()
    return f"sqlite:///{folder}/record-{uuid.uuid4().hex}.db"


class ManualClock:
    """A clock that is set by hand; one microsecond passes with every look."""

    def __init__(self, now_us: int = 1_796_000_000_000_000) -> None:
        self.value_us = now_us

    def now_us(self) -> int:
        """Microseconds since 1970 (UTC)."""
        self.value_us += 1
        return self.value_us


class Maker:
    """Drafts with ids, salts and times from a seed: the same on every run."""

    def __init__(self, seed: int = 0, tenant: TenantId = ACME, principal: PrincipalId = SERVICE) -> None:
        self.random = random.Random(seed)
        self.tenant = tenant
        self.principal = principal
        self.clock = ManualClock()

    def uuid(self) -> str:
        """A new name from the seed."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def task(self) -> StreamId:
        """Stream of a new task."""
        return StreamId(f"task:{self.uuid()}")

    def draft(
        self,
        stream: StreamId,
        version: int,
        event: Event,
        *,
        key: EffectKey | None = None,
        frames: Sequence[FrameRef] = (),
        cause: EventId | None = None,
    ) -> Draft:
        """One event on its way in."""
        kind, _, name = stream.partition(":")
        envelope = Envelope(
            event_id=EventId(self.uuid()),
            tenant=self.tenant,
            stream=stream,
            version=version,
            principal=self.principal,
            occurred_at_us=self.clock.now_us(),
            salt=f"{self.random.getrandbits(256):064x}",
            task_id=TaskId(name) if kind == "task" else None,
            idempotency_key=key,
            frames=tuple(frames),
            causation_id=cause,
        )
        return Draft(envelope=envelope, event=event)

    def opened(self, stream: StreamId, key: str) -> Draft:
        """The first event of a task."""
        wanted = intent(key)
        return self.draft(
            stream, 1, TaskOpened(intent=wanted, effect_key=EffectKey(key), requested_by=self.principal)
        )

    def claimed(self, stream: StreamId, version: int, key: str) -> Draft:
        """The event that takes an effect."""
        return self.draft(stream, version, TaskClaimed(effect_key=EffectKey(key)), key=EffectKey(key))

    def released(self, stream: StreamId, version: int, key: str) -> Draft:
        """The event that gives an effect back."""
        event = TaskClaimReleased(effect_key=EffectKey(key), reason="nothing was attempted")
        return self.draft(stream, version, event, key=EffectKey(key))

    def sealed(self, stream: StreamId, version: int) -> Draft:
        """The last event of a task."""
        return self.draft(stream, version, TaskSealed(events=version))

    def note(
        self, stream: StreamId, version: int, *, size: int = 40, frames: Sequence[FrameRef] = ()
    ) -> Draft:
        """Some event with about ``size`` bytes of text."""
        event = AlertRaised(kind="note", severity="low", message="x" * size, delivered={"log": str(version)})
        return self.draft(stream, version, event, frames=frames)

    def notes(self, stream: StreamId, count: int, *, first: int = 1, size: int = 40) -> list[Draft]:
        """Several events in a row."""
        return [self.note(stream, first + number, size=size) for number in range(count)]


def intent(bill: str) -> Intent:
    """What the business wants of a bill."""
    return Intent(
        bill_id=bill,
        action="mark_processed",
        counterparty="北风贸易",
        amount_minor=143_474,
        currency="CNY",
        month="2026-11",
        expected_status="已处理",
    )


def execute(url: str, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run SQL as somebody with full rights and bad intentions would; ``?`` marks parameters.

    On SQLite the guards against changes are dropped first.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        assert parsed.database is not None
        with contextlib.closing(sqlite3.connect(parsed.database, isolation_level=None)) as connection:
            triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            return connection.execute(statement, tuple(parameters)).fetchall()
    assert parsed.database is not None
    with psycopg.connect(cluster().dsn(parsed.database), autocommit=True) as session:
        cursor = session.execute(statement.replace("?", "%s").encode(), tuple(parameters))
        return cursor.fetchall() if cursor.description else []


def move(url: str, tenant: TenantId, position: int, to: int, *, to_tenant: TenantId | None = None) -> None:
    """Give an event another place, as somebody with full rights would; SQLite's key holds both."""
    arrived = to_tenant or tenant
    if make_url(url).get_backend_name() == "sqlite":
        execute(
            url,
            "UPDATE event SET id = ((SELECT no FROM tenant WHERE name = ?) << 40) + ?, tenant = ?"
            " WHERE tenant = ? AND id & ((1 << 40) - 1) = ?",
            (arrived, to, arrived, tenant, position),
        )
        return
    execute(
        url,
        "UPDATE event SET tenant = ?, position = ? WHERE tenant = ? AND position = ?",
        (arrived, to, tenant, position),
    )


def copy(url: str, tenant: TenantId, position: int, to: int, version: int) -> None:
    """Insert an event once more at another place, under an id of its own."""
    columns = "tenant, stream, version, event_id, name, recorded_at_us, entry_hash, body"
    if make_url(url).get_backend_name() == "sqlite":
        place, taken = "id", "(id >> 40 << 40) + ?"
    else:
        place, taken = "position", "?"
    taken_columns = columns.replace("version, event_id", "?, 'copy'")
    execute(
        url,
        f"INSERT INTO event ({place}, {columns}) SELECT {taken}, {taken_columns}"  # noqa: S608 - fixed names
        " FROM event WHERE tenant = ? AND position = ?",
        (to, version, tenant, position),
    )


def erase(url: str) -> None:
    """Remove every event and checkpoint with all that points at them."""
    tables = ["checkpoint", "event", "tenant_head"]
    if make_url(url).get_backend_name() == "sqlite":
        tables += ["event_place", "stream_place", "tenant"]
    for table in tables:
        execute(url, f"DELETE FROM {table}")  # noqa: S608 - fixed names
