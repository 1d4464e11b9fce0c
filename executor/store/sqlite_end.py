"""What a writer on SQLite knows of the end of one tenant's log: its head, and what isn't filed yet.

Rules: it is true as long as no other connection commits, which the writer asks SQLite before each use; after another's
commit only what is new is read. Events are filed (``FILE_AFTER``) in the transaction that makes them so many.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from domain.chain import GENESIS, entry_of
from domain.errors import IntegrityError
from domain.ids import StreamId, TenantId
from domain.log_format import hashed_leaf, stream_tag
from domain.merkle import Frontier
from executor.store.requests import Refusal, Refused
from executor.store.schema import LAST_POSITION, POSITION_BITS

if TYPE_CHECKING:
    from executor.store.requests import Entry

FILE_AFTER = 128
"""Events at the end of a log that are found by looking at them, at most."""
STREAMS_KEPT: Final = 4096
"""Ends of streams that are remembered when everything is filed, at most."""

_HEAD: Final = (
    "SELECT t.no, h.size, h.filed, h.recorded_at_us, h.frontier"
    " FROM tenant t LEFT JOIN tenant_head h ON h.tenant = t.name WHERE t.name = ?"
)
_NEW_TENANT: Final = "INSERT INTO tenant (name) VALUES (?)"
_NEW_HEAD: Final = (
    "INSERT INTO tenant_head (tenant, size, recorded_at_us, frontier, filed) VALUES (?, 0, 0, x'', 0)"
)
_SAVE_HEAD: Final = (
    "UPDATE tenant_head SET size = ?, recorded_at_us = ?, frontier = ?, filed = ? WHERE tenant = ?"
)
_END: Final = (
    "SELECT id, stream, version, event_id, entry_hash FROM event WHERE id > ? AND id <= ? ORDER BY id"
)
_NEWEST: Final = "SELECT max(event_id) FROM event_place WHERE tenant = ?"
_FIND_ID: Final = "SELECT 1 FROM event_place WHERE tenant = ? AND event_id = ?"
_FIND_STREAM: Final = (
    "SELECT p.version + p.count - 1, e.entry_hash FROM stream_place p"
    " LEFT JOIN event e ON e.id = p.id + p.count - 1"
    " WHERE p.tenant = ? AND p.stream = ? ORDER BY p.version DESC LIMIT 1"
)
_FILE_EVENTS: Final = "INSERT INTO event_place SELECT ?, event_id, id FROM event WHERE id > ? AND id <= ?"
"""Few events at a time need no order: their ids rise with time as they are."""
_IN_ORDER: Final = " ORDER BY event_id"
_FILE_RUN: Final = "INSERT INTO stream_place (tenant, stream, version, id, count) VALUES (?, ?, ?, ?, ?)"
_FILE_STREAMS: Final = (
    "INSERT INTO stream_place SELECT ?, stream, min(version), min(id), count(*) FROM event"
    " WHERE id > ? AND id <= ? GROUP BY stream, version - id ORDER BY stream, min(version)"
)
_Tail = tuple[int, bytes, bytes]
"""Last version of a stream, its link, the stream's tag."""
_Run = list[Any]
"""Events of a stream that stand in a row: the stream, first version, first key, how many."""


