"""The evidence chain of a bill: everything on record about it, over all tasks and runs, in order (B12, D3).

Rules enforced here:

* Every event of every task on the bill is an item; none is summarised away. An item carries what is needed to find
  and prove the event: position, id, entry hash, time, principal, frames.
* Each write is restored as a whole: identity, key, digest, approval, screens before and after, verdict, readbacks,
  the state before it and what undid it.
* A screen "after" is one captured after the attempt; the screens "before" are those of its step up to the attempt.
* An approval belongs to a write only when both carry the same digest.

Stored by task and looked up by bill; ``chain`` joins them. The claims, refusals and denials of other tasks on the
same bill are part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from domain.envelope import Recorded
from projections.fold import Folded
from projections.views.common import action_of, bill_of, task_of
from projections.views.sentences import sentence
from projections.views.writes import Category, ChainItem, ChainRow, WriteEvidence, key_of, told

__all__ = ["BillChain", "Category", "ChainItem", "ChainRow", "EvidenceChain", "WriteEvidence", "chain"]

_CATEGORIES: dict[str, Category] = {
    "task": "task",
    "observation": "frame",
    "trace": "frame",
    "guard": "verdict",
    "approval": "approval",
    "action": "attempt",
    "readback": "readback",
    "compensation": "compensation",
    "takeover": "takeover",
    "alert": "alert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BillChain:
    """Everything on record about one bill."""

    tenant: str
    bill_id: str
    tasks: tuple[str, ...]
    """In order of their first event."""
    runs: tuple[str, ...]
    principals: tuple[str, ...]
    keys: tuple[str, ...]
    items: tuple[ChainItem, ...]
    """In order of the tenant's log."""
    writes: tuple[WriteEvidence, ...]

    def of(self, category: Category) -> tuple[ChainItem, ...]:
        """Items of one category."""
        return tuple(item for item in self.items if item.category == category)


class EvidenceChain(Folded[ChainRow]):
    """Fold into ``ChainRow``; grouped by bill."""

    name = "evidence_chain"
    version = 3
    row_type = ChainRow

    key = staticmethod(task_of)
    """The task that the event is about, whichever stream it stands in."""

    def group(self, view: ChainRow) -> str:
        """The bill."""
        return view.bill_id

    def initial(self) -> ChainRow:
        """Nothing on record."""
        return ChainRow()

    def extend(self, view: ChainRow, events: Sequence[Recorded]) -> ChainRow:
        """Row after more events about the task."""
        if not view.items:
            view = replace(view, tenant=events[0].row.tenant, task_id=task_of(events[0]) or "")
        items, bill = list(view.items), view.bill_id
        for recorded in events:
            items.append(_item(recorded, view.task_id))
            bill = bill or bill_of(recorded)
            view = told(view, recorded)
        return replace(view, bill_id=bill, items=tuple(items))


def chain(rows: Iterable[ChainRow], bill_id: str) -> BillChain | None:
    """Chain of one bill out of its rows; None when nothing is on record about it."""
    own = sorted(
        (row for row in rows if row.bill_id == bill_id and row.items), key=lambda row: row.items[0].position
    )
    if not own:
        return None
    items = tuple(sorted((item for row in own for item in row.items), key=lambda item: item.position))
    return BillChain(
        tenant=own[0].tenant,
        bill_id=bill_id,
        tasks=tuple(row.task_id for row in own),
        runs=_distinct(item.run_id for item in items),
        principals=_distinct(item.principal for item in items),
        keys=_distinct(item.key for item in items),
        items=items,
        writes=tuple(
            sorted((write for row in own for write in row.writes), key=lambda write: write.position)
        ),
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name)


def _item(recorded: Recorded, task_id: str) -> ChainItem:
    envelope, row = recorded.envelope, recorded.row
    return ChainItem(
        position=row.position,
        event_id=envelope.event_id,
        entry_hash=row.entry_hash.hex(),
        name=recorded.name,
        category=_category(recorded.name),
        at_us=envelope.occurred_at_us,
        recorded_at_us=row.recorded_at_us,
        principal=envelope.principal,
        task_id=task_id,
        run_id=envelope.run_id or "",
        action_id=action_of(recorded.event) or "",
        key=key_of(recorded),
        frames=envelope.frames,
        sentence=sentence(recorded.event),
    )


@lru_cache(maxsize=256)
def _category(name: str) -> Category:
    return _CATEGORIES.get(name.partition(".")[0], "run")
