"""``withheld.json``: what is proved to exist and not shown, where that is on record, and what stands in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WITHHELD_PARTS = ("events", "frames", "documents", "deleted")
"""Of ``withheld.json``; the first two are always there, the others when they hold something."""


def whole(withheld: Mapping[str, Any]) -> dict[str, Any]:
    """``withheld.json`` with all its parts."""
    return {part: withheld.get(part, {}) for part in WITHHELD_PARTS}


def stated(withheld: Mapping[str, Any]) -> dict[str, Any]:
    """``withheld.json`` in its one form."""
    return {part: withheld[part] for part in WITHHELD_PARTS if withheld[part] or part in WITHHELD_PARTS[:2]}


def shaped(withheld: Mapping[str, Any]) -> bool:
    """True if it has that form and every item says where, why and by whom."""
    parts = whole(withheld)
    if set(withheld) - set(parts) or not all(isinstance(part, dict) for part in parts.values()):
        return False
    needed = {"frames": {"regions", "rendition"}, "events": {"fields", "rendition", "shown"}}
    for name, part in parts.items():
        wanted = {"at_us", "basis", "by", "stream"} | needed.get(name, set())
        wanted |= set() if name == "deleted" else {"approver"}
        if not all(isinstance(item, dict) and set(item) == wanted for item in part.values()):
            return False
    return stated(parts) == dict(withheld) and any(parts.values())


def item_of(stream: str, request: Mapping[str, Any], approver: str, at_us: int) -> dict[str, Any]:
    """What ``withheld.json`` says of one redaction; ``request`` is the data of its ``redaction.requested``."""
    item: dict[str, Any] = {
        "approver": approver,
        "at_us": at_us,
        "basis": request["basis"],
        "by": request["requested_by"],
        "stream": stream,
    }
    for name in {"frame": ("regions", "rendition"), "event": ("fields", "rendition")}.get(
        request["kind"], ()
    ):
        item[name] = request[name]
    return item
