"""What a recipe may not say: refused when it is read, because a target half described is worked on half blind.

An action ends with its one writing step; every label, status and placeholder is there in every language; the way back
is an action that exists; a detail page that is read from shows what readback compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from domain.errors import ConfigError
from executor.filling import is_css

if TYPE_CHECKING:
    from executor.recipe import Recipe, StepSection, VisionSection

_SHOWN = ("bill_id", "status", "counterparty", "amount", "currency", "month")
"""What a detail page must show to be a readback source."""
_PLACEHOLDERS = ("bill_id", "month", "counterparty")
"""Parts of the intent that selectors and texts may name, beside the labels."""


def refuse_contradictions(recipe: Recipe, file: str) -> None:
    """``ConfigError`` with the file and what is wrong in it."""
    _refuse_half_languages(recipe, file)
    for name, action in recipe.actions.items():
        writing = [step for step in action.steps if step.writes]
        if len(writing) != 1 or action.steps[-1] is not writing[0] or writing[0].goto:
            raise ConfigError(
                f"action {name} must end with its one writing step",
                file=file,
                remedy="mark the last step, and no other, with writes: true",
            )
        if action.compensation and action.compensation not in recipe.actions:
            raise ConfigError(
                f"action {name} is compensated by unknown action {action.compensation!r}",
                file=file,
                remedy=f"known actions: {', '.join(sorted(recipe.actions))}",
            )
        if action.vision is not None:
            _refuse_words_of_vision(action.vision, name, file)
        for number, step in enumerate(action.steps, 1):
            if bool(step.goto) == (step.do is not None):
                raise ConfigError(
                    f"step {number} of {name} needs exactly one of goto and do",
                    file=file,
                    remedy="correct it",
                )
            for language, labels in recipe.labels.items():
                for label in (step.label, step.pages.label if step.pages else ""):
                    if label and label not in labels:
                        raise ConfigError(
                            f"step {number} of {name} has label {label!r}, which {language} lacks",
                            file=file,
                            remedy="add it under labels",
                        )
                _refuse_unknown_placeholders(step, number, name, labels, file)


def _refuse_half_languages(recipe: Recipe, file: str) -> None:
    if not recipe.read.detail_path:
        return
    missing = [name for name in _SHOWN if name not in recipe.read.detail_selectors]
    if missing:
        raise ConfigError(
            f"read.detail_selectors lacks {missing[0]}",
            file=file,
            remedy="say where the detail page shows it",
        )
    codes = {code for texts in recipe.statuses.values() for code in texts.values()}
    for language in recipe.labels:
        lacking = sorted(codes - set(recipe.statuses.get(language, {}).values()))
        if lacking or not codes:
            raise ConfigError(
                f"statuses of {language} lack {', '.join(lacking) or 'every status'}",
                file=file,
                remedy="add the text that the detail page shows for it",
            )


def _refuse_words_of_vision(vision: VisionSection, name: str, file: str) -> None:
    for key, text, known in (("goal", vision.goal, _PLACEHOLDERS), ("start", vision.start, ("bill_id",))):
        try:
            text.format(**dict.fromkeys(known, "x"))
        except (KeyError, IndexError, ValueError) as error:
            raise ConfigError(
                f"vision.{key} of {name} is {text!r}, whose placeholder {error} nothing fills in",
                file=file,
                remedy=f"use {', '.join(known)}; a bare brace is written twice",
            ) from error


def _refuse_unknown_placeholders(
    step: StepSection, number: int, name: str, labels: Mapping[str, str], file: str
) -> None:
    fill = dict.fromkeys((*_PLACEHOLDERS, *labels), "x")
    for selector in (*step.selectors, *step.onto):
        if not is_css(selector) and any(f"{{{place}}}" in selector for place in _PLACEHOLDERS):
            raise ConfigError(
                f"step {number} of {name} has {selector!r}, in which the order's own text can't be escaped",
                file=file,
                remedy="write it as CSS, where it can: tr[data-id='{bill_id}']",
            )
    for text in (*step.selectors, *step.onto, step.text, step.goto):
        try:
            text.format(**(fill if not step.goto else {"bill_id": "x"}))
        except (KeyError, IndexError, ValueError) as error:
            raise ConfigError(
                f"step {number} of {name} has {text!r}, whose placeholder {error} nothing fills in",
                file=file,
                remedy=f"use {', '.join(_PLACEHOLDERS)} or a label; a bare brace is written twice",
            ) from error
