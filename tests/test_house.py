"""The house is built of what it was to be built of, and has the rooms it was to have (D5)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("domain", "executor", "projections", "replay_ui")
TOP_LEVEL = (*ROOMS, "tests", "data", "pyproject.toml", "README.md")


def imported(room: str) -> set[str]:
    """The outermost packages that the modules of ``room`` import."""
    found: set[str] = set()
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def test_the_top_level_is_as_listed() -> None:
    assert [name for name in TOP_LEVEL if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("library", "room"),
    [
        ("eventsourcing", "executor"),
        ("sqlalchemy", "executor"),
        ("sqlalchemy", "projections"),
        ("playwright", "executor"),
        ("PIL", "executor"),
        ("imagehash", "executor"),
        ("streamlit", "replay_ui"),
        ("orjson", "domain"),
    ],
)
def test_a_library_is_what_its_room_is_built_on(library: str, room: str) -> None:
    assert library in imported(room)
