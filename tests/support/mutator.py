"""Mutated answers of models, from a seed: what real services, broken proxies and hostile endpoints might send."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import orjson

from domain.actions import Action, Canvas, in_words, reach
from domain.codec import canonical
from domain.run import Limits, Talk
from executor.models.base import Declined, Dialect, understand
from executor.models.openai import OpenAIDialect
from executor.sandbox.model_server.dialogue import ProviderName
from executor.sandbox.model_server.scenario import Move
from executor.sandbox.model_server.voices import AnthropicVoice, GeminiVoice, OpenAIVoice, Said, Voice
from tests.support.practice import PROVIDERS, dialect_of, openai_response

CANVAS = Canvas(image_width=640, image_height=400, page_width=1280, page_height=800)
LIMITS = Limits()
TALK = Talk(calls=2, response_id="resp_1", call_id="call_1", seen=frozenset({"resp_1", "call_1"}))
MOVES = (
    Move(do="click", x=300, y=140),
    Move(do="type", text="Northwind", x=300, y=140),
    Move(do="key", text="Enter"),
    Move(do="scroll", x=640, y=400, dy=300),
    Move(do="screenshot"),
    Move(do="wait"),
    Move(do="move", x=10, y=10),
)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 639, 640, 799, 1280, 2**31, 2**63, 2**64, -(2**63) - 1, 10**40, 1.5, 1e308, -0.0,
    "", "0", "left", "computer", "click", "type", "x" * 201, "x" * 5_000, "\x00", "\u202e", "ctrl+a", "Enter", "+",
    "resp_1", "call_1", "completed", "in_progress", "NaN", "../..", "data:image/png;base64,", [], {}, [[]], [None],
    {"x": 1}, [1, 2], [1, 2, 3], ["Enter"], [{"type": "click"}], {"type": "computer_call"}, "\ud7ff", "😀" * 3,
)  # fmt: skip
BYTES = (
    b"NaN",
    b"Infinity",
    b"-",
    b"\xff",
    b"\x00",
    b'"',
    b"[" * 50,
    b"{" * 2_000,
    b"1e999",
    b"\\ud800",
    b",",
    b"}",
    b"0" * 9,
)


def bases() -> dict[ProviderName, list[dict[str, Any]]]:
    """Sound answers in the three protocols."""
    voices: dict[ProviderName, Voice] = {
        "openai": OpenAIVoice(),
        "anthropic": AnthropicVoice(),
        "gemini": GeminiVoice((1280, 800)),
    }
    made: dict[ProviderName, list[dict[str, Any]]] = {}
    for name, voice in voices.items():
        said = Said(response_id="resp_2", call_id="call_2", body={})
        made[name] = [voice.say([move], "I go on.", said, (0.5, 0.5)) for move in MOVES]
        made[name].append(voice.say([], "I am done.", said, (0.5, 0.5)))
    batch: list[dict[str, Any]] = [
        {"type": "click", "button": "left", "x": 1, "y": 1},
        {"type": "type", "text": "a"},
    ]
    made["openai"] += [
        openai_response(*batch, id="resp_2", call_call_id="call_2"),
        openai_response(*batch, id="resp_2", call_call_id="call_2", call_action=batch[0]),
    ]
    return made


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - JSON
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield (*path, name)
        yield from _places(item, (*path, name))


class Mutator:
    """Answers from a seed; every answer is one, two or three changes away from a sound one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sound = {name: [orjson.dumps(body) for body in kept] for name, kept in bases().items()}

    def next(self) -> tuple[ProviderName, bytes]:
        """One more answer."""
        name = self._random.choice(PROVIDERS)
        data = self._random.choice(self._sound[name])
        for _ in range(self._random.randint(1, 3)):
            data = self._bytes(data) if self._random.random() < 0.3 else self._tree(data)
        return name, data

    def _tree(self, data: bytes) -> bytes:
        try:
            body = orjson.loads(data)
        except ValueError:
            return self._bytes(data)
        places = list(_places(body))
        if not places:
            return self._bytes(data)
        *path, last = self._random.choice(places)
        holder = body
        for name in path:
            holder = holder[name]
        match self._random.randrange(5):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, list):
                holder.append(holder[last])
            case 2 if isinstance(holder, dict):
                holder[self._random.choice(("x", "y", "keys", "id", "extra", "type", "text"))] = holder[last]
            case 3 if isinstance(holder[last], int) and not isinstance(holder[last], bool):
                holder[last] += self._random.choice((-1, 1, 1_000, -1_000, 340, 660))
            case _:
                holder[last] = self._random.choice(ODD)
        try:
            return orjson.dumps(body)
        except (TypeError, ValueError):  # beyond 64 bits: said as its text would be
            return repr(body).replace("'", '"').replace("None", "null").encode(errors="replace")

    def _bytes(self, data: bytes) -> bytes:
        place = self._random.randrange(len(data) + 1)
        match self._random.randrange(5):
            case 0:
                return data[:place]
            case 1:
                return data[:place] + self._random.choice(BYTES) + data[place:]
            case 2:
                return data[:place] + bytes((self._random.randrange(256),)) + data[place + 1 :]
            case 3:
                end = min(len(data), place + self._random.randrange(1, 40))
                return data[:end] + data[place:]
            case _:
                return data + data[place:]


def check_sound(action: Action) -> None:
    """What must hold of every action that is let through, checked another way than the product checks it."""
    assert action.kind in {"screenshot", "wait", "move", "scroll", "click", "type", "key"}
    if action.kind in {"click", "move", "scroll"}:
        assert action.point is not None
        assert type(action.point.x) is int
        assert 0 <= action.point.x <= 1279
        assert 0 <= action.point.y <= 799
    if action.kind == "click":
        assert (action.button, action.count, action.keys) == ("left", 1, ())
    if action.kind == "type":
        assert 1 <= len(action.text) <= 200
        action.text.encode()
    if action.kind == "key":
        assert len(action.keys) == 1 or action.keys == ("Control", "a")
    assert 0 <= action.duration_ms <= 10_000
    canonical([action.native, action.arguments, action.text, in_words(action), reach(action)])


class Tally:
    """Feeds answers to the readers and counts what came of them."""

    def __init__(self) -> None:
        self._dialects: dict[ProviderName, Dialect] = {name: dialect_of(name) for name in PROVIDERS}
        openai = self._dialects["openai"]
        assert isinstance(openai, OpenAIDialect)
        self.refused = self.actions = self.final = 0

    def feed(self, name: ProviderName, data: bytes) -> None:
        """A valid list of actions or a refusal, and nothing else."""
        found = understand(self._dialects[name], data, CANVAS, TALK, LIMITS)
        if isinstance(found, Declined):
            assert found.refusal.field
            assert found.refusal.rule
            canonical([str(found.refusal), found.response_id, found.model, found.usage.input_tokens])
            self.refused += 1
            return
        turn, talk = found
        assert len(turn.actions) <= 12
        assert turn.response_id not in TALK.seen
        assert turn.call_id not in TALK.seen
        assert talk.seen > TALK.seen
        for action in turn.actions:
            check_sound(action)
        canonical([turn.said, turn.response_id, turn.call_id, turn.model, *map(str, turn.safety)])
        self.final += turn.final
        self.actions += bool(turn.actions)
