"""The ``mcp`` rung: the target's own tools, called by the official SDK over stdio or streamable HTTP.

Rules: the tools must be the configured ones (name and arguments), else the rung is lost; a call is made once; only an
error word that the recipe lists, and a call that the server never took, count as "certainly no effect"; no model is
asked anything, and a server that wants to ask one is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types
import orjson
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from domain.errors import ConfigError
from domain.ids import Sha256
from domain.values import Check, Intent, Verdict
from executor.guards.request_rules import SeenRequest
from executor.readback import SHAPE_ERRORS, JsonMap, Missing, state_of
from executor.tools.base import Performed, RequestRule
from executor.tools.calls import Call, CallRung, Document, RungLost, RungRefused, fields_of

CALL_TIMEOUT_S = 10.0
OPEN_TIMEOUT_S = 20.0
MAX_PAGES = 20
NEVER_TAKEN = frozenset({mcp_types.METHOD_NOT_FOUND, mcp_types.INVALID_PARAMS, mcp_types.INVALID_REQUEST})
"""JSON-RPC errors by which a server says that it didn't take the call (JSON-RPC 2.0, section 5.1)."""
AUTH: frozenset[Verdict] = frozenset({"session_expired", "forbidden"})
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """How the server is reached: ``command`` or ``url``."""

    command: Sequence[str] = ()
    env: Sequence[str] = ()
    """Names of the environment variables that the command is given."""
    url: str = ""
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpShape:
    """Which tools are used and what their answers mean."""

    read_tool: str
    read_argument: str = "bill_id"
    account_key: str = ""
    """Key of the read tool's answer that names the session's account."""
    key_argument: str = ""
    error_key: str = "error"
    errors: Mapping[str, Verdict] = field(default_factory=dict)
    """Error word of the tools → what it means; each of them certainly had no effect."""
    missing: str = "not_found"
    """Error word for a bill that isn't there."""


