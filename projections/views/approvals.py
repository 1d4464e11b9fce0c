"""Requests for approval: what a person is asked to decide, on which screen, until when (B10).

Rules enforced here:

* A request is open only while the domain's own state machine waits for it; a task that moved on (handed over,
  undone) closes it without an answer.
* The request shows what it is bound to: bill, amount, action digest and the frame.
* Whether it has expired depends on the time of asking: ``pending`` takes ``now_us``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import Sha256
from domain.state import TaskState, evolve
from domain.values import Intent
from projections.fold import Folded, Row
from projections.views.common import own_task

ApprovalStatus = Literal["open", "granted", "denied", "lapsed", "dropped"]


class Request(Row, frozen=True):
    """One request; ``dropped`` when the task went on without an answer."""

    approval_id: str
    status: ApprovalStatus
    action_id: str
    digest: Sha256
    frame: Sha256 | None
    label: str
    kind: str
    rule: str
    reason: str
    requested_by: str
    requested_at_us: int
    expires_at_us: int
    approvers_needed: int
    position: int
    approvers: tuple[str, ...] = ()
    note: str = ""
    closed_at_us: int | None = None
    closed_position: int | None = None


class ApprovalRow(Row, frozen=True, array_like=True):
    """All requests of one task."""

    tenant: str = ""
    task_id: str = ""
    run_id: str = ""
    intent: Intent | None = None
    requested_by: str = ""
    """Who asked for the task; may not approve it either."""
    requests: tuple[Request, ...] = ()
    action: e.ActionProposed | None = None
    """The step under way, which a request is about."""
    waiting: TaskState | None = None
    """The domain's fold since a request was made, while it waits for an answer; nothing before matters to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An open request at one moment."""

    tenant: str
    task_id: str
    run_id: str
    intent: Intent | None
    may_not_approve: tuple[str, ...]
    """Requester and those who approved already."""
    request: Request
    left_us: int
    expired: bool


class Approvals(Folded[ApprovalRow]):
    """Fold into ``ApprovalRow``; grouped by whether one is open (``open``)."""

    name = "approvals"
    version = 3
    row_type = ApprovalRow

    key = staticmethod(own_task)
    """The task in whose stream the event stands."""

    def group(self, view: ApprovalRow) -> str:
        """``open`` while an answer is waited for."""
        return "open" if view.requests and view.requests[-1].status == "open" else ""

    def initial(self) -> ApprovalRow:
        """No request."""
        return ApprovalRow()

    def extend(self, view: ApprovalRow, events: Sequence[Recorded]) -> ApprovalRow:
        """Row after more events of the task."""
        intent, requested_by, run_id = view.intent, view.requested_by, view.run_id
        requests, action, waiting = view.requests, view.action, view.waiting
        for recorded in events:
            event = recorded.event
            run_id = recorded.envelope.run_id or run_id
            if waiting is not None:
                waiting = evolve(waiting, event)
                requests = (*requests[:-1], _answered(requests[-1], recorded, waiting))
                waiting = waiting if requests[-1].status == "open" else None
            if type(event) not in _TOLD:
                continue
            match event:
                case e.TaskOpened() | e.TaskRefused():
                    intent, requested_by = event.intent, event.requested_by
                case e.ActionProposed():
                    action = event
                case e.CompensationStarted():
                    action = None
                case e.ApprovalRequested():
                    requests = (*requests, _requested(recorded, event, action))
                    waiting = evolve(TaskState(), event)
                case _:
                    pass
        return replace(
            view,
            tenant=events[0].row.tenant,
            task_id=own_task(events[0]) or "",
            run_id=run_id,
            intent=intent,
            requested_by=requested_by,
            requests=requests,
            action=action,
            waiting=waiting,
        )


_TOLD: frozenset[type] = frozenset(
    {e.TaskOpened, e.TaskRefused, e.ActionProposed, e.CompensationStarted, e.ApprovalRequested}
)


def _requested(recorded: Recorded, event: e.ApprovalRequested, action: e.ActionProposed | None) -> Request:
    about = action if action is not None and action.action_id == event.action_id else None
    return Request(
        approval_id=event.approval_id,
        status="open",
        action_id=event.action_id,
        digest=event.digest,
        frame=event.frame,
        label=about.label if about else "",
        kind=about.kind if about else "",
        rule=event.rule,
        reason=event.reason,
        requested_by=event.requested_by,
        requested_at_us=recorded.envelope.occurred_at_us,
        expires_at_us=event.expires_at_us,
        approvers_needed=event.approvers_needed,
        position=recorded.row.position,
    )


def _answered(request: Request, recorded: Recorded, state: TaskState) -> Request:
    event = recorded.event
    closed = replace(
        request, closed_at_us=recorded.envelope.occurred_at_us, closed_position=recorded.row.position
    )
    match event:
        case e.ApprovalGranted():
            approvers = tuple(dict.fromkeys((*request.approvers, event.approver)))
            if state.status == "awaiting_approval":
                return replace(request, approvers=approvers, note=event.note)
            return replace(closed, status="granted", approvers=approvers, note=event.note)
        case e.ApprovalDenied():
            return replace(closed, status="denied", approvers=(event.approver,), note=event.note)
        case e.ApprovalLapsed():
            return replace(closed, status="lapsed")
        case e.ApprovalRequested():
            return replace(closed, status="dropped")
        case _:
            return request if state.status == "awaiting_approval" else replace(closed, status="dropped")


def pending(rows: Iterable[ApprovalRow], *, now_us: int) -> tuple[Pending, ...]:
    """Open requests at ``now_us`` (microseconds since 1970, UTC), the one that expires first leading.

    One whose time is up but whose lapse isn't recorded yet is listed as ``expired``: nobody may grant it.
    """
    found = [
        Pending(
            tenant=row.tenant,
            task_id=row.task_id,
            run_id=row.run_id,
            intent=row.intent,
            may_not_approve=tuple(
                dict.fromkeys(
                    name for name in (request.requested_by, row.requested_by, *request.approvers) if name
                )
            ),
            request=request,
            left_us=request.expires_at_us - now_us,
            expired=now_us >= request.expires_at_us,
        )
        for row in rows
        for request in row.requests
        if request.status == "open"
    ]
    return tuple(sorted(found, key=lambda item: (item.request.expires_at_us, item.request.position)))
