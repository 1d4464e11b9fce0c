"""Values of an order, put into the places that a recipe leaves for them, each escaped for where it goes.

Rules: a value never becomes part of a selector's or an address's own grammar, whatever is in it; what can't be escaped
for a place is refused when the recipe or the order is read, never when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

MAX_ID = 200
"""Characters of a bill's id."""
_ENGINES = ("text=", "xpath=", "id=", "role=", "label=", "//", "..", "data-test", "internal:", '"', "'")
"""How selectors begin that are no CSS."""


def in_path(template: str, **values: str) -> str:
    """A path or an address with values as parts of it: each stays one segment."""
    return template.format(**{name: quote(value, safe="") for name, value in values.items()})


def segments(path: str) -> tuple[str, ...]:
    """The parts of a path as they are meant, however they are encoded; browsers encode less than ``in_path``."""
    return tuple(unquote(part) for part in path.split("/"))


def in_selector(template: str, values: Mapping[str, str]) -> str:
    """A CSS selector with values in it, as names or between quotes; for other engines they go in as they are."""
    escape = css_text if is_css(template) else str
    return template.format(**{name: escape(value) for name, value in values.items()})


def css_text(value: str) -> str:
    """A text for any place of CSS: all but letters, digits, ``_`` and ``-`` as escapes (CSS Syntax 3, 4.3.7)."""
    return "".join(_plain(char) if number else _first(char) for number, char in enumerate(value))


def _plain(char: str) -> str:
    usual = char.isascii() and (char.isalnum() or char in "-_")
    return char if usual or ord(char) > 0x9F else f"\\{ord(char):x} "  # noqa: PLR2004 - the C1 controls end there


def _first(char: str) -> str:
    """A name may not begin with a digit or a hyphen."""
    return f"\\{ord(char):x} " if char == "-" or (char.isascii() and char.isdigit()) else _plain(char)


def is_css(selector: str) -> bool:
    """Is the whole selector CSS, so that a value can be escaped for it?"""
    return ">>" not in selector and not selector.strip().lower().startswith(_ENGINES)


def wrong_with_id(bill_id: str) -> str:
    """Why a bill's id can't be put into an address or a page; empty when it can."""
    if not bill_id or len(bill_id) > MAX_ID:
        return f"has {len(bill_id)} characters, not 1 to {MAX_ID}"
    if bill_id in {".", ".."}:
        return "is a step in a path"
    if "\0" in bill_id or any("\ud800" <= char <= "\udfff" for char in bill_id):
        return "has a character that no page can show"
    return ""
