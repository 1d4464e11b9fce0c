"""The queue of tasks that wait for a person, with their time limits (B15, G8).

Rules enforced here:

* Asking, claiming and resolving are events; the queue is only what they say.
* A task can be handed over more than once (it was reopened, its undoing failed): each time is an item of its own.
* Age and breach depend on the time of asking, so they are answered by ``aged`` for a given ``now_us``.
* A takeover is in breach when it is (or was) unresolved at its due time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import Sha256
from domain.values import Intent, Verdict
from projections.fold import Folded, Row
from projections.views.common import task_of

TakeoverStatus = Literal["open", "claimed", "resolved", "compensating"]
_URGENCY = {"critical": 0, "high": 1, "medium": 2, "low": 3}


class Item(Row, frozen=True):
    """One request for a person."""

    number: int
    """Which takeover of the task, from 1."""
    status: TakeoverStatus
    """``compensating``: the executor was told to undo the effect instead."""
    verdict: Verdict
    reason: str
    severity: str
    requested_at_us: int
    due_at_us: int
    position: int
    """Of the request in the tenant's log."""
    owner: str = ""
    claimed_at_us: int | None = None
    closed_at_us: int | None = None
    resolution: str = ""
    note: str = ""
    closed_position: int | None = None


class QueueRow(Row, frozen=True, array_like=True):
    """All takeovers of one task."""

    tenant: str = ""
    task_id: str = ""
    run_id: str = ""
    intent: Intent | None = None
    last_frame: Sha256 | None = None
    """The newest screen of the task: what the person looks at first."""
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aged:
    """An item at one moment."""

    tenant: str
    task_id: str
    run_id: str
    intent: Intent | None
    last_frame: Sha256 | None
    item: Item
    age_us: int
    """From the request until it was closed, or until now."""
    left_us: int
    """Until the due time; negative by so much when it is late."""
    breached: bool


class TakeoverQueue(Folded[QueueRow]):
    """Fold into ``QueueRow``; grouped by whether a person is waited for (``waiting``) or not."""

    name = "takeover_queue"
    version = 2
    row_type = QueueRow

    key = staticmethod(task_of)
    """The task."""

    def group(self, view: QueueRow) -> str:
        """``waiting`` while an item is open or claimed."""
        return "waiting" if view.items and view.items[-1].status in {"open", "claimed"} else ""

    def initial(self) -> QueueRow:
        """No takeover."""
        return QueueRow()

    def extend(self, view: QueueRow, events: Sequence[Recorded]) -> QueueRow:
        """Row after more events about the task."""
        intent, items = view.intent, view.items
        run_id, last_frame = view.run_id, view.last_frame
        for recorded in events:
            event, envelope = recorded.event, recorded.envelope
            run_id = envelope.run_id or run_id
            if envelope.frames:
                last_frame = envelope.frames[-1].sha256
            if type(event) not in _TOLD:
                continue
            match event:
                case e.TaskOpened():
                    intent = event.intent
                case e.TakeoverRequested():
                    items = (*items, _requested(len(items) + 1, recorded, event))
                case e.TakeoverClaimed() | e.TakeoverResolved() | e.CompensationStarted():
                    items = _moved(items, recorded, event)
                case _:
                    pass
        return replace(
            view,
            tenant=events[0].row.tenant,
            task_id=task_of(events[0]) or "",
            run_id=run_id,
            intent=intent,
            last_frame=last_frame,
            items=items,
        )


_TOLD: frozenset[type] = frozenset(
    {e.TaskOpened, e.TakeoverRequested, e.TakeoverClaimed, e.TakeoverResolved, e.CompensationStarted}
)


def _requested(number: int, recorded: Recorded, event: e.TakeoverRequested) -> Item:
    return Item(
        number=number,
        status="open",
        verdict=event.verdict,
        reason=event.reason,
        severity=event.severity,
        requested_at_us=recorded.envelope.occurred_at_us,
        due_at_us=event.due_at_us,
        position=recorded.row.position,
    )


def _moved(
    items: tuple[Item, ...],
    recorded: Recorded,
    event: e.TakeoverClaimed | e.TakeoverResolved | e.CompensationStarted,
) -> tuple[Item, ...]:
    if not items or items[-1].closed_at_us is not None:
        return items
    item, at_us = items[-1], recorded.envelope.occurred_at_us
    closed = replace(item, closed_at_us=at_us, closed_position=recorded.row.position)
    match event:
        case e.TakeoverClaimed():
            item = replace(item, status="claimed", owner=event.owner, claimed_at_us=at_us)
        case e.TakeoverResolved():
            item = replace(
                closed,
                status="resolved",
                owner=event.owner,
                resolution=event.resolution,
                note=event.note,
            )
        case e.CompensationStarted():
            item = replace(closed, status="compensating", note=event.reason)
    return (*items[:-1], item)


def aged(rows: Iterable[QueueRow], *, now_us: int, closed: bool = False) -> tuple[Aged, ...]:
    """The queue at ``now_us``: late ones first, then by severity, then by due time.

    Args:
        rows: rows of the view.
        now_us: the moment, microseconds since 1970 (UTC).
        closed: with the items that need nobody any more.
    """
    found = [
        _aged(row, item, now_us) for row in rows for item in row.items if closed or item.closed_at_us is None
    ]
    return tuple(
        sorted(
            found,
            key=lambda aged: (
                aged.item.closed_at_us is not None,
                not aged.breached,
                _URGENCY.get(aged.item.severity, len(_URGENCY)),
                aged.item.due_at_us,
                aged.item.position,
            ),
        )
    )


def _aged(row: QueueRow, item: Item, now_us: int) -> Aged:
    until = now_us if item.closed_at_us is None else item.closed_at_us
    return Aged(
        tenant=row.tenant,
        task_id=row.task_id,
        run_id=row.run_id,
        intent=row.intent,
        last_frame=row.last_frame,
        item=item,
        age_us=until - item.requested_at_us,
        left_us=item.due_at_us - until,
        breached=until > item.due_at_us,
    )
