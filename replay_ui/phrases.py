"""Sentences of evidence in the reader's language: our own English sentences, found again and said otherwise.

Rules enforced here:

- A sentence is translated only if the whole of it is one of the templates of ``texts/phrases.yaml`` with values; put
  together again in English, template and values must give the very same text. So nothing gets lost or added, and what
  isn't known stays as it was recorded.
- Values are carried over as they are. Only those marked as codes of ours (``{phase:moment}``) have a word in each
  language, and only those marked as sentences (``{reason:said}``) are looked up in turn.
- Matching takes time in proportion to the text, whatever the text is: a value ends where the next words of the template
  first follow.

A template has ``{name}`` for a value, ``{name:id}`` for one without spaces, and ``[…]`` around a part that may be
missing; a translation leaves such a part out when a value in it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import product
from typing import Final

import msgspec
import yaml

ENGLISH: Final = "en"
MAX_SAID: Final = 4000
"""Characters of a text that is looked up; longer ones are shown as they are."""
_DEEP: Final = 3
"""Sentences within sentences that are looked up."""
_HOLE: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_PART: Final = re.compile(r"\[([^\[\]]*)\]")
ID: Final = "id"
SAID: Final = "said"
OPEN: Final = frozenset({"action"})
"""Vocabularies that a configuration may add to: a code without a word is carried over."""


class Phrase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence of ours in every language."""

    en: str
    zh: str
    ja: str
    ko: str

    def template(self, language: str) -> str:
        """The template of a language."""
        return {"en": self.en, "zh": self.zh, "ja": self.ja, "ko": self.ko}[language]


class Book(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All phrases, and the words of the codes within them."""

    words: dict[str, dict[str, dict[str, str]]]
    """Vocabulary → the English word → language → its word."""
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class _Hole:
    name: str
    kind: str
    """Empty, ``id``, ``said`` or a vocabulary."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A template with some of its missing parts left out: words and holes in turn, beginning and ending with words."""

    phrase: Phrase
    words: tuple[str, ...]
    holes: tuple[_Hole, ...]


@lru_cache(maxsize=1)
def book() -> Book:
    """The phrases, read once."""
    source = resources.files("replay_ui").joinpath("texts", "phrases.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(source), Book)


def holes(template: str) -> list[str]:
    """Names of the values of a template, sorted."""
    return sorted(name for name, _ in _HOLE.findall(template))


def say(text: str, language: str, *, deep: int = _DEEP) -> str:
    """A text in a language, if it is one of our sentences; else as it is."""
    if language == ENGLISH or not text or len(text) > MAX_SAID or deep < 0:
        return text
    return _said(text, language, deep)


@lru_cache(maxsize=8192)
def _said(text: str, language: str, deep: int) -> str:
    for form in _candidates(text):
        values = _match(form, text)
        if values is None or _filled(form.phrase.en, values) != text:
            continue
        kinds = {hole.name: hole.kind for hole in form.holes}
        told = {name: _value(value, kinds[name], language, deep) for name, value in values.items()}
        return _filled(form.phrase.template(language), told)
    return text


def _value(value: str, kind: str, language: str, deep: int) -> str:
    if kind == SAID:
        return say(value, language, deep=deep - 1)
    word = book().words.get(kind, {}).get(value)
    return word[language] if word else value


def _candidates(text: str) -> Iterator[_Form]:
    """Forms whose first words may begin the text: by their first letter, then those that begin with a value."""
    forms = _forms()
    yield from forms.get(text[0], ())
    yield from forms.get("", ())


@lru_cache(maxsize=1)
def _forms() -> Mapping[str, Sequence[_Form]]:
    found: dict[str, list[_Form]] = {}
    for phrase in book().phrases:
        for english in _spelled(phrase.en):
            pieces = _HOLE.split(english)
            made = tuple(
                _Hole(name, kind or "") for name, kind in zip(pieces[1::3], pieces[2::3], strict=True)
            )
            found.setdefault(english[0] if pieces[0] else "", []).append(
                _Form(phrase, tuple(pieces[::3]), made)
            )
    return found


def _spelled(template: str) -> list[str]:
    """The template with each choice of the parts that may be missing, those with more parts first."""
    pieces = _PART.split(template)
    choices = list(product((True, False), repeat=len(pieces) // 2))
    choices.sort(key=sum, reverse=True)
    return [
        "".join(
            piece if number % 2 == 0 or chosen[number // 2] else "" for number, piece in enumerate(pieces)
        )
        for chosen in choices
    ]


def _match(form: _Form, text: str) -> dict[str, str] | None:
    """Values of the holes, or None where the text is not of this form."""
    if not text.startswith(form.words[0]) or not text.endswith(form.words[-1]):
        return None
    at, end = len(form.words[0]), len(text) - len(form.words[-1])
    values: dict[str, str] = {}
    for number, hole in enumerate(form.holes, start=1):
        follows, last = form.words[number], number == len(form.holes)
        value = _taken(hole, text[at:end] if last else text[at:], "" if last else follows)
        if not value or values.setdefault(hole.name, value) != value:
            return None
        at += len(value) + len(follows)
    return values if form.holes or text == form.words[0] else None


def _taken(hole: _Hole, rest: str, follows: str) -> str:
    """The value at the beginning of ``rest``, up to where ``follows`` (or the end) first stands; empty for none."""
    for word in _longest_first(hole.kind):
        if rest.startswith(word + follows) and (follows or word == rest):
            return word
    stop = rest.find(follows, 1) if follows else len(rest)
    value = rest[: max(stop, 0)]
    if hole.kind in {"", SAID}:
        return value
    single = hole.kind == ID or hole.kind in OPEN
    return value if single and not any(letter.isspace() for letter in value) else ""


@lru_cache(maxsize=64)
def _longest_first(vocabulary: str) -> Sequence[str]:
    """Words of a vocabulary, so that ``a write`` doesn't hide ``a write that can't be undone``."""
    return sorted(book().words.get(vocabulary, ()), key=len, reverse=True)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its values; a part whose values are missing is left out."""

    def part(found: re.Match[str]) -> str:
        return found[1] if all(name in values for name in holes(found[1])) and holes(found[1]) else ""

    return _HOLE.sub(lambda found: values[found[1]], _PART.sub(part, template))
