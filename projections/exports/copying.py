"""Copies the selected streams out of the record, byte for byte, and checks the record's own proof on the way."""

from __future__ import annotations

import contextlib
import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from domain import notes
from domain.chain import GENESIS, body_hash, entry_hash
from domain.envelope import StoredRow
from domain.errors import ConfigError, IntegrityError
from domain.ids import EventId, StreamId, TenantId
from domain.log_format import LEAF_BYTES
from domain.merkle import Frontier, leaf_hash
from projections.exports.ports import BundleSource
from projections.exports.verify.layout import Entry, PageChunks, References
from projections.exports.withhold import LeakCheck
from projections.exports.zipwriter import Piece, Spool

_BODY = msgspec.json.Decoder(dict[str, Any])
MAX_CURSORS = 32
"""Up to this many streams are read one by one; for more, the log is read through once."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """All leaves of the log up to ``size``, and the root over them."""

    leaves: bytes
    size: int
    root: bytes


@dataclass(slots=True)
class Copied:
    """The events, spooled, and what they name."""

    events: Piece
    entries: Piece
    page: Mapping[str, Piece]
    streams: Mapping[str, int]
    references: References
    recorded_at_us: int
    count: int
    withheld: frozenset[EventId]
    """Ids of those events that are placed and not shown."""


@dataclass(slots=True)
class _State:
    streams: dict[str, int]
    last: dict[str, bytes] = field(default_factory=dict)
    references: References = field(default_factory=References)
    page: dict[str, Piece] = field(default_factory=dict)
    withheld: set[EventId] = field(default_factory=set)
    count: int = 0
    recorded_at_us: int = 0


def read_skeleton(source: BundleSource, tenant: TenantId, checkpoint: str | None) -> Skeleton:
    """Leaves up to the checkpoint, or to the head, once the root over them is that of the checkpoint or the head.

    ``ConfigError`` when the checkpoint is none, ``IntegrityError`` when it is ahead of the log or the record doesn't
    add up.
    """
    head = source.head(tenant)
    if head is None or head.size == 0:
        raise ConfigError(
            f"the record has no events of tenant {tenant}", remedy="check the name of the tenant"
        )
    size, expected = head.size, head.root
    if checkpoint is not None:
        try:
            parsed = notes.parse_checkpoint(notes.split_note(checkpoint)[0])
        except IntegrityError as error:
            raise ConfigError(str(error), remedy="give the checkpoint as it was signed") from error
        size, expected = parsed.size, parsed.root
        if not 0 < size <= head.size:
            what = f"checkpoint of {size} events, log of {head.size}: it is of another log, or the record was set back"
            raise IntegrityError(what, where=f"log of {tenant}")
    leaves = source.leaves(tenant, size)
    frontier = Frontier()
    for offset in range(0, len(leaves), LEAF_BYTES):
        frontier.append(leaf_hash(leaves[offset : offset + LEAF_BYTES]))
    if frontier.size != size or frontier.root() != expected:
        what = f"the events recompute to {frontier.size} with root {frontier.root().hex()}, not to {expected.hex()}"
        raise IntegrityError(what, where=f"log of {tenant}")
    return Skeleton(leaves, size, expected)


def copy_events(
    source: BundleSource,
    tenant: TenantId,
    streams: Sequence[StreamId],
    skeleton: Skeleton,
    shown: Mapping[EventId, bytes],
    leaks: LeakCheck,
    spool: tuple[Spool, Spool, Spool],
) -> Copied:
    """Copy the streams in the order of the log; ``shown`` has what is shown of those events that are withheld.

    ``IntegrityError`` names the event that is not as it was recorded.
    """
    events, entries, page = spool
    state = _State(streams=dict.fromkeys(sorted(streams), 0))
    chunks = PageChunks()
    for row in _rows(source, tenant, streams, skeleton.size):
        entry, raw = _checked(row, state, skeleton)
        hidden = entry.event_id in shown
        entries.write(entry.line())
        if hidden:
            state.withheld.add(EventId(entry.event_id))
            raw = json.loads(shown[EventId(entry.event_id)])
        else:
            events.write(row.body + b"\n")
            leaks.look(row.body, f"event {entry.event_id} ({raw['name']})")
        state.references.note(raw, f"event {entry.event_id}")
        for path, data in chunks.add(entry, None if hidden else row.body):
            page.write(data)
            state.page[path] = page.piece()
    for path, data in chunks.flush():
        page.write(data)
        state.page[path] = page.piece()
    return Copied(
        events=events.piece(),
        entries=entries.piece(),
        page=state.page,
        streams={name: count for name, count in state.streams.items() if count},
        references=state.references,
        recorded_at_us=state.recorded_at_us,
        count=state.count,
        withheld=frozenset(state.withheld),
    )


def _rows(
    source: BundleSource, tenant: TenantId, streams: Sequence[StreamId], size: int
) -> Iterator[StoredRow]:
    if len(streams) <= MAX_CURSORS:
        cursors = [(recorded.row for recorded in source.stream(tenant, stream)) for stream in streams]
        rows: Iterator[StoredRow] = heapq.merge(*cursors, key=lambda row: row.position)
    else:
        wanted = frozenset(streams)
        rows = (row for row in source.rows(tenant) if row.stream in wanted)
    for row in rows:
        if row.position > size:
            return
        yield row


def _checked(row: StoredRow, state: _State, skeleton: Skeleton) -> tuple[Entry, dict[str, Any]]:
    """The row's entry and JSON, if its chain and its leaf are right."""
    sha256 = body_hash(row.body)
    previous = state.last.get(row.stream, GENESIS)
    link = entry_hash(previous, sha256, position=row.position, recorded_at_us=row.recorded_at_us)
    leaf = skeleton.leaves[(row.position - 1) * LEAF_BYTES : row.position * LEAF_BYTES]
    state.streams[row.stream] += 1
    if link != row.entry_hash or leaf[21:] != link or state.streams[row.stream] != row.version:
        what = "its bytes or its place are not as they were recorded"
        raise IntegrityError(what, where=f"{row.tenant} event {row.position} ({_name_in(row.body)})")
    raw = _BODY.decode(row.body)
    state.last[row.stream] = link
    state.count += 1
    state.recorded_at_us = row.recorded_at_us
    entry = Entry(
        position=row.position,
        stream=row.stream,
        version=row.version,
        recorded_at_us=row.recorded_at_us,
        entry=link.hex(),
        body_sha256=sha256.hex(),
        event_id=raw["id"],
    )
    return entry, raw


def _name_in(body: bytes) -> str:
    """The name of an event whose bytes are not to be trusted."""
    with contextlib.suppress(msgspec.DecodeError):
        return str(_BODY.decode(body).get("name"))
    return "unreadable"
