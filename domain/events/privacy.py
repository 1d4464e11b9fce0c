"""Facts about what is withheld, held and deleted: on which basis, asked for by whom, allowed by whom (X7).

Nothing here changes or removes an event. A redaction decides what is shown and exported from then on; a deletion
destroys the key of stored bytes, and the events keep their hash.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from domain.events.base import fact
from domain.ids import EventId, PrincipalId, Sha256
from domain.values import Box

RedactionKind = Literal["frame", "event", "document"]
"""Rectangles of a screen; fields of an event; a whole document or settlement file."""
DataKind = Literal["frame", "document"]


@fact("commitments.recorded")
class CommitmentsRecorded:
    """Roots over salted tiles and fields, recorded before anybody asked for anything to be withheld.

    A later redaction of the same screen or event has to give the same root: what it shows is then what was there at
    this event's time. The recorder vouches for it.
    """

    frames: dict[str, Sha256] = field(default_factory=dict)
    """Screen → root over its salted tiles (``domain.tiles``)."""
    events: dict[str, Sha256] = field(default_factory=dict)
    """Event id → root over its salted fields (``domain.fields``)."""


@fact("redaction.requested")
class RedactionRequested:
    """Somebody asks that something is no longer shown or exported. Nothing is withheld yet."""

    kind: RedactionKind
    subject: str
    """SHA-256 of the screen or document; id of the event."""
    basis: str
    """Law or policy that asks for it: ``GDPR Art. 17, request 2026-31``."""
    requested_by: PrincipalId
    regions: tuple[Box, ...] = ()
    """Rectangles of the screen, in its pixels."""
    fields: tuple[str, ...] = ()
    """JSON pointers (RFC 6901) into the stored event, sorted; its salt is among them."""
    root: str = ""
    """Root over all salted tiles or fields, shown and withheld, in hex; empty for a document."""
    committed_in: EventId | None = None
    """The ``commitments.recorded`` that named this root before."""
    rendition: Sha256 | None = None
    """What is shown instead: a PNG (``domain.tiles``) or JSON (``domain.fields``); None for a document."""
    opening: Sha256 | None = None
    """JSON with the salts of what is shown and the leaves of what is withheld."""


@fact("redaction.approved")
class RedactionApproved:
    """Another person allows exactly that request; from here on it is in force."""

    digest: Sha256
    """Of the request (``domain.privacy.digest_of``)."""
    approver: PrincipalId
    note: str = ""


@fact("redaction.denied")
class RedactionDenied:
    """Another person refuses the request; everything stays as it was."""

    digest: Sha256
    approver: PrincipalId
    note: str = ""


@fact("hold.placed")
class HoldPlaced:
    """A legal hold: nothing that it covers may be deleted until it is released."""

    hold_id: str
    kind: DataKind | None
    """None: of every kind."""
    month: str
    """Month of capture, ``YYYY-MM``; empty: of every month."""
    basis: str
    by: PrincipalId


@fact("hold.released")
class HoldReleased:
    """The hold ends; what is due may be deleted again."""

    hold_id: str
    basis: str
    by: PrincipalId


@fact("deletion.ordered")
class DeletionOrdered:
    """The key of a retention unit is about to be destroyed; recorded where holds are, so that none is overlooked."""

    deletion_id: str
    unit: str
    """Kind and month: ``frame/2026-11``."""
    key_id: str
    """The data key that goes."""
    basis: str
    by: PrincipalId
    blobs: int
    """Stored contents under that key."""


@fact("data.deleted")
class DataDeleted:
    """The key is gone, and with it the bytes under these names; what events say of them stays."""

    deletion_id: str
    unit: str
    key_id: str
    basis: str
    by: PrincipalId
    part: int
    """From 1; a long list is cut."""
    parts: int
    blobs: tuple[Sha256, ...]
    """SHA-256 of the bytes as they were recorded, sorted."""
