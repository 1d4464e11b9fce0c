"""Facts about a task from the router to its end."""

from __future__ import annotations

from typing import Literal

from domain.events.base import fact
from domain.ids import EffectKey, PrincipalId, Sha256
from domain.values import Intent, Verdict

RunMode = Literal["guarded", "record_only"]


@fact("task.opened")
class TaskOpened:
    """The orchestrator accepted a piece of work; nothing has been touched."""

    intent: Intent
    effect_key: EffectKey
    requested_by: PrincipalId
    mode: RunMode = "guarded"
    """``record_only`` observes somebody else's loop: guards speak, nothing is stopped."""
    rung: str = "browser"
    """Rung of the tool ladder that was chosen: ``api``, ``mcp``, ``browser``, ``computer_use``."""
    reference: str = ""
    """Name of the work in the caller's own system (batch line, goal, task id of a wrapped loop)."""


@fact("task.refused")
class TaskRefused:
    """The router turned the work down before anything ran (B8)."""

    intent: Intent
    rule: str
    verdict: Verdict
    reason: str
    requested_by: PrincipalId
    bill_tenant: str = ""


@fact("task.claimed")
class TaskClaimed:
    """This task alone may bring about the effect; committed in one transaction with the claim (B4, B5)."""

    effect_key: EffectKey


@fact("task.claim_denied")
class TaskClaimDenied:
    """Another task holds the effect: ``already_in_progress``, with what is known of the holder."""

    effect_key: EffectKey
    holder_stream: str
    holder_principal: PrincipalId
    since_us: int


@fact("task.claim_released")
class TaskClaimReleased:
    """The claim is given back because no write was attempted; any task may claim the effect, this one too.

    Followed by ``task.failed`` when the task ends with it; else the task stays open and may be worked on again.
    """

    effect_key: EffectKey
    reason: str


@fact("task.declared_done")
class TaskDeclaredDone:
    """A wrapped, unguarded loop says that it is done. Kept as its claim; it proves nothing."""

    claim: str


@fact("task.succeeded")
class TaskSucceeded:
    """An independent readback confirmed the effect; never decided by a screen (B6)."""

    source: str
    provisional: bool = True
    """True until a second, later readback or the settlement file agrees (X9)."""


@fact("task.failed")
class TaskFailed:
    """The task ended with no effect outstanding: nothing was attempted, or an outside word says so."""

    verdict: Verdict
    reason: str


@fact("task.reopened")
class TaskReopened:
    """A later readback disagrees with the confirmed state: reversed or doubled afterwards (X9)."""

    reason: str
    evidence: Sha256 | None = None


@fact("task.sealed")
class TaskSealed:
    """Last event of a task: ``events`` counts all events of the stream, this one included."""

    events: int
