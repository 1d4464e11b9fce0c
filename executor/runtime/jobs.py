"""What is done for one task, and how it ended: the same for every rung of the ladder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from domain import events as e
from domain.ids import ActionId, EffectKey
from domain.values import Check, Intent, Verdict
from executor.recipe import ActionSection
from executor.runtime.streams import TaskStream
from executor.tools.base import Look, Performed, RequestRule

AUTH_VERDICTS: frozenset[Verdict] = frozenset({"session_expired", "forbidden"})
FATAL: frozenset[Verdict] = AUTH_VERDICTS | {"left_origin", "out_of_scope", "denied_by_policy"}
"""Findings that end a task at once: no second try and no other rung."""

Gate = Callable[[e.ActionProposed, Look | None], Check]
"""Asked right before a write is attempted; ``pass`` lets it run (policy, approval, snapshot, way back)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a rung ended: all steps done, stopped by a finding, waiting for a person, or unknown."""

    how: Literal["done", "stopped", "waiting", "unknown"]
    check: Check = field(default_factory=lambda: Check(guard="steps", verdict="pass"))
    performed: Performed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is done for one task: its intent, its action, and the key that its write is attempted under."""

    stream: TaskStream
    intent: Intent
    action: ActionSection
    key: EffectKey
    rule: RequestRule
    irreversible: bool
    gate: Gate
    remarks: tuple[Check, ...] = ()
    """Findings of the orchestrator that belong to the write's record: which rung and why, which policy rule."""

    def remarked(self, *remarks: Check) -> Job:
        """The same job with further remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))


Runner = Callable[[Job], Ended]
"""Performs a job on one rung."""


def outcome_of(
    action_id: ActionId, performed: Performed
) -> e.ActionExecuted | e.ActionBlocked | e.ActionFailed | e.ActionOutcomeUnknown:
    """What a rung reports, as the fact that is recorded."""
    check = performed.check
    match performed.status:
        case "executed":
            return e.ActionExecuted(
                action_id=action_id,
                latency_us=performed.latency_us,
                requests=performed.requests,
                toast=performed.toast,
            )
        case "blocked":
            return e.ActionBlocked(
                action_id=action_id,
                guard=check.guard if check else "gate",
                verdict=check.verdict if check else "target_changed",
                expected=check.expected if check else "",
                found=check.found if check else performed.reason,
                delivered_events=performed.delivered_events,
            )
        case "failed":
            verdict: Verdict = check.verdict if check else "page_changed"
            return e.ActionFailed(action_id=action_id, verdict=verdict, reason=performed.reason)
        case "unknown":
            return e.ActionOutcomeUnknown(action_id=action_id, reason=performed.reason)
