"""Lifting old events: one pure ``dict -> dict`` for each step from one schema version to the next.

The stored bytes never change; only what is read into memory is lifted. An upcast works on a frozen schema and has
one golden file in ``tests/golden/events``. There is none yet: every event is at its first version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from domain.errors import FormatTooNew

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTS: Mapping[tuple[str, int], Upcast] = {}
"""``(name, schema)`` → function that turns data of that schema into data of the next one."""


def lift(
    name: str,
    schema: int,
    data: dict[str, Any],
    *,
    current: int,
    upcasts: Mapping[tuple[str, int], Upcast] = UPCASTS,
) -> dict[str, Any]:
    """Data of ``name`` lifted from ``schema`` to ``current``; ``FormatTooNew`` when it is from the future."""
    if schema > current:
        message = f"event {name} has schema {schema}, this release knows {current}"
        raise FormatTooNew(message, where=name)
    for step in range(schema, current):
        data = upcasts[(name, step)](data)
    return data
