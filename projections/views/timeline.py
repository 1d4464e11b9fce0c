"""A run frame by frame: what the player shows, one entry for each recorded frame.

Rules enforced here:

* Entries stand in the order of the log; nothing is left out, merged or reordered.
* A step is one proposed action. The screen that it was planned on, its own frames and the screen after it belong to
  it and share its verdict: the first objection of a guard, else ``pass``, or ``unknown`` when nobody knows what came
  of it. A readback has a word of its own.
* The marker (point, target, row) is drawn on the screen that the action was planned on and on those before it took
  effect, never on a later screen, where something else may stand at that place.
* ``stopped``: a guard held the action back. ``failed``: it ran against an objection, changed nothing (``noop``), could
  not be performed, or a readback shows another state.

Stored by run and task, so that a run with many tasks changes in small rows; ``timeline`` joins them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import Box, Check, FrameRef, FrameRole, Point
from projections.fold import Row
from projections.views.common import action_of, bill_of, first_objection, task_of, verdict_of
from projections.views.sentences import sentence

Tone = Literal["ok", "stopped", "failed", "unknown", "none"]
Role = Literal["observed", "before", "after", "readback", "planned"]

ROI_RADIUS_PX = 48
"""Published radius of the neighbourhood that is compared on its own (G2), where the judgement names none."""

_ROLES: dict[FrameRole, Role] = {
    "observed": "observed",
    "planned": "planned",
    "before": "before",
    "after": "after",
    "readback": "readback",
    "snapshot": "before",  # the business state before the write
}
_TROUBLE: frozenset[str] = frozenset({"stopped", "failed", "unknown"})
_MARKED: frozenset[Role] = frozenset({"observed", "planned", "before"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one guard found, with its numbers."""

    guard: str
    verdict: str
    tone: Tone
    expected: str
    found: str
    measures: dict[str, int]


class Entry(Row, frozen=True):
    """One recorded frame; the fields are the columns of the player's manifest, in its order."""

    sha256: str
    width: int
    height: int
    role: Role
    media_type: str
    t_us: int
    """Clock of the appender, microseconds since 1970 (UTC)."""
    position: int
    event: str
    principal: str
    task_id: str = ""
    bill_id: str = ""
    key: str = ""
    step: int = 0
    action: str = ""
    label: str = ""
    point: tuple[int, int] | None = None
    target: tuple[int, int, int, int] | None = None
    roi: tuple[int, int, int, int] | None = None
    row: tuple[int, int, int, int] | None = None
    verdict: str = ""
    tone: Tone = "none"
    guards: tuple[Reading, ...] = ()
    summary: str = ""


class Step(Row, frozen=True, array_like=True):
    """The step that is under way, and what was said about it so far."""

    number: int
    proposed: e.ActionProposed
    first: int
    """Index of its first entry in the segment; a step's entries are the last ones."""
    verdict: str = ""
    tone: Tone = "none"
    guards: tuple[Reading, ...] = ()
    roi_radius_px: int = 0
    """0 until a judgement compared the neighbourhood."""


class Segment(Row, frozen=True, array_like=True):
    """Row of the view: the frames of one task in one run, or of the run itself (no task)."""

    tenant: str = ""
    run_id: str = ""
    task_id: str = ""
    bill_id: str = ""
    key: str = ""
    mode: str = ""
    title: str = ""
    steps: int = 0
    step: Step | None = None
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A run, ready for the player."""

    tenant: str
    run_id: str
    mode: str
    title: str
    entries: tuple[Entry, ...]
    """``step`` counts within the run, from 1; 0 where a frame belongs to no step."""


class TimelineProjection:
    """Fold into ``Segment`` rows; grouped by run."""

    name = "timeline"
    version = 3
    row_type = Segment

    def key(self, recorded: Recorded) -> str | None:
        """Run and task; events of no run have no frame in a replay."""
        run_id = recorded.envelope.run_id
        return None if run_id is None else f"{run_id}/{task_of(recorded) or ''}"

    def group(self, view: Segment) -> str:
        """The run."""
        return view.run_id

    def initial(self) -> Segment:
        """No frames yet."""
        return Segment()

    def apply(self, view: Segment, recorded: Recorded) -> Segment:
        """Add the event's frames, and let its verdict fall on the whole step."""
        view = _begin_step(_identify(view, recorded), recorded.event)
        step = view.step
        if step is not None and action_of(recorded.event) == step.proposed.action_id:
            view = _judge_step(view, _told(step, recorded.event))
        if not recorded.envelope.frames:
            return view
        added = tuple(_entry(view, recorded, frame) for frame in recorded.envelope.frames)
        return replace(view, entries=(*view.entries, *added))