class LogEnd:
    """Head and unfiled events of a tenant's log within one connection."""

    __slots__ = (
        "_tenant",
        "base",
        "filed",
        "frontier",
        "newest_filed",
        "no",
        "recent",
        "recorded_at_us",
        "runs",
        "stale",
        "tails",
    )

    def __init__(self, connection: sqlite3.Connection, tenant: str) -> None:
        self._tenant = tenant
        self.frontier = Frontier()
        self.recorded_at_us = 0
        self.filed = 0
        self.newest_filed = ""
        self.recent: set[str] = set()
        """Ids of unfiled events."""
        self.runs: list[_Run] = []
        """Unfiled events in the order of the log, as ``stream_place`` will have them."""
        self.tails: dict[str, _Tail] = {}
        """Ends of all streams with unfiled events, and of some others."""
        self.stale = False
        if connection.execute(_HEAD, (tenant,)).fetchone() is None:
            connection.execute(_NEW_TENANT, (tenant,))
            connection.execute(_NEW_HEAD, (tenant,))
        self.refresh(connection)

    def refresh(self, connection: sqlite3.Connection) -> bool:
        """Take in what others have committed; False when the log isn't there any more."""
        row = connection.execute(_HEAD, (self._tenant,)).fetchone()
        if row is None:
            return False
        no, size, filed, at, frontier = row
        if size is None:
            raise IntegrityError("the head is missing", where=f"log of {self._tenant}")
        self.no, self.base, self.stale = no, no << POSITION_BITS, False
        known = self.frontier.size
        if (size, filed) == (known, self.filed) and frontier == self.frontier.state():
            return True
        if filed != self.filed or size < known:
            self.recent.clear()
            self.runs.clear()
            self.tails.clear()
            known = filed
            self.newest_filed = connection.execute(_NEWEST, (no,)).fetchone()[0] or ""
        tails, recent, runs, tenant = self.tails, self.recent, self.runs, TenantId(self._tenant)
        for key, stream, version, event_id, link in connection.execute(
            _END, (self.base + known, self.base + size)
        ):
            recent.add(event_id)
            if not runs or runs[-1][0] != stream:
                runs.append([stream, version, key, 0])
            runs[-1][3] += 1
            tail = tails.get(stream)
            tails[stream] = (version, link, tail[2] if tail else stream_tag(tenant, StreamId(stream)))
        self.frontier = Frontier(size, frontier)
        self.filed, self.recorded_at_us = filed, at
        return True

    def link(
        self, connection: sqlite3.Connection, entries: Sequence[Entry], at: int
    ) -> list[tuple[object, ...]]:
        """Rows of the entries, linked to their streams and added to the tree."""
        tenant, base, tails, runs, frontier = self._tenant, self.base, self.tails, self.runs, self.frontier
        position = frontier.size
        run: _Run = runs[-1] if runs else [None]
        rows: list[tuple[object, ...]] = []
        leaves: list[bytes] = []
        for entry in entries:
            stream, version, body = entry.stream, entry.version, entry.body
            last, previous, tag = tails.get(stream) or self._tail(connection, entry)
            if version != last + 1:
                raise Refused(Refusal("version", stream, expected=version - 1, found=last))
            position += 1
            link = entry_of(previous, body, position, at)
            leaves.append(hashed_leaf(tag, version, link))
            tails[stream] = (version, link, tag)
            key = base + position
            if stream == run[0]:
                run[3] += 1
            else:
                run = [stream, version, key, 1]
                runs.append(run)
            rows.append((key, tenant, stream, version, entry.event_id, entry.name, at, link, body))
        if position > LAST_POSITION:
            raise IntegrityError(f"a log holds {LAST_POSITION} events at most", where=f"log of {tenant}")
        self._take_ids(connection, entries)
        frontier.extend(leaves)
        self.recorded_at_us = at
        return rows

    def _tail(self, connection: sqlite3.Connection, entry: Entry) -> _Tail:
        """End of a filed stream; a stream may start at version 0 or 1."""
        stream = entry.stream
        tag = stream_tag(TenantId(self._tenant), StreamId(stream))
        row = connection.execute(_FIND_STREAM, (self.no, stream)).fetchone()
        if row is None:
            return (-1 if entry.version == 0 else 0), GENESIS, tag
        if row[1] is None:
            raise IntegrityError(f"the last event of {stream} is missing", where=f"log of {self._tenant}")
        return row[0], row[1], tag

    def _take_ids(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        """Each id is used once; ids rise with time, so that most are beyond all that are filed."""
        recent, newest = self.recent, self.newest_filed
        for entry in entries:
            event_id = entry.event_id
            if event_id in recent or (
                event_id <= newest and connection.execute(_FIND_ID, (self.no, event_id)).fetchone()
            ):
                raise Refused(Refusal("event_id", event_id))
            recent.add(event_id)

    def save(self, connection: sqlite3.Connection) -> None:
        """File what is due, and write the head."""
        size = self.frontier.size
        if size - self.filed >= FILE_AFTER:
            self._file(connection)
        connection.execute(
            _SAVE_HEAD, (size, self.recorded_at_us, self.frontier.state(), self.filed, self._tenant)
        )

    def _file(self, connection: sqlite3.Connection) -> None:
        size = self.frontier.size
        connection.execute(_FILE_EVENTS, (self.no, self.base + self.filed, self.base + size))
        connection.executemany(_FILE_RUN, [(self.no, *run) for run in self.runs])
        self.filed = size
        self.newest_filed = max(self.newest_filed, *self.recent)
        self.recent.clear()
        self.runs.clear()
        if len(self.tails) > STREAMS_KEPT:
            self.tails.clear()


def file_events(connection: sqlite3.Connection, no: int, after: int, until: int) -> None:
    """Enter the events of tenant ``no`` at these positions in the tables that find them, by what their rows say."""
    base = no << POSITION_BITS
    places = (no, base + after, base + until)
    connection.execute(_FILE_EVENTS + _IN_ORDER, places)
    connection.execute(_FILE_STREAMS, places)
