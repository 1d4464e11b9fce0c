"""Configuration → the rungs without a screen; each is opened when the first order needs it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from domain.errors import ConfigError
from domain.policy import RungName
from executor.config import Config, Secret
from executor.recipe import McpSection, Recipe
from executor.tools.api import ApiCaller, ApiShape
from executor.tools.calls import Caller

if TYPE_CHECKING:
    from executor.tools.mcp import McpShape


def callers_of(
    config: Config, recipe: Recipe, secret: Secret, closing: contextlib.ExitStack
) -> Mapping[RungName, Callable[[], Caller]]:
    """Openers of the configured rungs without a screen; what they open is closed with ``closing``.

    Raises:
        ConfigError: the ladder names a rung that the recipe doesn't describe.
    """
    makers: dict[RungName, Callable[[], Caller]] = {}
    if "api" in config.tools.ladder:
        makers["api"] = _once(_api(config, recipe, secret), closing)
    if "mcp" in config.tools.ladder:
        makers["mcp"] = _once(_mcp(config, recipe), closing)
    return makers


def check_readbacks(config: Config, recipe: Recipe, file: str) -> None:
    """``ConfigError`` when an action's own readback sources are not among the policy's (B3)."""
    sources = config.write_policy.readback_sources
    for name, action in recipe.actions.items():
        strange = [source for source in action.readback if source not in sources]
        if strange:
            raise ConfigError(
                f"action {name} is read back by {strange[0]}, which write_policy.readback_sources does not list",
                file=file,
                remedy=f"add it there ({', '.join(sources)}), or take it out of the recipe",
            )


def _once(make: Callable[[], Caller], closing: contextlib.ExitStack) -> Callable[[], Caller]:
    made: list[Caller] = []

    def opened() -> Caller:
        if not made:
            made.append(make())
            closing.callback(made[0].close)
        return made[0]

    return opened


def _api(config: Config, recipe: Recipe, secret: Secret) -> Callable[[], Caller]:
    section = recipe.api
    if section is None:
        raise ConfigError(f"recipe {recipe.name} has no api section", remedy="take api off tools.ladder")
    shape = ApiShape(
        login_path=section.login_path,
        account_field=section.account_field,
        secret_field=section.secret_field,
        token_field=section.token_field,
        read_path=section.read_path,
        idempotency_header=section.idempotency_header,
    )
    target = config.target
    return lambda: ApiCaller(
        target.origin, account=target.service.account, secret=secret, shape=shape, keys=recipe.json_map()
    )


def _mcp(config: Config, recipe: Recipe) -> Callable[[], Caller]:
    section, transport = recipe.mcp, config.tools.mcp
    if section is None or transport is None:
        raise ConfigError(f"recipe {recipe.name} has no mcp section", remedy="take mcp off tools.ladder")
    try:
        from executor.tools.mcp import McpCaller, McpServer  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ConfigError("the mcp rung needs the SDK", remedy="install proofreel[mcp]") from error
    token = os.environ.get(transport.token_env, "") if transport.token_env else ""
    if transport.token_env and not token:
        raise ConfigError(
            "no token for the MCP server", remedy=f"set the environment variable {transport.token_env}"
        )
    server = McpServer(command=transport.command, env=transport.env, url=transport.url, token=token)
    return lambda: McpCaller(
        server, account=config.target.service.account, shape=_shape(section), keys=recipe.json_map()
    )


def _shape(section: McpSection) -> McpShape:
    from executor.tools.mcp import McpShape  # noqa: PLC0415 - an optional extra

    return McpShape(
        read_tool=section.read_tool,
        read_argument=section.read_argument,
        account_key=section.account_key,
        key_argument=section.key_argument,
        error_key=section.error_key,
        errors=dict(section.errors),
        missing=section.missing,
    )
