"""Requests for approval: what a person is asked to decide, on which screen, until when (B10).

Rules enforced here:

* A request is open only while the domain's own state machine waits for it; a task that moved on (handed over,
  undone) closes it without an answer.
* The request shows what it is bound to: bill, amount, action digest and the frame.
* Whether it has expired depends on the time of asking: ``pending`` takes ``now_us``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import Sha256
from domain.state import TaskState, evolve
from domain.values import Intent
from projections.fold import Row
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


class ApprovalRow(Row, frozen=True):
    """All requests of one task."""

    tenant: str = ""
    task_id: str = ""
    run_id: str = ""
    intent: Intent | None = None
    requested_by: str = ""
    """Who asked for the task; may not approve it either."""
    requests: tuple[Request, ...] = ()
    state: TaskState = msgspec.field(default_factory=TaskState)


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


class Approvals:
    """Fold into ``ApprovalRow``; grouped by whether one is open (``open``)."""

    name = "approvals"
    version = 2
    row_type = ApprovalRow

    key = staticmethod(own_task)
    """The task in whose stream the event stands."""

    def group(self, view: ApprovalRow) -> str:
        """``open`` while an answer is waited for."""
        return "open" if view.requests and view.requests[-1].status == "open" else ""

    def initial(self) -> ApprovalRow:
        """No request."""
        return ApprovalRow()

    def apply(self, view: ApprovalRow, recorded: Recorded) -> ApprovalRow:
        """Row after one more event of the task."""
        event, action = recorded.event, view.state.action
        state = evolve(view.state, event)
        view = replace(
            view,
            state=state,
            tenant=recorded.row.tenant,
            task_id=own_task(recorded) or "",
            run_id=recorded.envelope.run_id or view.run_id,
            intent=state.intent,
            requested_by=state.requested_by or "",
        )
        last = view.requests[-1] if view.requests else None
        if last is not None and last.status == "open":
            view = replace(view, requests=(*view.requests[:-1], _answered(last, recorded, state)))
        if isinstance(event, e.ApprovalRequested):
            view = replace(view, requests=(*view.requests, _requested(recorded, event, action)))
        return view


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
