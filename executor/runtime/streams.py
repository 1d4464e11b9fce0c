"""A stream being written: decide, keep the drafts, and append them together.

Staged events are durable only after ``flush``; an attempt is always flushed before the world is touched. Observations
and verdicts that lead up to it share its transaction, so a step costs one commit before the act and one after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domain import commands as c
from domain import events as e
from domain.envelope import Draft, Envelope
from domain.errors import VersionConflict
from domain.ids import EffectKey, EventId, PrincipalId, RunId, TaskId, TenantId, run_stream, task_stream
from domain.ports import Clock, EventLog, IdSource, Receipt
from domain.task import TaskState, decide, evolve
from domain.values import FrameRef

RUN_TRIES = 20
"""Processes that may write about one run at once."""


class TaskStream:
    """State and pending events of one task; one writer at a time, others get ``VersionConflict``."""

    def __init__(
        self,
        log: EventLog,
        *,
        ids: IdSource,
        clock: Clock,
        tenant: TenantId,
        task_id: TaskId,
        run_id: RunId | None,
        principal: PrincipalId,
        correlation_id: str | None = None,
    ) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self.tenant = tenant
        self.task_id = task_id
        self.run_id = run_id
        self.principal = principal
        self.correlation_id = correlation_id
        self.state = TaskState()
        self._pending: list[Draft] = []
        self._last: EventId | None = None
        self.receipts: list[Receipt] = []

    def load(self) -> TaskState:
        """Fold what is stored; forgets what was staged and not flushed."""
        self._pending.clear()
        state = TaskState()
        for recorded in self._log.stream(self.tenant, task_stream(self.task_id)):
            state = evolve(state, recorded.event)
            self._last = recorded.envelope.event_id
            self.correlation_id = self.correlation_id or recorded.envelope.correlation_id
            self.run_id = self.run_id or recorded.envelope.run_id
        self.state = state
        return state

    def history(self) -> list[e.Event]:
        """The stored facts of the task, in order."""
        return [recorded.event for recorded in self._log.stream(self.tenant, task_stream(self.task_id))]

    def stage(
        self,
        command: c.Command,
        *,
        frames: Sequence[FrameRef] = (),
        principal: PrincipalId | None = None,
    ) -> tuple[e.TaskEvent, ...]:
        """Decide, evolve, and keep the facts for the next ``flush``; ``frames`` go to the first of them."""
        facts = decide(command, self.state)
        for number, fact in enumerate(facts):
            envelope = Envelope(
                event_id=self._ids.event_id(),
                tenant=self.tenant,
                stream=task_stream(self.task_id),
                version=self.state.version + 1,
                principal=principal or self.principal,
                occurred_at_us=self._clock.now_us(),
                salt=self._ids.salt(),
                run_id=self.run_id,
                task_id=self.task_id,
                idempotency_key=self.state.effect_key or getattr(fact, "effect_key", None),
                frames=tuple(frames) if number == 0 else (),
                causation_id=self._last,
                correlation_id=self.correlation_id,
            )
            self._last = envelope.event_id
            self._pending.append(Draft(envelope=envelope, event=fact))
            self.state = evolve(self.state, fact)
        return facts

    def flush(self, *, claim: EffectKey | None = None, release: EffectKey | None = None) -> None:
        """Make the staged events durable, all or nothing; on an error the stored state is loaded again."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        release = release or _released(draft.event for draft in pending)
        try:
            self.receipts.append(self._log.append(pending, claim=claim, release=release))
        except BaseException:
            self.load()
            raise

    def submit(
        self,
        command: c.Command,
        *,
        frames: Sequence[FrameRef] = (),
        principal: PrincipalId | None = None,
        claim: EffectKey | None = None,
    ) -> tuple[e.TaskEvent, ...]:
        """``stage`` and ``flush``."""
        facts = self.stage(command, frames=frames, principal=principal)
        self.flush(claim=claim)
        return facts


def _released(facts: Iterable[e.Event]) -> EffectKey | None:
    for fact in facts:
        if isinstance(fact, e.TaskClaimReleased):
            return fact.effect_key
    return None


class RunStream:
    """The run's own facts: start, alerts, budgets, end."""

    def __init__(
        self,
        log: EventLog,
        *,
        ids: IdSource,
        clock: Clock,
        tenant: TenantId,
        run_id: RunId,
        principal: PrincipalId,
    ) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self.tenant = tenant
        self.run_id = run_id
        self.principal = principal
        self._version = 0
        self.facts: list[e.Event] = []

    def load(self) -> list[e.Event]:
        """The stored facts of the run."""
        self.facts = [recorded.event for recorded in self._log.stream(self.tenant, run_stream(self.run_id))]
        self._version = len(self.facts)
        return self.facts

    def append(self, fact: e.RunEvent) -> Receipt:
        """Record one fact, durable when it returns.

        Nothing of a run forbids another of its facts, so one that another process's came before is put behind it;
        ``VersionConflict`` only when that happens again and again.
        """
        for _ in range(RUN_TRIES - 1):
            try:
                return self._append(fact)
            except VersionConflict:
                self.load()
        return self._append(fact)

    def _append(self, fact: e.RunEvent) -> Receipt:
        envelope = Envelope(
            event_id=self._ids.event_id(),
            tenant=self.tenant,
            stream=run_stream(self.run_id),
            version=self._version + 1,
            principal=self.principal,
            occurred_at_us=self._clock.now_us(),
            salt=self._ids.salt(),
            run_id=self.run_id,
        )
        receipt = self._log.append([Draft(envelope=envelope, event=fact)])
        self._version += 1
        self.facts.append(fact)
        return receipt
