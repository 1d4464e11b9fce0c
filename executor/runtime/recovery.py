"""Settling what a crash left open: an attempt without an outcome is read back, never repeated (B6).

Works from the record alone, without the batch file: the task's own events hold its intent and its snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from domain.ids import RunId, TaskId
from domain.task import TERMINAL
from executor.compensation import compensate
from executor.orchestrator import Orchestrator, Outcome
from executor.orders import WorkOrder
from executor.runtime.kit import Hands, Kit
from executor.runtime.streams import TaskStream


def task_stream_of(kit: Kit, task_id: TaskId, *, run_id: RunId | None = None) -> TaskStream:
    """A task's stream, loaded; events appended to it carry ``run_id``, or the run that opened the task."""
    stream = TaskStream(
        kit.log,
        ids=kit.ids,
        clock=kit.clock,
        tenant=kit.tenant,
        task_id=task_id,
        run_id=run_id,
        principal=kit.identity.principal,
    )
    stream.load()
    return stream


def open_orders(kit: Kit, task_ids: Iterable[TaskId], *, hands: Callable[[], Hands]) -> list[Outcome]:
    """Read back every task among ``task_ids`` whose effect is outstanding; the outcomes, in that order.

    An interrupted compensation is read back too; one whose undoing step never ran is carried out.
    """
    outcomes = []
    for task_id in task_ids:
        stream = task_stream_of(kit, task_id)
        state = stream.state
        if state.intent is None or state.status in TERMINAL or state.mode == "record_only":
            continue
        order = WorkOrder(task_id=task_id, intent=state.intent, bill_tenant=kit.tenant, reference="recover")
        orchestrator = Orchestrator(kit, run_id=stream.run_id or RunId(task_id), hands=hands)
        if state.compensating:
            principal = state.requested_by or kit.identity.principal
            compensate(kit, stream, hands, requested_by=principal, reason="continued after a stop")
            outcomes.append(orchestrator.look_at(order))
        elif state.effect_outstanding or state.effect == "confirmed":
            outcomes.append(orchestrator.run(order))
    return outcomes
