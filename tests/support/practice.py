"""Scripted models over the practice form in memory: no key, no browser, no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from domain import events as e
from domain.run import Limits
from executor.models.anthropic import AnthropicDialect
from executor.models.base import Dialect
from executor.models.conversation import Acknowledge
from executor.models.gemini import GeminiDialect
from executor.models.openai import OpenAIDialect
from executor.models.transport import Transport
from executor.sandbox.model_server.dialogue import Dialogue, ProviderName, ScriptedTransport
from executor.sandbox.model_server.scenario import Move, Scenario, ScriptTurn
from executor.sandbox.practice.book import Book
from executor.sandbox.practice.offline import Practice, practice

PROVIDERS: tuple[ProviderName, ...] = ("openai", "anthropic", "gemini")
FILL = (
    Move(do="click", x=300, y=140),
    Move(do="type", text="Northwind Trading", x=300, y=140),
    Move(do="click", x=300, y=200),
    Move(do="type", text="accounts@northwind.example", x=300, y=200),
)
SUBMIT = Move(do="click", x=320, y=282)
USUAL = (ScriptTurn(moves=list(FILL)), ScriptTurn(moves=[SUBMIT]))
Fact = TypeVar("Fact", bound=e.Event)


def dialect_of(provider: ProviderName) -> Dialect:
    """A protocol with a made-up model."""
    made: Mapping[ProviderName, Dialect] = {
        "openai": OpenAIDialect(model="scripted"),
        "anthropic": AnthropicDialect(model="scripted"),
        "gemini": GeminiDialect(model="scripted"),
    }
    return made[provider]


def dialogue(*turns: ScriptTurn, provider: ProviderName = "openai") -> Dialogue:
    """The scripted model's side of a talk."""
    return Dialogue(Scenario(name="test", turns=list(turns)), provider)


@contextmanager
def driven(
    folder: Path,
    *turns: ScriptTurn,
    provider: ProviderName = "openai",
    book: Book | None = None,
    limits: Limits | None = None,
    acknowledge: Acknowledge | None = None,
    transport: Transport | None = None,
) -> Iterator[tuple[Practice, Dialogue]]:
    """A practice run that the turns drive."""
    said = dialogue(*turns, provider=provider)
    with practice(
        folder,
        transport or ScriptedTransport(said),
        dialect=dialect_of(provider),
        book=book,
        limits=limits or Limits(max_calls=12),
        acknowledge=acknowledge,
    ) as made:
        yield made, said


def facts(made: Practice, kind: type[Fact]) -> list[Fact]:
    """The task's facts of one kind."""
    return [fact for fact in made.facts() if isinstance(fact, kind)]


def openai_response(*actions: Mapping[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """An answer in OpenAI's protocol; changes to the call are given as ``call_…``."""
    call: dict[str, Any] = {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_1",
        "status": "completed",
        "actions": [dict(action) for action in actions],
        "pending_safety_checks": [],
    }
    call |= {
        name.removeprefix("call_"): changes.pop(name) for name in list(changes) if name.startswith("call_")
    }
    return {
        "id": "resp_1",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "m-1",
        "output": [call],
        "usage": {"input_tokens": 11, "output_tokens": 3},
        **changes,
    }
