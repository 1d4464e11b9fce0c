"""Registry of facts: the stored name of an event is ours and never a module path.

``@fact("action.proposed")`` makes a frozen dataclass and enters it under its name. ``schema`` counts up when the
meaning changes, together with one pure upcast in ``domain.events.upcasts`` and one golden file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")

_BY_NAME: dict[str, tuple[type, int]] = {}
_BY_TYPE: dict[type, tuple[str, int]] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True)
def fact(name: str, *, schema: int = 1) -> Callable[[type[_T]], type[_T]]:
    """Class decorator: frozen, slotted, keyword-only dataclass stored under ``name`` at version ``schema``."""

    def register(cls: type[_T]) -> type[_T]:
        made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        if name in _BY_NAME:
            message = f"event name {name} is taken by {_BY_NAME[name][0].__qualname__}"
            raise ValueError(message)
        _BY_NAME[name] = (made, schema)
        _BY_TYPE[made] = (name, schema)
        return made

    return register


def name_of(event: object) -> tuple[str, int]:
    """Stored name and schema version of a fact; ``KeyError`` for anything else."""
    return _BY_TYPE[type(event)]


def type_of(name: str) -> tuple[type, int] | None:
    """Class and current schema version behind a stored name, or None when this release doesn't know it."""
    return _BY_NAME.get(name)


def all_names() -> tuple[str, ...]:
    """Every registered name, sorted."""
    return tuple(sorted(_BY_NAME))
