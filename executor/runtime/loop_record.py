"""How a model's loop writes down what it saw, planned and judged: the same facts as any other rung."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from domain import commands as c
from domain import events as e
from domain.actions import Action, in_words
from domain.budgets import Spent, spend
from domain.events.action import Phase
from domain.idempotency import action_digest
from domain.ids import ActionId
from domain.values import Check, FrameRef
from executor.guards.base import first_stop
from executor.models.base import Screen, Usage
from executor.runtime.jobs import Job
from executor.runtime.kit import Kit
from executor.runtime.loop_steps import Planned
from executor.tools.base import Look, Target
from executor.tools.computer_use import PointingHands


@dataclass(slots=True)
class LoopState:
    """Where the loop is."""

    look: Look
    """The newest observation."""
    screen: Screen
    """What the model was shown last."""
    spent: Spent = field(default_factory=Spent)
    began_us: int = 0
    """When the work began, in microseconds since 1970 (UTC)."""

    def charge(self, usage: Usage, *, now_us: int) -> None:
        """Count a model's answer and the time until now; what a provider doesn't report costs nothing."""
        used = max(usage.input_tokens, 0) + max(usage.output_tokens, 0)
        self.spent = replace(self.spent, elapsed_us=now_us - self.began_us, tokens=self.spent.tokens + used)


class LoopRecord:
    """Stages the loop's facts; an attempt makes them durable before the world is touched."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._number = 0

    def observe(self, job: Job, hands: PointingHands) -> Look:
        """Look, and keep what was seen."""
        look = hands.look()
        self.stage(job, look)
        return look

    def stage(self, job: Job, look: Look) -> None:
        """Keep what was seen."""
        self._number += 1
        seen = e.ObservationRecorded(
            url=look.url,
            title=look.title,
            structure_sha256=look.structure_sha256,
            document_sha256=look.document_sha256,
            account=look.account,
            step=self._number,
            latency_us=look.latency_us,
            signals=look.signals,
        )
        job.stream.stage(c.Observe(seen), frames=(self._kit.keep(look.frame, "observed"),))

    def propose(
        self, job: Job, action: Action, planned: Planned, target: Target | None, look: Look
    ) -> e.ActionProposed:
        """Keep one action as the model said it and as it is understood here."""
        step = planned.step
        proposed = e.ActionProposed(
            action_id=ActionId(self._kit.ids.uuid()),
            kind=action.kind,
            rung="computer_use",
            label=step.label,
            target=in_words(action),
            writes=step.writes,
            irreversible=step.irreversible,
            digest=action_digest(job.key, job.intent, kind=step.kind, label=step.label),
            planned_on=look.frame.sha256,
            point=action.point or (target.point if target is not None else None),
            box=target.box if target is not None else None,
            row=target.row if target is not None else None,
            fingerprint=target.fingerprint if target is not None else "",
            text=action.chord if action.kind == "key" else action.text,
            url=look.url,
            provider=action.provider,
            provider_args=action.arguments,
            business_action=job.intent.action if step.writes else "",
        )
        job.stream.stage(c.Propose(proposed))
        return proposed


def judge(
    job: Job,
    proposed: e.ActionProposed,
    phase: Phase,
    checks: tuple[Check, ...],
    frames: tuple[FrameRef, ...],
) -> None:
    """Keep the findings about one action in one phase."""
    stopper = first_stop(checks)
    judged = e.GuardJudged(
        action_id=proposed.action_id,
        phase=phase,
        verdict=stopper.verdict if stopper else "pass",
        enforced=True,
        checks=checks,
    )
    job.stream.stage(c.Judge(judged), frames=frames)


def count(state: LoopState, proposed: e.ActionProposed, *, succeeded: bool) -> None:
    """One more step of the budget; the same state and the same intent again and again is being stuck."""
    where = f"{proposed.point.x},{proposed.point.y}" if proposed.point is not None else ""
    state.spent = spend(
        state.spent,
        state=f"{state.look.document_sha256} {proposed.kind} {where} {proposed.text}",
        succeeded=succeeded,
    )
