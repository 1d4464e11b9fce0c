"""Facts about undoing and about people taking over."""

from __future__ import annotations

from typing import Literal

from domain.events.base import fact
from domain.ids import PrincipalId
from domain.values import BusinessState, Verdict

Severity = Literal["low", "medium", "high", "critical"]


@fact("compensation.registered")
class CompensationRegistered:
    """Before the write: the state it starts from and how to get back to it (B11)."""

    action: str
    """Business action that undoes this one; empty when nothing can."""
    snapshot: BusinessState
    source: str
    residual_effects: tuple[str, ...] = ()
    """What stays even after undoing (a notice sent, a voucher issued)."""


@fact("compensation.started")
class CompensationStarted:
    """Somebody asked for the effect to be undone; its own steps follow in the same stream."""

    action: str
    requested_by: PrincipalId
    reason: str


@fact("compensation.confirmed")
class CompensationConfirmed:
    """A readback shows the state of the snapshot again."""

    source: str
    restored: BusinessState


@fact("compensation.failed")
class CompensationFailed:
    """The state could not be brought back; a person takes over."""

    reason: str
    differences: dict[str, str]


@fact("takeover.requested")
class TakeoverRequested:
    """The task needs a person; it is in the takeover queue (G8, B15)."""

    verdict: Verdict
    reason: str
    severity: Severity
    due_at_us: int


@fact("takeover.claimed")
class TakeoverClaimed:
    """A person owns the task now; the executor keeps its hands off."""

    owner: PrincipalId


@fact("takeover.resolved")
class TakeoverResolved:
    """The person says what they found and did."""

    owner: PrincipalId
    resolution: Literal["effect_present", "effect_absent", "done_by_hand", "undone_by_hand", "nothing_to_do"]
    note: str
