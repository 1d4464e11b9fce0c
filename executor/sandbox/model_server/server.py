"""The scripted model over real HTTP on loopback: OpenAI, Anthropic and Gemini addresses on one port.

Rules: 127.0.0.1 only; a first request begins a new conversation, any other goes on with the provider's current one; a
wrong or missing key is answered as the services do.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import httpx
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from executor.models.transport import answered_call
from executor.sandbox.model_server.dialogue import Dialogue, ProviderName, Wire
from executor.sandbox.model_server.scenario import Scenario
from executor.sandbox.portal.server import listening_socket, uvicorn_server

START_S, STOP_S, TICK_S = 30.0, 10.0, 0.02
SLOW_CHUNK_S = 0.1
BAD_KEY = 401


class ModelServer:
    """A context manager; ``url`` is the base address, ``key`` the only accepted key."""

    def __init__(self, scenario: Scenario, *, port: int = 0, key: str = "") -> None:
        self.scenario = scenario
        self.key = key or f"sk-scripted-{secrets.token_urlsafe(18)}"
        self.url = ""
        self.dialogues: dict[ProviderName, list[Dialogue]] = {"openai": [], "anthropic": [], "gemini": []}
        """Conversations by provider, in order."""
        self.versions: list[str] = []
        """The protocol versions that clients named in their headers."""
        self._port = port
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def requests(self) -> int:
        """How many requests arrived."""
        return sum(len(dialogue.heard) for kept in self.dialogues.values() for dialogue in kept)

    def environment(self, provider: ProviderName) -> dict[str, str]:
        """The variables by which a client finds this server."""
        match provider:
            case "openai":
                return {
                    "COMPUTER_RESPONSES_URL": f"{self.url}/v1/responses",
                    "COMPUTER_MODEL": "scripted",
                    "COMPUTER_API_KEY": self.key,
                }
            case "anthropic":
                return {
                    "ANTHROPIC_BASE_URL": self.url,
                    "ANTHROPIC_MODEL": "scripted",
                    "ANTHROPIC_API_KEY": self.key,
                }
            case "gemini":
                return {
                    "GEMINI_BASE_URL": self.url,
                    "GEMINI_MODEL": "scripted",
                    "GEMINI_API_KEY": self.key,
                }

    def __enter__(self) -> Self:
        bound = listening_socket(self._port)
        self.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        self._server = uvicorn_server(self._app())
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [bound]}, name="model server", daemon=True
        )
        self._thread.start()
        self._wait()
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                httpx.get(f"{self.url}/health", timeout=2, trust_env=False)
            except httpx.TransportError:
                time.sleep(TICK_S)
            else:
                return
        raise TimeoutError(f"the model server at {self.url} does not answer")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(STOP_S)

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/health", lambda _: Response("ok")),
                Route("/v1/responses", self._openai, methods=["POST"]),
                Route("/v1/messages", self._anthropic, methods=["POST"]),
                Route("/v1beta/models/{call:path}", self._gemini, methods=["POST"]),
            ]
        )

    async def _openai(self, request: Request) -> Response:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        return await self._answer("openai", request, key)

    async def _anthropic(self, request: Request) -> Response:
        self.versions.append(request.headers.get("anthropic-beta", ""))
        return await self._answer("anthropic", request, request.headers.get("x-api-key", ""))

    async def _gemini(self, request: Request) -> Response:
        return await self._answer("gemini", request, request.headers.get("x-goog-api-key", ""))

    async def _answer(self, provider: ProviderName, request: Request, key: str) -> Response:
        if key != self.key:
            return JSONResponse({"error": {"message": f"Incorrect API key provided: {key}"}}, BAD_KEY)
        body = orjson.loads(await request.body())
        kept = self.dialogues[provider]
        if not kept or not answered_call(body):
            kept.append(Dialogue(self.scenario, provider))
        wire = kept[-1].reply(body, key=key)
        if wire.how == "redirects":
            return Response(status_code=wire.status, headers={"location": f"{self.url}/v1/elsewhere"})
        headers = {"content-type": "application/json"}
        if wire.how in {"cut", "slow"}:
            headers["content-length"] = str(len(wire.data))
            return StreamingResponse(_drops(wire), wire.status, headers)
        return Response(wire.data, wire.status, headers)


async def _drops(wire: Wire) -> AsyncIterator[bytes]:
    """Half of the answer and then nothing, or all of it drop by drop."""
    if wire.how == "cut":
        yield wire.data[: len(wire.data) // 2]
        return
    for place in range(0, len(wire.data), 16):
        yield wire.data[place : place + 16]
        await asyncio.sleep(SLOW_CHUNK_S)
