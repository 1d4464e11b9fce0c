"""Every word of the desk is there in every language, and every table is used."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from domain.events.recovery import Severity, TakeoverResolved
from domain.task_state import Status
from domain.values import FrameRole, Verdict
from projections.settlement.causes import BreakKind, Cause, CauseVerdict, Party
from projections.settlement.lines import LineKind
from projections.views.evidence_chain import Category
from projections.views.metrics import Reason
from projections.views.targets import Standing
from replay_ui.i18n import LANGUAGES, PLAYER, Words, choose, table
from replay_ui.operator_actions import Resolution
from replay_ui.player.labels import ENGLISH, complete

ROOT = Path(__file__).parents[2] / "replay_ui"
OTHERS = [language for language in LANGUAGES if language != "en"]
VOCABULARIES = {
    "verdict": get_args(Verdict),
    "status": get_args(Status),
    "cause": get_args(Cause),
    "break": get_args(BreakKind),
    "sure": get_args(CauseVerdict),
    "party": get_args(Party),
    "line": get_args(LineKind),
    "category": get_args(Category),
    "reason": get_args(Reason),
    "role": get_args(FrameRole),
    "severity": get_args(Severity),
    "resolution": get_args(Resolution),
    "against_target": get_args(Standing),
}


def desk_keys(language: str) -> set[str]:
    return {key for key in table(language) if not key.startswith(PLAYER)}


def called_keys() -> set[str]:
    """Keys that pages ask for by a literal."""
    found = set()
    for path in (ROOT / "app.py", *(ROOT / "views").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                if name == "words":
                    found.add(str(node.args[0].value))
    return found


@pytest.mark.parametrize("language", OTHERS)
def test_each_language_has_every_word_of_the_desk_and_no_other(language: str) -> None:
    assert desk_keys(language) == desk_keys("en")


@pytest.mark.parametrize("language", OTHERS)
def test_each_language_has_every_label_of_the_player(language: str) -> None:
    labels = Words(language).player()
    assert set(labels) == set(ENGLISH)
    assert complete(labels) == labels


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_the_fields_that_are_filled_in(language: str) -> None:
    english = {f"{PLAYER}{key}": value for key, value in ENGLISH.items()} | dict(table("en"))
    for key, value in table(language).items():
        assert sorted(re.findall(r"{\w+}", value)) == sorted(re.findall(r"{\w+}", english[key])), key


def test_pages_ask_for_words_that_there_are() -> None:
    asked = called_keys()
    assert len(asked) > 100
    assert asked <= desk_keys("en")


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_code_of_a_closed_vocabulary_has_a_word(vocabulary: str) -> None:
    codes = VOCABULARIES[vocabulary]
    assert codes
    assert {f"{vocabulary}.{code}" for code in codes} <= desk_keys("en")


def test_the_resolutions_offered_are_those_of_the_record() -> None:
    assert get_args(get_type_hints(TakeoverResolved)["resolution"]) == get_args(Resolution)


def test_a_code_of_a_newer_release_is_shown_as_it_is() -> None:
    assert Words("zh").of("verdict", "some_new_word") == "some new word"


@pytest.mark.parametrize(
    ("asked", "accepted", "chosen"),
    [
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "fr;q=0.9, ko;q=0.7, ja;q=0.8", "ja"),
        ("ko", "zh", "ko"),
        ("xx", "de", "en"),
        (None, "zh;q=0, en", "en"),
        (None, "zh;q=high", "en"),
        (None, None, "en"),
    ],
)
def test_the_language_follows_the_choice_then_the_browser(
    asked: str | None, accepted: str | None, chosen: str
) -> None:
    assert choose(asked, accepted) == chosen
