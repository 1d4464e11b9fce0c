"""Finding something on record by what people have in their hand: a bill, a task, a run, a person, a key, a hash.

Rules enforced here:

- Every question goes to an index and has a limit.
- A hash is found by its first digits and compared with the event before it is shown.
- What is found belongs to the tenant that is asked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from domain.ids import EffectKey, EventId, TenantId
from projections.views.common import bill_of_key
from projections.views.runs import RunRow
from projections.views.task_states import TaskRow
from replay_ui.noting import hashes_of
from replay_ui.record import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replay_ui.data import Desk

MOST: Final = 50
"""Rows of a kind that are shown."""
FEWEST_DIGITS: Final = 8
"""Of a hash; fewer are in too many."""
LONGEST: Final = 400
_HASH: Final = re.compile(rf"[0-9a-f]{{{FEWEST_DIGITS},64}}")
_EVENT: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found, each kind without doubles and at most ``MOST`` of it."""

    bills: tuple[str, ...] = ()
    """Bills that begin with what was asked for."""
    tasks: tuple[TaskRow, ...] = ()
    runs: tuple[RunRow, ...] = ()
    events: tuple[Place, ...] = ()
    """By a hash, by their id, or by who is behind them."""

    @property
    def nothing(self) -> bool:
        """Whether there is nothing at all."""
        return not (self.bills or self.tasks or self.runs or self.events)


def search(desk: Desk, tenant: TenantId, asked: str) -> Found:
    """Everything that ``asked`` may mean."""
    asked = asked.strip()
    if not asked or len(asked) > LONGEST or not desk.catch_up(tenant):
        return Found()
    look = desk.lookup
    parts = look.took_part(tenant, asked, MOST)
    tasks: dict[str, TaskRow] = {}
    for row in (
        *look.tasks(tenant, bill=asked, limit=MOST),
        *(look.tasks(tenant, key=asked, limit=MOST) if bill_of_key(EffectKey(asked)) else ()),
        *look.tasks(tenant, ids=look.ids_like(tenant, "task", asked, MOST)),
        *look.tasks(tenant, ids=[name for kind, name, _ in parts if kind == "task"]),
    ):
        tasks.setdefault(row.task_id, row)
    runs = (*look.ids_like(tenant, "run", asked, MOST), *(name for kind, name, _ in parts if kind == "run"))
    rows = (desk.run(tenant, name) for name in dict.fromkeys(name for name in runs if name))
    positions = (*_by_hash(desk, tenant, asked.casefold()), *(at for _, name, at in parts if not name))
    return Found(
        bills=look.bills_like(tenant, asked, MOST),
        tasks=tuple(tasks.values())[:MOST],
        runs=tuple(row for row in rows if row is not None)[:MOST],
        events=desk.places(tenant, tuple(dict.fromkeys(positions))[:MOST]),
    )


def _by_hash(desk: Desk, tenant: TenantId, asked: str) -> Iterable[int]:
    if _EVENT.fullmatch(asked):
        recorded = desk.reader.find(tenant, EventId(asked))
        if recorded is not None:
            yield recorded.row.position
    if not _HASH.fullmatch(asked):
        return
    for position in desk.lookup.positions_of(tenant, asked, MOST):
        found = desk.stored(tenant, position)
        if found is not None and any(digest.startswith(asked) for digest in hashes_of(found)):
            yield position
