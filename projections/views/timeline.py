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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from domain.envelope import Recorded
from projections.fold import Folded
from projections.views.common import task_of
from projections.views.film import Entry, Film, Reading, Segment

__all__ = ["Entry", "Reading", "Segment", "Timeline", "TimelineProjection", "timeline"]

_TROUBLE: frozenset[str] = frozenset({"stopped", "failed", "unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A run, ready for the player."""

    tenant: str
    run_id: str
    mode: str
    title: str
    entries: tuple[Entry, ...]
    """``step`` counts within the run, from 1; 0 where a frame belongs to no step."""


class TimelineProjection(Folded[Segment]):
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

    def extend(self, view: Segment, events: Sequence[Recorded]) -> Segment:
        """Add the events' frames, and let their verdicts fall on the whole step."""
        if not view.run_id:
            first = events[0]
            view = replace(
                view,
                tenant=first.row.tenant,
                run_id=first.envelope.run_id or "",
                task_id=task_of(first) or "",
            )
        film = Film(view)
        for recorded in events:
            film.add(recorded)
        return film.segment()


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
