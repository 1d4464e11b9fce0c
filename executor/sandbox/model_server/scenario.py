"""What the scripted model does: turns of moves, in pixels of the page, and how it misbehaves.

Rules: a scenario says what is done and not how it is said, so one file serves all three protocols; unknown keys are
refused with file and line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import msgspec

from domain.errors import ConfigError
from executor.yaml_source import load_yaml

Misbehaviour = Literal[
    "",
    "repeats_call_id",
    "no_call_id",
    "wrong_previous",
    "two_calls",
    "incomplete",
    "failed",
    "half",
    "cut",
    "status_429",
    "status_500",
    "slow",
    "other_space",
    "text_numbers",
    "true_numbers",
    "not_a_number",
    "trailing",
    "nested",
    "huge",
    "unknown_kind",
    "unknown_key",
    "too_many",
    "long_text",
    "echoes_key",
    "safety_check",
    "redirects",
]
MISBEHAVIOURS: tuple[str, ...] = get_args(Misbehaviour)[1:]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all parts."""


class Move(_Strict, frozen=True, kw_only=True):
    """One action, in pixels of the page."""

    do: Literal["click", "move", "type", "key", "scroll", "screenshot", "wait"]
    x: int = 0
    y: int = 0
    text: str = ""
    """Text to type, or the key's name."""
    dx: int = 0
    dy: int = 0


class ScriptTurn(_Strict, frozen=True, kw_only=True):
    """One answer: moves, or a last word."""

    moves: list[Move] = []
    say: str = ""
    misbehave: Misbehaviour = ""
    repeat: int = 1
    """How often this answer is given; 0 for ever."""


class Scenario(_Strict, frozen=True, kw_only=True):
    """The whole file."""

    name: str
    page_width: int = 1280
    page_height: int = 800
    turns: list[ScriptTurn]


def load_scenario(path: Path) -> Scenario:
    """Read a scenario; ``ConfigError`` names the line that is wrong."""
    scenario = load_yaml(path, Scenario)
    if not scenario.turns:
        raise ConfigError("has no turns", file=str(path), remedy="give it at least one")
    return scenario
