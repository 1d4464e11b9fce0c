"""A batch of orders as one recorded run: settle first, then work, then look a second time.

Started again after a stop it goes on with the same run and tasks: attempts that a crash left open are read back before
anything new is tried. One order's trouble doesn't stop the others, except where the world itself is gone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from domain import events as e
from domain.errors import VersionConflict, WorldError
from domain.ids import RunId, Sha256
from domain.values import Verdict
from executor.findings import BUDGETS
from executor.orchestrator import Orchestrator, Outcome
from executor.orders import Batch, WorkOrder
from executor.readback import ReadLane
from executor.runtime.kit import Hands, Kit
from executor.runtime.streams import RunStream

LOG = logging.getLogger("proofreel.batch")

Progress = Callable[[int, int, Outcome | None, WorkOrder], None]
"""Called before an order (outcome None) and after it, with its number and the count of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What ``run.started`` says about how the run was driven."""

    agent: str
    goal: str
    browser: str
    viewport_width: int
    viewport_height: int
    config_sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """All outcomes of a run, in the order of its orders."""

    run_id: RunId
    outcomes: tuple[Outcome, ...]

    def counts(self) -> dict[str, int]:
        """Outcomes by status."""
        return dict(sorted(Counter(outcome.status for outcome in self.outcomes).items()))


class BatchRunner:
    """Runs one batch; ``hands`` opens a browser session when the first order needs it.

    ``setting`` is asked when the run is new: starting a browser to learn its version is no use to a restart.
    """

    def __init__(
        self, kit: Kit, batch: Batch, setting: Callable[[], Setting], *, hands: Callable[[], Hands]
    ) -> None:
        self._kit = kit
        self._batch = batch
        self._setting = setting
        self._orchestrator = Orchestrator(kit, run_id=batch.run_id, hands=hands)
        self._run = RunStream(
            kit.log,
            ids=kit.ids,
            clock=kit.clock,
            tenant=kit.tenant,
            run_id=batch.run_id,
            principal=kit.identity.principal,
        )

    def run(
        self, *, lane: ReadLane | None = None, progress: Progress | None = None, second_look: bool = True
    ) -> BatchResult:
        """Bring every order as far as it goes now; ``WorldError`` when the world is gone.

        ``lane`` gives the list of bills as they were at the start, kept as a blob for the warehouse (B14).
        """
        self._begin()
        if lane is not None:
            data, bills = lane.fetch()
            blob = self._kit.blobs.put(data, media_type="application/jsonl")
            self._run.append(
                e.BillListFetched(blob=blob, rows=len(bills), source=lane.source, account=lane.account)
            )
        outcomes: list[Outcome] = []
        total = len(self._batch.orders)
        for number, order in enumerate(self._batch.orders, 1):
            if progress:
                progress(number, total, None, order)
            if second_look:
                self._look_before(order, self._batch.orders[: number - 1])
            outcome = self._one(order)
            outcomes.append(outcome)
            if progress:
                progress(number, total, outcome, order)
            if outcome.verdict in BUDGETS and outcome.status == "taken_over" and not self._was_known(outcome):
                return self._escalate(outcome, outcomes)
        if second_look:
            outcomes = [
                self._orchestrator.second_look(order) if outcome.status != "conflict" else outcome
                for order, outcome in zip(self._batch.orders, outcomes, strict=True)
            ]
        result = BatchResult(run_id=self._batch.run_id, outcomes=tuple(outcomes))
        self._end(result)
        return result

    def _was_known(self, outcome: Outcome) -> bool:
        """True if the run was stopped for this task before: started again, it goes on with the others."""
        return any(
            isinstance(fact, e.RunEscalated) and outcome.task_id in fact.reason for fact in self._run.facts
        )

    def _escalate(self, stopped: Outcome, outcomes: Sequence[Outcome]) -> BatchResult:
        """A budget ends the run (G7): its task is in a person's queue, the orders behind it are not begun."""
        reason = f"task {stopped.task_id} ({stopped.bill_id}): {stopped.reason}"
        self._run.append(
            e.RunEscalated(verdict=cast("Verdict", stopped.verdict), reason=reason, steps=stopped.steps)
        )
        behind = self._batch.orders[len(outcomes) :]
        rest = [self._orchestrator.look_at(order) for order in behind]
        return BatchResult(run_id=self._batch.run_id, outcomes=(*outcomes, *rest))

    def _look_before(self, order: WorkOrder, earlier: Sequence[WorkOrder]) -> None:
        """Look a second time at what this order is about to change further: afterwards it would look reversed."""
        for other in earlier:
            if other.intent.bill_id == order.intent.bill_id:
                self._orchestrator.second_look(other)

    def _begin(self) -> None:
        if self._run.load():
            unsettled = sum(
                self._orchestrator.stream_of(order).state.effect_outstanding for order in self._batch.orders
            )
            self._run.append(e.RunResumed(unsettled=unsettled))
            return
        setting = self._setting()
        started = e.RunStarted(
            mode="guarded",
            agent=setting.agent,
            goal=setting.goal,
            origin=self._kit.origin,
            browser=setting.browser,
            viewport_width=setting.viewport_width,
            viewport_height=setting.viewport_height,
            config_sha256=setting.config_sha256,
            tasks_planned=len(self._batch.orders),
        )
        self._run.append(started)

    def _one(self, order: WorkOrder) -> Outcome:
        try:
            return self._orchestrator.run(order)
        except VersionConflict as conflict:
            LOG.info("%s: another process works on this task (%s)", order.reference, conflict.rule)
            outcome = self._orchestrator.look_at(order)
            return replace(outcome, status="conflict", verdict="already_in_progress", reason=str(conflict))
        except WorldError as error:
            stream = self._orchestrator.stream_of(order)
            if not stream.state.effect_outstanding:
                again = "nothing was written, run the same batch again to go on"
                remedy = f"{error.remedy}; {again}" if error.remedy else again
                raise WorldError(f"{order.intent.bill_id}: {error.what}", remedy=remedy) from error
            LOG.warning("%s: %s; reading back what came of it", order.reference, error.what)
            return self._orchestrator.run(order)

    def _end(self, result: BatchResult) -> None:
        verdicts: Counter[str] = Counter()
        steps = succeeded = 0
        for order in self._batch.orders:
            facts: Sequence[e.Event] = self._orchestrator.stream_of(order).history()
            verdicts.update(
                fact.verdict for fact in facts if isinstance(fact, e.GuardJudged) and fact.phase == "before"
            )
            steps += sum(isinstance(fact, e.ActionProposed) for fact in facts)
            succeeded += sum(isinstance(fact, e.ActionExecuted) for fact in facts)
        self._run.append(
            e.RunFinished(outcomes=result.counts(), verdicts=dict(verdicts), steps=steps, steps_ok=succeeded)
        )
