"""Records redactions: requests, answers and commitments, each in the name of the person or service (X7).

Rules: whoever asks needs the right ``redact``, whoever answers ``approve:redaction``, both for the tenant; who approves
makes the rendition again from the original and compares, so that two people vouch for it; a redaction never shows what
an earlier one of the same subject withheld; nothing is recorded when anything is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from domain import events as e
from domain.envelope import Draft, Envelope, Recorded
from domain.errors import CommandRefused, IntegrityError
from domain.fields import SALT
from domain.ids import EventId, PrincipalId, Sha256, StreamId, TenantId, commitments_stream, redaction_stream
from domain.policy import Identity
from domain.ports import BlobStore, Clock, EventLog, IdSource
from domain.privacy import AnswerRedaction, AskRedaction, RedactionState, decide, digest_of, evolve
from domain.values import Box
from executor.redaction import Parts, event_parts, event_root, frame_parts, frame_root, withholdable
from executor.store.sealed import PROOF

AT_ONCE = 1_000
"""Screens and events of one commitment."""


class StoredRecord(Protocol):
    """The record as it is stored, with nothing masked."""

    def streams(self, tenant: TenantId, kind: str) -> Sequence[StreamId]:
        """Names of the streams of one kind."""
        ...

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one stream."""
        ...

    def events(
        self, tenant: TenantId, after: int = 0, names: Sequence[str] | None = None
    ) -> Iterator[Recorded]:
        """Events in order of position."""
        ...

    def find(self, tenant: TenantId, event_id: EventId) -> Recorded | None:
        """One event by its id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that is on record."""

    redaction: str
    kind: str
    subject: str
    fields: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Redactions:
    """The redactions of one tenant."""

    log: EventLog
    stored: StoredRecord
    blobs: BlobStore
    ids: IdSource
    clock: Clock
    tenant: TenantId
    key: bytes
    """Of the salts."""

    # -- requests ----------------------------------------------------------------------------------

    def ask_frame(self, who: Identity, sha256: Sha256, regions: Sequence[Box], basis: str) -> Asked:
        """Ask that rectangles of a screen are withheld."""
        _may(who, self.tenant, "redact")
        before = list(self._earlier("frame", sha256))
        boxes = tuple(dict.fromkeys([*(box for one in before for box in one.regions), *regions]))
        parts = frame_parts(self.blobs.get(sha256), sha256, boxes, self.key)
        return self._ask(who, self._request(who, "frame", sha256, basis, parts, regions=boxes))

    def ask_event(self, who: Identity, event_id: EventId, fields: Sequence[str], basis: str) -> Asked:
        """Ask that fields of an event, named by JSON pointers, are withheld."""
        _may(who, self.tenant, "redact")
        before = list(self._earlier("event", event_id))
        pointers = {SALT, *fields, *(field for one in before for field in one.fields)}
        parts = event_parts(self._body(event_id), pointers, self.key)
        return self._ask(who, self._request(who, "event", event_id, basis, parts, fields=sorted(pointers)))

    def ask_document(self, who: Identity, sha256: Sha256, basis: str) -> Asked:
        """Ask that a document, a settlement file or a trace is withheld as a whole."""
        _may(who, self.tenant, "redact")
        if not self.blobs.has(sha256):
            raise CommandRefused(
                "redaction.subject", f"there is no document {sha256}", remedy="see 'proofreel fsck'"
            )
        return self._ask(who, self._request(who, "document", sha256, basis, None))

    def places_of(self, event_id: EventId, fields: Sequence[str]) -> Iterator[tuple[EventId, list[str]]]:
        """Every event in which the texts of these fields stand in other fields too, with the fields that hold them."""
        raw = json.loads(self._body(event_id))
        texts = [_at(raw, pointer) for pointer in fields]
        for recorded in self.stored.events(self.tenant):
            if not any(_written(text) in recorded.row.body for text in texts):
                continue
            body = json.loads(recorded.row.body)
            held = [one for one in withholdable(body) if any(text in _at(body, one) for text in texts)]
            if recorded.envelope.event_id == event_id and set(held) == set(fields):
                continue
            if held and not recorded.row.stream.startswith(("redaction:", "retention:", "deletion:")):
                yield recorded.envelope.event_id, held

    def _request(
        self,
        who: Identity,
        kind: e.privacy.RedactionKind,
        subject: str,
        basis: str,
        parts: Parts | None,
        *,
        regions: Sequence[Box] = (),
        fields: Sequence[str] = (),
    ) -> e.RedactionRequested:
        if parts is None:
            return e.RedactionRequested(kind=kind, subject=subject, basis=basis, requested_by=who.principal)
        committed = self._committed(kind, subject, parts.root)
        return e.RedactionRequested(
            kind=kind,
            subject=subject,
            basis=basis,
            requested_by=who.principal,
            regions=tuple(regions),
            fields=tuple(fields),
            root=parts.root,
            committed_in=committed,
            rendition=self.blobs.put(parts.rendition, media_type=_MEDIA[kind]),
            opening=self.blobs.put(parts.opening, media_type=PROOF),
        )

    def _ask(self, who: Identity, fact: e.RedactionRequested) -> Asked:
        redaction = self.ids.uuid()
        decide(AskRedaction(fact), RedactionState())
        self._append(redaction_stream(redaction), 1, who.principal, fact)
        return Asked(redaction=redaction, kind=fact.kind, subject=fact.subject, fields=fact.fields)

    # -- answers -----------------------------------------------------------------------------------

    def answer(
        self, who: Identity, redaction: str, verdict: Literal["approve", "deny"], *, note: str = ""
    ) -> e.RedactionRequested:
        """Allow or refuse a request; the rendition is made again before it is allowed."""
        _may(who, self.tenant, "approve:redaction")
        stream = redaction_stream(redaction)
        state, asked_at_us = RedactionState(), 0
        for recorded in self.log.stream(self.tenant, stream):
            state = evolve(state, recorded.event)
            if isinstance(recorded.event, e.RedactionRequested):
                asked_at_us = recorded.row.recorded_at_us
        request = state.request
        kind = e.RedactionApproved if verdict == "approve" else e.RedactionDenied
        digest = digest_of(request) if request else Sha256("")
        fact = kind(digest=digest, approver=who.principal, note=note)
        age_us = self.clock.now_us() - asked_at_us
        decide(AnswerRedaction(fact, kind=who.kind, age_us=age_us), state)
        assert request is not None  # noqa: S101 - decide refused otherwise
        if verdict == "approve":
            self._compare(request)
        self._append(stream, state.version + 1, who.principal, fact)
        return request

    def _compare(self, request: e.RedactionRequested) -> None:
        """What was requested must be what the original gives."""
        if request.kind == "document":
            return
        if request.kind == "frame":
            name = Sha256(request.subject)
            parts = frame_parts(self.blobs.get(name), name, request.regions, self.key)
        else:
            parts = event_parts(self._body(EventId(request.subject)), request.fields, self.key)
        shown = self.blobs.get(request.rendition or Sha256(""))
        opening = self.blobs.get(request.opening or Sha256(""))
        if (parts.root, parts.rendition, parts.opening) != (request.root, shown, opening):
            what = "the rendition that was requested is not what the original gives"
            raise CommandRefused(
                "redaction.parts", what, remedy="deny it, and use the key that it was made with"
            )

    # -- commitments -------------------------------------------------------------------------------

    def commit(self, who: PrincipalId, name: str, streams: Sequence[StreamId]) -> tuple[int, int]:
        """Commit to every screen and event of these streams that isn't committed to; how many of each."""
        known_frames, known_events = self._known()
        frames: dict[str, Sha256] = {}
        events: dict[str, Sha256] = {}
        for stream in streams:
            for recorded in self.stored.stream(self.tenant, stream):
                if recorded.envelope.event_id not in known_events:
                    events[recorded.envelope.event_id] = Sha256(event_root(recorded.row.body, self.key))
                for frame in recorded.envelope.frames:
                    if frame.sha256 not in known_frames and frame.sha256 not in frames:
                        data = self.blobs.get(frame.sha256)
                        frames[frame.sha256] = Sha256(frame_root(data, frame.sha256, self.key))
        stream = commitments_stream(name)
        version = sum(1 for _ in self.log.stream(self.tenant, stream))
        for part in _cut(frames, events):
            version += 1
            self._append(stream, version, who, part)
        return len(frames), len(events)

    def _known(self) -> tuple[set[str], set[str]]:
        frames: set[str] = set()
        events: set[str] = set()
        for fact, _ in self._commitments():
            frames |= set(fact.frames)
            events |= set(fact.events)
        return frames, events

    def _commitments(self) -> Iterator[tuple[e.CommitmentsRecorded, EventId]]:
        for stream in self.stored.streams(self.tenant, "commitments"):
            for recorded in self.stored.stream(self.tenant, stream):
                if isinstance(fact := recorded.event, e.CommitmentsRecorded):
                    yield fact, recorded.envelope.event_id

    def _committed(self, kind: str, subject: str, root: str) -> EventId | None:
        """The first commitment to the subject.

        ``IntegrityError`` when it names another root: the original, or the key, is not the one of then.
        """
        for fact, event_id in self._commitments():
            roots = fact.frames if kind == "frame" else fact.events
            if subject in roots and roots[subject] != root:
                what = "it does not give the root that was committed to; use the privacy key of then"
                raise IntegrityError(what, where=f"{kind} {subject}")
            if subject in roots:
                return event_id
        return None

    # -- common ------------------------------------------------------------------------------------

    def _body(self, event_id: EventId) -> bytes:
        recorded = self.stored.find(self.tenant, event_id)
        if recorded is None:
            raise CommandRefused(
                "redaction.subject",
                f"there is no event {event_id}",
                remedy="ids stand in the desk and in bundles",
            )
        if recorded.row.stream.startswith(("redaction:", "retention:", "deletion:", "commitments:")):
            raise CommandRefused("redaction.subject", "what says what is withheld is not withheld itself")
        return recorded.row.body

    def _earlier(self, kind: str, subject: str) -> Iterator[e.RedactionRequested]:
        for stream in self.stored.streams(self.tenant, "redaction"):
            state = RedactionState()
            for recorded in self.stored.stream(self.tenant, stream):
                state = evolve(state, recorded.event)
            request = state.request
            if state.status == "approved" and request and (request.kind, request.subject) == (kind, subject):
                yield request

    def _append(self, stream: StreamId, version: int, who: PrincipalId, fact: e.PrivacyEvent) -> None:
        envelope = Envelope(
            event_id=self.ids.event_id(),
            tenant=self.tenant,
            stream=stream,
            version=version,
            principal=who,
            occurred_at_us=self.clock.now_us(),
            salt=self.ids.salt(),
        )
        self.log.append([Draft(envelope=envelope, event=fact)])


