"""One conversation of the scripted model: what it was asked, what it says next, and what it thinks of the client."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from executor.models.base import ModelRequest
from executor.models.transport import ModelAnswer
from executor.sandbox.model_server.misbehave import as_bytes, spoil
from executor.sandbox.model_server.scenario import Misbehaviour, Scenario, ScriptTurn
from executor.sandbox.model_server.voices import (
    USAGE,
    AnthropicVoice,
    GeminiVoice,
    OpenAIVoice,
    Said,
    Undisciplined,
    Voice,
)

ProviderName = Literal["openai", "anthropic", "gemini"]
TOO_MANY, SERVER_ERROR, BAD_REQUEST, MOVED = 429, 500, 400, 307


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """An answer's bytes, and how they are sent."""

    status: int
    data: bytes
    how: Misbehaviour = ""


def _turns(scenario: Scenario, *, one_move: bool) -> list[ScriptTurn]:
    """The scenario's turns, split where the protocol has one action a call."""
    turns: list[ScriptTurn] = []
    for turn in scenario.turns:
        if one_move and len(turn.moves) > 1:
            parts = [replace_moves(turn, [move]) for move in turn.moves]
            turns += [*parts[:-1], parts[-1]]
        else:
            turns += [turn] * max(1, turn.repeat)
    return turns


def replace_moves(turn: ScriptTurn, moves: list[Any]) -> ScriptTurn:
    """The same turn with other moves."""
    return ScriptTurn(moves=moves, say=turn.say, misbehave=turn.misbehave)


@dataclass(slots=True)
class Dialogue:
    """The state of one conversation."""

    scenario: Scenario
    provider: ProviderName
    heard: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests, in order."""
    complaints: list[str] = field(default_factory=list)
    """What the client did wrong."""
    _last: Said | None = None
    _number: int = 0
    _voice: Voice = field(init=False)
    _left: list[ScriptTurn] = field(init=False)

    def __post_init__(self) -> None:
        size = (self.scenario.page_width, self.scenario.page_height)
        voices: dict[ProviderName, Voice] = {
            "openai": OpenAIVoice(),
            "anthropic": AnthropicVoice(),
            "gemini": GeminiVoice(size),
        }
        self._voice = voices[self.provider]
        self._left = _turns(self.scenario, one_move=self._voice.one_move_a_turn)

    def reply(self, body: dict[str, Any], *, key: str = "") -> Wire:
        """The next answer, or 400 to a client that breaks the protocol."""
        self.heard.append(body)
        try:
            self._voice.check(body, self._last)
            width, height = self._voice.size(body)
        except (Undisciplined, KeyError, IndexError, TypeError) as error:
            self.complaints.append(str(error))
            return Wire(status=BAD_REQUEST, data=orjson.dumps({"error": {"message": str(error)}}))
        turn = self._next()
        scale = (width / self.scenario.page_width, height / self.scenario.page_height)
        return self._say(turn, scale, key)

    def _next(self) -> ScriptTurn:
        turn = self._left[0] if self._left else ScriptTurn(say="I have nothing more to do.")
        if self._left and turn.repeat:
            self._left.pop(0)
        return turn

    def _say(self, turn: ScriptTurn, scale: tuple[float, float], key: str) -> Wire:
        how = turn.misbehave
        if how == "status_429":
            return Wire(
                status=TOO_MANY, data=orjson.dumps({"error": {"message": "slow down", "type": "rate"}})
            )
        if how == "status_500":
            usage = {"input_tokens": USAGE[0], "output_tokens": 0, "promptTokenCount": USAGE[0]}
            data = orjson.dumps({"error": {"message": "oops"}, "usage": usage})
            return Wire(status=SERVER_ERROR, data=data)
        if how == "redirects":
            return Wire(status=MOVED, data=b"", how=how)
        self._number += 1
        said = Said(
            response_id=f"resp_{self._number}",
            call_id=f"call_{self._number}" if turn.moves else "",
            body={},
        )
        text = f"your key is {key}" if how == "echoes_key" else turn.say
        body = spoil(self._voice.say(turn.moves, text, said, scale), how, self._last)
        self._last = replace(said, body=body)
        return Wire(status=200, data=as_bytes(body, how), how=how)


class ScriptedTransport:
    """The scripted model without a network: implements ``executor.models.transport.Transport``."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue

    def send(self, request: ModelRequest) -> ModelAnswer:
        """See ``Transport``."""
        body = orjson.loads(orjson.dumps(request.body))
        wire = self.dialogue.reply(body, key=" ".join(request.headers.values()))
        if wire.how in {"cut", "slow"}:
            trouble: Literal["lost", "timed_out"] = "lost" if wire.how == "cut" else "timed_out"
            return ModelAnswer(trouble=trouble, reason=trouble, possibly_billed=True)
        return ModelAnswer(status=wire.status, body=wire.data, possibly_billed=wire.status >= SERVER_ERROR)

    def close(self) -> None:
        """See ``Transport``."""
