"""Canonical bytes of an event, and back.

Rules: UTF-8 JSON, keys sorted, no white space, integers within 53 bits, no floats, no NaN, no lone surrogates;
enforced on the way in. History is bytes: what is hashed is what is stored, nothing is re-encoded to verify it, so
fields that this release doesn't know survive. Page content can't forge structure: it only ever stands inside
string values of ``data``, and type tags exist at the top level alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import cast

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


_SCALARS = frozenset({str, bool, type(None)})
_KEYS_ARE = frozenset({str})
_sorted = msgspec.json.Encoder(order="sorted").encode
_builtins = msgspec.to_builtins
_values = msgspec.structs.astuple
"""Of an envelope, in the order of its fields: one call for thirteen look-ups."""


def _is_plain(values: Iterable[object]) -> bool:
    """True if all values certainly have a canonical form; False leaves the word to ``canonical``."""
    for value in values:
        kind = type(value)
        if kind is str or kind in _SCALARS:
            continue
        if kind is int:
            if not -SAFE_INTEGER <= value <= SAFE_INTEGER:  # type: ignore[operator]
                return False
        elif kind is dict:
            if not (_KEYS_ARE.issuperset(map(type, value)) and _is_plain(value.values())):  # type: ignore[call-overload,attr-defined]
                return False
        elif kind is not list or not _is_plain(value):  # type: ignore[arg-type]
            return False
    return True


class _Layout(msgspec.Struct, gc=False):
    """What is stored, in the order of its keys; the encoder writes it in one pass."""

    cause: str | None
    correlation: str | None
    data: dict[str, object]
    format: int
    frames: list[dict[str, object]]
    id: str
    key: str | None
    name: str
    occurred_at_us: int
    principal: str
    run: str | None
    salt: str
    schema: int
    stream: str
    task: str | None
    tenant: str
    version: int


def encode(draft: Draft) -> bytes:
    """Stored bytes of an event; ``ValueError`` when it is too large or not canonical.

    The same bytes as ``canonical`` would give, from an encoder that needs no second pass to sort.
    """
    event_id, tenant, stream, version, principal, at_us, salt, run, task, key, screens, cause, correlation = (
        _values(draft.envelope)
    )
    name, schema = name_of(draft.event)
    data = _builtins(draft.event)
    frames = [_builtins(frame) for frame in screens] if screens else []
    plain = (
        type(event_id) is type(tenant) is type(stream) is type(principal) is type(salt) is str
        and type(version) is type(at_us) is int
        and -SAFE_INTEGER <= version <= SAFE_INTEGER
        and -SAFE_INTEGER <= at_us <= SAFE_INTEGER
        and (run is None or type(run) is str)
        and (task is None or type(task) is str)
        and (key is None or type(key) is str)
        and (cause is None or type(cause) is str)
        and (correlation is None or type(correlation) is str)
        and _is_plain(data.values())
        and (not frames or _is_plain(frames))
    )
    layout = _Layout(
        cause,
        correlation,
        data,
        FORMAT,
        frames,
        event_id,
        key,
        name,
        at_us,
        principal,
        run,
        salt,
        schema,
        stream,
        task,
        tenant,
        version,
    )
    try:
        body = _sorted(layout) if plain else canonical(msgspec.structs.asdict(layout))
    except UnicodeEncodeError as error:
        message = f"$: {error}"
        raise ValueError(message) from error
    if len(body) > MAX_BODY_BYTES:
        message = f"event {name} has {len(body)} bytes, the limit is {MAX_BODY_BYTES}"
        raise ValueError(message)
    return body


class _Stored(msgspec.Struct, frozen=True, gc=False):
    """The outer layout with its types; fields that this release doesn't know are passed over."""

    format: int
    id: EventId
    tenant: TenantId
    stream: StreamId
    version: int
    principal: PrincipalId
    occurred_at_us: int
    salt: str
    run: RunId | None
    task: TaskId | None
    key: EffectKey | None
    cause: EventId | None
    correlation: str | None
    frames: tuple[FrameRef, ...]
    name: str
    schema: int
    data: msgspec.Raw


_LAYOUT = msgspec.json.Decoder(_Stored)


@lru_cache(maxsize=256)
def _known(name: str) -> tuple[msgspec.json.Decoder[Event], type, int] | None:
    """Decoder, class and current schema of an event, or None when this release doesn't know it."""
    known = type_of(name)
    return None if known is None else (msgspec.json.Decoder(known[0]), *known)


def decode(body: bytes, *, where: str | StoredRow = "event") -> tuple[Envelope, str, int, Event]:
    """Envelope, stored name, stored schema and fact.

    ``where`` names the bytes in a message, by a text or by the row that holds them. Raises ``FormatTooNew`` for what
    a newer release wrote and ``IntegrityError`` for bytes that are no event.
    """
    try:
        body.decode()  # the decoder passes over what it doesn't know without looking at its UTF-8
        stored = _LAYOUT.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse_newer_layout(body, where)
        raise _unreadable(error, where) from error
    if stored.format > FORMAT:
        raise FormatTooNew(f"format {stored.format}, this release knows {FORMAT}", where=_place(where))
    known = _known(stored.name)
    if known is None:
        raise FormatTooNew(f"event {stored.name!r} is unknown to this release", where=_place(where))
    decoder, cls, current = known
    try:
        if stored.schema == current:
            event = decoder.decode(stored.data)
        else:
            data = lift(stored.name, stored.schema, orjson.loads(bytes(stored.data)), current=current)
            event = cast("Event", msgspec.convert(data, cls))
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable(error, where) from error
    return _envelope(stored), stored.name, stored.schema, event


def _place(where: str | StoredRow) -> str:
    return where if isinstance(where, str) else f"{where.tenant} event {where.position}"


def _refuse_newer_layout(body: bytes, where: str | StoredRow) -> None:
    """A layout from the future need not look like ours; its format number alone must be there."""
    try:
        layout = orjson.loads(body)["format"]
    except (orjson.JSONDecodeError, KeyError, TypeError, IndexError):
        return
    if isinstance(layout, int) and not isinstance(layout, bool) and layout > FORMAT:
        raise FormatTooNew(f"format {layout}, this release knows {FORMAT}", where=_place(where))


def _unreadable(error: Exception, where: str | StoredRow) -> IntegrityError:
    return IntegrityError(f"not a readable event: {type(error).__name__}: {error}", where=_place(where))


def _envelope(stored: _Stored) -> Envelope:
    return Envelope(
        event_id=stored.id,
        tenant=stored.tenant,
        stream=stored.stream,
        version=stored.version,
        principal=stored.principal,
        occurred_at_us=stored.occurred_at_us,
        salt=stored.salt,
        run_id=stored.run,
        task_id=stored.task,
        idempotency_key=stored.key,
        frames=stored.frames,
        causation_id=stored.cause,
        correlation_id=stored.correlation,
    )


def read(row: StoredRow) -> Recorded:
    """Decode a stored row; errors name its tenant and position."""
    envelope, name, schema, event = decode(row.body, where=row)
    return Recorded(row=row, envelope=envelope, name=name, schema=schema, event=event)
