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

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import BusinessState, FrameRef, Intent
from projections.fold import Row
from projections.views.common import action_of, bill_of, first_objection, task_of, verdict_of
from projections.views.sentences import sentence

Category = Literal[
    "task", "frame", "verdict", "approval", "attempt", "readback", "compensation", "takeover", "alert", "run"
]

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


class ChainItem(Row, frozen=True, array_like=True):
    """One event about the bill."""

    position: int
    event_id: str
    entry_hash: str
    """Link of its stream's hash chain, hexadecimal."""
    name: str
    category: Category
    at_us: int
    """Clock of whoever wrote it, microseconds since 1970 (UTC)."""
    recorded_at_us: int
    """Clock of the store."""
    principal: str
    task_id: str
    run_id: str
    action_id: str
    key: str
    frames: tuple[FrameRef, ...]
    sentence: str


class WriteEvidence(Row, frozen=True, array_like=True):
    """One attempt to change the business."""

    position: int
    """Of ``action.attempted``."""
    action_id: str
    task_id: str
    run_id: str
    principal: str
    key: str
    digest: str
    label: str
    rung: str
    undoing: bool
    """True for a write that takes an earlier one back."""
    verdict: str
    outcome: Literal["open", "executed", "blocked", "failed", "unknown"] = "open"
    toast: str = ""
    approved_by: tuple[str, ...] = ()
    approval_positions: tuple[int, ...] = ()
    state_before: BusinessState | None = None
    """Snapshot that was registered with the way back."""
    way_back: str = ""
    residual_effects: tuple[str, ...] = ()
    before: tuple[FrameRef, ...] = ()
    after: tuple[FrameRef, ...] = ()
    readback_positions: tuple[int, ...] = ()
    readback: Literal["", "confirmed", "mismatched", "inconclusive"] = ""
    """Last word of an independent source."""
    compensation: Literal["", "started", "confirmed", "failed"] = ""
    trace: str = ""
    """SHA-256 of the browser's trace that shows it, when one was kept."""
    trace_position: int = 0
    """Of its ``trace.attached``."""


class ChainRow(Row, frozen=True, array_like=True):
    """Row of the view: one task's part of the chain."""

    tenant: str = ""
    task_id: str = ""
    bill_id: str = ""
    intent: Intent | None = None
    requested_by: str = ""
    items: tuple[ChainItem, ...] = ()
    writes: tuple[WriteEvidence, ...] = ()
    proposed: e.ActionProposed | None = None
    verdict: str = ""
    look: tuple[FrameRef, ...] = ()
    """Frames of the latest observation."""
    before: tuple[FrameRef, ...] = ()
    """Screens of the step under way."""
    approved_by: tuple[str, ...] = ()
    approval_positions: tuple[int, ...] = ()
    approval_digest: str = ""
    """Action that those approvals are bound to."""
    registered: e.CompensationRegistered | None = None
    undoing: bool = False


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


class EvidenceChain:
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

    def apply(self, view: ChainRow, recorded: Recorded) -> ChainRow:
        """Row after one more event about the task."""
        view = replace(
            view,
            tenant=recorded.row.tenant,
            task_id=task_of(recorded) or "",
            bill_id=view.bill_id or bill_of(recorded),
            items=(*view.items, _item(recorded)),
        )
        return _screens(_prepare(_write(view, recorded), recorded), recorded)


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


def _item(recorded: Recorded) -> ChainItem:
    envelope, row = recorded.envelope, recorded.row
    return ChainItem(
        position=row.position,
        event_id=envelope.event_id,
        entry_hash=row.entry_hash.hex(),
        name=recorded.name,
        category=_CATEGORIES.get(recorded.name.partition(".")[0], "run"),
        at_us=envelope.occurred_at_us,
        recorded_at_us=row.recorded_at_us,
        principal=envelope.principal,
        task_id=task_of(recorded) or "",
        run_id=envelope.run_id or "",
        action_id=action_of(recorded.event) or "",
        key=_key(recorded),
        frames=envelope.frames,
        sentence=sentence(recorded.event),
    )


def _key(recorded: Recorded) -> str:
    match recorded.event:
        case e.ActionAttempted(effect_key=str() as key):
            return key
        case e.TaskOpened() | e.TaskClaimed() | e.TaskClaimDenied() | e.TaskClaimReleased():
            return recorded.event.effect_key
        case _:
            return recorded.envelope.idempotency_key or ""


def _prepare(view: ChainRow, recorded: Recorded) -> ChainRow:
    """Keep what a later write of this task stands on."""
    event = recorded.event
    match event:
        case e.TaskOpened() | e.TaskRefused():
            return replace(view, intent=event.intent, requested_by=event.requested_by)
        case e.ActionProposed():
            planned = tuple(frame for frame in view.look if frame.sha256 == event.planned_on)
            return replace(view, proposed=event, verdict="", before=planned)
        case e.GuardJudged() | e.ActionBlocked() | e.ActionFailed():
            said = verdict_of(event)
            return replace(view, verdict=first_objection(view.verdict or None, said) if said else "")  # type: ignore[arg-type]
        case e.ApprovalRequested():
            return replace(
                view,
                approved_by=(),
                approval_positions=(recorded.row.position,),
                approval_digest=event.digest,
            )
        case e.ApprovalGranted():
            return replace(
                view,
                approved_by=(*view.approved_by, event.approver),
                approval_positions=(*view.approval_positions, recorded.row.position),
            )
        case e.ApprovalDenied() | e.ApprovalLapsed():
            return replace(view, approved_by=(), approval_positions=())
        case e.CompensationRegistered():
            return replace(view, registered=event)
        case e.CompensationStarted():
            return replace(view, undoing=True, approved_by=(), approval_positions=())
        case e.CompensationConfirmed() | e.CompensationFailed():
            return replace(view, undoing=False)
        case _:
            return view


