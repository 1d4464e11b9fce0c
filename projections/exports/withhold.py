"""What a bundle has to withhold, which streams say so, and what therefore must not stand anywhere in it.

Rules enforced here:

* What is withheld is decided by the record alone; the streams that say so are part of the bundle.
* A text that was withheld in one event stands nowhere in the bundle: not in another event, a document or a conclusion.
  Where it would, nothing is written and the place is named.
* A trace of the browser holds screens of its own, so it is withheld with any screen of its task.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from domain.errors import ConfigError
from domain.ids import EventId, Sha256, StreamId, TenantId
from projections.exports.ports import BlobSource, BundleSource
from projections.exports.verify import statement
from projections.exports.verify.layout import References
from projections.withholding import KINDS, Deletion, Redaction, Withholding

TELL = 5
"""Places that a refusal names."""


@dataclass(slots=True)
class Plan:
    """What is withheld from one bundle; streams in which that is on record."""

    inforce: Withholding = field(default_factory=Withholding)
    events: dict[EventId, Redaction] = field(default_factory=dict)
    frames: dict[Sha256, Redaction] = field(default_factory=dict)
    documents: dict[Sha256, Redaction] = field(default_factory=dict)
    deleted: dict[Sha256, Deletion] = field(default_factory=dict)
    shown: dict[EventId, bytes] = field(default_factory=dict)
    """Renditions of events, JSON."""
    streams: set[StreamId] = field(default_factory=set)

    def redactions(self) -> list[Redaction]:
        """Every redaction that this bundle carries out."""
        return [*self.events.values(), *self.frames.values(), *self.documents.values()]

    def pictures(self) -> set[str]:
        """Renditions of screens."""
        return {one.request.rendition or "" for one in self.frames.values()}

    def papers(self) -> set[str]:
        """Renditions of events, and the salts of what is shown."""
        renditions = {one.request.rendition or "" for one in self.events.values()}
        return renditions | {one.request.opening for one in self.redactions() if one.request.opening}

    def gone(self) -> set[str]:
        """Screens and documents whose original bytes aren't in the bundle."""
        return {*self.frames, *self.documents, *self.deleted}

    def statement(self) -> dict[str, Any]:
        """``withheld.json``: what is not shown, where that is on record, and what stands in its place."""
        events = {
            name: _item(one) | {"shown": json.loads(self.shown[name])} for name, one in self.events.items()
        }
        stated: dict[str, Any] = {"events": events, "frames": _items(self.frames)}
        if self.documents:
            stated["documents"] = _items(self.documents)
        if self.deleted:
            stated["deleted"] = {
                name: {"at_us": one.at_us, "basis": one.fact.basis, "by": one.fact.by, "stream": one.stream}
                for name, one in self.deleted.items()
            }
        return stated


def _items(redactions: dict[Sha256, Redaction]) -> dict[str, Any]:
    return {name: _item(one) for name, one in redactions.items()}


def _item(one: Redaction) -> dict[str, Any]:
    return statement.item_of(one.stream, msgspec.to_builtins(one.request), one.approver, one.at_us)


@dataclass(slots=True)
class _Seen:
    """What one stream names."""

    events: set[str] = field(default_factory=set)
    references: References = field(default_factory=References)


def plan(
    source: BundleSource,
    blobs: BlobSource,
    tenant: TenantId,
    streams: Sequence[StreamId],
    inforce: Withholding,
    *,
    size: int,
) -> Plan:
    """Decide for these streams of a log of ``size`` events.

    ``ConfigError`` when something was withheld after ``size``, or when a trace would show what is withheld.
    """
    made = Plan(inforce=inforce)
    if not inforce:
        return made
    for stream in streams:
        if stream.partition(":")[0] not in KINDS:
            _of_stream(made, _names(source, tenant, stream, size), blobs)
    places = [(one.position, one.stream) for one in made.redactions()]
    places += [(one.position, one.stream) for one in made.deleted.values()]
    newest = max(places, default=(0, ""))
    if newest[0] > size:
        what = f"the checkpoint is of {size} events, and {newest[1]} is newer"
        raise ConfigError(what, remedy="sign the log as it is now: proofreel checkpoint")
    for one in made.redactions():
        made.streams.add(one.stream)
        if one.request.committed_in is not None:
            committed = source.find(tenant, one.request.committed_in)
            made.streams |= {committed.row.stream} if committed is not None else set()
    made.streams |= {one.stream for one in made.deleted.values()}
    for name, one in made.events.items():
        made.shown[name] = blobs.get(one.request.rendition or Sha256(""))
    return made


def _names(source: BundleSource, tenant: TenantId, stream: StreamId, size: int) -> _Seen:
    seen = _Seen()
    for recorded in source.stream(tenant, stream):
        if recorded.row.position > size:
            break
        raw = json.loads(recorded.row.body)
        seen.events.add(raw["id"])
        seen.references.note(raw, f"event {raw['id']}")
    return seen


def _of_stream(made: Plan, seen: _Seen, blobs: BlobSource) -> None:
    inforce, names = made.inforce, seen.references
    files = {*names.documents, *names.settlement, *names.traces}
    gone = {
        Sha256(name): inforce.deleted[Sha256(name)]
        for name in {*names.frames, *files} & set(inforce.deleted)
        if not blobs.has(Sha256(name))
    }
    events = {EventId(name): inforce.events[EventId(name)] for name in seen.events if name in inforce.events}
    frames = {
        Sha256(name): inforce.frames[Sha256(name)]
        for name in names.frames
        if name in inforce.frames and name not in gone
    }
    documents = {
        Sha256(name): inforce.documents[Sha256(name)]
        for name in files
        if name in inforce.documents and name not in gone
    }
    open_traces = sorted(set(names.traces) - set(documents) - set(gone))
    if open_traces and (frames or events):
        one = next(iter((*frames.values(), *events.values())))
        what = f"trace {open_traces[0]} has screens of its own and may show what {one.stream} withholds"
        raise ConfigError(what, remedy=f"withhold it too: proofreel redact document {open_traces[0]}")
    made.events |= events
    made.frames |= frames
    made.documents |= documents
    made.deleted |= gone


@dataclass(slots=True)
class LeakCheck:
    """Collects the places where a withheld text would leave after all."""

    inforce: Withholding
    places: list[str] = field(default_factory=list)

    def look(self, data: bytes, place: str) -> None:
        """Look through what is about to be written."""
        if self.inforce.masks and (name := self.inforce.masks.found_in(data)):
            self.places.append(f"{place} ({name.strip('[]')})")

    def require_none(self) -> None:
        """``ConfigError`` that names the places."""
        if self.places:
            listed = "; ".join(self.places[:TELL]) + (" …" if len(self.places) > TELL else "")
            what = f"a withheld text stands in {len(self.places)} more places of this export: {listed}"
            remedy = (
                "withhold it there too: proofreel redact field --everywhere, or proofreel redact document"
            )
            raise ConfigError(what, remedy=remedy)
