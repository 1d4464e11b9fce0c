"""Line ids that stand more than once in a file, found in memory that doesn't grow with it.

Rules: a line counts as a repeat of the first one with its id; of all repeats the first are named and the others
counted. Ids are kept as 64-bit hashes with their lines, 16 bytes a line: the newest in memory, older ones in a
temporary file, which is looked through part by part, each part having all lines of its ids.
"""

from __future__ import annotations

import tempfile
import weakref
from array import array
from typing import BinaryIO, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

NAMED: Final = 200
"""Repeats named one by one; a column that is no id repeats in every row."""
HELD: Final = 1 << 19
"""Lines whose hashes are in memory at once."""

Numbers = npt.NDArray[np.int64]


class Repeated(NamedTuple):
    """What was found."""

    pairs: tuple[tuple[int, int], ...]
    """First and later line, in order of the later one; ``NAMED`` at most."""
    total: int
    """Number of all repeats."""


class Repeats:
    """Collects ids: append to ``hashes`` and ``lines`` alike, and ``spill`` now and then."""

    def __init__(self) -> None:
        self.hashes = array("q")
        self.lines = array("q")
        self._file: BinaryIO | None = None
        self._spilt = 0

    def spill(self) -> None:
        """Move what is in memory into the file, if it is a part."""
        if len(self.hashes) >= HELD:
            self._move()

    def _move(self) -> None:
        if self._file is None:
            self._file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - lives as long as this does
            weakref.finalize(self, self._file.close)
        self._spilt += len(self.hashes)
        self._file.write(np.stack((_numbers(self.hashes), _numbers(self.lines)), axis=1).tobytes())
        del self.hashes[:], self.lines[:]  # whoever appends holds on to these arrays

    def found(self) -> Repeated:
        """Repeats among all that was collected."""
        if self._file is None:
            return _joined([_repeats(_numbers(self.hashes), _numbers(self.lines))])
        self._move()
        parts = -(-self._spilt // HELD)
        return _joined([_repeats(*self._part(number, parts)) for number in range(parts)])

    def _part(self, number: int, parts: int) -> tuple[Numbers, Numbers]:
        """Hashes and lines of the ids of one part, in order of the file."""
        assert self._file is not None  # noqa: S101 - for the type checker
        self._file.seek(0)
        mine = []
        while data := self._file.read(16 * HELD):
            piece = np.frombuffer(data, dtype=np.int64).reshape(-1, 2)
            mine.append(piece[piece[:, 0] % parts == number])
        own = np.concatenate(mine)
        return own[:, 0], own[:, 1]


def _numbers(values: array[int]) -> Numbers:
    return np.array(values, dtype=np.int64)  # a copy: the array must be free to grow


def _repeats(hashes: Numbers, lines: Numbers) -> Numbers:
    """Pairs of lines, one row each: the first line of an id and a later one."""
    order = np.argsort(hashes, kind="stable")
    ranked, placed = hashes[order], lines[order]
    again = np.flatnonzero(ranked[1:] == ranked[:-1]) + 1
    new = np.ones(len(ranked), dtype=bool)
    new[again] = False
    starts = np.flatnonzero(new)
    first = starts[np.searchsorted(starts, again, side="right") - 1]
    pairs = np.stack((placed[first], placed[again]), axis=1)
    apart: Numbers = pairs[pairs[:, 0] != pairs[:, 1]]  # several bookings of one entry are one line
    return apart


def _joined(found: list[Numbers]) -> Repeated:
    pairs = np.concatenate([_earliest(part) for part in found])
    named = tuple((int(first), int(later)) for first, later in _earliest(pairs))
    return Repeated(pairs=named, total=sum(len(part) for part in found))


def _earliest(pairs: Numbers) -> Numbers:
    return pairs[np.argsort(pairs[:, 1], kind="stable")][:NAMED]
