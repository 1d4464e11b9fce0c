"""Measuring on a machine that does other work too: sides take turns at every commit, and are compared by quantiles.

Rules: whatever slows the machine down hits all sides alike, because they alternate within milliseconds; what a side
is given is made right before, outside of its time, as a caller makes it; a ratio is taken once between medians and
once between quiet quarters (25th percentiles), and both are shown.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from domain.envelope import Draft
from domain.ids import StreamId
from executor.runtime.system import SystemIds
from tests.support.records import Maker

MESSAGE_BYTES = 500
"""With envelope and salt an event comes to about 1,000 bytes."""
T = TypeVar("T")
Rows = list[tuple[str, str, str, str]]
"""What, ratio, raw figure, goal."""


class Producer(Maker):
    """Drafts as the product makes them: ids of events in order of time, names of streams random."""

    ids = SystemIds()

    def uuid(self) -> str:
        """Id of a new event."""
        return self.ids.event_id()

    def task(self) -> StreamId:
        """Stream of a new task."""
        return StreamId(f"task:{super().uuid()}")

    def batch(self, count: int) -> list[Draft]:
        """Events of one new task."""
        return self.notes(self.task(), count, size=MESSAGE_BYTES)


@dataclass(slots=True)
class Samples:
    """Seconds of each commit of one side."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median wall time."""
        return statistics.median(self.wall)

    @property
    def quiet(self) -> float:
        """25th percentile of the wall time."""
        return statistics.quantiles(self.wall, n=4)[0]

    @property
    def quiet_cpu(self) -> float:
        """10th percentile of the CPU time: what the work takes when nothing displaces its caches."""
        return statistics.quantiles(self.cpu, n=10)[0]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def in_turns(
    sides: Mapping[str, Callable[[T], object]],
    inputs: Mapping[str, Iterable[T]],
    *,
    turns: int,
    commits: int = 1,
) -> dict[str, Samples]:
    """Each side does its own inputs, ``commits`` in its turn; who begins changes from turn to turn.

    A sample is the mean of a turn's commits. Inputs are taken from their iterable right before they are used: of
    events that lay about since the start, the caches would know nothing, and their ids would not be the newest.
    """
    samples = {name: Samples() for name in sides}
    order = list(sides)
    own = {name: iter(inputs[name]) for name in order}
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            first = turn % len(order)
            for name in (*order[first:], *order[:first]):
                each = list(itertools.islice(own[name], commits))
                wall, cpu = timed(partial(_do_all, sides[name], each))
                samples[name].wall.append(wall / commits)
                samples[name].cpu.append(cpu / commits)
    finally:
        gc.enable()
    return samples


def _do_all(side: Callable[[T], object], inputs: Iterable[T]) -> None:
    for one in inputs:
        side(one)


def rows_of(title: str, samples: dict[str, Samples], *, base: str, goal: str) -> Rows:
    """One row for each side, as ratios to ``base``."""
    bare = samples[base]
    return [
        (
            f"{title}: {name}",
            f"{bare.median / own.median:.2f} ({bare.quiet / own.quiet:.2f} quiet)",
            f"{own.median * 1e6:,.0f} µs ({own.quiet * 1e6:,.0f} quiet), CPU {own.quiet_cpu * 1e6:,.0f} µs",
            goal if name == "ours" else "",
        )
        for name, own in samples.items()
    ]
