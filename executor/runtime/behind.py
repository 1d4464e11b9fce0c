"""Frames are written while the executor goes on; an event that names one waits until it is there.

Rules: what ``put`` was given is durable before anything is appended to the log, so that no event ever names bytes that
a crash could lose; a write that failed fails the append; reading sees what was put. One writer, in the order given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, Final

from domain.envelope import Draft, Recorded
from domain.errors import ProofreelError
from domain.ids import EffectKey, Sha256, StreamId, TenantId
from domain.ports import BlobStore, ClaimInfo, EventLog, Receipt
from executor.store.blobs import name_of_blob

WAITING_LIMIT: Final = 64
"""Frames that may wait for the disk; the next one waits itself."""


class BlobsBehind:
    """A blob store whose writes are under way until ``settle``."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="frames")
        self._under_way: list[Future[Sha256]] = []

    def put(self, data: bytes, *, media_type: str) -> Sha256:
        """Begin to store; durable when ``settle`` returns. A failure is ``settle``'s."""
        if len(self._under_way) >= WAITING_LIMIT:
            self.settle()
        self._under_way.append(self._writer.submit(self._blobs.put, data, media_type=media_type))
        return name_of_blob(data)

    def put_file(self, file: BinaryIO, *, media_type: str) -> Sha256:
        """See ``BlobStore``; durable when it returns."""
        self.settle()
        return self._blobs.put_file(file, media_type=media_type)

    def settle(self) -> None:
        """Wait until everything is durable; the first failure is raised, as the store raised it."""
        under_way, self._under_way = self._under_way, []
        failures = [error for future in under_way if (error := future.exception()) is not None]
        if failures:
            raise failures[0]

    def get(self, sha256: Sha256) -> bytes:
        """See ``BlobStore``."""
        self.settle()
        return self._blobs.get(sha256)

    def has(self, sha256: Sha256) -> bool:
        """See ``BlobStore``."""
        self.settle()
        return self._blobs.has(sha256)

    def names(self) -> Iterator[Sha256]:
        """See ``BlobStore``."""
        self.settle()
        return self._blobs.names()

    def close(self) -> None:
        """End the writer; what no event named is nobody's failure any more."""
        with contextlib.suppress(ProofreelError):
            self.settle()
        self._writer.shutdown()


class LogAfterBlobs:
    """A log that appends only what stands on durable frames."""

    def __init__(self, log: EventLog, blobs: BlobsBehind) -> None:
        self._log = log
        self._blobs = blobs

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        claim: EffectKey | None = None,
        release: EffectKey | None = None,
    ) -> Receipt:
        """See ``EventLog``; ``WorldError`` too when a frame could not be kept: nothing is appended then."""
        self._blobs.settle()
        return self._log.append(drafts, claim=claim, release=release)

    def stream(self, tenant: TenantId, stream: StreamId, *, after: int = 0) -> Iterator[Recorded]:
        """See ``EventLog``."""
        return self._log.stream(tenant, stream, after=after)

    def claim_of(self, tenant: TenantId, effect_key: EffectKey) -> ClaimInfo | None:
        """See ``EventLog``."""
        return self._log.claim_of(tenant, effect_key)
