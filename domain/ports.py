"""Nouns that the domain needs from outside; adapters are in ``executor`` and fakes in ``tests/support``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import msgspec

from domain.envelope import Draft, Recorded
from domain.ids import EffectKey, EventId, Sha256, StreamId, TenantId
from domain.merkle import root_of


class Clock(Protocol):
    """Time of day."""

    def now_us(self) -> int:
        """Microseconds since 1970 (UTC)."""
        ...


class IdSource(Protocol):
    """Identifiers and randomness."""

    def event_id(self) -> EventId:
        """A new UUIDv7."""
        ...

    def uuid(self) -> str:
        """A new random UUID."""
        ...

    def salt(self) -> str:
        """32 random bytes in hex."""
        ...


class Receipt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What an append returns: the place of its last event and the log's head with it."""

    tenant: TenantId
    first_position: int
    last_position: int
    recorded_at_us: int
    frontier: bytes
    """The tenant's log up to these events, as ``domain.merkle.Frontier`` keeps it."""
    repeated: bool = False
    """True when these very events had been stored before (a lost acknowledgement)."""

    @property
    def root(self) -> bytes:
        """Merkle root of the tenant's log including these events."""
        return root_of(self.last_position, self.frontier)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimInfo:
    """Who holds a business effect."""

    effect_key: EffectKey
    stream: StreamId
    principal: str
    since_us: int


class EventLog(Protocol):
    """The append side of the record, and reading one stream to decide on it."""

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        claim: EffectKey | None = None,
        release: EffectKey | None = None,
    ) -> Receipt:
        """Append events of one tenant and one stream, all or nothing.

        The first draft's version is the expected one. ``claim`` is taken in the same transaction, ``release`` gives
        one back. Raises ``VersionConflict``, ``ClaimTaken``, ``WorldError``.
        """
        ...

    def stream(self, tenant: TenantId, stream: StreamId, *, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream in order of version, from the one after ``after``."""
        ...

    def claim_of(self, tenant: TenantId, effect_key: EffectKey) -> ClaimInfo | None:
        """The open claim on an effect, if there is one."""
        ...


class BlobStore(Protocol):
    """Content-addressed bytes."""

    def put(self, data: bytes, *, media_type: str) -> Sha256:
        """Store once, durable before it returns; the name is the SHA-256 of ``data``."""
        ...

    def put_file(self, file: BinaryIO, *, media_type: str) -> Sha256:
        """The same for all of a seekable file, in memory that doesn't grow with it; read twice, left at its end."""
        ...

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked against their name; ``IntegrityError`` when damaged or missing."""
        ...

    def has(self, sha256: Sha256) -> bool:
        """True if the blob is there (its bytes are not checked)."""
        ...

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order."""
        ...