def timeline(segments: Iterable[Segment]) -> Timeline | None:
    """One run out of its rows; None when there are none."""
    rows = list(segments)
    if not rows:
        return None
    entries = sorted((entry for row in rows for entry in row.entries), key=lambda entry: entry.position)
    numbers: dict[tuple[str, int], int] = {}
    counted = []
    for entry in entries:
        if entry.step:
            number = numbers.setdefault((entry.task_id, entry.step), len(numbers) + 1)
            counted.append(replace(entry, step=number))
        else:
            counted.append(entry)
    ordered = sorted(rows, key=lambda row: row.task_id)  # the run's own row, if there is one, comes first
    return Timeline(
        tenant=rows[0].tenant,
        run_id=rows[0].run_id,
        mode=next((row.mode for row in ordered if row.mode), ""),
        title=next((row.title for row in ordered if row.title), ""),
        entries=tuple(_once_each(counted)),
    )


def _once_each(entries: Iterable[Entry]) -> list[Entry]:
    """Pictures that stand still are shown once, with what says most about them.

    The screen after a step is, nearly always, the screen before the next one, byte for byte; a viewer who steps through
    a run wants to see something else at each press. What went wrong is never folded into what went well.
    """
    kept: list[Entry] = []
    for entry in entries:
        last = kept[-1] if kept else None
        if (
            last is None
            or last.sha256 != entry.sha256
            or last.task_id != entry.task_id
            or last.tone in _TROUBLE
        ):
            kept.append(entry)
        elif entry.tone in _TROUBLE or _telling(entry) >= _telling(last):
            kept[-1] = entry
    return kept


def _telling(entry: Entry) -> int:
    """A screen that is about to be clicked says most, a mere look least."""
    return {"before": 3, "planned": 2, "after": 1, "readback": 1, "observed": 0}[entry.role]


def _identify(view: Segment, recorded: Recorded) -> Segment:
    envelope = recorded.envelope
    view = replace(
        view,
        tenant=recorded.row.tenant,
        run_id=envelope.run_id or "",
        task_id=task_of(recorded) or "",
        bill_id=view.bill_id or bill_of(recorded),
        key=envelope.idempotency_key or view.key,
    )
    match recorded.event:
        case e.RunStarted():
            return replace(view, mode=recorded.event.mode, title=recorded.event.goal)
        case e.TaskOpened():
            return replace(view, mode=recorded.event.mode, key=recorded.event.effect_key)
        case _:
            return view


def _begin_step(view: Segment, event: e.Event) -> Segment:
    if not isinstance(event, e.ActionProposed):
        return view
    looks = len(view.entries)
    while looks and view.entries[looks - 1].step == 0 and view.entries[looks - 1].role == "observed":
        looks -= 1
    step = Step(number=view.steps + 1, proposed=event, first=looks)
    planned = tuple(_with_step(entry, step) for entry in view.entries[looks:])
    return replace(view, steps=step.number, step=step, entries=(*view.entries[:looks], *planned))


def _told(step: Step, event: e.Event) -> Step:
    """Step after a fact about it."""
    verdict = verdict_of(event)
    if isinstance(event, e.ActionOutcomeUnknown):
        word = step.verdict if step.verdict not in {"", "pass"} else "unknown"
        return replace(step, verdict=word, tone="unknown")
    if verdict is None:
        return step
    kept = first_objection(step.verdict or None, verdict)  # type: ignore[arg-type]
    tone = step.tone if kept == step.verdict and step.tone != "ok" else _tone_of(event)
    if isinstance(event, e.ActionBlocked) and all(
        reading.guard != event.guard or reading.tone == "ok" for reading in step.guards
    ):
        check = Check(guard=event.guard, verdict=event.verdict, expected=event.expected, found=event.found)
        return replace(step, verdict=kept, tone=tone, guards=(_reading(check, "stopped"), *step.guards))
    if not isinstance(event, e.GuardJudged):
        return replace(step, verdict=kept, tone=tone)
    stop = _tone_of(event)
    readings = tuple(_reading(check, stop) for check in event.checks)
    return replace(
        step,
        verdict=kept,
        tone=tone,
        guards=(*step.guards, *readings),
        roi_radius_px=_roi_radius(event) or step.roi_radius_px,
    )


