"""What the read models need from the record: nothing but reading, in the order of the tenant's log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from domain.envelope import Recorded
from domain.ids import StreamId, TenantId


class EventSource(Protocol):
    """Read-only view of the record; ``projections.reading`` is the real one."""

    def tenants(self) -> Iterable[TenantId]:
        """Every tenant that has a log."""
        ...

    def events(self, tenant: TenantId, *, after: int = 0) -> Iterator[Recorded]:
        """Events of one tenant in order of position, without gaps, from the one after ``after``."""
        ...

    def stream(self, tenant: TenantId, stream: StreamId) -> Iterator[Recorded]:
        """Events of one stream in order of version."""
        ...
