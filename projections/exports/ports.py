"""What an export needs from the record and from the blobs: reading, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from domain.envelope import Recorded, StoredRow
from domain.ids import EventId, Sha256, StreamId, TenantId


class LogHead(Protocol):
    """The stored head of a tenant's log."""

    @property
    def size(self) -> int:
        """Number of events."""
        ...

    @property
    def root(self) -> bytes:
        """Merkle root over all leaves."""
        ...


class BundleSource(Protocol):
    """Read-only view of the record; ``projections.reading.RecordReader`` is the real one."""

    def head(self, tenant: TenantId) -> LogHead | None:
        """Head of the tenant's log, None when it has none."""
        ...

    def leaves(self, tenant: TenantId, size: int | None = None) -> bytes:
        """The first ``size`` leaves of the tenant's log (53 bytes each), joined."""
        ...

    def rows(self, tenant: TenantId, after: int = 0) -> Iterator[StoredRow]:
        """Stored rows in order of position, from the one after ``after``."""
        ...

    def events(
        self, tenant: TenantId, after: int = 0, names: Sequence[str] | None = None
    ) -> Iterator[Recorded]:
        """Events in order of position; ``names`` keeps only those stored names."""
        ...

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream in order of version."""
        ...

    def streams(self, tenant: TenantId, kind: str) -> Sequence[StreamId]:
        """Names of the streams of one kind (``redaction``), in order of their first event."""
        ...

    def find(self, tenant: TenantId, event_id: EventId) -> Recorded | None:
        """One event by its id."""
        ...


class BlobSource(Protocol):
    """Content-addressed bytes, read side; asked by several threads at once."""

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked against their name; ``IntegrityError`` when damaged or missing."""
        ...

    def has(self, sha256: Sha256) -> bool:
        """True if the bytes can still be had (they are not checked)."""
        ...
