"""Two runs side by side: which frame of the one stands beside a frame of the other.

Rules enforced here:

- Runs are aligned on steps, not on time or on frame numbers: a step is the n-th one about a bill, and where the runs
  have no bill in common, the n-th one of the run.
- A step that the other run doesn't have has no counterpart, and the player says so. Nothing is interpolated.
- Alignment is about where to look. It is no statement that the two steps did the same.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class Placed(Protocol):
        """What of a frame the alignment looks at."""

        @property
        def bill_id(self) -> str:
            """Bill that the frame is about; empty where it is about none."""

        @property
        def step(self) -> int:
            """Step within the run, from 1; 0 for a frame of no step."""


FORMAT_VERSION: Final = 1


class Part(NamedTuple):
    """Frames of one step that stand beside each other."""

    first: int
    """Index of the step's first frame."""
    name: tuple[str, int]
    """Bill and number of the step about it."""
    frames: int


def parts_of(entries: Iterable[Placed], *, by_bill: bool) -> list[Part]:
    """Steps of a run, each with its first frame; frames of no step are a part of their own."""
    parts: list[Part] = []
    seen: Counter[str] = Counter()
    before: tuple[str, int] | None = None
    for index, entry in enumerate(entries):
        place = (entry.bill_id if by_bill else "", entry.step)
        if place == before:
            parts[-1] = parts[-1]._replace(frames=parts[-1].frames + 1)
            continue
        before = place
        seen[place[0]] += 1
        parts.append(Part(index, (place[0], seen[place[0]]), 1))
    return parts


def align(mine: Sequence[Placed], other: Sequence[Placed]) -> list[tuple[int, int, int]]:
    """First frame of each step, first frame of its counterpart, frames of that one; 0 frames for no counterpart.

    Without a counterpart the other player stays at the last one that there was.
    """
    shared = {entry.bill_id for entry in mine} & {entry.bill_id for entry in other} - {""}
    theirs = {part.name: part for part in parts_of(other, by_bill=bool(shared))}
    aligned: list[tuple[int, int, int]] = []
    last = 0
    for part in parts_of(mine, by_bill=bool(shared)):
        beside = theirs.get(part.name)
        if beside is not None:
            last = beside.first
        aligned.append((part.first, last, 0 if beside is None else beside.frames))
    return aligned


def aligned_bytes(mine: Sequence[Placed], other: Sequence[Placed]) -> bytes:
    """The alignment as JSON for the player."""
    return msgspec.json.encode({"version": FORMAT_VERSION, "parts": align(mine, other)})
