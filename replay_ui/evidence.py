"""Frames, manifests and stored events of a run, out of the desk's data, for the routes.

Rules enforced here:

- A frame is handed out only to a run one of whose events names it; that its bytes are in the store is not enough.
- Bytes go out as they were stored, checked against their name by whoever read them; of what is withheld goes out what
  the redaction names instead.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from domain.codec import canonical
from domain.events import TraceAttached
from domain.ids import Sha256, TenantId
from projections.shown import masked_body
from replay_ui.i18n import LANGUAGES, Words
from replay_ui.phrases import ENGLISH
from replay_ui.player.aligning import aligned_bytes
from replay_ui.player.manifest import CHUNK_SIZE, FrameEntry, GuardReading, Header, chunk_bytes, header_of
from replay_ui.routes import Frame

if TYPE_CHECKING:
    from projections.views.timeline import Entry, Timeline
    from projections.withholding import Deletion
    from replay_ui.data import Desk


class Evidence:
    """``routes.FrameSource`` over a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def header(self, tenant: str, run: str) -> Header | None:
        """Header of the run, or None."""

        def made() -> Header | None:
            line = self._line(tenant, run)
            if line is None:
                return None
            return header_of(line.entries, tenant=tenant, run=run, mode=line.mode, title=line.title)

        return self._desk.answer(("header", run), TenantId(tenant), made).value

    def chunk(self, tenant: str, run: str, k: int, language: str = "") -> bytes | None:
        """Chunk ``k``, in a language of the desk or else in the record's own; or None."""
        line = self._line(tenant, run)
        part = () if line is None else line.entries[k * CHUNK_SIZE : (k + 1) * CHUNK_SIZE]
        words = Words(language) if language in LANGUAGES and language != ENGLISH else None
        return chunk_bytes([player_entry(entry, words) for entry in part], k) if part else None

    def aligned(self, tenant: str, run: str, other: str) -> bytes | None:
        """Which frames of ``other`` stand beside those of ``run``, or None."""

        def made() -> bytes | None:
            mine, theirs = self._line(tenant, run), self._line(tenant, other)
            return None if mine is None or theirs is None else aligned_bytes(mine.entries, theirs.entries)

        return self._desk.answer(("aligned", run, other), TenantId(tenant), made).value

    def frame(self, tenant: str, run: str, sha256: str) -> Frame | None:
        """Bytes of a frame of this run, or None.

        Raises:
            IntegrityError: the store noticed that the bytes are not what was recorded.
        """
        named = self._desk.frames(TenantId(tenant), run).get(sha256)
        if named is None:
            return None
        name, inforce = Sha256(sha256), self._desk.reader.withholding(TenantId(tenant))
        if not self._desk.blobs.has(name):
            gone = inforce.deleted.get(name)
            return None if gone is None else Frame(b"", named.media_type, deleted=_deleted(gone))
        instead = inforce.frames.get(name)
        if instead is not None and instead.request.rendition is not None:
            rendition = instead.request.rendition
            return Frame(self._desk.blobs.get(rendition), "image/png", withheld=rendition)
        return Frame(self._desk.blobs.get(name), named.media_type)

    def event(self, tenant: str, run: str, position: int) -> bytes | None:
        """Stored JSON of an event of this run, or what is shown of it, or None."""
        recorded = self._desk.stored(TenantId(tenant), position)
        if recorded is None or recorded.envelope.run_id != run:
            return None
        inforce = self._desk.reader.withholding(TenantId(tenant))
        instead = inforce.events.get(recorded.envelope.event_id)
        body = recorded.row.body
        if instead is not None and instead.request.rendition is not None:
            body = self._desk.blobs.get(instead.request.rendition)
        return canonical(masked_body(body, inforce.masks)) if inforce.masks.stand_in(body) else body

    def trace(self, tenant: str, run: str, position: int) -> bytes | None:
        """The browser's trace that an event of this run attached, or None.

        A trace shows what screens and events show, so a task of which any is withheld shows no trace.
        """
        recorded = self._desk.stored(TenantId(tenant), position)
        if (
            recorded is None
            or recorded.envelope.run_id != run
            or not isinstance(recorded.event, TraceAttached)
        ):
            return None
        inforce = self._desk.reader.withholding(TenantId(tenant))
        beside = list(self._desk.reader.stream(TenantId(tenant), recorded.row.stream))
        screens = {frame.sha256 for one in beside for frame in one.envelope.frames}
        told = {one.envelope.event_id for one in beside}
        if not (screens.isdisjoint(inforce.frames) and told.isdisjoint(inforce.events)):
            return None
        return (
            self._desk.blobs.get(recorded.event.blob) if self._desk.blobs.has(recorded.event.blob) else None
        )

    def _line(self, tenant: str, run: str) -> Timeline | None:
        return self._desk.timeline(TenantId(tenant), run)


def _deleted(gone: Deletion) -> str:
    day = datetime.fromtimestamp(gone.at_us // 1_000_000, UTC).date().isoformat()
    return f"Deleted on {day} by {gone.fact.by}: {gone.fact.basis}"


def player_entry(entry: Entry, words: Words | None = None) -> FrameEntry:
    """An entry of the timeline as a column of the player's manifest, in other words than the record's where given."""
    plain = {name: getattr(entry, name) for name in FrameEntry.__struct_fields__}
    plain["guards"] = tuple(GuardReading(**asdict(reading)) for reading in entry.guards)
    if words is not None:
        plain["summary"] = words.said(entry.summary)
        plain["verdict"] = words.of("verdict", entry.verdict) if entry.verdict else ""
    return FrameEntry(**plain)
