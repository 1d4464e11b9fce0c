"""One POST to a model and its answer: over HTTP, from a recording, or over HTTP into a recording.

Rules: a request is sent once and never again by itself, because nobody knows what the first one cost (C7); a time-out
and a lost answer are reported as possibly billed; the answer is bounded in bytes and in time, so a slow stream ends; no
redirect is followed, since a key would follow it; a key goes over plain HTTP to loopback only; keys are removed from
whatever is kept or said.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import httpx
import msgspec
import orjson

from domain.errors import ConfigError
from executor.config import Secret
from executor.models.base import ModelRequest
from executor.models.wire import MAX_BODY_BYTES

CONNECT_S = 10.0
USUAL_DEADLINE_S = 120.0
REMOVED = "[removed]"

Trouble = Literal["", "timed_out", "no_connection", "lost", "too_large", "recording"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What came back; ``trouble`` says why nothing usable did."""

    status: int = 0
    body: bytes = field(default=b"", repr=False)
    trouble: Trouble = ""
    reason: str = ""
    """In words, without any part of a key."""
    possibly_billed: bool = False
    """The request left, and no answer says what it cost."""
    latency_us: int = 0

    @property
    def ok(self) -> bool:
        """A whole answer with a good status."""
        return not self.trouble and self.status == httpx.codes.OK


class Transport(Protocol):
    """Sends one request, once."""

    def send(self, request: ModelRequest) -> ModelAnswer:
        """The answer, or what went wrong; never raises for what the world does."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


def is_loopback(host: str) -> bool:
    """True for addresses of this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_endpoint(url: str) -> str:
    """The address, if a key may be sent there; ``ConfigError`` otherwise."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f"the model's address {parts.scheme}://{parts.hostname or ''} is no web address",
            remedy="give it as https://host/path",
        )
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            f"the address of the model at {parts.hostname} holds a user, a password or a query",
            remedy="put the key into its environment variable",
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ConfigError(
            f"the model at {parts.hostname} would get the key unencrypted", remedy="use https there"
        )
    return url


def host_of(url: str) -> str:
    """Host and port, for the record."""
    return urlsplit(url).netloc.rpartition("@")[2]


def scrub(data: bytes, secrets: Iterable[str]) -> bytes:
    """The bytes without any of the secrets, however an endpoint came to repeat them (JSON escapes included)."""
    kept = [secret.encode() for secret in secrets if secret]
    if kept and b"\\u" in data:
        data = _unescaped(data, kept)
    for secret in kept:
        data = data.replace(secret, REMOVED.encode())
    return data


def _unescaped(data: bytes, secrets: list[bytes]) -> bytes:
    """The same JSON without escapes, if a secret shows only then."""
    try:
        plain = orjson.dumps(orjson.loads(data))
    except ValueError:
        return data
    return plain if any(secret in plain for secret in secrets) else data


class HttpTransport:
    """Real HTTP, no retry, no redirect, bounded."""

    def __init__(
        self,
        *,
        deadline_s: float = USUAL_DEADLINE_S,
        most_bytes: int = MAX_BODY_BYTES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deadline_s = deadline_s
        self._most_bytes = most_bytes
        self._monotonic = monotonic
        self._client: httpx.Client | None = None

    def _open(self, url: str) -> httpx.Client:
        if self._client is None:
            self._client = httpx.Client(
                timeout=httpx.Timeout(self._deadline_s, connect=min(CONNECT_S, self._deadline_s)),
                follow_redirects=False,
                trust_env=not is_loopback(urlsplit(url).hostname or ""),
            )
        return self._client

    def send(self, request: ModelRequest) -> ModelAnswer:
        """See ``Transport``."""
        began = self._monotonic()
        status, got = 0, bytearray()

        def ended(trouble: Trouble, reason: str, *, billed: bool) -> ModelAnswer:
            return ModelAnswer(
                status=status,
                body=bytes(got),
                trouble=trouble,
                reason=reason,
                possibly_billed=billed,
                latency_us=int((self._monotonic() - began) * 1_000_000),
            )

        try:
            content = orjson.dumps(request.body)
            headers = {"content-type": "application/json", **request.headers}
            with self._open(request.url).stream(
                "POST", request.url, content=content, headers=headers
            ) as answer:
                status = answer.status_code
                for chunk in answer.iter_bytes():
                    got += chunk
                    if len(got) > self._most_bytes:
                        return ended("too_large", f"more than {self._most_bytes} bytes", billed=True)
                    if self._monotonic() - began > self._deadline_s:
                        return ended("timed_out", f"not whole after {self._deadline_s:g} s", billed=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return ended("no_connection", type(error).__name__, billed=False)
        except httpx.TimeoutException as error:
            return ended("timed_out", type(error).__name__, billed=True)
        except httpx.HTTPError as error:
            return ended("lost", type(error).__name__, billed=True)
        except (httpx.InvalidURL, ValueError) as error:
            return ended("no_connection", type(error).__name__, billed=False)
        server_failed = status >= httpx.codes.INTERNAL_SERVER_ERROR
        return ended("", "", billed=server_failed)

    def close(self) -> None:
        """See ``Transport``."""
        if self._client is not None:
            self._client.close()
            self._client = None


class Exchange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a recording: what was asked for, in brief, and what came back, secrets removed."""

    provider: str
    answers: str = ""
    """The call id that the request answered; empty for the first one."""
    status: int = 200
    body: str = ""
    trouble: Trouble = ""
    possibly_billed: bool = False


