"""``withheld.json``: what is proved to exist and not shown, where that is on record, and what stands in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from projections.exports.verify import layout

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
        if not all(_typed(name, value) for item in part.values() for name, value in item.items()):
            return False
    return stated(parts) == dict(withheld) and any(parts.values())


def _typed(name: str, value: object) -> bool:
    """True if a field of an item has the type that it must have."""
    match name:
        case "at_us":
            return type(value) is int and 0 <= value <= layout.MAX_TIME_US
        case "regions":
            return isinstance(value, list) and all(isinstance(one, dict) for one in value)
        case "fields":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case "shown":
            return isinstance(value, dict)
        case _:
            return isinstance(value, str)


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
