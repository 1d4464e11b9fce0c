"""What may no longer be shown of a tenant's record, and why: redactions in force, and stored bytes that were deleted.

Rules enforced here:

* Only the record says so: a redaction is in force when another person than the requester approved exactly that request.
* The latest redaction of a subject counts; nothing is ever shown again by a later one alone.
* Texts that were withheld in one event are withheld wherever they stand (``projections.masking``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from domain import events as e
from domain.codec import read
from domain.envelope import Recorded, StoredRow
from domain.errors import ConfigError
from domain.fields import SALT, leaves_of
from domain.ids import EventId, PrincipalId, Sha256, StreamId, TenantId
from domain.privacy import digest_of
from projections.masking import Masks

KINDS = ("redaction", "deletion", "retention", "commitments")
"""Kinds of streams about withholding; what they say is itself never withheld."""


class RawSource(Protocol):
    """The record as it is stored."""

    def streams(self, tenant: TenantId, kind: str) -> Sequence[StreamId]:
        """Names of the streams of one kind."""
        ...

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream in order of version."""
        ...

    def find(self, tenant: TenantId, event_id: EventId) -> Recorded | None:
        """One event by its id."""
        ...


@dataclass(frozen=True, slots=True)
class Redaction:
    """A redaction in force."""

    stream: StreamId
    position: int
    """Of the approval."""
    request: e.RedactionRequested
    approver: PrincipalId
    at_us: int
    """When the approval was recorded, microseconds since 1970 (UTC)."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Stored bytes that went with their key."""

    stream: StreamId
    position: int
    fact: e.DataDeleted
    at_us: int


@dataclass(slots=True)
class Withholding:
    """Everything in force for one tenant."""

    frames: dict[Sha256, Redaction] = field(default_factory=dict)
    documents: dict[Sha256, Redaction] = field(default_factory=dict)
    events: dict[EventId, Redaction] = field(default_factory=dict)
    deleted: dict[Sha256, Deletion] = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks)

    def gone(self, sha256: Sha256, *, there: bool) -> str:
        """Why a document isn't shown; empty when it may be. ``there``: its bytes can still be had."""
        if sha256 in self.documents:
            one = self.documents[sha256]
            return f"it is withheld by {one.stream}: {one.request.basis}"
        if sha256 in self.deleted and not there:
            fact = self.deleted[sha256].fact
            return f"it was deleted by {fact.by}: {fact.basis}"
        return ""

    def require_document(self, sha256: Sha256, what: str, *, there: bool) -> None:
        """``ConfigError`` with the reason when a document isn't shown; ``what`` names it."""
        why = self.gone(sha256, there=there)
        if why:
            raise ConfigError(f"{what} can't be shown: {why}", remedy="see 'proofreel redact list'")

    def __bool__(self) -> bool:
        """True if anything is withheld or deleted."""
        return bool(self.frames or self.documents or self.events or self.deleted)


def load(source: RawSource, tenant: TenantId) -> Withholding:
    """Read what is in force; cheap where there are no redactions and deletions."""
    found = Withholding()
    approved = [
        one for stream in source.streams(tenant, "redaction") if (one := _in_force(source, tenant, stream))
    ]
    values: dict[str, str] = {}
    for one in sorted(approved, key=lambda item: item.position):
        match one.request.kind:
            case "frame":
                found.frames[Sha256(one.request.subject)] = one
            case "document":
                found.documents[Sha256(one.request.subject)] = one
            case "event":
                found.events[EventId(one.request.subject)] = one
                for text, mark in _texts(source, tenant, one):
                    values.setdefault(text, mark)
    found.masks = Masks(values)
    for stream in source.streams(tenant, "deletion"):
        for recorded in map(_raw, source.stream(tenant, stream)):
            if isinstance(fact := recorded.event, e.DataDeleted):
                made = Deletion(stream, recorded.row.position, fact, recorded.row.recorded_at_us)
                found.deleted |= dict.fromkeys(fact.blobs, made)
    return found


def _raw(recorded: Recorded) -> Recorded:
    return read(recorded.row)


def _in_force(source: RawSource, tenant: TenantId, stream: StreamId) -> Redaction | None:
    request: e.RedactionRequested | None = None
    for recorded in map(_raw, source.stream(tenant, stream)):
        fact = recorded.event
        if isinstance(fact, e.RedactionRequested):
            request = fact
        if (
            isinstance(fact, e.RedactionApproved)
            and request is not None
            and fact.digest == digest_of(request)
            and fact.approver != request.requested_by
        ):
            row: StoredRow = recorded.row
            return Redaction(stream, row.position, request, fact.approver, row.recorded_at_us)
    return None


def _texts(source: RawSource, tenant: TenantId, one: Redaction) -> Iterator[tuple[str, str]]:
    """Withheld texts with what stands in their place: a name out of the salted root, so that equals stay equal."""
    recorded = source.find(tenant, EventId(one.request.subject))
    if recorded is None:
        return
    values: dict[str, Any] = leaves_of(json.loads(recorded.row.body))
    for number, pointer in enumerate(one.request.fields, start=1):
        if pointer != SALT and isinstance(value := values.get(pointer), str):
            yield value, f"[withheld {one.request.root[:8]}.{number}]"
