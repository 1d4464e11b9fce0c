"""What a reader of the record hands out beside events: rows as they are stored, not yet believed."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from domain.envelope import StoredRow
from domain.ids import EffectKey, EventId, StreamId, TenantId
from domain.merkle import root_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the store says of the end of a tenant's log."""

    tenant: TenantId
    size: int
    recorded_at_us: int
    frontier: bytes

    @property
    def root(self) -> bytes:
        """Root of the log as the frontier gives it; nothing when the frontier is of another size."""
        try:
            return root_of(self.size, self.frontier)
        except ValueError:
            return b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """One claim on a business effect as stored, and its release if there is one."""

    tenant: TenantId
    effect_key: EffectKey
    generation: int
    stream: StreamId
    principal: str
    event_id: EventId
    claimed_at_us: int
    release_event_id: EventId | None
    released_at_us: int | None


class IndexedRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored row with the columns that repeat parts of its body."""

    row: StoredRow
    event_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A signed checkpoint as stored."""

    tenant: TenantId
    size: int
    note: str
    signed_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttestationRow:
    """What somebody outside said about a checkpoint: a witness (``cosignature``), an authority (``rfc3161``)."""

    tenant: TenantId
    size: int
    kind: str
    signer: str
    content: bytes
    received_at_us: int
