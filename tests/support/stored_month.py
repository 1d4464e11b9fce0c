"""A record in memory as the month end at scale reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domain.envelope import Recorded, StoredRow
from domain.ids import StreamId, TenantId


class MemoryRecord:
    """Reads a list of events of one tenant."""

    def __init__(self, events: Sequence[Recorded]) -> None:
        self._events = events
        self._streams: dict[str, list[Recorded]] = {}
        for recorded in events:
            self._streams.setdefault(recorded.row.stream, []).append(recorded)
        self.read_whole = 0
        """How often the log was read from its beginning."""
        self.streams_read = 0

    def tenants(self) -> Sequence[TenantId]:
        """The one tenant there is."""
        return [self._events[0].row.tenant] if self._events else []

    def events(self, tenant: TenantId, after: int = 0) -> Iterator[Recorded]:
        """Events after a position."""
        self.read_whole += not after
        return iter(self._events[after:])

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream."""
        self.streams_read += 1
        return (one for one in self._streams.get(stream, []) if one.row.version > after)

    def rows(self, tenant: TenantId, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Stored rows after a position."""
        until = None if limit is None else after + limit
        return (one.row for one in self._events[after:until])
