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
from typing import Literal

import msgspec
from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import Sha256
from domain.values import Verdict
from projections.fold import Row
from projections.views.common import action_of, counted, first_objection, task_of, verdict_of

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


class Runs:
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

    def apply(self, view: RunRow, recorded: Recorded) -> RunRow:
        """Row after one more event of the run."""
        event, envelope = recorded.event, recorded.envelope
        if not view.events:
            view = replace(
                view,
                run_id=envelope.run_id or "",
                tenant=recorded.row.tenant,
                principal=envelope.principal,
                started_at_us=envelope.occurred_at_us,
                first_position=recorded.row.position,
            )
        view = replace(
            view,
            last_at_us=envelope.occurred_at_us,
            last_position=recorded.row.position,
            events=view.events + 1,
            frames=view.frames + len(envelope.frames),
        )
        view = _of_the_run(view, event)
        if isinstance(event, e.ObservationRecorded) and envelope.frames:
            view = _seen(view, envelope.frames[0].sha256)
        task = task_of(recorded)
        return view if task is None else _step(_outcome(view, task, event), task, event)


def _of_the_run(view: RunRow, event: e.Event) -> RunRow:
    match event:
        case e.RunStarted():
            return replace(
                view,
                mode=event.mode,
                agent=event.agent,
                goal=event.goal,
                origin=event.origin,
                browser=event.browser,
                tasks_planned=event.tasks_planned,
            )
        case e.RunResumed():
            return replace(view, status="running", ended_at_us=None, resumed=view.resumed + 1)
        case e.RunFinished():
            status: RunStatus = "escalated" if view.status == "escalated" else "finished"
            return replace(view, status=status, ended_at_us=view.last_at_us)
        case e.RunEscalated():
            return replace(
                view,
                status="escalated",
                stopped_by=f"{event.verdict}: {event.reason}",
                ended_at_us=view.last_at_us,
            )
        case e.AlertRaised():
            return replace(view, alerts=view.alerts + 1)
        case _:
            return view


def _seen(view: RunRow, frame: Sha256) -> RunRow:
    recent = (*view.recent_frames, frame)[-STUCK_WINDOW:]
    return replace(view, recent_frames=recent, stuck_length=recent.count(frame))


def outcome_of(event: e.Event) -> str | None:
    """Word for what a fact means for its task's outcome; None when it means nothing for it."""
    match event:
        case e.TaskOpened():
            return "open"
        case e.TaskRefused():
            return "refused"
        case e.TaskClaimDenied():
            return "already_in_progress"
        case e.TaskReopened():
            return "reopened"
        case e.TakeoverRequested():
            return "taken_over"
        case e.CompensationStarted():
            return "compensating"
        case _:
            return _ENDINGS.get(type(event))


_ENDINGS: dict[type, str] = {
    e.TaskDeclaredDone: "declared_done",
    e.TaskSucceeded: "succeeded",
    e.TaskFailed: "failed",
    e.TakeoverResolved: "resolved",
    e.CompensationConfirmed: "compensated",
    e.CompensationFailed: "compensation_failed",
}


def _outcome(view: RunRow, task: str, event: e.Event) -> RunRow:
    word = outcome_of(event)
    if word is None:
        return view
    tasks = {**view.tasks, task: word}
    return replace(view, tasks=tasks, outcomes=dict(sorted(Counter(tasks.values()).items())))


def _step(view: RunRow, task: str, event: e.Event) -> RunRow:
    if isinstance(event, e.ActionProposed):
        return _rated(
            replace(
                view,
                steps=view.steps + 1,
                under_way={**view.under_way, task: StepNow(action_id=event.action_id)},
            )
        )
    step = view.under_way.get(task)
    if step is None or action_of(event) != step.action_id:
        return view
    said = verdict_of(event)
    now = step
    if isinstance(event, e.ActionExecuted):
        now = replace(step, executed=True)
    elif said is not None:
        now = replace(step, verdict=first_objection(step.verdict, said))
    verdicts = view.verdicts if now.verdict is None else counted(view.verdicts, step.verdict, now.verdict)
    return _rated(
        replace(
            view,
            verdicts=verdicts,
            steps_ok=view.steps_ok + int(now.ok) - int(step.ok),
            under_way={**view.under_way, task: now},
        )
    )


def _rated(view: RunRow) -> RunRow:
    return replace(view, success_permille=1000 * view.steps_ok // view.steps if view.steps else None)
