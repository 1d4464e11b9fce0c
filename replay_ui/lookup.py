"""What the desk looks up quickly, however long the record is: runs, tasks, who took part, and hashes.

Rules enforced here:

- Rows are kept beside the stored views and are disposable like them. They say nothing of their own: a task's and a
  run's row is the stored view's, without what only the fold goes on with (see ``noting``).
- Each question is answered through an index and a limit; a page costs the same on five million events as on five
  thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import sqlalchemy as sa

from projections.views.runs import RunRow
from projections.views.task_states import TaskRow
from replay_ui.lookup_tables import ACTORS, HASHES, METADATA, RUNS, TASK_RUNS, TASKS

if TYPE_CHECKING:
    from domain.ids import TenantId

R = TypeVar("R")

HASH_DIGITS: Final = 16
"""Hexadecimal digits by which a hash is found; the rest is compared with the event."""
_SHIFT: Final = 1 << 63
_LAST: Final = "\U0010ffff"
"""Sorts behind every other character."""


def head_of(digest: str) -> int:
    """The first 16 digits of a hash as a number that every database keeps; of a shorter text, its lowest."""
    try:
        return int(digest[:HASH_DIGITS].ljust(HASH_DIGITS, "0"), 16) - _SHIFT
    except ValueError:
        return 0


class Lookup:
    """The rows, in the SQLite database of the stored views."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        METADATA.create_all(engine)

    def runs(
        self,
        tenant: TenantId,
        *,
        mode: str = "",
        status: str = "",
        words: str = "",
        offset: int = 0,
        limit: int = -1,
    ) -> list[RunRow]:
        """Runs, newest first."""
        chosen = sa.select(RUNS.c.body).where(*_runs_where(tenant, mode, status, words))
        ordered = chosen.order_by(RUNS.c.started_at_us.desc(), RUNS.c.run_id)
        return self._decoded(ordered.offset(offset).limit(limit), RunRow)

    def count_runs(self, tenant: TenantId, *, mode: str = "", status: str = "", words: str = "") -> int:
        """Number of runs."""
        chosen = sa.select(sa.func.count()).select_from(RUNS).where(*_runs_where(tenant, mode, status, words))
        return int(self._one(chosen))

    def objections(self, tenant: TenantId) -> int:
        """Steps that a guard objected to, over all runs."""
        return int(self._one(sa.select(sa.func.sum(RUNS.c.objections)).where(RUNS.c.tenant == tenant)))

    def tasks_by_status(self, tenant: TenantId) -> dict[str, int]:
        """Number of tasks by status."""
        chosen = sa.select(TASKS.c.status, sa.func.count()).where(TASKS.c.tenant == tenant)
        with self._engine.connect() as connection:
            found = connection.execute(chosen.group_by(TASKS.c.status)).all()
        return {str(status): int(count) for status, count in found}

    def tasks_of_run(self, tenant: TenantId, run: str, *, offset: int = 0, limit: int = -1) -> list[TaskRow]:
        """Tasks with an event in a run, in order of their first event."""
        chosen = (
            sa.select(TASKS.c.body)
            .join(
                TASK_RUNS, (TASK_RUNS.c.tenant == TASKS.c.tenant) & (TASK_RUNS.c.task_id == TASKS.c.task_id)
            )
            .where(TASK_RUNS.c.tenant == tenant, TASK_RUNS.c.run_id == run)
            .order_by(TASK_RUNS.c.first_position)
        )
        return self._decoded(chosen.offset(offset).limit(limit), TaskRow)

    def count_tasks_of_run(self, tenant: TenantId, run: str) -> int:
        """Number of tasks with an event in a run."""
        chosen = sa.select(sa.func.count()).select_from(TASK_RUNS)
        return int(self._one(chosen.where(TASK_RUNS.c.tenant == tenant, TASK_RUNS.c.run_id == run)))

    def tasks(
        self,
        tenant: TenantId,
        *,
        bill: str | None = None,
        key: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = -1,
    ) -> list[TaskRow]:
        """Tasks of a bill, under an idempotency key, or by their ids; in order of their first event."""
        where = [TASKS.c.tenant == tenant]
        if bill is not None:
            where.append(TASKS.c.bill == bill)
        if key is not None:
            where.append(TASKS.c.effect_key == key)
        if ids is not None:
            where.append(TASKS.c.task_id.in_(ids))
        return self._decoded(
            sa.select(TASKS.c.body).where(*where).order_by(TASKS.c.first_position).limit(limit), TaskRow
        )

    def newest_bills(self, tenant: TenantId, limit: int) -> tuple[str, ...]:
        """Bills of the tasks that something happened to last."""
        chosen = sa.select(TASKS.c.bill).where(TASKS.c.tenant == tenant, TASKS.c.bill != "")
        return tuple(dict.fromkeys(self._column(chosen.order_by(TASKS.c.last_position.desc()).limit(limit))))

    def bills_like(self, tenant: TenantId, start: str, limit: int) -> tuple[str, ...]:
        """Bills that begin with ``start``, sorted."""
        where = (TASKS.c.tenant == tenant, TASKS.c.bill >= start, TASKS.c.bill < start + _LAST)
        return tuple(
            self._column(sa.select(TASKS.c.bill).where(*where).distinct().order_by(TASKS.c.bill).limit(limit))
        )

    def ids_like(self, tenant: TenantId, kind: str, start: str, limit: int) -> tuple[str, ...]:
        """Ids of tasks or runs that begin with ``start``."""
        column = TASKS.c.task_id if kind == "task" else RUNS.c.run_id
        table = column.table
        where = (table.c.tenant == tenant, column >= start, column < start + _LAST)
        return tuple(self._column(sa.select(column).where(*where).order_by(column).limit(limit)))

    def took_part(self, tenant: TenantId, who: str, limit: int) -> list[tuple[str, str, int]]:
        """Kind, name and last position of what a principal had a hand in, newest first; other facts have no kind."""
        chosen = (
            sa.select(ACTORS.c.kind, ACTORS.c.name, ACTORS.c.position)
            .where(ACTORS.c.tenant == tenant, ACTORS.c.principal == who)
            .order_by(ACTORS.c.position.desc())
            .limit(limit)
        )
        with self._engine.connect() as connection:
            return [(str(row[0]), str(row[1]), int(row[2])) for row in connection.execute(chosen)]

    def positions_of(self, tenant: TenantId, digits: str, limit: int) -> list[int]:
        """Positions of events that may be known by a hash with these first digits; compare before you show one."""
        low, high = head_of(digits), head_of(digits[:HASH_DIGITS].ljust(HASH_DIGITS, "f"))
        chosen = sa.select(HASHES.c.position).where(
            HASHES.c.tenant == tenant, HASHES.c.head.between(low, high)
        )
        return [int(position) for position in self._column(chosen.order_by(HASHES.c.position).limit(limit))]

    def _decoded(self, statement: sa.Select[Any], kind: type[R]) -> list[R]:
        with self._engine.connect() as connection:
            return [msgspec.json.decode(body, type=kind) for (body,) in connection.execute(statement)]

    def _one(self, statement: sa.Select[Any]) -> int:
        with self._engine.connect() as connection:
            return connection.execute(statement).scalar() or 0

    def _column(self, statement: sa.Select[Any]) -> list[Any]:
        with self._engine.connect() as connection:
            return [row[0] for row in connection.execute(statement)]


def _runs_where(tenant: TenantId, mode: str, status: str, words: str) -> list[sa.ColumnElement[bool]]:
    where: list[sa.ColumnElement[bool]] = [RUNS.c.tenant == tenant]
    if mode:
        where.append(RUNS.c.mode == mode)
    if status:
        where.append(RUNS.c.status == status)
    if words:
        where.append(RUNS.c.words.contains(words, autoescape=True))
    return where
