"""The wire, read strictly: what is not exactly as it should be is refused with its field, its value and the rule.

Rules: RFC 8259 and nothing beyond (no NaN, no lone surrogates, no trailing data, no key given twice); bounded in bytes
and depth before anything is looked at; a boolean is no number, a text is no number, a float is no pixel; a key that
nobody knows is refused where it could change what an action means. Our own readers, because real lines break the
providers' SDK types (``action: null`` beside ``actions``) and SDK types let through what they don't know.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

import orjson

from domain.run import Refusal, shown

MAX_BODY_BYTES = 4 << 20
MAX_DEPTH = 32
MAX_ITEMS = 256
MAX_TEXT = 100_000
"""Characters of one text of an answer; what is typed has its own, lower limit."""
MAX_ARGUMENTS = 8_000
"""Characters of one action's arguments as they are kept."""


class Refused(Exception):
    """Carries a ``Refusal`` up to the reader's front door; never leaves this package."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(str(refusal))


def refuse(field: str, value: object, rule: str) -> NoReturn:
    """Stop reading."""
    raise Refused(Refusal(field=field, value=shown(value), rule=rule))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        refuse(twice, "given twice", "every key once")
    return made


def depth_of(value: object) -> int:
    """How deeply lists and objects are nested; a plain value has depth 0. Stops counting above the limit."""
    level, deepest = [value], 0
    while level and deepest <= MAX_DEPTH:
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        nested = any(isinstance(item, dict | list) for item in level)
        deepest += nested
        level = inner if nested else []
    return deepest


def parse(body: bytes) -> Node:
    """The answer's one JSON object.

    Raises:
        Refused: it is too large, too deep, no JSON, or says something twice.
    """
    if len(body) > MAX_BODY_BYTES:
        refuse("body", f"{len(body)} bytes", f"at most {MAX_BODY_BYTES} bytes")
    try:
        orjson.loads(body)  # strict where the standard library is not: NaN, surrogates, depth
        value = json.loads(body, object_pairs_hook=_once)
    except RecursionError:
        refuse("body", "too deeply nested", f"at most {MAX_DEPTH} levels")
    except ValueError as error:
        refuse("body", str(error)[:80], "one JSON document (RFC 8259)")
    if depth_of(value) > MAX_DEPTH:
        refuse("body", f"more than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")
    return Node(value, "")


class Node:
    """One value of the answer and its path."""

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str) -> None:  # noqa: ANN401 - JSON edge
        self.value = value
        self.path = path

    def refuse(self, rule: str) -> NoReturn:
        """This value is not as it should be."""
        refuse(self.path or "body", self.value, rule)

    def fields(self, known: Collection[str] | None = None) -> dict[str, Any]:
        """The value as an object; with ``known``, no other key may be in it."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        if known is not None:
            for name in self.value:
                if name not in known:
                    refuse(
                        self._at(name), self.value[name], f"no such key; known are {', '.join(sorted(known))}"
                    )
        return self.value

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def key(self, name: str) -> Node:
        """A field that must be there and must not be null."""
        node = self.get(name)
        if node is None:
            refuse(self._at(name), None, "given")
        return node

    def get(self, name: str) -> Node | None:
        """A field that may be missing or null."""
        value = self.fields().get(name)
        return None if value is None else Node(value, self._at(name))

    def items(self, most: int = MAX_ITEMS) -> Iterator[Node]:
        """The value as a list."""
        if not isinstance(self.value, list):
            self.refuse("a list")
        if len(self.value) > most:
            refuse(self.path, f"{len(self.value)} items", f"at most {most} items")
        return (Node(item, f"{self.path}[{index}]") for index, item in enumerate(self.value))

    def text(self, *, most: int = MAX_TEXT, empty: bool = True) -> str:
        """The value as a text."""
        if not isinstance(self.value, str):
            self.refuse("a text")
        if len(self.value) > most or not (self.value or empty):
            refuse(self.path, self.value, f"{'0' if empty else '1'} to {most} characters")
        return self.value

    def name(self, most: int = 200) -> str:
        """The value as an id or a word: not empty, printable."""
        value = self.text(most=most, empty=False)
        if not value.isprintable() or value != value.strip():
            self.refuse("a printable word")
        return value

    def integer(self, low: int, high: int) -> int:
        """The value as a whole number within limits; a boolean, a text or a float is none."""
        if type(self.value) is not int:
            self.refuse("a whole number")
        if not low <= self.value <= high:
            self.refuse(f"{low} to {high}")
        return self.value

    def seconds(self, most: int) -> int:
        """The value as a duration in seconds, which may have a fraction; in milliseconds."""
        if type(self.value) not in {int, float} or not 0 <= self.value <= most:
            self.refuse(f"0 to {most} seconds")
        return int(self.value * 1_000)

    def flag(self) -> bool:
        """The value as true or false."""
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def one_of(self, *allowed: str) -> str:
        """The value as one of a few words."""
        if not isinstance(self.value, str) or self.value not in allowed:
            self.refuse(f"one of {', '.join(allowed)}")
        return self.value

    def count(self) -> int:
        """The value as a count of tokens."""
        return self.integer(0, 2**40)

    def verbatim(self) -> str:
        """The value as JSON, for the record."""
        return json.dumps(self.value, ensure_ascii=False, separators=(",", ":"))[:MAX_ARGUMENTS]
