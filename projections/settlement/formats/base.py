"""What every format reader gives: rows of text cells with their place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from projections.settlement.profiles import Profile


class Row(NamedTuple):
    """One row as it stands in the file."""

    line: int
    """Physical line it begins on, 1-based."""
    cells: list[str]
    fault: str = ""
    """Why the row can't be read at all; empty when it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A file's rows, streamed, and what was found out about its bytes."""

    rows: Iterator[Row]
    encoding: str
    looks_like: str = ""
    """What a detector takes the bytes for, when some are not in ``encoding``; a hint for a person."""


Reader = Callable[[BinaryIO, Profile], Rows]
"""Reads a seekable stream of bytes; ``ConfigError`` when the file as a whole can't be read with the profile."""
