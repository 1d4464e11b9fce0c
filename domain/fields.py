"""Salted fields of an event: what is shown of a redacted event is committed to, what is withheld can't be guessed (X7).

An event's JSON is taken apart into its values, each under its JSON pointer (RFC 6901). Each gives one leaf of a Merkle
tree under a salt of its own. A rendition is the same JSON with ``{"$withheld": <leaf>}`` in place of what is withheld.

The event's own salt is withheld with every field: with it, the SHA-256 of the event's bytes, which stays visible, would
tell whoever tries values which one was right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from domain.merkle import leaf_hash, root
from domain.tiles import salt_for

MARK: Final = "$withheld"
SALT: Final = "/salt"
"""Pointer of the event's own salt."""
FEWEST_CHARACTERS: Final = 4
"""A shorter text can't be withheld by itself: it stands in too many other places by chance."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_STRUCTURAL: Final = re.compile(
    r"((action|approval|bill|break|call|check|deletion|event|hold|key|request|response|run|task)_)?ids?"
    r"|(.*_)?(sha256|digest|blobs?|key|stream|by|month|currency|verdict|phase|mode|kind|rule|role|rung|guard)"
    r"|approver|evidence|file_name|format|frame|planned_on|principal|profile|response|schema|(expected_)?status"
)
"""Names of fields that say what the event is, who answers for it, or what it is bound to: never withheld."""
_FREE: Final = re.compile(r"/data/.*(extra|differences)/[^/]*")
"""What the target system itself named."""

Leaves = dict[str, Any]
"""Pointer → value, in order of pointers; empty lists and objects count as values."""


def leaves_of(body: Mapping[str, Any]) -> Leaves:
    """Take an event's JSON apart."""
    return dict(sorted(_walk("", body)))


def _walk(pointer: str, value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value and not is_mark(value):
        for name, item in value.items():
            yield from _walk(f"{pointer}/{_escaped(name)}", item)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _walk(f"{pointer}/{number}", item)
    else:
        yield pointer, value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def is_mark(value: object) -> bool:
    """True for what stands in place of something withheld."""
    if not isinstance(value, Mapping) or set(value) != {MARK}:
        return False
    return isinstance(value[MARK], str) and _HASH.fullmatch(value[MARK]) is not None


def may_be_withheld(pointer: str, value: object) -> bool:
    """True for texts of the fact itself that nothing is bound to."""
    name = pointer.rpartition("/")[2]
    own = pointer.startswith("/data/") and not (name.isdigit() and _STRUCTURAL.fullmatch(_parent(pointer)))
    long = isinstance(value, str) and len(value) >= FEWEST_CHARACTERS
    bound = _STRUCTURAL.fullmatch(name) is not None and _FREE.fullmatch(pointer) is None
    return own and long and not bound and _HASH.fullmatch(str(value)) is None


def _parent(pointer: str) -> str:
    return pointer.rpartition("/")[0].rpartition("/")[2]


def leaf(salt: bytes, pointer: str, value: object) -> bytes:
    """Leaf of one value."""
    text = json.dumps([pointer, value], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return leaf_hash(salt + text.encode())


def commit(body: Mapping[str, Any], key: bytes) -> tuple[str, dict[str, bytes], dict[str, bytes]]:
    """Root in hex, leaf and salt by pointer, of a whole event.

    ``ValueError`` when it already holds what looks like a mark.
    """
    values = leaves_of(body)
    if any(is_mark(value) for value in values.values()):
        message = f"the event holds {MARK!r} itself"
        raise ValueError(message)
    salts = {pointer: salt_for(key, str(body["id"]), pointer) for pointer in values}
    hashes = {pointer: leaf(salts[pointer], pointer, value) for pointer, value in values.items()}
    return root(list(hashes.values())).hex(), hashes, salts


def render(body: Mapping[str, Any], hidden: Collection[str], hashes: Mapping[str, bytes]) -> dict[str, Any]:
    """The event with marks in place of the hidden values."""

    def made(pointer: str, value: object) -> object:
        if pointer in hidden:
            return {MARK: hashes[pointer].hex()}
        if isinstance(value, Mapping):
            return {name: made(f"{pointer}/{_escaped(name)}", item) for name, item in value.items()}
        if isinstance(value, list):
            return [made(f"{pointer}/{number}", item) for number, item in enumerate(value)]
        return value

    return {name: made(f"/{_escaped(name)}", item) for name, item in body.items()}


def root_of(rendition: Mapping[str, Any], salts: Mapping[str, bytes]) -> tuple[str, frozenset[str]]:
    """Root in hex that a rendition gives with the salts of what it shows, and the pointers that it withholds.

    ``ValueError`` when a shown value has no salt.
    """
    hidden: set[str] = set()
    hashes: list[bytes] = []
    for pointer, value in leaves_of(rendition).items():
        if is_mark(value):
            hidden.add(pointer)
            hashes.append(bytes.fromhex(value[MARK]))
        elif pointer in salts:
            hashes.append(leaf(salts[pointer], pointer, value))
        else:
            message = f"no salt for {pointer}"
            raise ValueError(message)
    return root(hashes).hex(), frozenset(hidden)
