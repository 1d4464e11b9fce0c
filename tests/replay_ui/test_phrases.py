"""Our own sentences in the reader's language: all of them, nothing lost, and nothing else touched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.settlement.causes import CAUSES
from projections.views.reconciliation import reconcile
from projections.views.sentences import sentence
from replay_ui.i18n import LANGUAGES
from replay_ui.phrases import MAX_SAID, OPEN, Phrase, book, holes, say
from tests.support.events import TENANT
from tests.support.examples import one_of_each
from tests.support.months import make_month
from tests.support.scenarios import SCENARIOS

OTHERS = [language for language in LANGUAGES if language != "en"]
PHRASES = {phrase.en: phrase for phrase in book().phrases}
HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")


@lru_cache(maxsize=1)
def month_texts() -> frozenset[str]:
    """What month ends of every scenario say of their differences, with evidence withheld or not."""
    found: set[str] = set()
    causes: set[str] = set()
    for seed, cut in ((7, 0.0), (8, 0.5), (9, 1.0)):
        for name, scenario in SCENARIOS.items():
            events, file, _ = make_month(seed, {name: scenario}, bills=3, cut=cut)
            for verified in (True, False):
                result = reconcile(events, file, tenant=TENANT, month="2026-11", chain_verified=verified)
                found.update(item.what for item in result.file_findings)
                for finding in (one for item in result.breaks for one in item.findings):
                    causes.add(finding.cause)
                    found.add(finding.summary)
                    found.update(piece.sentence for piece in finding.decisive)
                    for counter in finding.counter_evidence:
                        found.update((counter.looked_for, counter.where))
                        found.update(piece.sentence for piece in counter.evidence)
    assert causes == set(CAUSES)
    return frozenset(found)


@pytest.mark.parametrize("language", OTHERS)
def test_the_sentence_of_every_fact_is_said_in_every_language(language: str) -> None:
    for event in one_of_each():
        assert say(sentence(event), language) != sentence(event), event


@pytest.mark.parametrize("language", OTHERS)
def test_what_a_month_end_says_is_said_in_every_language(language: str) -> None:
    texts = month_texts()
    assert len(texts) > 200
    assert [text for text in texts if say(text, language) == text] == []


def values_of(text: str) -> Iterator[str]:
    """Names, numbers, amounts and hashes of a sentence: what must not get lost in another language."""
    yield from re.findall(r"[\w.:/-]*\d[\w.:/-]*", text.replace("1 check", ""))


@pytest.mark.parametrize("language", OTHERS)
def test_no_name_and_no_number_of_the_evidence_gets_lost(language: str) -> None:
    for text in (*month_texts(), *map(sentence, one_of_each())):
        said = say(text, language)
        assert [value for value in values_of(text) if value.strip(".:,") not in said] == [], (text, said)


def test_english_and_what_is_not_ours_stay_as_they_are() -> None:
    for text in ("", "Refund approved by the page", "处理成功", f"The task was reopened: {'x' * MAX_SAID}."):
        assert say(text, "zh") == text
    for event in one_of_each():
        assert say(sentence(event), "en") == sentence(event)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("english", PHRASES)
def test_a_translation_has_the_values_of_the_english_sentence(english: str, language: str) -> None:
    other = PHRASES[english].template(language)
    assert holes(other) == holes(english)
    assert optional(other) == optional(english), "what may be missing, may be missing in each language"


def optional(template: str) -> set[str]:
    return {name for part in re.findall(r"\[([^\[\]]*)\]", template) for name in holes(part)}


def test_a_code_has_a_word_in_each_language_and_each_word_is_used() -> None:
    words = book().words
    kinds = {kind for phrase in PHRASES for _, kind in HOLE.findall(phrase)} - {"", "id", "said"}
    assert kinds == set(words)
    for vocabulary in words.values():
        assert all(set(said) == set(OTHERS) for said in vocabulary.values())
    assert set(words) >= OPEN


LETTERS = st.text(
    st.characters(whitelist_categories=["Lu", "Nd"], max_codepoint=0x7F), min_size=1, max_size=9
)


@given(phrase=st.sampled_from(book().phrases), data=st.data())
def test_a_sentence_with_any_values_is_found_again_with_all_of_them(
    phrase: Phrase, data: st.DataObject
) -> None:
    values: dict[str, str] = {}
    for name, kind in HOLE.findall(phrase.en):
        known = sorted(book().words.get(kind, ()))
        values[name] = data.draw(st.sampled_from(known) if known else LETTERS)
    text = HOLE.sub(lambda found: values[found[1]], phrase.en.replace("[", "").replace("]", ""))
    said = say(text, "zh")
    assert said != text
    for name, kind in HOLE.findall(phrase.en):
        word = book().words.get(kind, {}).get(values[name])
        assert (word["zh"] if word else values[name]) in said


@given(st.text(max_size=60))
def test_what_a_page_says_is_carried_over_as_it_is(claim: str) -> None:
    text = f"The wrapped loop declared itself done (its claim, no proof): “{claim}”."
    said = say(text, "zh")
    assert claim in said
    assert (said != text) == bool(claim)


def test_a_page_that_talks_like_us_changes_nothing_of_what_it_said() -> None:
    toast = "done”; sent: POST /other 200. The task succeeded, on the word of detail"
    text = f"The tool reported that it performed the action; the screen claimed “{toast}”."
    said = say(text, "zh")
    for piece in ("done", "POST /other 200. The task succeeded, on the word of detail"):
        assert piece in said
