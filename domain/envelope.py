"""What surrounds every fact: identity, tenant, key, screens, causes and places.

Three parts with different authors: ``Envelope`` is written by whoever appends and is inside the hashed bytes;
``Recorded`` adds what the store assigned under the tenant's head (position, time, chain); ``Draft`` is an envelope
and a fact on their way in.

What is read back by the million (``Envelope``, ``StoredRow``, ``Recorded``) is a frozen ``msgspec.Struct``: it is made
several times faster than a frozen dataclass, and the garbage collector needn't follow it. Copies with another value
come from ``msgspec.structs.replace``.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from domain.events import Event
from domain.ids import EffectKey, EventId, PrincipalId, RunId, StreamId, TaskId, TenantId
from domain.values import FrameRef


class Envelope(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Written by the appender; part of the hashed bytes."""

    event_id: EventId
    tenant: TenantId
    stream: StreamId
    version: int
    """1-based, without gaps in its stream."""
    principal: PrincipalId
    occurred_at_us: int
    """Clock of the appender, microseconds since 1970 (UTC)."""
    salt: str
    """32 random bytes in hex: the leaf of a withheld event can't be guessed."""
    run_id: RunId | None = None
    task_id: TaskId | None = None
    idempotency_key: EffectKey | None = None
    frames: tuple[FrameRef, ...] = ()
    causation_id: EventId | None = None
    """The event that led to this one."""
    correlation_id: str | None = None
    """Groups what belongs to one business case across tasks and runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event that is about to be appended."""

    envelope: Envelope
    event: Event


class StoredRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The bytes as the store keeps them; everything else is derived from these."""

    tenant: TenantId
    position: int
    """1-based, without gaps in the tenant's log."""
    stream: StreamId
    version: int
    recorded_at_us: int
    """Clock of the store; never runs backwards within a tenant."""
    body: bytes
    """Canonical JSON of envelope and fact (``domain.codec``)."""
    entry_hash: bytes
    """Link of the stream's chain (``domain.chain``)."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event read back: the stored row and what it says."""

    row: StoredRow
    envelope: Envelope
    name: str
    schema: int
    """Schema version as stored; ``event`` is lifted to the current one."""
    event: Event
