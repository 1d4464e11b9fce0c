"""The script that every loop follows: two clicks, on the list or on the detail page.

Rules: the selectors are bound to the bill, so that every loop knows the right element whenever it looks; what differs
between loops is only what happens between that look and the click, and what they believe afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from executor.recipe import ActionSection, Recipe, StepSection
from executor.sandbox.gauntlet.scenario import CourseName

ACTIONS: Final[dict[CourseName, str]] = {"list": "mark_on_list", "detail": "mark_on_detail"}
"""Course → business action of the recipe."""
_PLACES: Final[dict[CourseName, tuple[str, str]]] = {
    "list": ("/bills", "tr[data-bill-id='{bill_id}'] button[data-action=process]"),
    "detail": ("/bills/{bill_id}", ".panel[data-bill-id='{bill_id}'] button[data-action=process]"),
}
ANSWER: Final = "[role=dialog] .dialog-buttons button.primary"


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseStep:
    """One click."""

    selector: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where to start and what to click."""

    start: str
    steps: tuple[CourseStep, ...]


def course_of(name: CourseName, bill_id: str, recipe: Recipe, language: str) -> Course:
    """The script for loops that are not ours."""
    start, button = _PLACES[name]
    labels = recipe.labels[language]
    return Course(
        start=start.format(bill_id=bill_id),
        steps=(
            CourseStep(selector=button.format(bill_id=bill_id), label=labels["mark"]),
            CourseStep(selector=ANSWER, label=labels["confirm"]),
        ),
    )


def with_courses(recipe: Recipe) -> Recipe:
    """The recipe with one action for each course: the same clicks, for our own loop."""
    usual = recipe.actions["mark_processed"]
    actions = dict(recipe.actions)
    for course, action in ACTIONS.items():
        actions[action] = _action(usual, course)
    return msgspec.structs.replace(recipe, actions=actions)


def _action(usual: ActionSection, course: CourseName) -> ActionSection:
    start, button = _PLACES[course]
    opening = StepSection(do="click", selectors=[button], label="mark", destructive=True)
    return msgspec.structs.replace(usual, steps=[StepSection(goto=start), opening, usual.steps[-1]])
