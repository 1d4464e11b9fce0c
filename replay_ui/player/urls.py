"""Addresses of a run's manifest, frames and events, and the link that opens one frame.

Rules enforced here:

- Tenant and run are one path segment each, quoted in full, so that no id can reach another route.
- A frame has number 1 in what people see and share (``?frame=1``) and index 0 in code; the two are
  converted here and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote


class RunUrls(NamedTuple):
    """Where the player fetches a run, relative to the server's root."""

    manifest: str
    """Add ``.json`` for the header, ``/{k}.json`` for chunk k."""
    frames: str
    """Add ``/{sha256}``."""
    events: str
    """Add ``/{position}.json``."""
    traces: str
    """Add ``/{position}.zip``."""


def run_urls(tenant: str, run: str) -> RunUrls:
    """Addresses of one run."""
    place = f"{quote(tenant, safe='')}/{quote(run, safe='')}"
    return RunUrls(f"/manifest/{place}", f"/frames/{place}", f"/events/{place}", f"/traces/{place}")


def aligned_url(tenant: str, run: str, other: str) -> str:
    """Where a player of ``other`` learns which of its frames stand beside those of ``run``."""
    return f"/aligned/{quote(tenant, safe='')}/{quote(run, safe='')}/{quote(other, safe='')}.json"


def frame_from_query(value: str | None, n: int) -> int | None:
    """Index of the frame that ``?frame=`` names, or None where it names none of the ``n`` frames."""
    if value is None or not value.isascii() or not value.isdigit() or len(value) > len(str(n)):
        return None
    number = int(value)
    return number - 1 if 1 <= number <= n else None


def frame_to_query(index: int) -> str:
    """Value of ``?frame=`` for the frame with this index."""
    return str(index + 1)
