"""Who moves the player: the viewer, or the page.

Rules enforced here:

- The page moves the player only by *changing* what it asks for. A page is run again for many reasons and
  asks for the same frame each time; that must not drag the viewer back to it.
- What the page wrote into the URL on the viewer's behalf is no wish of the page, and neither is what stood there when
  the browser said where the viewer is: what was written since may still be on its way to it.
"""

from __future__ import annotations

from typing import NamedTuple

from replay_ui.player.urls import frame_from_query, frame_to_query


class Memory(NamedTuple):
    """What was asked for at the last run of the page, kept in the session."""

    asked: str | None = None
    nonce: int = 0
    """Counts the wishes; the browser moves when it changes, and says with its position which one it knew."""
    target: int | None = None
    """Where the last wish leads."""
    told: int = 0
    """Which word of the browser the last run knew."""


class Seen(NamedTuple):
    """Where the browser last said that the viewer is."""

    frame: int | None
    nonce: int
    """The wish that the browser knew when it said so; a smaller one is news from before the wish."""
    told: int = 0
    """Number of this word of the browser, another one for each; 0 where it said nothing."""
    url: str | None = None
    """What ``?frame=`` was in the browser when it said so."""


class Turn(NamedTuple):
    """What one run of the page means for the player."""

    memory: Memory
    open_at: int | None
    """Where the wish under way leads, else where the viewer is; a player mounted now opens there."""


def begin(memory: Memory, asked: str | None, seen: Seen, *, default: int | None, n: int) -> Turn:
    """Understand what the page asks for.

    Args:
        memory: what the last run left.
        asked: value of ``?frame=`` now.
        seen: where the viewer was last seen.
        default: index to open where nothing else says.
        n: number of frames.
    """
    wanted = frame_from_query(asked, n)
    echo = seen.told != memory.told and asked == seen.url
    memory = memory._replace(told=seen.told)
    changed = (asked != memory.asked and not echo) or (memory.nonce == 0 and default is not None)
    if wanted is None and memory.nonce == 0:
        wanted = default
    if changed and wanted is not None:
        return Turn(Memory(asked, memory.nonce + 1, wanted, seen.told), wanted)
    now = memory if echo else memory._replace(asked=asked)
    return Turn(now, seen.frame if _is_current(seen, now) else now.target)


def follow(memory: Memory, seen: Seen) -> Memory:
    """Memory once ``?frame=`` is to name the frame that the viewer came to rest at.

    A wish under way stands: the viewer is about to be moved.
    """
    if seen.frame is None or not _is_current(seen, memory):
        return memory
    return memory._replace(asked=frame_to_query(seen.frame))


def _is_current(seen: Seen, memory: Memory) -> bool:
    return seen.frame is not None and seen.nonce == memory.nonce
