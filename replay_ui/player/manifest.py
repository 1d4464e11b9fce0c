"""The manifest: what the player knows of a run, in a header and in chunks of columns.

Rules enforced here:

- One entry is one recorded frame; entries are in order of time and never reordered by the player.
- The header carries everything that has to be known before any chunk is fetched: the number of frames and
  the places where a guard stopped the run or something failed, so that a jump to the next one costs no
  chunk.
- A chunk is columns, not rows: at 50,000 frames the names would be the larger part of the bytes.
- Text in a manifest may come from the page under audit. It is data; the player shows it with
  ``textContent`` only.
- A wrong shape is refused when the manifest is built, where the cause can still be found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from domain.errors import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.views.timeline import Entry

FORMAT_VERSION: Final = 1
"""Raised when a column changes its meaning; the player refuses a version that it doesn't know."""
CHUNK_SIZE: Final = 500
"""Frames in a chunk: about 150 kB of JSON, 15 kB compressed."""

Role = Literal["observed", "before", "after", "readback", "planned"]
"""Why the frame was captured."""
Tone = Literal["ok", "stopped", "failed", "unknown", "none"]
"""Colour class of a verdict. ``stopped``: a guard held the action back. ``failed``: it ran and was refuted."""
Point = tuple[float, float]
"""x, y in pixels of the frame."""
Box = tuple[float, float, float, float]
"""x, y, width, height in pixels of the frame."""
Measure = int | float | str | bool | None

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class GuardReading(msgspec.Struct, frozen=True, kw_only=True):
    """What one guard decided, with the numbers that it decided on."""

    guard: str
    """Name of the guard, such as ``target_gate``."""
    verdict: str
    """Its verdict in its own word, such as ``stale_local``."""
    tone: Tone = "none"
    expected: str = ""
    found: str = ""
    measures: dict[str, Measure] = {}
    """Named numbers; the unit ends the name (``distance_bits``, ``age_ms``)."""


class FrameEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded frame and the event that it belongs to."""

    sha256: str
    """Lower-case hexadecimal SHA-256 of the stored bytes: the name of the frame."""
    width: int
    height: int
    role: Role
    media_type: str
    """``image/png`` or ``image/webp``."""
    t_us: int
    """When the frame was captured, microseconds since 1970 (UTC), by the recorder's clock."""
    position: int
    """Position of the event in the tenant's log."""
    event: str
    """Name of the event, such as ``action.proposed``."""
    principal: str
    """Who acted."""
    task_id: str = ""
    bill_id: str = ""
    key: str = ""
    """Idempotency key of the business effect."""
    step: int = 0
    """Number of the step within the run, from 1; 0 where the frame belongs to no step."""
    action: str = ""
    """Kind of the action, such as ``click``."""
    label: str = ""
    """What the action was aimed at, in words."""
    point: Point | None = None
    target: Box | None = None
    roi: Box | None = None
    """Neighbourhood of the point that was compared on its own."""
    row: Box | None = None
    """Band of the row that the target stands in."""
    verdict: str = ""
    tone: Tone = "none"
    guards: tuple[GuardReading, ...] = ()
    summary: str = ""
    """One line for the reader, already in the reader's language."""


COLUMNS: Final[tuple[str, ...]] = FrameEntry.__struct_fields__
"""Names of the columns of a chunk: the fields of an entry, in this order."""


class Stop(msgspec.Struct, frozen=True, array_like=True):
    """First frame of a step that was stopped or failed; written as ``[frame, tone]``."""

    frame: int
    tone: Tone


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the run before any chunk is fetched."""

    run: str
    tenant: str
    frames: int
    steps: int
    mode: str
    """``guarded``, ``record_only`` or ``imported``."""
    started_at_us: int
    """First frame's time, microseconds since 1970 (UTC); 0 for a run with no frames."""
    ended_at_us: int = 0
    """Last frame's time."""
    title: str = ""
    chunk: int = CHUNK_SIZE
    version: int = FORMAT_VERSION
    stops: tuple[Stop, ...] = ()
    """In order of frames."""


def check_entry(entry: FrameEntry | Entry, where: str) -> None:
    """Refuse an entry that the player could not show truthfully.

    Raises:
        IntegrityError: the hash is no SHA-256 in lower-case hexadecimal, or the size is no size.
    """
    if not _SHA256.fullmatch(entry.sha256):
        raise IntegrityError(f"frame name {entry.sha256!r} is not a SHA-256", where=where)
    if entry.width < 1 or entry.height < 1:
        raise IntegrityError(f"frame size {entry.width}x{entry.height} is not a size", where=where)


def stops_of(entries: Sequence[FrameEntry | Entry]) -> tuple[Stop, ...]:
    """First frame of each step in which something was stopped or failed.

    Neighbouring frames of one step and task are one stop; the worst tone of them colours it.
    """
    stops: list[Stop] = []
    last: tuple[str, int, int] | None = None
    for index, entry in enumerate(entries):
        if entry.tone not in {"stopped", "failed"}:
            continue
        place = (entry.task_id, entry.step, entry.position if entry.step == 0 else 0)
        if place != last:
            stops.append(Stop(index, entry.tone))
        elif entry.tone == "failed":
            stops[-1] = Stop(stops[-1].frame, "failed")
        last = place
    return tuple(stops)


def header_of(
    entries: Sequence[FrameEntry | Entry],
    *,
    tenant: str,
    run: str,
    mode: str,
    title: str = "",
    chunk: int = CHUNK_SIZE,
) -> Header:
    """Header of a run whose frames are ``entries``, in order of time: the player's, or the timeline's as they are.

    Raises:
        IntegrityError: an entry is malformed.
    """
    for index, entry in enumerate(entries):
        check_entry(entry, f"run {run} frame {index}")
    return Header(
        run=run,
        tenant=tenant,
        frames=len(entries),
        steps=len({(e.task_id, e.step) for e in entries if e.step > 0}),
        mode=mode,
        started_at_us=entries[0].t_us if entries else 0,
        ended_at_us=entries[-1].t_us if entries else 0,
        title=title,
        chunk=chunk,
        stops=stops_of(entries),
    )


def chunk_bytes(entries: Sequence[FrameEntry], k: int) -> bytes:
    """JSON of chunk ``k``, whose frames are ``entries`` (those of this chunk only), as columns."""
    columns: dict[str, object] = {name: [getattr(e, name) for e in entries] for name in COLUMNS}
    return msgspec.json.encode({"version": FORMAT_VERSION, "k": k, "n": len(entries), "columns": columns})


def header_bytes(header: Header) -> bytes:
    """JSON of a header."""
    return msgspec.json.encode(header)