class McpCaller:
    """See ``executor.tools.calls.Caller``."""

    rung: CallRung = "mcp"

    def __init__(self, server: McpServer, *, account: str, shape: McpShape, keys: JsonMap) -> None:
        self._server = server
        self._account = account
        self._shape = shape
        self._keys = keys
        self._stack = contextlib.ExitStack()
        self._loop: BlockingPortal | None = None
        self._client: Client | None = None
        self._arguments: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        """Tool → its arguments, and those that it requires."""

    # -- the connection ------------------------------------------------------------------------------------------

    def close(self) -> None:
        """See ``Caller``."""
        self._loop = self._client = None
        with contextlib.suppress(Exception):  # a server that is gone can't be said goodbye to
            self._stack.close()
        self._stack = contextlib.ExitStack()

    def _opened(self) -> Client:
        if self._client is None:
            try:
                loop = self._stack.enter_context(start_blocking_portal())
                self._loop = loop
                client = self._stack.enter_context(loop.wrap_async_context_manager(self._connected()))
                self._arguments = self._ask(lambda: _tools(client))
                self._client = client
            except ConfigError:
                raise
            except BaseException as error:
                self.close()
                if not isinstance(error, Exception):
                    raise
                raise RungLost(f"the MCP server can't be reached: {_kind(error)}") from None
        return self._client

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        server = self._server
        async with contextlib.AsyncExitStack() as stack:
            if server.command:
                # The process's own standard error: a replaced one may have no descriptor to hand to a child.
                transport = stdio_client(self._parameters(), errlog=sys.__stderr__ or sys.stderr)
            else:
                headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
                http = httpx2.AsyncClient(headers=headers, timeout=CALL_TIMEOUT_S, trust_env=False)
                await stack.enter_async_context(http)
                transport = streamable_http_client(server.url, http_client=http)
            client = Client(transport, read_timeout_seconds=CALL_TIMEOUT_S, cache=None)
            yield await stack.enter_async_context(client)

    def _parameters(self) -> StdioServerParameters:
        server = self._server
        missing = [name for name in server.env if name not in os.environ]
        if missing:
            remedy = f"set the environment variable {missing[0]}"
            raise ConfigError(f"the MCP server needs {missing[0]}", remedy=remedy)
        given = {name: os.environ[name] for name in server.env}
        return StdioServerParameters(command=server.command[0], args=list(server.command[1:]), env=given)

    def _ask(self, question: Callable[[], Awaitable[T]]) -> T:
        assert self._loop is not None, "asked before it was opened"  # noqa: S101 - invariant, stays on

        async def within() -> T:
            with anyio.fail_after(OPEN_TIMEOUT_S):
                return await question()

        return self._loop.call(within)

    # -- looking -------------------------------------------------------------------------------------------------

    def observe(self, bill_id: str) -> Document:
        """See ``Caller``."""
        began = time.perf_counter_ns()
        client, shape = self._opened(), self._shape
        self._must_offer(shape.read_tool, {shape.read_argument})
        try:
            answer = self._ask(lambda: client.call_tool(shape.read_tool, {shape.read_argument: bill_id}))
            data = _content(answer)
        except Exception as error:  # noqa: BLE001 - reading has no effect: whatever failed, the rung isn't usable
            self.close()
            raise RungLost(f"tool {shape.read_tool} fails: {_kind(error)}") from None
        self._refuse_errors(data, bill_id)
        account = str(data.get(shape.account_key, "")) if shape.account_key else self._account
        if account != self._account:
            expected = f"a live session of {self._account}"
            found = f"another account: {account or 'none'}"
            raise RungRefused(Check(guard="auth", verdict="session_expired", expected=expected, found=found))
        try:
            state = state_of(data, self._keys)
        except SHAPE_ERRORS as error:
            raise RungLost(
                f"tool {shape.read_tool} answers in another shape ({type(error).__name__})"
            ) from None
        return Document(
            state=state,
            account=account,
            url=self._server.url or f"stdio:{shape.read_tool}",
            structure_sha256=_digest(sorted(data)),
            document_sha256=_digest(data),
            latency_us=(time.perf_counter_ns() - began) // 1000,
        )

    def _refuse_errors(self, data: Mapping[str, Any], bill_id: str) -> None:
        word = data.get(self._shape.error_key)
        if not word:
            return
        if word == self._shape.missing:
            raise Missing(f"the MCP server has no bill {bill_id}")
        verdict = self._shape.errors.get(str(word), "page_changed")
        found = f"tool {self._shape.read_tool} says {word}"
        if verdict in AUTH:
            raise RungRefused(Check(guard="auth", verdict=verdict, found=found))
        raise RungLost(found)

    def _must_offer(self, tool: str, arguments: set[str]) -> None:
        if tool not in self._arguments:
            raise RungLost(f"the MCP server has no tool {tool}")
        offered, required = self._arguments[tool]
        odd = sorted((arguments - offered) | (required - arguments))
        if odd:
            raise RungLost(f"tool {tool} takes other arguments than configured: {', '.join(odd)}")

    # -- acting --------------------------------------------------------------------------------------------------

    def plan(self, intent: Intent, rule: RequestRule, *, key: str) -> Call:
        """See ``Caller``."""
        fields = fields_of(intent, rule)
        keyed = {self._shape.key_argument} if self._shape.key_argument else set()
        self._must_offer(rule.path, {*fields, *keyed})
        once = {name: (value,) for name, value in fields.items()}
        seen = SeenRequest(method="TOOL", origin="", path=rule.path, fields=once)
        return Call(name=seen.name(), seen=seen, fields=fields, key=key)

    def perform(self, call: Call) -> Performed:
        """See ``Caller``."""
        began = time.perf_counter_ns()
        client = self._opened()
        keyed = {self._shape.key_argument: call.key} if self._shape.key_argument else {}
        try:
            answer = self._ask(lambda: client.call_tool(call.seen.path, {**call.fields, **keyed}))
        except MCPError as error:
            if error.error.code in NEVER_TAKEN:
                return _ended(
                    "failed", began, "page_changed", f"the server takes no {call.name} ({error.error.code})"
                )
            return _ended(
                "unknown", began, "server_trouble", f"{call.name} ended with error {error.error.code}"
            )
        except Exception as error:  # noqa: BLE001 - whatever failed, the call may have left: read back, never repeat
            self.close()
            return _ended("unknown", began, "server_trouble", f"no answer to {call.name}: {_kind(error)}")
        return self._judge(call, answer, began)

    def _judge(self, call: Call, answer: mcp_types.CallToolResult, began: int) -> Performed:
        try:
            data = _content(answer)
        except SHAPE_ERRORS:
            data = {}
        word = str(data.get(self._shape.error_key) or "")
        if not word and not answer.is_error:
            said = str(data.get("status", ""))[:200]
            latency_us = (time.perf_counter_ns() - began) // 1000
            sent = (f"{call.name} ok",)
            return Performed(
                status="executed", requests=sent, toast=said, delivered_events=1, latency_us=latency_us
            )
        verdict = self._shape.errors.get(word)
        reason = f"{call.name} was answered with {word or 'an error'}"
        if verdict is None:
            return _ended("unknown", began, "server_trouble", reason)
        return _ended("failed", began, verdict, reason)


async def _tools(client: Client) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            schema = tool.input_schema
            found[tool.name] = (
                frozenset(schema.get("properties", {})),
                frozenset(schema.get("required", ())),
            )
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _content(answer: mcp_types.CallToolResult) -> dict[str, Any]:
    """The answer as an object; ``ValueError`` when it is none."""
    data: Any = answer.structured_content
    if data is None:
        texts = [part.text for part in answer.content if isinstance(part, mcp_types.TextContent)]
        data = orjson.loads(texts[0]) if len(texts) == 1 else None
    if not isinstance(data, dict):
        message = "the tool's answer is no object"
        raise ValueError(message)  # noqa: TRY004 - one kind of error for every wrong shape
    return data


def _ended(status: str, began: int, verdict: Verdict, reason: str) -> Performed:
    return Performed(
        status="failed" if status == "failed" else "unknown",
        check=Check(guard="auth" if verdict in AUTH else "tool", verdict=verdict, found=reason),
        latency_us=(time.perf_counter_ns() - began) // 1000,
        reason=reason,
    )


def _kind(error: BaseException) -> str:
    """The kind of the innermost error, without its text: it may quote what was sent."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return type(error).__name__


def _digest(value: object) -> Sha256:
    return Sha256(hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest())