def _tone_of(event: e.Event) -> Tone:
    match event:
        case e.GuardJudged(verdict="pass"):
            return "ok"
        case e.GuardJudged():
            return "stopped" if event.enforced and event.phase != "after" else "failed"
        case e.ActionBlocked():
            return "stopped"
        case e.ReadbackConfirmed() | e.CompensationConfirmed():
            return "ok"
        case e.ActionFailed() | e.ReadbackMismatched() | e.CompensationFailed():
            return "failed"
        case e.ReadbackInconclusive():
            return "unknown"
        case _:
            return "none"


def _reading(check: Check, stop: Tone) -> Reading:
    tone: Tone = "ok" if check.verdict == "pass" else stop if check.decisive else "none"
    return Reading(
        guard=check.guard,
        verdict=check.verdict,
        tone=tone,
        expected=check.expected,
        found=check.found,
        measures=check.measures,
    )


def _roi_radius(event: e.GuardJudged) -> int:
    frame = next((check for check in event.checks if check.guard == "frame"), None)
    return frame.measures.get("roi_radius_px", ROI_RADIUS_PX) if frame else 0


def _judge_step(view: Segment, step: Step) -> Segment:
    """Let what is known of the step now fall on all its frames."""
    own = tuple(
        _with_step(entry, step) if entry.step == step.number and entry.role != "readback" else entry
        for entry in view.entries[step.first :]
    )
    return replace(view, step=step, entries=(*view.entries[: step.first], *own))


def _with_step(entry: Entry, step: Step) -> Entry:
    proposed = step.proposed
    own = entry.event != "observation.recorded" or entry.sha256 == proposed.planned_on
    marked = own and entry.role in _MARKED
    return replace(
        entry,
        step=step.number,
        action=proposed.kind,
        label=proposed.label or proposed.target,
        point=_xy(proposed.point) if marked else None,
        target=_rectangle(proposed.box) if marked else None,
        row=_rectangle(proposed.row) if marked else None,
        roi=_roi(entry, proposed.point, step.roi_radius_px) if marked else None,
        verdict=step.verdict,
        tone=step.tone,
        guards=step.guards,
    )


def _xy(point: Point | None) -> tuple[int, int] | None:
    return None if point is None else (point.x, point.y)


def _rectangle(box: Box | None) -> tuple[int, int, int, int] | None:
    return None if box is None else (box.x, box.y, box.width, box.height)


def _roi(entry: Entry, point: Point | None, radius: int) -> tuple[int, int, int, int] | None:
    """Square around the point, cut at the frame's edges; None where nothing was compared."""
    if point is None or radius <= 0:
        return None
    left, top = max(point.x - radius, 0), max(point.y - radius, 0)
    right, bottom = min(point.x + radius, entry.width), min(point.y + radius, entry.height)
    return (left, top, right - left, bottom - top) if right > left and bottom > top else None


def _entry(view: Segment, recorded: Recorded, frame: FrameRef) -> Entry:
    event, envelope = recorded.event, recorded.envelope
    entry = Entry(
        sha256=frame.sha256,
        width=frame.width,
        height=frame.height,
        role=_ROLES[frame.role],
        media_type=frame.media_type,
        t_us=envelope.occurred_at_us,
        position=recorded.row.position,
        event=recorded.name,
        principal=envelope.principal,
        task_id=view.task_id,
        bill_id=view.bill_id,
        key=envelope.idempotency_key or view.key,
        summary=sentence(event),
    )
    if isinstance(event, e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive):
        word = recorded.name.removeprefix("readback.")
        return replace(entry, role="readback", step=view.steps, verdict=word, tone=_tone_of(event))
    step = view.step
    if step is None:
        return entry
    if action_of(event) == step.proposed.action_id or entry.role in {"before", "after"}:
        return _with_step(entry, step)
    return entry
