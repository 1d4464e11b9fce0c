"""Checks the events against the log: bytes, chain, place, and that none of a stream is missing.

The skeleton (all 53-byte leaves of the tenant's log) is read once from the start while the events are read beside
it. Rules, for each leaf and event:

* the event's bytes hash to what its entry says, the entry follows from the one before it in its stream, and the leaf
  at its place holds that very entry, under that stream's tag, with that version
* a leaf with the tag of a stream that is shown, and no event beside it: that event is left out
* times of the store never run backwards; a seal counts its own stream; ids are not used twice

A left out event's leaf still carries its link, so the events behind it are judged on their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.chain import GENESIS, entry_hash
from domain.ids import StreamId, TenantId
from domain.log_format import LEAF_BYTES, LEAF_VERSION, stream_tag
from domain.merkle import Frontier, leaf_hash
from projections.exports.verify import layout
from projections.exports.verify.archive import Archive
from projections.exports.verify.entries import parse_entry
from projections.exports.verify.layout import Entry, Head, PageChunks, References
from projections.exports.verify.report import Findings, Problem

_LEAVES_AT_ONCE = 4096


@dataclass(slots=True)
class StreamState:
    """One stream while the log is walked."""

    name: str
    tag: bytes
    last: bytes = GENESIS
    leaves: int = 0
    shown: int = 0
    sealed: bool = False


@dataclass(slots=True)
class Record:
    """What the events of a bundle say, once checked."""

    root: bytes = b""
    events: int = 0
    recorded_at_us: int = 0
    """Of the last event shown."""
    streams: dict[str, StreamState] = field(default_factory=dict)
    references: References = field(default_factory=References)
    bills: set[str] = field(default_factory=set)
    named_streams: dict[str, str] = field(default_factory=dict)
    """Stream that an event names → label of that event."""
    roots: dict[int, bytes] = field(default_factory=dict)
    """Root of the log at those earlier sizes that were asked for."""
    event_ids: set[str] = field(default_factory=set)
    privacy: list[tuple[Entry, dict[str, Any]]] = field(default_factory=list)
    """Events about redactions, deletions and commitments, in order."""


@dataclass(slots=True)
class _Pair:
    entry: Entry
    body: bytes | None
    """None when the event is withheld."""
    sha256: bytes
    """Of the body as it is here; as the entry says when it is withheld."""


class RecordCheck:
    """One walk along the log; ``run`` gives what the events say."""

    def __init__(
        self,
        archive: Archive,
        head: Head,
        hashes: Mapping[str, str],
        withheld: Mapping[str, Any],
        findings: Findings,
    ) -> None:
        self._archive = archive
        self._head = head
        self._hashes = hashes
        self._withheld = withheld
        self._findings = findings
        tenant = TenantId(head.tenant)
        states = [StreamState(name, stream_tag(tenant, StreamId(name))) for name in head.streams]
        self._record = Record(streams={state.name: state for state in states})
        self._tags = {state.tag: state for state in states}
        self._chunks = PageChunks()

    def run(self, sizes: frozenset[int] = frozenset()) -> Record:
        """Walk the log; ``sizes`` asks for the roots that it had at these sizes."""
        record, frontier, position = self._record, Frontier(), 0
        record.roots[0] = frontier.root()
        pairs = self._pairs()
        pending = next(pairs, None)
        for leaf in self._leaves():
            position += 1
            frontier.append(leaf_hash(leaf))
            if position in sizes:
                record.roots[position] = frontier.root()
            state = self._tags.get(leaf[1:17])
            if state is not None:
                state.leaves += 1
            if pending is not None and pending.entry.position == position:
                self._event(pending, leaf)
                pending = next(pairs, None)
            elif state is not None:
                self._left_out(state, leaf, position)
        while pending is not None:
            what = f"{self._label(pending.entry)} stands beyond the log's {position} entries"
            self._complain("events", what, pending.entry)
            pending = next(pairs, None)
        for path, data in self._chunks.flush():
            self._page(path, data)
        record.root = frontier.root()
        self._compare_head(position)
        return record

    @property
    def chunks(self) -> int:
        """Scripts that the page needs for the events."""
        return self._chunks.count

    def _leaves(self) -> Iterator[bytes]:
        if self._archive.size(layout.SKELETON) % LEAF_BYTES:
            what = f"{layout.SKELETON} is not a whole number of {LEAF_BYTES}-byte leaves"
            self._findings.problem(Problem(check="log", what=what, file=layout.SKELETON))
        for chunk in self._archive.chunks(layout.SKELETON, LEAF_BYTES * _LEAVES_AT_ONCE):
            for offset in range(0, len(chunk) - LEAF_BYTES + 1, LEAF_BYTES):
                yield chunk[offset : offset + LEAF_BYTES]

    def _pairs(self) -> Iterator[_Pair]:
        """Entries with their events; what can't be read is a problem and is skipped."""
        bodies = self._archive.lines(layout.EVENTS, limit=layout.MAX_LINE_BYTES)
        last, body = 0, next(bodies, None)
        for number, line in enumerate(self._archive.lines(layout.ENTRIES, limit=4096), start=1):
            entry = parse_entry(line)
            if entry is None:
                what = f"line {number} of {layout.ENTRIES} is not an entry in its one form"
                self._findings.problem(Problem(check="events", what=what, file=layout.ENTRIES))
                body = next(bodies, None)
                continue
            pair = self._pair(entry, body)
            if pair is None:
                self._complain("complete", f"{self._label(entry)} is left out: its bytes are missing", entry)
                continue
            if pair.body is not None:
                body = next(bodies, None)
            if entry.position <= last:
                self._complain(
                    "events", f"{self._label(entry)} does not come after the event before it", entry
                )
                continue
            last = entry.position
            yield pair
        extra = sum(1 for _ in bodies) + (body is not None)
        if extra:
            what = f"{layout.EVENTS} has events (the last {extra} lines) that {layout.ENTRIES} does not place"
            self._findings.problem(Problem(check="events", what=what, file=layout.EVENTS))

    def _pair(self, entry: Entry, body: bytes | None) -> _Pair | None:
        """The entry with its own bytes; None when the next bytes are those of another event."""
        recorded = bytes.fromhex(entry.body_sha256)
        if entry.event_id in self._withheld:
            return _Pair(entry, None, recorded)
        if body is None:
            return None
        sha256 = hashlib.sha256(body).digest()
        if sha256 != recorded and f'"id":"{entry.event_id}"'.encode() not in body:
            try:
                if json.loads(body)["id"] != entry.event_id:
                    return None
            except (ValueError, KeyError, TypeError, RecursionError):
                pass
        return _Pair(entry, body, sha256)

    def _event(self, pair: _Pair, leaf: bytes) -> None:
        entry, body, record = pair.entry, pair.body, self._record
        shown = self._withheld.get(entry.event_id)
        event = self._parse(entry, body if shown is None else layout.plain_json(shown["shown"]))
        label = self._label(entry, event)
        state = record.streams.get(entry.stream)
        if state is None:
            what = f"{label} belongs to {entry.stream}, which {layout.HEAD} does not list"
            self._complain("events", what, entry, event)
            return
        if pair.sha256.hex() != entry.body_sha256:
            self._complain(
                "events", f"{label} has been changed: its bytes don't hash to its entry", entry, event
            )
        link = entry_hash(
            state.last, pair.sha256, position=entry.position, recorded_at_us=entry.recorded_at_us
        )
        if link.hex() != entry.entry:
            what = f"{label} is not the recorded one: its link does not follow from its bytes and the event before it"
            self._complain("events", what, entry, event)
        self._compare_leaf(entry, event, label, leaf, link)
        if entry.recorded_at_us < record.recorded_at_us:
            self._complain("events", f"{label} was recorded before the event in front of it", entry, event)
        if entry.event_id in record.event_ids:
            self._complain("events", f"{label} has the id of another event", entry, event)
        state.last = leaf[21:]
        state.shown += 1
        record.events += 1
        record.event_ids.add(entry.event_id)
        record.recorded_at_us = max(record.recorded_at_us, entry.recorded_at_us)
        if event is not None:
            self._note(event, entry, state, label)
        for path, data in self._chunks.add(entry, body):
            self._page(path, data)

    def _parse(self, entry: Entry, body: bytes | None) -> dict[str, Any] | None:
        """The event as JSON with the fields that are used here, or None."""
        if body is None:
            return None
        try:
            event = json.loads(body.decode("utf-8"))
            own = (event["id"], event["tenant"], event["stream"], event["version"])
            references = References()
            references.note(event, "")
            readable = isinstance(event["name"], str) and isinstance(event["data"], dict)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            readable = False
        if not readable:
            self._complain("events", f"{self._label(entry)} is not a readable event", entry)
            return None
        if own != (entry.event_id, self._head.tenant, entry.stream, entry.version):
            what = f"{self._label(entry, event)} names another id, tenant, stream or version than its entry"
            self._complain("events", what, entry, event)
        found: dict[str, Any] = event
        return found

    def _compare_leaf(
        self, entry: Entry, event: dict[str, Any] | None, label: str, leaf: bytes, link: bytes
    ) -> None:
        if leaf[0] != LEAF_VERSION or leaf[1:17] != self._record.streams[entry.stream].tag:
            what = f"{label} is not at position {entry.position} of this log: another stream's leaf is there"
        elif int.from_bytes(leaf[17:21], "big") != entry.version:
            what = f"{label} says version {entry.version}, the log has another one there"
        elif leaf[21:] != link:
            what = f"{label} is not what the log holds at position {entry.position}"
        else:
            return
        self._complain("log", what, entry, event)

    def _left_out(self, state: StreamState, leaf: bytes, position: int) -> None:
        version = int.from_bytes(leaf[17:21], "big")
        what = f"event {version} of stream {state.name} (position {position}) is left out"
        self._findings.problem(
            Problem(check="complete", what=what, position=position, stream=state.name, file=layout.EVENTS)
        )
        state.last = leaf[21:]

    def _note(self, event: dict[str, Any], entry: Entry, state: StreamState, label: str) -> None:
        record, name, data = self._record, event["name"], event["data"]
        record.references.note(event, label)
        if name in layout.PRIVACY:
            record.privacy.append((entry, event))
        intent = data.get("intent")
        if isinstance(intent, dict) and isinstance(intent.get("bill_id"), str):
            record.bills.add(intent["bill_id"])
        if name == "case.opened" and isinstance(data.get("bill_id"), str):
            record.bills.add(data["bill_id"])
        if isinstance(event.get("run"), str):
            record.named_streams.setdefault(f"run:{event['run']}", label)
        if name == "task.claim_denied" and isinstance(data.get("holder_stream"), str):
            record.named_streams.setdefault(data["holder_stream"], label)
        state.sealed = name == "task.sealed"
        if state.sealed and data.get("events") != entry.version:
            what = f"{label} seals {data.get('events')} events, and it is number {entry.version}"
            self._complain("complete", what, entry, event)

    def _page(self, path: str, data: bytes) -> None:
        if self._hashes.get(path) != hashlib.sha256(data).hexdigest():
            what = f"{path} does not show the events of {layout.EVENTS}"
            self._findings.problem(Problem(check="page", what=what, file=path))

    def _compare_head(self, size: int) -> None:
        head, record = self._head, self._record
        if size != head.size or record.root.hex() != head.root:
            what = f"{layout.SKELETON} has {size} leaves and root {record.root.hex()}, {layout.HEAD} says otherwise"
            self._findings.problem(Problem(check="log", what=what, file=layout.HEAD))
        for name, state in record.streams.items():
            if state.leaves != head.streams[name]:
                what = f"stream {name} has {state.leaves} events in the log, {layout.HEAD} says {head.streams[name]}"
                self._findings.problem(Problem(check="complete", what=what, stream=name, file=layout.HEAD))

    def _label(self, entry: Entry, event: Mapping[str, Any] | None = None) -> str:
        name = f"{event['name']}, " if event is not None else ""
        return f"event {entry.event_id} ({name}position {entry.position})"

    def _complain(self, check: str, what: str, entry: Entry, event: Mapping[str, Any] | None = None) -> None:
        self._findings.problem(
            Problem(
                check=check,
                what=what,
                file=layout.EVENTS,
                position=entry.position,
                event_id=entry.event_id,
                event_name="" if event is None else str(event["name"]),
                stream=entry.stream,
            )
        )