def _screens(view: ChainRow, recorded: Recorded) -> ChainRow:
    """Sort the event's screens to before or after a write."""
    frames = recorded.envelope.frames
    if not frames:
        return view
    if isinstance(recorded.event, e.ObservationRecorded):
        view = replace(view, look=frames)
    before = tuple(frame for frame in frames if frame.role in {"before", "planned", "snapshot"})
    after = tuple(frame for frame in frames if frame.role == "after")
    if before:
        view = replace(view, before=_pictures(*view.before, *before))
    if after and view.writes:
        last = view.writes[-1]
        view = _last(view, replace(last, after=_pictures(*last.after, *after)))
    return view


def _pictures(*frames: FrameRef) -> tuple[FrameRef, ...]:
    """Each picture once, under the role it was first captured for."""
    first: dict[str, FrameRef] = {}
    for frame in frames:
        first.setdefault(frame.sha256, frame)
    return tuple(first.values())


def _last(view: ChainRow, write: WriteEvidence) -> ChainRow:
    return replace(view, writes=(*view.writes[:-1], write))


def _write(view: ChainRow, recorded: Recorded) -> ChainRow:
    event = recorded.event
    if isinstance(event, e.ActionAttempted):
        return (
            replace(view, writes=(*view.writes, _attempted(view, recorded, event))) if event.writes else view
        )
    if not view.writes:
        return view
    last = view.writes[-1]
    match event:
        case e.ActionExecuted() if event.action_id == last.action_id:
            return _last(view, replace(last, outcome="executed", toast=event.toast))
        case e.ActionBlocked() if event.action_id == last.action_id:
            return _last(view, replace(last, outcome="blocked", verdict=event.verdict))
        case e.ActionFailed() if event.action_id == last.action_id:
            return _last(view, replace(last, outcome="failed", verdict=event.verdict))
        case e.ActionOutcomeUnknown() if event.action_id == last.action_id:
            return _last(view, replace(last, outcome="unknown"))
        case e.GuardJudged() if event.action_id == last.action_id and event.verdict != "pass":
            return _last(view, replace(last, verdict=event.verdict))
        case e.ReadbackConfirmed():
            return _read(view, recorded, "confirmed")
        case e.ReadbackMismatched():
            return _read(view, recorded, "mismatched")
        case e.ReadbackInconclusive():
            return _read(view, recorded, "inconclusive")
        case e.CompensationStarted() | e.CompensationConfirmed() | e.CompensationFailed():
            return _undo(view, event)
        case _:
            return _traced(view, recorded, event) if isinstance(event, e.TraceAttached) else view


def _traced(view: ChainRow, recorded: Recorded, event: e.TraceAttached) -> ChainRow:
    """A trace shows its run's latest writes: those that did the task, or those that undid it."""
    side = (recorded.envelope.run_id or "", view.writes[-1].undoing)
    shown = (
        replace(write, trace=event.blob, trace_position=recorded.row.position)
        if (write.run_id, write.undoing) == side and not write.trace
        else write
        for write in view.writes
    )
    return replace(view, writes=tuple(shown))


def _attempted(view: ChainRow, recorded: Recorded, event: e.ActionAttempted) -> WriteEvidence:
    proposed = view.proposed if view.proposed and view.proposed.action_id == event.action_id else None
    approved = proposed is not None and proposed.digest == view.approval_digest
    return WriteEvidence(
        position=recorded.row.position,
        action_id=event.action_id,
        task_id=task_of(recorded) or "",
        run_id=recorded.envelope.run_id or "",
        principal=recorded.envelope.principal,
        key=_key(recorded),
        digest=proposed.digest if proposed else "",
        label=proposed.label if proposed else "",
        rung=proposed.rung if proposed else "",
        undoing=view.undoing,
        verdict=view.verdict,
        approved_by=view.approved_by if approved else (),
        approval_positions=view.approval_positions if approved else (),
        state_before=view.registered.snapshot if view.registered else None,
        way_back=view.registered.action if view.registered else "",
        residual_effects=view.registered.residual_effects if view.registered else (),
        before=view.before,
    )


def _read(
    view: ChainRow, recorded: Recorded, word: Literal["confirmed", "mismatched", "inconclusive"]
) -> ChainRow:
    last = view.writes[-1]
    positions = (*last.readback_positions, recorded.row.position)
    return _last(view, replace(last, readback=word, readback_positions=positions))


def _undo(
    view: ChainRow, event: e.CompensationStarted | e.CompensationConfirmed | e.CompensationFailed
) -> ChainRow:
    """Mark the writes that are being taken back."""
    word: Literal["started", "confirmed", "failed"] = "started"
    if not isinstance(event, e.CompensationStarted):
        word = "confirmed" if isinstance(event, e.CompensationConfirmed) else "failed"
    return replace(
        view,
        writes=tuple(
            write
            if write.undoing or write.outcome in {"blocked", "failed"}
            else replace(write, compensation=word)
            for write in view.writes
        ),
    )