def answered_call(body: Mapping[str, Any]) -> str:
    """The call id that a request answers, in any of the three protocols; empty for a first request."""
    for item in body.get("input") or ():
        if isinstance(item, dict) and item.get("type") == "computer_call_output":
            return str(item.get("call_id", ""))
    for message in reversed(body.get("messages") or ()):
        for block in message.get("content") or ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                return str(block.get("tool_use_id", ""))
        break
    for content in reversed(body.get("contents") or ()):
        for part in content.get("parts") or ():
            called = part.get("functionResponse") if isinstance(part, dict) else None
            if called is not None:
                return str(called.get("id") or called.get("name", ""))
        break
    return ""


class RecordedTransport:
    """Answers out of a stored conversation, in order, without a network.

    A request that answers another call than the recorded one gets no answer: a conversation is not a bag of lines.
    """

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._left = list(exchanges)

    @classmethod
    def open(cls, path: Path) -> RecordedTransport:
        """Read a recording (JSON lines); ``ConfigError`` names the line that is wrong."""
        exchanges = []
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise ConfigError(
                f"can't be read: {error.strerror}", file=str(path), remedy="name a recording"
            ) from None
        for number, line in enumerate(lines, 1):
            try:
                exchanges.append(msgspec.json.decode(line, type=Exchange))
            except msgspec.MsgspecError as error:
                raise ConfigError(
                    f"is no recorded exchange: {error}", file=str(path), line=number, remedy="record it again"
                ) from None
        return cls(exchanges)

    def send(self, request: ModelRequest) -> ModelAnswer:
        """See ``Transport``."""
        if not self._left:
            return ModelAnswer(trouble="recording", reason="the recording has no further answer")
        exchange = self._left.pop(0)
        asked = answered_call(request.body)
        if asked != exchange.answers:
            reason = f"the recording answers {exchange.answers or 'a first request'}, not {asked or 'a first request'}"
            return ModelAnswer(trouble="recording", reason=reason)
        return ModelAnswer(
            status=exchange.status,
            body=exchange.body.encode(),
            trouble=exchange.trouble,
            reason=exchange.trouble,
            possibly_billed=exchange.possibly_billed,
        )

    def close(self) -> None:
        """See ``Transport``."""


class RecordingTransport:
    """Passes everything on and writes it down, secrets removed."""

    def __init__(
        self, inner: Transport, path: Path, *, provider: str, secrets: Iterable[Secret] = ()
    ) -> None:
        self._inner = inner
        self._provider = provider
        self._secrets = tuple(str(secret[:]) for secret in secrets)
        self._file = path.open("wb")

    def send(self, request: ModelRequest) -> ModelAnswer:
        """See ``Transport``."""
        answer = self._inner.send(request)
        body = scrub(answer.body, self._secrets).decode(errors="replace")
        exchange = Exchange(
            provider=self._provider,
            answers=answered_call(request.body),
            status=answer.status,
            body=body,
            trouble=answer.trouble,
            possibly_billed=answer.possibly_billed,
        )
        self._file.write(msgspec.json.encode(exchange) + b"\n")
        self._file.flush()
        return answer

    def close(self) -> None:
        """See ``Transport``."""
        self._inner.close()
        self._file.close()
