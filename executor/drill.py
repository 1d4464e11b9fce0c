"""The drill: execute every registered action and undo it, and see whether the business is as before (B11).

Rules: it passes through the same orchestrator, guards, approval and compensation as any order; the state is what every
configured source says, before and after; what only grows (history, ledger lines, who was last) may differ, nothing else
may; a target that isn't marked as a sandbox is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from domain.errors import CommandRefused, WorldError
from domain.ids import RunId
from domain.policy import Identity, RungName
from domain.values import BusinessState
from executor.approvals import answer
from executor.compensation import compensate
from executor.orchestrator import Orchestrator
from executor.orders import WorkOrder
from executor.runtime.kit import Hands, Kit
from executor.runtime.recovery import task_stream_of

GROWS = frozenset({"history_length", "ledger_lines", "last_actor"})
"""Parts of a state that remember that something was done and undone."""
MAX_ANSWERS = 5
"""People that one action may be asked of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drilled:
    """What became of one action on one rung."""

    action: str
    rung: RungName
    bill_id: str
    executed: bool
    undone: bool
    reason: str
    differences: Mapping[str, str] = field(default_factory=dict)
    """Source and field → ``before → after``; empty when the business is as before."""
    residual_effects: Sequence[str] = ()
    """What stays all the same, as the recipe lists it."""

    @property
    def ok(self) -> bool:
        """Executed, undone, and everything as before."""
        return self.executed and self.undone and not self.differences


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One action to be drilled on one rung."""

    order: WorkOrder
    rung: RungName


def drill(
    kit: Kit,
    hands: Callable[[], Hands],
    exercises: Sequence[Exercise],
    *,
    people: Sequence[Identity],
    run_id: RunId,
    before: Callable[[Exercise], None] = lambda _: None,
) -> Iterator[Drilled]:
    """Drill them one after the other.

    Args:
        kit: record, policy and sources of the sandbox.
        hands: the browser rung.
        exercises: what to do; each order about a bill of its own.
        people: who answers approval requests.
        run_id: run that the tasks belong to.
        before: called ahead of each exercise (progress, preparing the bill).
    """
    for exercise in exercises:
        before(exercise)
        alone = replace(kit, ladder=(exercise.rung,))
        yield _one(alone, hands, exercise, people, run_id)


def _one(
    kit: Kit, hands: Callable[[], Hands], exercise: Exercise, people: Sequence[Identity], run_id: RunId
) -> Drilled:
    order = exercise.order
    done = Drilled(
        action=order.intent.action,
        rung=exercise.rung,
        bill_id=order.intent.bill_id,
        executed=False,
        undone=False,
        reason="",
    )
    try:
        states = _states(kit, order.intent.bill_id)
        reason = _execute(kit, hands, order, people, run_id)
        if reason:
            return replace(done, reason=reason)
        stream = task_stream_of(kit, order.task_id)
        undone = compensate(kit, stream, hands, requested_by=people[0].principal, reason="drill")
        return replace(
            done,
            executed=True,
            undone=undone.restored,
            reason=undone.reason,
            differences=differences(states, _states(kit, order.intent.bill_id)),
            residual_effects=undone.residual_effects,
        )
    except (WorldError, CommandRefused) as error:
        return replace(done, reason=str(error))


def _execute(
    kit: Kit, hands: Callable[[], Hands], order: WorkOrder, people: Sequence[Identity], run_id: RunId
) -> str:
    """Run the order to its success, approvals included; why not, or an empty text."""
    orchestrator = Orchestrator(kit, run_id=run_id, hands=hands)
    for person in (*people[:MAX_ANSWERS], None):
        outcome = orchestrator.run(order)
        if outcome.status == "succeeded":
            return ""
        if outcome.status != "awaiting_approval" or person is None:
            return f"{outcome.status}: {outcome.reason or outcome.verdict}"
        stream = task_stream_of(kit, order.task_id)
        answer(stream, person, "grant", note="drill", now_us=kit.clock.now_us())
    return "not reached"


def _states(kit: Kit, bill_id: str) -> dict[str, BusinessState]:
    return {source.source: source.read(bill_id) for source in kit.readbacks}


def differences(before: Mapping[str, BusinessState], after: Mapping[str, BusinessState]) -> dict[str, str]:
    """What any source shows differently, beside what only grows."""
    found: dict[str, str] = {}
    for source, state in before.items():
        first, second = (_flat(shown) for shown in (state, after[source]))
        for name in sorted({*first, *second} - GROWS):
            if first.get(name) != second.get(name):
                found[f"{source} {name}"] = f"{first.get(name, '')} → {second.get(name, '')}"
    return found


def _flat(state: BusinessState) -> dict[str, str]:
    fields: dict[str, object] = msgspec.to_builtins(state)
    fields.pop("extra")
    return {name: str(value) for name, value in fields.items()} | dict(state.extra)
