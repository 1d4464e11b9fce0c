"""Our own loop on the same course: the orchestrator itself, with the model's thinking put between look and click.

Rules: nothing of the executor is replaced or told about faults; the only addition is the pause, at the place where a
model would think, in which the fault may land.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from domain.errors import CommandRefused, WorldError
from domain.ids import PrincipalId, RunId, TaskId
from domain.values import Check, Intent
from executor.compensation import compensate
from executor.orchestrator import Orchestrator, Outcome
from executor.orders import WorkOrder, derived_id
from executor.runtime.kit import Hands, Kit
from executor.sandbox.gauntlet.arena import Arena, Deal
from executor.sandbox.gauntlet.arms import Pace
from executor.sandbox.gauntlet.course import ACTIONS
from executor.sandbox.gauntlet.verdicts import Said
from executor.tools.base import FieldMap, Frame, Look, Performed, RequestRule, Step, Target

PERSON = PrincipalId("person:gauntlet")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the loop is given: a fresh record for each trial, and a page that is logged in."""

    kit: Kit
    hands: Callable[[], Hands]
    pause: Callable[[float], None]
    """Lets the browser go on for so many milliseconds."""
    kept_bytes: Callable[[], int]
    """Bytes of the frames kept since the last rest."""
    rest: Callable[[], None]
    """Leaves the portal, so that no page polls between trials, and throws the last trial's frames away."""


class ThinkingHands:
    """Somebody's hands, with a pause after each look at an element that will be clicked."""

    def __init__(self, inner: Hands, pace: Pace, pause: Callable[[float], None]) -> None:
        self._inner = inner
        self._pace = pace
        self._pause = pause
        self.steps = 0
        self.busy_ms = 0.0
        self.waited_ms = 0.0
        """Time in which a page was opened or settled: no part of any loop's step."""

    def log_in(self) -> None:
        """See ``Hands``."""
        self._inner.log_in()

    def goto(self, url: str) -> None:
        """See ``Hands``."""
        began = time.perf_counter()
        self._inner.goto(url)
        self.waited_ms += (time.perf_counter() - began) * 1000

    def look(self) -> Look:
        """See ``Hands``."""
        return self._timed(self._inner.look)

    def locate(self, step: Step, fields: FieldMap) -> Target | None:
        """See ``Hands``; then think."""
        target = self._timed(lambda: self._inner.locate(step, fields))
        if target is not None:
            self._pace.striker.at_step(1 if step.writes else 0)
            self._pause(self._pace.think_ms)
        return target

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
        """See ``Hands``."""
        self.steps += 1
        return self._timed(
            lambda: self._inner.judge(step, target, planned, intent=intent, fields=fields, known=known)
        )

    def perform(
        self, step: Step, target: Target, *, rule: RequestRule | None, intent: Intent | None
    ) -> Performed:
        """See ``Hands``."""
        done = self._timed(lambda: self._inner.perform(step, target, rule=rule, intent=intent))
        self.busy_ms -= done.waited_us / 1000
        self.waited_ms += done.waited_us / 1000
        return done

    def trouble(self, look: Look, *, missing: bool = False) -> Check:
        """See ``Hands``."""
        return self._timed(lambda: self._inner.trouble(look, missing=missing))

    def effect(self, before: Look, after: Look) -> Check:
        """See ``Hands``."""
        return self._inner.effect(before, after)

    def _timed(self, work: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            return work()
        finally:
            self.busy_ms += (time.perf_counter() - began) * 1000


class OurLoop:
    """The orchestrator on a course."""

    name = "ours"

    def __init__(self, means: Means) -> None:
        self.means = means

    def run(self, arena: Arena, deal: Deal, pace: Pace) -> Said:
        """Do the task, look a second time when the vendor's timers have run, and undo where that is asked for."""
        means = self.means
        before = means.kept_bytes()
        order = order_of(deal, means.kit)
        opened: list[ThinkingHands] = []

        def hands() -> ThinkingHands:
            opened.append(ThinkingHands(means.hands(), pace, means.pause))
            return opened[-1]

        orchestrator = Orchestrator(means.kit, run_id=RunId(derived_id("run", "gauntlet")), hands=hands)
        outcome = _run(orchestrator, order)
        pace.striker.finish()
        arena.wait_for_jobs()
        outcome = orchestrator.second_look(order) if outcome.status == "succeeded" else outcome
        steps = sum(one.steps for one in opened)
        return Said(
            done=outcome.status == "succeeded",
            stops=outcome.blocks,
            steps=steps,
            step_ms=sum(one.busy_ms for one in opened),
            kept_bytes=means.kept_bytes() - before,
            note=""
            if outcome.status == "succeeded"
            else f"{outcome.status}: {outcome.verdict}: {outcome.reason}",
        )

    def rest(self) -> None:
        """The trial is over."""
        self.means.rest()

    def roll_back(self, deal: Deal) -> bool | None:
        """Undo the task's effect; whether that was said to have worked, None where there was none to undo."""
        means = self.means
        stream = Orchestrator(
            means.kit, run_id=RunId(derived_id("run", "gauntlet")), hands=means.hands
        ).stream_of(order_of(deal, means.kit))
        try:
            return compensate(
                means.kit, stream, means.hands, requested_by=PERSON, reason="drill of the gauntlet"
            ).restored
        except CommandRefused:
            return None
        except WorldError:
            return False


def order_of(deal: Deal, kit: Kit) -> WorkOrder:
    """The business's order about the dealt bill, from its own book."""
    bill, action = deal.bill, ACTIONS[deal.scenario.course]
    occurrence = f"{deal.scenario.name}:{deal.seed}"
    intent = Intent(
        bill_id=bill.id,
        action=action,
        counterparty=bill.counterparty,
        amount_minor=bill.amount_minor,
        currency=bill.currency,
        month=bill.month,
        expected_status=kit.recipe.actions[action].target_status,
        occurrence=occurrence,
    )
    return WorkOrder(
        task_id=TaskId(derived_id("gauntlet", occurrence, bill.id)),
        intent=intent,
        bill_tenant=kit.tenant,
        reference=occurrence,
    )


def _run(orchestrator: Orchestrator, order: WorkOrder) -> Outcome:
    """As a batch does it: a world that went away in the middle of a write is read back."""
    try:
        return orchestrator.run(order)
    except WorldError:
        if not orchestrator.stream_of(order).state.effect_outstanding:
            return orchestrator.look_at(order)
        return orchestrator.run(order)
