"""The portal's texts: one YAML file for each language, the redesign's wording inside it.

Every language has the same keys with the same placeholders; a test holds that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import yaml

LANGUAGES: Final = ("zh", "en", "ja", "ko")
HTML_LANG: Final = {"zh": "zh-CN", "en": "en", "ja": "ja", "ko": "ko"}


@cache
def texts(lang: str) -> dict[str, str | dict[str, str]]:
    """Return the texts of a language.

    Raises:
        ValueError: there is no such language.
    """
    if lang not in LANGUAGES:
        raise ValueError(f"no texts for language {lang!r}: use one of {', '.join(LANGUAGES)}")
    raw = files(__package__).joinpath("texts", f"{lang}.yaml").read_text(encoding="utf-8")
    loaded: dict[str, str | dict[str, str]] = yaml.safe_load(raw)
    return loaded


@dataclass(frozen=True, slots=True)
class Translator:
    """Gives the text of a key in one language and one design."""

    lang: str
    redesigned: bool = False

    def __call__(self, key: str, **values: str | int) -> str:
        """Return the text with its placeholders filled in.

        Raises:
            KeyError: no such text; a template is wrong.
        """
        table = texts(self.lang)
        text = table[key]
        redesign = table["redesign"]
        if self.redesigned and isinstance(redesign, dict):
            text = redesign.get(key, text)
        if not isinstance(text, str):
            raise KeyError(key)
        return text.format(**values) if values else text
