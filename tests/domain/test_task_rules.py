"""Every rule name of a task is reached by a test that says so, and every name tested is a rule."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from domain import task, task_outcome, task_steps

RULE_ARGUMENT = {"require": 2, "CommandRefused": 0}
"""Position of the rule's name in a call."""


def _names(tree: ast.AST, positions: dict[str, int]) -> Iterator[str]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        at = positions.get(name)
        if at is None or len(call.args) <= at:
            continue
        rule = call.args[at]
        if isinstance(rule, ast.Constant) and isinstance(rule.value, str):
            yield rule.value


def rules() -> set[str]:
    found: set[str] = set()
    for module in (task, task_steps, task_outcome):
        found.update(_names(ast.parse(inspect.getsource(module)), RULE_ARGUMENT))
    return found


def named_in_tests() -> set[str]:
    found: set[str] = set()
    for path in sorted(Path(__file__).parent.glob("test_task_*.py")):
        if path != Path(__file__):
            found.update(_names(ast.parse(path.read_text(encoding="utf-8")), {"refused": 0}))
    return found


def test_every_rule_is_reached_by_a_test() -> None:
    assert rules() - named_in_tests() == set()


def test_every_refusal_in_the_tests_is_a_rule() -> None:
    # f.refused() is a fact and takes no argument; a dotted literal is a rule's name.
    assert {name for name in named_in_tests() if "." in name} - rules() == set()


def test_rule_names_are_few_words_that_can_be_searched_for() -> None:
    assert all(part.replace("_", "").isalpha() for name in rules() for part in name.split("."))
    assert all(name.count(".") == 1 for name in rules())
