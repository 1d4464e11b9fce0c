"""Every run with its counts (G6): verdicts, stuck length, success rate, and what became of its tasks.

Rules enforced here:

* A step is one proposed action. It is ok when it was performed and no guard objected, before or after; a step that
  changed nothing (``noop``) is therefore not ok.
* Verdicts are counted once for each step: its first objection, else ``pass``.
* Stuck length is the published measure: how many of the last five observed frames equal the newest one, itself
  included. (The budget that stops a run uses a stricter one, see ``domain.budgets``.)
* The view counts for itself. What ``run.finished`` claims is not copied, so that the two can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import Sha256
from domain.values import Verdict
from projections.fold import Folded, Row
from projections.views.common import (
    VERDICT_FACTS,
    action_of,
    counted,
    first_objection,
    task_of,
    verdict_of,
)

STUCK_WINDOW = 5
"""Published: of the last five frames."""

RunStatus = Literal["running", "finished", "escalated"]


class StepNow(Row, frozen=True):
    """Step under way in one task."""

    action_id: str
    verdict: Verdict | None = None
    executed: bool = False

    @property
    def ok(self) -> bool:
        """Performed, and nobody objected."""
        return self.executed and self.verdict in {None, "pass"}


class RunRow(Row, frozen=True):
    """One run; times are the appender's clock in microseconds since 1970 (UTC)."""

    run_id: str = ""
    tenant: str = ""
    mode: str = ""
    agent: str = ""
    goal: str = ""
    origin: str = ""
    browser: str = ""
    principal: str = ""
    status: RunStatus = "running"
    """``running`` also for a run that was killed: nobody wrote its end."""
    stopped_by: str = ""
    """Verdict and reason of the budget that stopped it."""
    started_at_us: int = 0
    last_at_us: int = 0
    ended_at_us: int | None = None
    resumed: int = 0
    tasks_planned: int = 0
    tasks: dict[str, str] = msgspec.field(default_factory=dict)
    """Task → what became of it in this run."""
    outcomes: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of tasks by what became of them."""
    verdicts: dict[str, int] = msgspec.field(default_factory=dict)
    steps: int = 0
    steps_ok: int = 0
    success_permille: int | None = None
    """Steps that are ok, of all steps; None before the first."""
    stuck_length: int = 0
    recent_frames: tuple[Sha256, ...] = ()
    frames: int = 0
    events: int = 0
    alerts: int = 0
    first_position: int = 0
    last_position: int = 0
    under_way: dict[str, StepNow] = msgspec.field(default_factory=dict)
    """Task → its latest step."""


class Runs(Folded[RunRow]):
    """Fold into ``RunRow``, over all streams that an event of the run stands in."""

    name = "runs"
    version = 1
    row_type = RunRow

    def key(self, recorded: Recorded) -> str | None:
        """The run."""
        return recorded.envelope.run_id

    def group(self, view: RunRow) -> str:
        """The mode, for pages that list guarded and record-only runs apart."""
        return view.mode

    def initial(self) -> RunRow:
        """Nothing is known."""
        return RunRow()

    def extend(self, view: RunRow, events: Sequence[Recorded]) -> RunRow:
        """Row after more events of the run."""
        if not view.events:
            view = _placed(view, events[0])
        counts = _Counts(view)
        status, stopped_by, ended_at_us = view.status, view.stopped_by, view.ended_at_us
        frames, alerts, resumed = view.frames, view.alerts, view.resumed
        for recorded in events:
            event, envelope = recorded.event, recorded.envelope
            kind = type(event)
            if envelope.frames:
                frames += len(envelope.frames)
                if kind is e.ObservationRecorded:
                    counts.frame(envelope.frames[0].sha256)
            if kind in _COUNTED and (task := task_of(recorded)) is not None:
                counts.count(task, event)
            if kind not in _OF_THE_RUN:
                continue
            match event:
                case e.RunStarted():
                    view = _started(view, event)
                case e.RunResumed():
                    status, ended_at_us, resumed = "running", None, resumed + 1
                case e.RunFinished():
                    status = "escalated" if status == "escalated" else "finished"
                    ended_at_us = envelope.occurred_at_us
                case e.RunEscalated():
                    status, stopped_by = "escalated", f"{event.verdict}: {event.reason}"
                    ended_at_us = envelope.occurred_at_us
                case e.AlertRaised():
                    alerts += 1
                case _:
                    pass
        last = events[-1]
        return replace(
            view,
            status=status,
            stopped_by=stopped_by,
            ended_at_us=ended_at_us,
            resumed=resumed,
            frames=frames,
            alerts=alerts,
            events=view.events + len(events),
            last_at_us=last.envelope.occurred_at_us,
            last_position=last.row.position,
            **counts.fields(),
        )


_OF_THE_RUN: frozenset[type] = frozenset(
    {e.RunStarted, e.RunResumed, e.RunFinished, e.RunEscalated, e.AlertRaised}
)


def _placed(view: RunRow, first: Recorded) -> RunRow:
    """Row with what the first event settles."""
    return replace(
        view,
        run_id=first.envelope.run_id or "",
        tenant=first.row.tenant,
        principal=first.envelope.principal,
        started_at_us=first.envelope.occurred_at_us,
        first_position=first.row.position,
    )


def _started(view: RunRow, event: e.RunStarted) -> RunRow:
    return replace(
        view,
        mode=event.mode,
        agent=event.agent,
        goal=event.goal,
        origin=event.origin,
        browser=event.browser,
        tasks_planned=event.tasks_planned,
    )


class _Counts:
    """Steps and outcomes while events are added; a run of many tasks copies its tables once for all of them."""

    def __init__(self, view: RunRow) -> None:
        self._tasks = dict(view.tasks)
        self._outcomes = Counter(view.outcomes)
        self._verdicts = view.verdicts
        self._under_way = dict(view.under_way)
        self._steps = view.steps
        self._steps_ok = view.steps_ok
        self._recent = view.recent_frames

    def fields(self) -> dict[str, Any]:
        """What they come to, for the row."""
        return {
            "tasks": self._tasks,
            "outcomes": {word: number for word, number in sorted(self._outcomes.items()) if number},
            "verdicts": self._verdicts,
            "steps": self._steps,
            "steps_ok": self._steps_ok,
            "success_permille": 1000 * self._steps_ok // self._steps if self._steps else None,
            "recent_frames": self._recent,
            "stuck_length": self._recent.count(self._recent[-1]) if self._recent else 0,
            "under_way": self._under_way,
        }

    def frame(self, sha256: Sha256) -> None:
        """Add an observed screen."""
        self._recent = (*self._recent, sha256)[-STUCK_WINDOW:]

    def count(self, task: str, event: e.Event) -> None:
        """Add a fact about a task's outcome or step."""
        word = outcome_of(event)
        if word is not None:
            if task in self._tasks:
                self._outcomes[self._tasks[task]] -= 1
            self._tasks[task] = word
            self._outcomes[word] += 1
        elif isinstance(event, e.ActionProposed):
            self._steps += 1
            self._under_way[task] = StepNow(action_id=event.action_id)
        else:
            self._step(task, event)

    def _step(self, task: str, event: e.Event) -> None:
        step = self._under_way.get(task)
        if step is None or action_of(event) != step.action_id:
            return
        said = verdict_of(event)
        if said is not None:
            now = replace(step, verdict=first_objection(step.verdict, said))
        elif isinstance(event, e.ActionExecuted):
            now = replace(step, executed=True)
        else:
            return
        if now.verdict is not None:
            self._verdicts = counted(self._verdicts, step.verdict, now.verdict)
        self._steps_ok += int(now.ok) - int(step.ok)
        self._under_way[task] = now


def outcome_of(event: e.Event) -> str | None:
    """Word for what a fact means for its task's outcome; None when it means nothing for it."""
    return _OUTCOMES.get(type(event))


_OUTCOMES: dict[type, str] = {
    e.TaskOpened: "open",
    e.TaskRefused: "refused",
    e.TaskClaimDenied: "already_in_progress",
    e.TaskReopened: "reopened",
    e.TakeoverRequested: "taken_over",
    e.CompensationStarted: "compensating",
    e.TaskDeclaredDone: "declared_done",
    e.TaskSucceeded: "succeeded",
    e.TaskFailed: "failed",
    e.TakeoverResolved: "resolved",
    e.CompensationConfirmed: "compensated",
    e.CompensationFailed: "compensation_failed",
}
_COUNTED: frozenset[type] = frozenset({*_OUTCOMES, e.ActionProposed, e.ActionExecuted, *VERDICT_FACTS})
