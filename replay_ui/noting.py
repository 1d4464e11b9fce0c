"""Brings the rows of ``lookup`` up to the end of the log, by what passes on its way into the stored views.

Rules enforced here:

- Nothing is decoded twice: the views read through ``Watching``, which notes what the lookup needs.
- A position is moved on in the transaction that brings the rows of that position; hashes and actors are entered before
  it, and entering them again changes nothing.
- Rows of another version of these tables, or of the views that they are made of, are thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from domain.state import TaskState
from projections.tables import ROWS
from projections.views.common import task_of
from projections.views.runs import RunRow, Runs
from projections.views.task_states import TaskRow, TaskStates
from replay_ui.lookup import head_of
from replay_ui.lookup_tables import ACTORS, HASHES, METADATA, PLACES, RUNS, TASK_RUNS, TASKS

if TYPE_CHECKING:
    from domain.envelope import Recorded
    from domain.ids import StreamId, TenantId
    from projections.fold import Partitioned
    from projections.reading import RecordReader

VERSION: Final = f"1.{TaskStates.version}.{Runs.version}"
_FLUSH: Final = 20_000
"""Hashes and actors that are entered at once."""
_CHUNK: Final = 300
"""Keys of one statement."""
_HASHED: Final = ("blob", "digest", "planned_on", "frame", "response")
"""Fields of facts that hold a hash which people search for."""


class Touched(NamedTuple):
    """What new events were about."""

    tasks: set[str]
    runs: set[str]


class Watching:
    """An ``EventSource`` that notes what passes through it; positions that were seen before are passed on only."""

    def __init__(self, reader: RecordReader, notes: Notes, tenant: TenantId) -> None:
        self._reader = reader
        self._notes = notes
        self._tenant = tenant
        self.seen = notes.position(tenant)
        self.touched = Touched(set(), set())
        self._hashes: list[dict[str, object]] = []
        self._actors: dict[tuple[str, str, str], int] = {}

    def tenants(self) -> list[TenantId]:
        """Every tenant that has a log."""
        return self._reader.tenants()

    def stream(self, tenant: TenantId, stream: StreamId) -> Iterator[Recorded]:
        """Events of one stream."""
        return self._reader.stream(tenant, stream)

    def events(self, tenant: TenantId, *, after: int = 0) -> Iterator[Recorded]:
        """Events of the log; those between what is known and ``after`` are noted first."""
        if after > self.seen:
            for recorded in self._reader.events(tenant, after=self.seen):
                if recorded.row.position > after:
                    break
                self._note(recorded)
        for recorded in self._reader.events(tenant, after=after):
            if recorded.row.position > self.seen:
                self._note(recorded)
            yield recorded

    def end(self, position: int) -> None:
        """Read on to ``position``, if the views were there before, and bring the rows up to it."""
        if position > self.seen:
            for _ in self.events(self._tenant, after=position):
                break
        self._flush()
        self._notes.move(self._tenant, self.touched, position)

    def _note(self, recorded: Recorded) -> None:
        self.seen = position = recorded.row.position
        envelope, task = recorded.envelope, task_of(recorded)
        if task:
            self.touched.tasks.add(task)
        if envelope.run_id:
            self.touched.runs.add(envelope.run_id)
        kind, name = ("task", task) if task else ("run", envelope.run_id or "")
        self._actors[envelope.principal, kind, name] = position
        for digest in set(hashes_of(recorded)):
            self._hashes.append({"tenant": self._tenant, "head": head_of(digest), "position": position})
        if len(self._hashes) + len(self._actors) >= _FLUSH:
            self._flush()

    def _flush(self) -> None:
        self._notes.add(self._tenant, self._hashes, self._actors)
        self._hashes, self._actors = [], {}


def hashes_of(recorded: Recorded) -> Iterator[str]:
    """Hashes that an event may be searched by: its link, its frames, what it names."""
    yield recorded.row.entry_hash.hex()
    for frame in recorded.envelope.frames:
        yield frame.sha256
    for name in _HASHED:
        value = getattr(recorded.event, name, None)
        if isinstance(value, str) and value:
            yield value


class Notes:
    """Writes the rows.

    Args:
        engine: SQLite database of the stored views.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        METADATA.create_all(engine)

    def position(self, tenant: TenantId) -> int:
        """Event up to which the rows are true; 0 for rows of another version, which are thrown away."""
        with self._engine.begin() as connection:
            found = connection.execute(
                sa.select(PLACES.c.position, PLACES.c.version).where(PLACES.c.tenant == tenant)
            ).first()
            if found is not None and found.version == VERSION:
                return int(found.position)
            self._forget(connection, tenant)
        return 0

    def forget(self, tenant: TenantId) -> None:
        """Throw the rows of a tenant away."""
        with self._engine.begin() as connection:
            self._forget(connection, tenant)

    @staticmethod
    def _forget(connection: sa.Connection, tenant: TenantId) -> None:
        for table in METADATA.sorted_tables:
            connection.execute(sa.delete(table).where(table.c.tenant == tenant))

    def add(
        self, tenant: TenantId, hashes: list[dict[str, object]], actors: dict[tuple[str, str, str], int]
    ) -> None:
        """Enter hashes and who took part; entering them again changes nothing."""
        took_part = [
            {"tenant": tenant, "principal": who, "kind": kind, "name": name, "position": position}
            for (who, kind, name), position in actors.items()
        ]
        with self._engine.begin() as connection:
            if hashes:
                connection.execute(sa.insert(HASHES).prefix_with("OR IGNORE"), hashes)
            if took_part:
                connection.execute(sa.insert(ACTORS).prefix_with("OR REPLACE"), took_part)

    def move(self, tenant: TenantId, touched: Touched, position: int) -> None:
        """Make the rows true for ``position``, by the stored views, of the tasks and runs that were touched."""
        with self._engine.begin() as connection:
            for keys in _chunks(touched.tasks):
                self._put_tasks(connection, tenant, keys)
            for keys in _chunks(touched.runs):
                self._put_runs(connection, tenant, keys)
            connection.execute(sa.delete(PLACES).where(PLACES.c.tenant == tenant))
            connection.execute(sa.insert(PLACES).values(tenant=tenant, position=position, version=VERSION))

    @staticmethod
    def _put_tasks(connection: sa.Connection, tenant: TenantId, keys: list[str]) -> None:
        rows = [
            msgspec.json.decode(body, type=TaskRow)
            for body in _bodies(connection, TaskStates(), tenant, keys)
        ]
        values = [
            {
                "tenant": tenant,
                "task_id": row.task_id,
                "bill": row.bill_id,
                "effect_key": row.effect_key,
                "status": row.status,
                "first_position": row.first_position,
                "last_position": row.last_position,
                "body": msgspec.json.encode(replace(row, state=TaskState())),
            }
            for row in rows
        ]
        runs = [
            {"tenant": tenant, "run_id": run, "first_position": row.first_position, "task_id": row.task_id}
            for row in rows
            for run in row.runs
        ]
        if values:
            connection.execute(sa.insert(TASKS).prefix_with("OR REPLACE"), values)
        if runs:
            connection.execute(sa.insert(TASK_RUNS).prefix_with("OR IGNORE"), runs)

    @staticmethod
    def _put_runs(connection: sa.Connection, tenant: TenantId, keys: list[str]) -> None:
        rows = [msgspec.json.decode(body, type=RunRow) for body in _bodies(connection, Runs(), tenant, keys)]
        values = [
            {
                "tenant": tenant,
                "run_id": row.run_id,
                "mode": row.mode,
                "status": row.status,
                "started_at_us": row.started_at_us,
                "objections": sum(count for code, count in row.verdicts.items() if code != "pass"),
                "words": f"{row.run_id}\n{row.agent}\n{row.goal}\n{row.origin}\n{row.principal}".casefold(),
                "body": msgspec.json.encode(replace(row, tasks={}, under_way={}, recent_frames=())),
            }
            for row in rows
        ]
        if values:
            connection.execute(sa.insert(RUNS).prefix_with("OR REPLACE"), values)


def _chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    ordered = sorted(keys)
    for start in range(0, len(ordered), _CHUNK):
        yield ordered[start : start + _CHUNK]


def _bodies(
    connection: sa.Connection, projection: Partitioned[Any], tenant: TenantId, keys: list[str]
) -> list[bytes]:
    """Stored rows of a view by their keys."""
    chosen = sa.select(ROWS.c.body).where(
        ROWS.c.view == projection.name,
        ROWS.c.version == projection.version,
        ROWS.c.tenant == tenant,
        ROWS.c.key.in_(keys),
    )
    return [body for (body,) in connection.execute(chosen)]
