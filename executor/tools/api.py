"""The ``api`` rung: the target's own write interface over HTTP.

Rules: a session of its own for each order; no redirect is followed, no request is repeated, no proxy is taken from the
environment; only a refusal that the target puts into words (4xx) and a connection that never came about count as
"certainly no effect"; everything else after sending is unknown and is read back.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from domain.ids import Sha256
from domain.values import Check, Intent, Verdict
from executor.config import Secret
from executor.filling import in_path
from executor.guards.request_rules import expected_path, read_request
from executor.readback import SHAPE_ERRORS, JsonMap, Missing, state_of
from executor.tools.base import Performed, RequestRule
from executor.tools.calls import Call, CallRung, Document, RungLost, RungRefused, fields_of

CALL_TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 1_000_000
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
"""Failures before the first byte of a request has left."""
GONE = frozenset({400, 404, 405, 406, 410, 415, 422, 426})
"""The target says that it does not know such a request: the interface isn't the configured one any more."""
REFUSALS: Mapping[int, Verdict] = {401: "session_expired", 403: "forbidden"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiShape:
    """How the write interface is spoken to."""

    login_path: str
    account_field: str = "account"
    secret_field: str = "password"  # noqa: S105 - a field's name
    token_field: str = "token"  # noqa: S105 - a field's name
    """Key of the log-in's answer that holds the bearer token."""
    read_path: str
    """With ``{bill_id}``; the answer has the read keys."""
    idempotency_header: str = ""
    """Header that carries the effect's key, for targets that refuse a repetition by it."""


class ApiCaller:
    """See ``executor.tools.calls.Caller``."""

    rung: CallRung = "api"

    def __init__(self, origin: str, *, account: str, secret: Secret, shape: ApiShape, keys: JsonMap) -> None:
        self._account = account
        self._secret = secret
        self._shape = shape
        self._keys = keys
        self._client = httpx.Client(
            base_url=origin, timeout=CALL_TIMEOUT_S, follow_redirects=False, trust_env=False
        )

    def close(self) -> None:
        """See ``Caller``."""
        self._client.close()

    # -- looking -----------------------------------------------------------------------------------------------

    def observe(self, bill_id: str) -> Document:
        """See ``Caller``."""
        began = time.perf_counter_ns()
        self._log_in()
        path = in_path(self._shape.read_path, bill_id=bill_id)
        answer = self._ask(self._client.build_request("GET", path))
        if answer.status_code == HTTPStatus.NOT_FOUND:
            raise self._not_found(answer, bill_id, path)
        try:
            data = answer.json()
            state = state_of(data, self._keys)
        except SHAPE_ERRORS as error:
            raise RungLost(f"{path} answers in another shape ({type(error).__name__})") from None
        return Document(
            state=state,
            account=self._account,
            url=str(answer.request.url),
            structure_sha256=_digest(sorted(data)),
            document_sha256=Sha256(hashlib.sha256(answer.content).hexdigest()),
            latency_us=(time.perf_counter_ns() - began) // 1000,
        )

    def _log_in(self) -> None:
        self._client.headers.pop("Authorization", None)
        shape = self._shape
        body = {shape.account_field: self._account, shape.secret_field: self._secret[:]}
        answer = self._ask(self._client.build_request("POST", shape.login_path, json=body))
        try:
            token = answer.json()[shape.token_field]
        except SHAPE_ERRORS:
            token = None
        if not answer.is_success or not isinstance(token, str):
            raise RungLost(f"{shape.login_path} answers {answer.status_code} without a token")
        self._client.headers["Authorization"] = f"Bearer {token}"

    def _ask(self, request: httpx.Request) -> httpx.Response:
        """A request that changes no business; 401 and 403 are told apart from a lost rung."""
        try:
            answer = self._client.send(request)
        except httpx.HTTPError as error:
            raise RungLost(f"{request.url.path} can't be reached: {type(error).__name__}") from None
        verdict = REFUSALS.get(answer.status_code)
        if verdict is not None:
            found = f"{request.url.path} answers {answer.status_code}"
            expected = f"a live session of {self._account}"
            raise RungRefused(Check(guard="auth", verdict=verdict, expected=expected, found=found))
        if not answer.is_success and answer.status_code != HTTPStatus.NOT_FOUND:
            raise RungLost(f"{request.url.path} answers {answer.status_code}")
        if len(answer.content) > MAX_ANSWER_BYTES:
            raise RungLost(f"{request.url.path} answers with {len(answer.content)} bytes")
        return answer

    @staticmethod
    def _not_found(answer: httpx.Response, bill_id: str, path: str) -> Exception:
        """An interface that says in JSON what it misses is there; any other 404 is one that isn't."""
        try:
            known = isinstance(answer.json().get("error"), str)
        except SHAPE_ERRORS:
            known = False
        return Missing(f"the API has no bill {bill_id}") if known else RungLost(f"{path} answers 404")

    # -- acting ------------------------------------------------------------------------------------------------

    def plan(self, intent: Intent, rule: RequestRule, *, key: str) -> Call:
        """See ``Caller``."""
        fields = fields_of(intent, rule)
        request = self._client.build_request(rule.method, expected_path(rule, intent), json=fields)
        seen = read_request(
            request.method, str(request.url), request.headers.get("content-type", ""), request.content
        )
        return Call(name=seen.name(), seen=seen, fields=fields, key=key)

    def perform(self, call: Call) -> Performed:
        """See ``Caller``."""
        began = time.perf_counter_ns()
        header = self._shape.idempotency_header
        request = self._client.build_request(
            call.seen.method,
            call.seen.path,
            json=dict(call.fields),
            headers={header: quote(call.key)} if header else {},
        )
        try:
            answer = self._client.send(request)
        except NEVER_SENT as error:
            reason = f"{call.name} was not sent: {type(error).__name__}"
            return _ended("failed", began, "server_trouble", reason)
        except httpx.HTTPError as error:
            return _ended(
                "unknown", began, "server_trouble", f"no answer to {call.name}: {type(error).__name__}"
            )
        return _judge(call, answer, began)


def _judge(call: Call, answer: httpx.Response, began: int) -> Performed:
    code = answer.status_code
    sent = f"{call.name} {code}"
    if answer.is_success:
        return Performed(
            status="executed",
            requests=(sent,),
            toast=_said(answer),
            delivered_events=1,
            latency_us=(time.perf_counter_ns() - began) // 1000,
        )
    if code in REFUSALS:
        return _ended("failed", began, REFUSALS[code], f"the target answered with {code}", sent)
    if code in GONE:
        return _ended("failed", began, "page_changed", f"the target knows no {sent}", sent)
    if code == HTTPStatus.CONFLICT:
        return _ended(
            "failed", began, "precondition_failed", f"the target refuses it: {_said(answer) or code}", sent
        )
    return _ended("unknown", began, "server_trouble", f"{call.name} was answered with {code}", sent)


def _ended(status: str, began: int, verdict: Verdict, reason: str, *sent: str) -> Performed:
    guard = "auth" if verdict in REFUSALS.values() else "tool"
    return Performed(
        status="failed" if status == "failed" else "unknown",
        check=Check(guard=guard, verdict=verdict, found=reason),
        requests=sent,
        latency_us=(time.perf_counter_ns() - began) // 1000,
        reason=reason,
    )


def _said(answer: httpx.Response) -> str:
    """What the answer claims; evidence, never a verdict."""
    try:
        data: Any = answer.json()
    except ValueError:
        return ""
    words = (
        [str(data[name]) for name in ("error", "status") if data.get(name)] if isinstance(data, dict) else []
    )
    return " ".join(words)[:200]


def _digest(value: object) -> Sha256:
    return Sha256(hashlib.sha256(orjson.dumps(value)).hexdigest())
