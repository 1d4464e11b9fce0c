"""Does a request that leaves the browser say what the business wants? Decided here, without any transport (X8).

Rules: method, path and every body field must agree with the intent, the rule's known values or its list of ignored
fields; an unknown field, a field given twice, an unreadable body or a second request is a mismatch; values of
secret or unknown fields are never put into words.
"""

from __future__ import annotations

import email.policy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from urllib.parse import parse_qsl, urlsplit

import orjson

from domain.values import Check, Intent
from executor.filling import in_path, segments
from executor.guards import intent as intents
from executor.guards.script import PRIVATE_NAMES
from executor.tools.base import RequestRule

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
PRIVATE = re.compile(PRIVATE_NAMES, re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A request as far as it is compared."""

    method: str
    origin: str
    path: str
    fields: Mapping[str, tuple[str, ...]] | None
    """Body and query fields with all their values; ``None`` when the body can't be read."""

    def name(self) -> str:
        """How an event names it: no query, no body."""
        return f"{self.method} {self.path}"


def origin_of(url: str) -> str:
    """``scheme://host:port`` as browsers compare it; empty for addresses without a host."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}" if parts.netloc else ""


def read_request(method: str, url: str, content_type: str, body: bytes | None) -> SeenRequest:
    """Take a request apart."""
    parts = urlsplit(url)
    pairs = list(parse_qsl(parts.query, keep_blank_values=True))
    found = _body_pairs(content_type, body or b"")
    fields: dict[str, tuple[str, ...]] | None = None
    if found is not None:
        fields = {}
        for name, value in (*pairs, *found):
            fields[name] = (*fields.get(name, ()), value)
    return SeenRequest(method=method.upper(), origin=origin_of(url), path=parts.path, fields=fields)


def _body_pairs(content_type: str, body: bytes) -> list[tuple[str, str]] | None:
    if not body:
        return []
    try:
        if "json" in content_type:
            return list(_flatten("", orjson.loads(body)))
        if content_type.startswith("multipart/form-data"):
            return list(_parts(content_type, body))
        if "urlencoded" in content_type:
            return parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True)
    except ValueError:
        return None
    return None


def _flatten(name: str, value: object) -> Iterable[tuple[str, str]]:
    """Nested JSON as dotted names; lists repeat their name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flatten(name, inner)
    else:
        yield name, value if isinstance(value, str) else orjson.dumps(value).decode()


def _parts(content_type: str, body: bytes) -> Iterable[tuple[str, str]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        text = content.decode() if isinstance(content, bytes) else ""
        yield str(part.get_param("name", "", header="content-disposition")), text


def expected_path(rule: RequestRule, intent: Intent) -> str:
    """The path that the rule allows for this intent."""
    code = rule.fields.action_codes.get(intent.action, intent.action)
    return in_path(rule.path, bill_id=intent.bill_id, action=code)


def judge_request(
    seen: SeenRequest, rule: RequestRule | None, intent: Intent | None, *, before: int
) -> Check:
    """The request guard's word on one request.

    Args:
        seen: the request, held.
        rule: what the step may send; ``None``: nothing.
        intent: what the business wants.
        before: how many requests the step has sent already.
    """
    if rule is None or intent is None:
        return Check(
            guard="request",
            verdict="request_mismatch",
            expected="no request that may write",
            found=seen.name(),
        )
    wrong: list[intents.Mismatch] = []
    path = expected_path(rule, intent)
    if seen.method != rule.method or segments(seen.path) != segments(path):
        wrong.append(intents.Mismatch("request", f"{rule.method} {path}", seen.name()))
    if before >= rule.count:
        wrong.append(intents.Mismatch("requests", str(rule.count), str(before + 1)))
    if seen.fields is None:
        wrong.append(intents.Mismatch("body", "readable fields", "an unreadable body"))
    else:
        wrong += _compare_body(seen.fields, rule, intent)
    measures = {"mismatches": len(wrong), "request_number": before + 1}
    return intents.verdict("request", "request", wrong, measures)


def _compare_body(
    fields: Mapping[str, tuple[str, ...]], rule: RequestRule, intent: Intent
) -> list[intents.Mismatch]:
    wrong = [
        intents.Mismatch(name, "given once", f"{len(values)} times")
        for name, values in fields.items()
        if len(values) > 1 and name not in rule.ignored
    ]
    single = {name: values[0] for name, values in fields.items()}
    wrong += intents.compare_fields(intent, rule.fields, single, rule.known)
    needed = (*rule.fields.form, *rule.known, *rule.required)
    wrong += [
        intents.Mismatch(name, "given", "missing") for name in dict.fromkeys(needed) if name not in fields
    ]
    allowed = {*needed, *rule.ignored}
    wrong += [
        intents.Mismatch(name, "no such field", "given")
        for name in fields
        if name not in allowed and not PRIVATE.search(name)
    ]
    return wrong
