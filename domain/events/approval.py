"""Facts about approvals: by another identity, bound to exactly one action, and expiring (B10)."""

from __future__ import annotations

from domain.events.base import fact
from domain.ids import ActionId, PrincipalId, Sha256


@fact("approval.requested")
class ApprovalRequested:
    """The policy asks for a person's word before this action; the request shows what they decide on."""

    approval_id: str
    action_id: ActionId
    digest: Sha256
    """The approved business action; any other digest needs a new approval."""
    frame: Sha256 | None
    """The screen that the approver is shown."""
    rule: str
    """Rule of the write policy that asked."""
    reason: str
    requested_by: PrincipalId
    expires_at_us: int
    approvers_needed: int = 1


@fact("approval.granted")
class ApprovalGranted:
    """A person other than the requester allowed it."""

    approval_id: str
    digest: Sha256
    approver: PrincipalId
    note: str = ""


@fact("approval.denied")
class ApprovalDenied:
    """A person refused; the task fails without an effect."""

    approval_id: str
    digest: Sha256
    approver: PrincipalId
    note: str = ""


@fact("approval.lapsed")
class ApprovalLapsed:
    """Nobody answered before the request expired."""

    approval_id: str
    digest: Sha256
