"""Canonical bytes of an event, and back.

Rules: UTF-8 JSON, keys sorted, no white space, integers within 53 bits, no floats, no NaN, no lone surrogates;
enforced on the way in. History is bytes: what is hashed is what is stored, nothing is re-encoded to verify it, so
fields that this release doesn't know survive. Page content can't forge structure: it only ever stands inside
string values of ``data``, and type tags exist at the top level alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import msgspec
import orjson

from domain.envelope import Draft, Envelope, Recorded, StoredRow
from domain.errors import FormatTooNew, IntegrityError
from domain.events import Event, name_of, type_of
from domain.events.upcasts import lift
from domain.ids import EffectKey, EventId, PrincipalId, RunId, StreamId, TaskId, TenantId
from domain.values import FrameRef

FORMAT = 1
"""Version of the outer layout; a reader refuses a higher one."""
MAX_BODY_BYTES = 1 << 20
"""Largest event; screens and documents are blobs, not event data."""
SAFE_INTEGER = 2**53 - 1
"""RFC 7493 (I-JSON): readers in other languages keep integers up to here."""


def _refuse_unsafe(value: object, path: str) -> None:
    """Raise ``ValueError`` for what has no canonical form."""
    match value:
        case bool() | None | str():
            return
        case int():
            if abs(value) > SAFE_INTEGER:
                message = f"{path}: {value} is beyond 53 bits"
                raise ValueError(message)
        case float():
            message = f"{path}: floats have no canonical form; store an integer in a named unit"
            raise ValueError(message)
        case dict():
            for key, item in value.items():
                _refuse_unsafe(item, f"{path}.{key}")
        case list() | tuple():
            for index, item in enumerate(value):
                _refuse_unsafe(item, f"{path}[{index}]")
        case _:
            message = f"{path}: {type(value).__name__} can't be stored"
            raise ValueError(message)


def canonical(value: object) -> bytes:
    """Canonical JSON bytes of plain data; ``ValueError`` names the path of what can't be written."""
    _refuse_unsafe(value, "$")
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        message = f"$: {error}"
        raise ValueError(message) from error


def encode(draft: Draft) -> bytes:
    """Stored bytes of an event; ``ValueError`` when it is too large or not canonical."""
    envelope = draft.envelope
    name, schema = name_of(draft.event)
    body = canonical(
        {
            "cause": envelope.causation_id,
            "correlation": envelope.correlation_id,
            "data": msgspec.to_builtins(draft.event),
            "format": FORMAT,
            "frames": [msgspec.to_builtins(frame) for frame in envelope.frames],
            "id": envelope.event_id,
            "key": envelope.idempotency_key,
            "name": name,
            "occurred_at_us": envelope.occurred_at_us,
            "principal": envelope.principal,
            "run": envelope.run_id,
            "salt": envelope.salt,
            "schema": schema,
            "stream": envelope.stream,
            "task": envelope.task_id,
            "tenant": envelope.tenant,
            "version": envelope.version,
        }
    )
    if len(body) > MAX_BODY_BYTES:
        message = f"event {name} has {len(body)} bytes, the limit is {MAX_BODY_BYTES}"
        raise ValueError(message)
    return body


@lru_cache(maxsize=256)
def _known(name: str) -> tuple[type, int] | None:
    return type_of(name)


def decode(body: bytes, *, where: str = "event") -> tuple[Envelope, str, int, Event]:
    """Envelope, stored name, stored schema and fact.

    Raises ``FormatTooNew`` for what a newer release wrote and ``IntegrityError`` for bytes that are no event.
    """
    try:
        raw = orjson.loads(body)
        layout = raw["format"]
        if layout > FORMAT:
            message = f"format {layout}, this release knows {FORMAT}"
            raise FormatTooNew(message, where=where)
        name, schema = raw["name"], raw["schema"]
        known = _known(name)
        if known is None:
            message = f"event {name!r} is unknown to this release"
            raise FormatTooNew(message, where=where)
        cls, current = known
        data = raw["data"] if schema == current else lift(name, schema, raw["data"], current=current)
        event = cast("Event", msgspec.convert(data, cls))
        return _envelope(raw), name, schema, event
    except (orjson.JSONDecodeError, KeyError, TypeError, msgspec.ValidationError) as error:
        message = f"not a readable event: {type(error).__name__}: {error}"
        raise IntegrityError(message, where=where) from error


def _envelope(raw: dict[str, Any]) -> Envelope:
    frames = raw["frames"]
    return Envelope(
        event_id=EventId(raw["id"]),
        tenant=TenantId(raw["tenant"]),
        stream=StreamId(raw["stream"]),
        version=raw["version"],
        principal=PrincipalId(raw["principal"]),
        occurred_at_us=raw["occurred_at_us"],
        salt=raw["salt"],
        run_id=None if raw["run"] is None else RunId(raw["run"]),
        task_id=None if raw["task"] is None else TaskId(raw["task"]),
        idempotency_key=None if raw["key"] is None else EffectKey(raw["key"]),
        frames=msgspec.convert(frames, tuple[FrameRef, ...]) if frames else (),
        causation_id=None if raw["cause"] is None else EventId(raw["cause"]),
        correlation_id=raw["correlation"],
    )


def read(row: StoredRow) -> Recorded:
    """Decode a stored row; errors name its tenant and position."""
    envelope, name, schema, event = decode(row.body, where=f"{row.tenant} event {row.position}")
    return Recorded(row=row, envelope=envelope, name=name, schema=schema, event=event)
