"""Snapshots of the document in a trace: taking the text and the values of marked nodes out.

Rules: a marked node keeps its place and its look, never its text or its values; what it held is handed back, because
the same text may stand elsewhere in the trace. Which nodes are secret says ``mark.js``, with the selectors and the
rules of the live page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from executor.traces.needles import MASK

Marks = Sequence[Collection[int]]
"""For each snapshot of one frame: numbers of its secret nodes, children before their parent."""
Marker = Callable[[Sequence[Sequence[Any]]], Sequence[Marks]]
"""Marks the snapshots of each frame."""
VALUE: Final = "__playwright_value_"
_LOOK: Final = frozenset(
    {
        "class",
        "id",
        "style",
        "type",
        "name",
        "role",
        "width",
        "height",
        "rows",
        "cols",
        "colspan",
        "rowspan",
        "size",
    }
)
_PLAYWRIGHTS: Final = "__playwright_"
_HELD: Final = frozenset({VALUE, "value"})
_TELLING: Final = 6
"""Characters from which another attribute with a digit in it counts as something the node held."""


def mask_nodes(html: Any, marked: Collection[int]) -> tuple[Any, list[str]]:  # noqa: ANN401 - a trace's own JSON
    """The snapshot without what its marked nodes held, and what that was."""
    held: list[str] = []
    numbers = iter(range(1 << 30))

    def visit(node: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(node, str):
            if next(numbers) not in marked or not node.strip():
                return node
            held.append(node.strip())
            return MASK
        if isinstance(node[0], list):
            return node
        attributes = node[1] if len(node) > 1 else {}
        children = [visit(child) for child in node[2:]]
        if next(numbers) in marked:
            attributes = _looks(attributes, held)
        return [node[0], attributes, *children] if len(node) > 1 else [node[0]]

    return visit(html), held


def _looks(attributes: dict[str, str], held: list[str]) -> dict[str, str]:
    """What decides how the node looks; the rest is gone."""
    kept: dict[str, str] = {}
    for name, value in attributes.items():
        if name in _HELD:
            held.append(value)
            if name == VALUE:
                kept[name] = MASK if value else ""
        elif name in _LOOK or name.startswith(_PLAYWRIGHTS):
            kept[name] = value
        elif len(value) >= _TELLING and any(character.isdigit() for character in value):
            held.append(value)
    return kept


def texts_of(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Every text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)