_MEDIA = {"frame": "image/png", "event": PROOF}


def _may(who: Identity, tenant: TenantId, right: str) -> None:
    if tenant not in who.tenants:
        raise CommandRefused("redaction.tenant", f"{who.principal} does not act for tenant {tenant}")
    if right not in who.actions:
        what = f"{who.principal} may not {right.replace(':', ' a ')}"
        raise CommandRefused("redaction.right", what, remedy=f"give them {right} in the configuration")


def _written(text: str) -> bytes:
    """A text as it stands in an event's stored bytes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _at(raw: object, pointer: str) -> str:
    """Text at a pointer; empty when there is none."""
    for name in pointer.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(raw, dict):
            raw = raw.get(key)
        elif isinstance(raw, list) and key.isdigit() and int(key) < len(raw):
            raw = raw[int(key)]
        else:
            return ""
    return raw if isinstance(raw, str) else ""


def _cut(frames: dict[str, Sha256], events: dict[str, Sha256]) -> Iterator[e.CommitmentsRecorded]:
    names = [("frame", name) for name in sorted(frames)] + [("event", name) for name in sorted(events)]
    for start in range(0, len(names), AT_ONCE):
        part = names[start : start + AT_ONCE]
        yield e.CommitmentsRecorded(
            frames={name: frames[name] for kind, name in part if kind == "frame"},
            events={name: events[name] for kind, name in part if kind == "event"},
        )
