"""The desk's own words in English, Chinese, Japanese and Korean.

Rules enforced here:

- Every word of ours comes from a table in ``texts/``; a page has none of its own. Tables are complete: a key that one
  language lacks fails a test, and a key that no table has fails the page.
- What people, an audited page or the target system say is never translated: it stays as it was recorded. Sentences of
  ours about the record are said in the reader's language, with their values as they are (``phrases``).
- Closed vocabularies (verdicts, states, causes) have a word in each language; the recorded code stays beside it as a
  hint, because it is what people search for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

import yaml

from replay_ui.phrases import say

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文", "ja": "日本語", "ko": "한국어"}
"""Code and own name of each language."""
PLAYER: Final = "player."
"""Prefix of the player's labels."""


class Words:
    """The table of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._table = table(language)

    def __call__(self, key: str, **fields: object) -> str:
        """Text behind a key, with its fields filled in; ``KeyError`` for a key that no table has."""
        return self._table[key].format(**fields) if fields else self._table[key]

    def of(self, vocabulary: str, code: str) -> str:
        """Word for a recorded code; a code of a newer release is shown as it is."""
        return self._table.get(f"{vocabulary}.{code}", code.replace("_", " "))

    def said(self, text: str) -> str:
        """A sentence of ours about the record in this language; any other text as it is."""
        return say(text, self.language)

    def units(self) -> tuple[str, str, str, str]:
        """Days, hours, minutes and seconds, each with ``{n}`` where the number stands."""
        return self("duration.day"), self("duration.hour"), self("duration.minute"), self("duration.second")

    def player(self) -> dict[str, str]:
        """Labels of the player in this language; empty for English, which the player has itself."""
        return {
            key.removeprefix(PLAYER): value for key, value in self._table.items() if key.startswith(PLAYER)
        }


@lru_cache(maxsize=len(LANGUAGES))
def table(language: str) -> Mapping[str, str]:
    """Every text of a language by its dotted key."""
    source = resources.files("replay_ui").joinpath("texts", f"{language}.yaml").read_text(encoding="utf-8")
    return dict(_flat(yaml.safe_load(source), ""))


def _flat(node: Mapping[str, object], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in node.items():
        if isinstance(value, Mapping):
            found.extend(_flat(value, f"{prefix}{key}."))
        else:
            found.append((f"{prefix}{key}", str(value)))
    return found


def choose(asked: str | None, accepted: str | None) -> str:
    """Language that was asked for, else the first one that the browser accepts (RFC 9110, 12.5.4), else English."""
    if asked in LANGUAGES:
        return str(asked)
    offers: list[tuple[float, int, str]] = []
    for place, offer in enumerate((accepted or "").split(",")):
        tag, _, parameters = offer.strip().partition(";")
        weight = parameters.strip().removeprefix("q=")
        try:
            quality = float(weight) if weight else 1.0
        except ValueError:
            quality = 0.0
        offers.append((-quality, place, tag.partition("-")[0].lower()))
    return next((tag for quality, _, tag in sorted(offers) if tag in LANGUAGES and quality < 0), "en")
