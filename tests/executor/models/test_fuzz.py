"""Mutated answers end in a valid list of actions or in a refusal: never in another exception, never in an action.

``make test`` takes a seeded twenty thousand and hypothesis's own; ``make soak`` takes a million.
"""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.mutator import Mutator, Tally, bases
from tests.support.practice import PROVIDERS

SHORT, LONG = 20_000, 1_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


def feed(seed: int, count: int) -> Tally:
    mutator, tally = Mutator(seed), Tally()
    for number in range(count):
        name, data = mutator.next()
        try:
            tally.feed(name, data)
        except Exception as error:
            error.add_note(f"seed {seed}, answer {number}, {name}: {data!r}")
            raise
    return tally


def test_the_sound_answers_are_let_through() -> None:
    tally = Tally()
    for name, kept in bases().items():
        for body in kept:
            tally.feed(name, orjson.dumps(body))
    assert (tally.refused, tally.final) == (0, 3)


def test_twenty_thousand_mutated_answers_end_in_actions_or_a_refusal() -> None:
    tally = feed(2026, SHORT)
    assert tally.refused + tally.actions + tally.final == SHORT
    assert min(tally.refused, tally.actions, tally.final) > 100, "the mutator reaches all endings"


@pytest.mark.soak
def test_a_million_mutated_answers_end_in_actions_or_a_refusal() -> None:
    tallies = [feed(seed, LONG // 10) for seed in range(10)]
    assert sum(tally.refused + tally.actions + tally.final for tally in tallies) == LONG


@given(data=st.binary(max_size=400), name=st.sampled_from(PROVIDERS))
@settings(max_examples=300, deadline=None)
def test_any_bytes_end_in_actions_or_a_refusal(data: bytes, name: str) -> None:
    Tally().feed(name, data)  # type: ignore[arg-type]


@given(
    value=JSON, name=st.sampled_from(PROVIDERS), seat=st.sampled_from(["body", "output", "call", "action"])
)
@settings(max_examples=500, deadline=None)
def test_any_json_in_any_seat_ends_in_actions_or_a_refusal(value: object, name: str, seat: str) -> None:
    body = bases()[name][0]  # type: ignore[index]
    if seat == "body":
        body = value  # type: ignore[assignment]
    elif name == "openai":
        call = body["output"][-1]
        body["output"] = value if seat == "output" else body["output"]
        call["actions"] = value if seat == "call" else [value] if seat == "action" else call["actions"]
    elif name == "anthropic":
        call = body["content"][-1]
        body["content"] = value if seat == "output" else body["content"]
        call["input"] = value if seat == "call" else call["input"]
        call["input"] = {**call["input"], "coordinate": value} if seat == "action" else call["input"]
    else:
        body["candidates"] = value if seat == "output" else body["candidates"]
        if seat in {"call", "action"}:
            body["candidates"][0]["content"]["parts"][-1]["functionCall"]["args"] = value
    # The standard library writes NaN, as broken services do.
    Tally().feed(name, json.dumps(body).encode())  # type: ignore[arg-type]
