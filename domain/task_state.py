"""What can be known of a task: its status, what is known of the effect, and who is owed a word.

Values, and the one way to refuse; how events change them is in ``domain.state``, what they allow in ``domain.task``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from domain import events as e
from domain.errors import CommandRefused
from domain.ids import EffectKey, PrincipalId
from domain.values import BusinessState, Intent

Status = Literal[
    "new",
    "refused",
    "opened",
    "already_in_progress",
    "claimed",
    "observed",
    "proposed",
    "blocked",
    "awaiting_approval",
    "allowed",
    "attempted",
    "executed",
    "confirmed",
    "refuted",
    "unknown",
    "declared_done",
    "succeeded",
    "failed",
    "taken_over",
    "resolved",
    "compensating",
    "compensated",
    "compensation_failed",
]

TERMINAL: frozenset[Status] = frozenset(
    {
        "refused",
        "already_in_progress",
        "succeeded",
        "failed",
        "taken_over",
        "resolved",
        "declared_done",
        "compensated",
        "compensation_failed",
    }
)
"""States in which the executor has nothing more to do by itself."""

Effect = Literal["none", "attempted", "unknown", "executed", "confirmed", "refuted"]
"""What is known of the business effect."""

Asked = Literal["none", "asked", "denied"]
"""Whether a person's word is owed: once asked for it stays owed, and a denial is final."""

UNTOUCHED: frozenset[Status] = frozenset({"new", "refused"})
"""States of a task that nobody has worked on."""

GOES_ON: frozenset[Status] = frozenset({"declared_done", "already_in_progress"})
"""Ended for us, but a wrapped loop may act on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Last word of one readback source."""

    source: str
    effect: Effect
    found: BusinessState | None = None


class TaskState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Fold of a task's stream.

    A struct, because each event makes a new one: ``msgspec.structs.replace`` takes a thirtieth of the time that
    ``dataclasses.replace`` takes on as many fields, and whoever reads a log folds millions.
    """

    status: Status = "new"
    version: int = 0
    mode: e.task.RunMode = "guarded"
    intent: Intent | None = None
    effect_key: EffectKey | None = None
    requested_by: PrincipalId | None = None
    claimed: bool = False
    action: e.ActionProposed | None = None
    judged: e.GuardJudged | None = None
    """Last judgement about ``action``; one against it stays, whatever is judged later."""
    settled: bool = False
    """True once the outcome of ``action`` is on record."""
    approval: Asked = "none"
    request: e.ApprovalRequested | None = None
    approved_digest: str = ""
    approved_by: tuple[PrincipalId, ...] = ()
    compensation: e.CompensationRegistered | None = None
    compensating: bool = False
    open_attempt: e.ActionAttempted | None = None
    """Attempt without an outcome: unknown until read back."""
    effect: Effect = "none"
    """Of the task's own write (or, once undoing has begun, of the undoing one)."""
    effect_before: Effect = "none"
    """What was known before the last write attempt: true again when that certainly had no effect."""
    own_effect: Effect = "none"
    """Of the task's own write when undoing began; ``none`` again when the undoing ended without an attempt."""
    seen: tuple[Seen, ...] = ()
    """Each source's last word about ``effect``; all must agree."""
    was_confirmed: bool = False
    """True once any source has shown the task's own effect."""
    account: str = ""
    """Account that the last page named."""
    writer: str = ""
    """Account of the session in which the write was attempted, where the page named one."""
    takeover: e.TakeoverRequested | None = None
    owner: PrincipalId | None = None
    sealed: bool = False
    steps: int = 0
    blocks: int = 0

    @property
    def effect_outstanding(self) -> bool:
        """True if the business may have been changed and no readback has said what happened."""
        return self.effect in {"attempted", "unknown", "executed", "refuted"}


def require(state: TaskState, ok: bool, rule: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise ``CommandRefused`` with the rule's name and the task's status unless ``ok``."""
    if not ok:
        raise CommandRefused(rule, f"{what} (task is {state.status})")
