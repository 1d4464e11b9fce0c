"""Providers by name: their protocol, their usual environment variables, and their usual address.

Rules: the environment names the endpoint, the model and the key (C7); a key that is missing is named by its variable,
never by a value; a new provider is one module and one line here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domain.errors import ConfigError
from executor.config import Secret
from executor.models.anthropic import ACTIONS, AnthropicDialect
from executor.models.base import Dialect
from executor.models.conversation import Endpoint, Price
from executor.models.gemini import GeminiDialect
from executor.models.openai import OpenAIDialect
from executor.models.transport import check_endpoint

VERSION_ENV = "COMPUTER_TOOL_VERSION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How one provider is reached. Variables are tried in order."""

    make: Callable[[str, str], Dialect]
    """Model and tool version → protocol."""
    url_env: tuple[str, ...]
    usual_url: str
    model_env: tuple[str, ...]
    key_env: tuple[str, ...]
    longest_px: int = 0
    """Longer screens are scaled down to this; 0 sends them as they are."""


def _openai(model: str, version: str) -> Dialect:
    tools = {"": "computer_use_preview", "preview": "computer_use_preview", "ga": "computer"}
    if version not in tools:
        raise ConfigError(f"OpenAI has no tool version {version!r}", remedy="use preview or ga")
    return OpenAIDialect(model=model, tool=tools[version])


def _anthropic(model: str, version: str) -> Dialect:
    wanted = version or "20250124"
    for known in ACTIONS:
        if known == wanted:
            return AnthropicDialect(model=model, version=known)
    raise ConfigError(f"Anthropic has no tool version {wanted!r}", remedy=f"use one of {', '.join(ACTIONS)}")


def _gemini(model: str, version: str) -> Dialect:
    if version:
        raise ConfigError("Gemini's tool has no versions", remedy=f"unset {VERSION_ENV}")
    return GeminiDialect(model=model)


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        make=_openai,
        url_env=("COMPUTER_RESPONSES_URL",),
        usual_url="https://api.openai.com/v1/responses",
        model_env=("COMPUTER_MODEL",),
        key_env=("COMPUTER_API_KEY", "OPENAI_API_KEY"),
    ),
    "anthropic": Provider(
        make=_anthropic,
        url_env=("ANTHROPIC_BASE_URL",),
        usual_url="https://api.anthropic.com",
        model_env=("ANTHROPIC_MODEL", "COMPUTER_MODEL"),
        key_env=("ANTHROPIC_API_KEY", "COMPUTER_API_KEY"),
        longest_px=1280,
    ),
    "gemini": Provider(
        make=_gemini,
        url_env=("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        usual_url="https://generativelanguage.googleapis.com",
        model_env=("GEMINI_MODEL", "COMPUTER_MODEL"),
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY", "COMPUTER_API_KEY"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A provider, ready to talk to."""

    dialect: Dialect
    endpoint: Endpoint
    longest_px: int


def price_of(text: str, name: str) -> Price | None:
    """A price as ``3.00/15.00``, ``None`` when there is none; ``ConfigError`` says that ``name`` is wrong."""
    if not text:
        return None
    try:
        return Price.parse(text)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}", remedy="write it as 3.00/15.00") from None


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def choose(
    name: str,
    *,
    environment: Mapping[str, str] | None = None,
    price: Price | None = None,
    needs_key: bool = True,
) -> Chosen:
    """A provider as the environment describes it; ``ConfigError`` names the variable that is missing."""
    env = os.environ if environment is None else environment
    provider = PROVIDERS.get(name)
    if provider is None:
        raise ConfigError(f"there is no provider {name!r}", remedy=f"use one of {', '.join(PROVIDERS)}")
    model = _first(provider.model_env, env)
    if not model and needs_key:
        raise ConfigError(f"no model is named for {name}", remedy=f"set {provider.model_env[0]}")
    key = _first(provider.key_env, env)
    if not key and needs_key:
        raise ConfigError(f"there is no key for {name}", remedy=f"set {provider.key_env[0]}")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the key for {name} can't stand in a header", remedy=f"correct {provider.key_env[0]}"
        )
    dialect = provider.make(model or "recorded", env.get(VERSION_ENV, ""))
    base = check_endpoint(_first(provider.url_env, env) or provider.usual_url)
    return Chosen(
        dialect=dialect,
        endpoint=Endpoint(url=dialect.path(base), key=Secret(key), price=price),
        longest_px=provider.longest_px,
    )
