"""The frames of one task in one run, and the step that each belongs to; rules and words are those of ``timeline``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.values import Box, Check, FrameRef, FrameRole, Point
from projections.fold import Row
from projections.views.common import (
    NAMES_ACTION,
    READBACK_FACTS,
    action_of,
    bill_of,
    first_objection,
    verdict_of,
)
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


class Film:
    """A segment while events are added; a task of many frames copies its entries once for all of them."""

    def __init__(self, view: Segment) -> None:
        self._view = view
        self._entries = list(view.entries)
        self._step = view.step
        self._steps = view.steps
        self._judged = False
        """True while something was said of the step that its entries don't show yet."""
        self._bill = view.bill_id
        self._key = view.key

    def segment(self) -> Segment:
        """The row after all that was added."""
        self._show()
        return replace(
            self._view,
            bill_id=self._bill,
            key=self._key,
            steps=self._steps,
            step=self._step,
            entries=tuple(self._entries),
        )

    def add(self, recorded: Recorded) -> None:
        """Add one event."""
        event, envelope = recorded.event, recorded.envelope
        kind = type(event)
        self._bill = self._bill or bill_of(recorded)
        self._key = envelope.idempotency_key or self._key
        if kind in _OPENINGS:
            self._open(event)
        elif kind is e.ActionProposed:
            self._begin(event)  # type: ignore[arg-type]
        elif self._step is not None and kind in NAMES_ACTION:
            self._tell(self._step, event)
        for frame in envelope.frames:
            self._entries.append(self._entry(recorded, frame))

    def _open(self, event: e.Event) -> None:
        if isinstance(event, e.RunStarted):
            self._view = replace(self._view, mode=event.mode, title=event.goal)
        elif isinstance(event, e.TaskOpened):
            self._view = replace(self._view, mode=event.mode)
            self._key = event.effect_key

    def _begin(self, event: e.ActionProposed) -> None:
        """Start a step; the looks that led to it are its first entries."""
        self._show()
        entries = self._entries
        looks = len(entries)
        while looks and entries[looks - 1].step == 0 and entries[looks - 1].role == "observed":
            looks -= 1
        self._steps += 1
        step = self._step = Step(number=self._steps, proposed=event, first=looks)
        entries[looks:] = [_with_step(entry, step) for entry in entries[looks:]]

    def _tell(self, step: Step, event: e.Event) -> None:
        if action_of(event) == step.proposed.action_id:
            self._step, self._judged = _told(step, event), True

    def _show(self) -> None:
        """Let what is known of the step now fall on all its frames."""
        step = self._step
        if step is None or not self._judged:
            return
        self._judged = False
        for place in range(step.first, len(self._entries)):
            entry = self._entries[place]
            if entry.step == step.number and entry.role != "readback":
                self._entries[place] = _with_step(entry, step)

    def _entry(self, recorded: Recorded, frame: FrameRef) -> Entry:
        event, envelope = recorded.event, recorded.envelope
        reads = type(event) in READBACK_FACTS
        role = "readback" if reads else _ROLES[frame.role]
        entry = Entry(
            sha256=frame.sha256,
            width=frame.width,
            height=frame.height,
            role=role,
            media_type=frame.media_type,
            t_us=envelope.occurred_at_us,
            position=recorded.row.position,
            event=recorded.name,
            principal=envelope.principal,
            task_id=self._view.task_id,
            bill_id=self._bill,
            key=envelope.idempotency_key or self._key,
            step=self._steps if reads else 0,
            verdict=recorded.name.removeprefix("readback.") if reads else "",
            tone=_tone_of(event) if reads else "none",
            summary=sentence(event),
        )
        step = self._step
        if reads or step is None:
            return entry
        if action_of(event) == step.proposed.action_id or role in {"before", "after"}:
            return _with_step(entry, step)
        return entry


_OPENINGS: frozenset[type] = frozenset({e.RunStarted, e.TaskOpened})


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
