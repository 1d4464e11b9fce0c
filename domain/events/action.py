"""Facts about one atomic step: proposed, judged, attempted, and what came of it."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from domain.events.base import fact
from domain.ids import ActionId, EffectKey, Sha256
from domain.values import Box, Check, Point, Verdict

Rung = Literal["api", "mcp", "browser", "computer_use"]
Phase = Literal["before", "event", "request", "after"]


@fact("action.proposed")
class ActionProposed:
    """One step as it was planned on one frame."""

    action_id: ActionId
    kind: str
    """Normalised vocabulary: ``click``, ``type``, ``navigate``, ``select``, ``key``, …"""
    rung: Rung
    label: str
    """Text that the plan expects on the target (G4)."""
    target: str
    """How the target was found, in words a person can follow: selector or description."""
    writes: bool
    """True if this step may change the business; only then is an effect key attempted."""
    irreversible: bool
    digest: Sha256
    """Binds an approval to the business action: see ``domain.idempotency.action_digest``."""
    planned_on: Sha256 | None = None
    point: Point | None = None
    box: Box | None = None
    row: Box | None = None
    """Full-width band of the row or form that holds the target."""
    fingerprint: str = ""
    """What the target was: canonical text of role, name, text, row, form state (volatile text masked)."""
    text: str = ""
    """Typed or selected text, secrets masked at capture."""
    url: str = ""
    provider: str = ""
    provider_args: str = ""
    """The proposing model's own arguments, verbatim."""
    business_action: str = ""


@fact("guard.judged")
class GuardJudged:
    """All guards' findings about one action in one phase, with the numbers."""

    action_id: ActionId
    phase: Phase
    verdict: Verdict
    """``pass``, or the first decisive finding that stops the action."""
    enforced: bool
    """False in a record-only run: what the guard would have said."""
    checks: tuple[Check, ...]
    latency_us: int = 0


@fact("action.blocked")
class ActionBlocked:
    """The action was stopped and had no effect; the step starts again from a new observation."""

    action_id: ActionId
    guard: str
    verdict: Verdict
    expected: str = ""
    found: str = ""
    delivered_events: int = 0
    """Input events the browser delivered before the stop; all of them were swallowed."""


@fact("action.attempted")
class ActionAttempted:
    """Durable before the world is touched; without an outcome it is unknown and is read back."""

    action_id: ActionId
    writes: bool
    effect_key: EffectKey | None = None


@fact("action.executed")
class ActionExecuted:
    """The tool reports that it performed the action. It says nothing about the business."""

    action_id: ActionId
    latency_us: int
    requests: tuple[str, ...] = ()
    """Requests that left the browser: ``POST /bills/…/actions 200``."""
    toast: str = ""
    """What the screen claimed; evidence, never a verdict."""
    measures: dict[str, int] = field(default_factory=dict)


@fact("action.failed")
class ActionFailed:
    """The tool could not perform the action, and it certainly had no effect."""

    action_id: ActionId
    verdict: Verdict
    reason: str


@fact("action.outcome_unknown")
class ActionOutcomeUnknown:
    """Nobody knows whether the attempt took effect (crash, time-out): readback settles it."""

    action_id: ActionId
    reason: str
