"""What the orchestrator is put together from; ``executor.wiring`` fills it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from domain.budgets import Budget
from domain.ids import TenantId
from domain.policy import ActionRule, Identity, RungName, WritePolicy
from domain.policy_rules import WriteRule
from domain.ports import BlobStore, Clock, EventLog, IdSource
from domain.values import Check, FrameRef, FrameRole, Intent
from executor.notify import Notifier
from executor.readback import Readback
from executor.recipe import Recipe
from executor.runtime.jobs import Runner
from executor.tools.base import FieldMap, Frame, Look, Performed, RequestRule, Step, Target, TracePolicy
from executor.tools.calls import Caller

UTC = ZoneInfo("UTC")


class Hands(Protocol):
    """A rung with a screen: performs one decided action and reports; it never chooses (B2)."""

    def log_in(self) -> None:
        """Start a session of the service account; ``WorldError`` when it can't be had."""
        ...

    def goto(self, url: str) -> None:
        """Open a page of the target."""
        ...

    def look(self) -> Look:
        """Capture the screen and read the document."""
        ...

    def locate(self, step: Step, fields: FieldMap) -> Target | None:
        """Find the step's target by its configured selectors; None when it isn't there."""
        ...

    def judge(
        self,
        step: Step,
        target: Target,
        planned: Look,
        *,
        intent: Intent | None,
        fields: FieldMap,
        known: Mapping[str, str],
    ) -> tuple[tuple[Check, ...], Frame]:
        """Run the guards; their findings and the frame captured right before the action (G1).

        ``known`` has further form fields with the values that an independent source gave.
        """
        ...

    def perform(
        self, step: Step, target: Target, *, rule: RequestRule | None, intent: Intent | None
    ) -> Performed:
        """Do it, through the target gate, with the request held against the intent."""
        ...

    def trouble(self, look: Look, *, missing: bool = False) -> Check:
        """What passive signs and an auth probe say about session and rights (B9); ``pass`` when all is well.

        ``missing``: a target is not where the recipe has it; a healthy session then means a changed page.
        """
        ...

    def effect(self, before: Look, after: Look) -> Check:
        """``noop`` when nothing of substance changed (G3), else ``pass``."""
        ...


@runtime_checkable
class AsksNatively(Protocol):
    """Hands that can answer a question of the browser itself."""

    def expect_native(self, message: str, verb: str) -> None:
        """Answer the next native question with yes, once, if it says exactly this; any other is dismissed.

        An empty message takes the permission back.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """Everything a task needs."""

    tenant: TenantId
    identity: Identity
    log: EventLog
    blobs: BlobStore
    clock: Clock
    ids: IdSource
    recipe: Recipe
    rules: Mapping[str, ActionRule]
    policy: WritePolicy
    budget: Budget
    notifier: Notifier
    readbacks: Sequence[Readback]
    readback_deadline_s: float
    origin: str
    language: str
    later_readbacks: Sequence[Readback] = ()
    """Further sources of the second, later look (X9)."""
    write_rules: Sequence[WriteRule] = ()
    """Rules of the write policy; without any, ``policy`` alone decides."""
    zone: ZoneInfo = UTC
    """Time zone of the rules' days and hours."""
    ladder: Sequence[RungName] = ("browser",)
    """Configured order of the rungs, best first (B2)."""
    callers: Mapping[RungName, Callable[[], Caller]] = field(default_factory=dict)
    """Rungs without a screen, opened when an order needs them."""
    trace: TracePolicy = "never"
    """Which tasks keep the browser's own trace."""
    runners: Mapping[RungName, Callable[[], Runner]] = field(default_factory=dict)
    """Rungs with a runner of their own (a model's loop), opened for each job; ``WorldError``: the rung is lost."""

    def keep(self, frame: Frame, role: FrameRole) -> FrameRef:
        """Store a frame's bytes and name it."""
        self.blobs.put(frame.data, media_type=frame.media_type)
        return frame.ref(role)
