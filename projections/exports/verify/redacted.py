"""Checks what is withheld: that the record says so, by two people, and that what is shown instead is what it must be.

* each part that is not shown has its redaction (or deletion) in the bundle's own events, and the statement about it
  follows from these events to the letter
* nobody approved their own request; the answer is about that very request
* a rendition is the one that the request named; outside of its rectangles and fields it gives, with the salts that were
  opened, the root that was committed to; inside there is nothing
* what is withheld by a redaction in force is not there after all
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain import fields, tiles
from domain.merkle import root
from domain.values import Box
from projections.exports.verify import layout, statement
from projections.exports.verify.archive import Archive
from projections.exports.verify.layout import Entry
from projections.exports.verify.record import Record
from projections.exports.verify.report import Findings, Problem, Withheld

_HASH_BYTES = 32


class _Wrong(Exception):
    """What is wrong with one redaction, in words."""


@dataclass(slots=True)
class _Redaction:
    """One redaction's stream."""

    stream: str
    request: dict[str, Any] | None = None
    at: int = 0
    """Position of the request."""
    item: dict[str, Any] | None = None
    """What has to be said of it while it is in force."""


@dataclass(slots=True)
class _Said:
    """What the bundle's events say about withholding."""

    redactions: dict[str, _Redaction] = field(default_factory=dict)
    inforce: dict[tuple[str, str], _Redaction] = field(default_factory=dict)
    """Part of ``withheld.json`` and subject → the latest redaction."""
    deleted: dict[str, dict[str, Any]] = field(default_factory=dict)
    commitments: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    """Event id → position and data."""


class WithheldCheck:
    """``run`` compares the statement with the events, and the renditions with what was committed to."""

    def __init__(
        self,
        archive: Archive,
        hashes: Mapping[str, str],
        record: Record,
        withheld: Mapping[str, Mapping[str, Any]],
        findings: Findings,
    ) -> None:
        self._archive = archive
        self._hashes = hashes
        self._record = record
        self._withheld = withheld
        self._findings = findings
        self._used: set[str] = set()
        self._later = 0
        self._voices: set[str] = set()

    def run(self) -> Withheld:
        """Check everything; what is withheld, counted."""
        said = self._listen()
        for part in ("events", "frames", "documents"):
            for subject, item in self._withheld[part].items():
                self._claimed(said, part, subject, item)
        for subject, item in self._withheld["deleted"].items():
            if said.deleted.get(subject) != item:
                self._problem(
                    f"{ascii(subject)[:80]} is said to be deleted, and no event here says so", subject
                )
            elif not self._named(subject):
                self._problem(f"{subject} is said to be deleted, and no event here names it", subject)
        for (part, subject), one in said.inforce.items():
            there = subject in self._record.event_ids if part == "events" else self._named(subject)
            if there and subject not in self._withheld[part] and subject not in self._withheld["deleted"]:
                self._problem(f"{subject} is withheld by {one.stream}, and the bundle shows it", subject)
        strangers = {path for path in self._hashes if layout.REDACTED.fullmatch(path)} - self._used
        for path in sorted(strangers):
            self._problem(f"{path} belongs to no redaction of this bundle", file=path)
        return self._conclude()

    def _named(self, sha256: str) -> bool:
        names = self._record.references
        return any(sha256 in part for part in (names.frames, names.documents, names.settlement, names.traces))

    def _listen(self) -> _Said:
        said = _Said()
        for entry, event in self._record.privacy:
            try:
                self._hear(said, entry, event)
            except (KeyError, TypeError, AttributeError):
                self._problem(f"event {entry.event_id} ({event['name']}) has another form than it must have")
        return said

    def _hear(self, said: _Said, entry: Entry, event: dict[str, Any]) -> None:
        data, name, who = event["data"], event["name"], event["principal"]
        kind = entry.stream.partition(":")[0]
        if name == "commitments.recorded" and kind == "commitments":
            said.commitments[entry.event_id] = (entry.position, data)
        if name == "data.deleted" and kind == "deletion" and data["by"] == who:
            item = {
                "at_us": entry.recorded_at_us,
                "basis": data["basis"],
                "by": data["by"],
                "stream": entry.stream,
            }
            said.deleted |= dict.fromkeys(data["blobs"], item)
        if not name.startswith("redaction.") or kind != "redaction":
            return
        one = said.redactions.setdefault(entry.stream, _Redaction(entry.stream))
        if name == "redaction.requested" and one.request is None:
            one.request, one.at = data, entry.position
            if data["requested_by"] != who:
                self._problem(
                    f"{entry.stream} names {data['requested_by']} as requester, and {who} recorded it"
                )
        if name == "redaction.approved":
            self._approved(said, one, entry, data, who)

    def _approved(self, said: _Said, one: _Redaction, entry: Entry, data: dict[str, Any], who: str) -> None:
        request = one.request
        if request is None or data["digest"] != hashlib.sha256(layout.plain_json(request)).hexdigest():
            self._problem(f"{entry.stream} approves another request than the one on record")
        elif data["approver"] == request["requested_by"]:
            self._problem(f"{entry.stream} was approved by {data['approver']}, who asked for it")
        elif data["approver"] != who:
            self._problem(f"{entry.stream} names {data['approver']} as approver, and {who} recorded it")
        elif not str(request["basis"]).strip():
            self._problem(f"{entry.stream} names no basis")
        else:
            one.item = statement.item_of(entry.stream, request, who, entry.recorded_at_us)
            said.inforce[f"{request['kind']}s", request["subject"]] = one

    def _claimed(self, said: _Said, part: str, subject: str, item: Mapping[str, Any]) -> None:
        one = said.inforce.get((part, subject))
        word = {"events": "event", "frames": "screen", "documents": "document"}[part]
        if one is None or one.request is None:
            what = f"{word} {ascii(subject)[1:-1][:80]} is withheld, and no redaction in force here says so"
            self._problem(what, subject)
            return
        bare = {key: value for key, value in item.items() if key != "shown"}
        if bare != one.item:
            self._problem(
                f"{layout.WITHHELD} says something else of {word} {subject} than {one.stream}", subject
            )
        if not (subject in self._record.event_ids if part == "events" else self._named(subject)):
            self._problem(
                f"{word} {subject} is said to be withheld, and is not in this bundle's events", subject
            )
        try:
            if part == "frames":
                self._screen(one.request, subject)
            if part == "events":
                self._event(one.request, item["shown"])
            if part != "documents":
                self._committed(said, one, part, subject)
        except (_Wrong, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            why = str(error) if isinstance(error, _Wrong) else f"it has another form ({type(error).__name__})"
            self._problem(f"what is shown of {word} {subject} does not stand: {why}", subject)

    def _read(self, sha256: object, suffix: str) -> bytes:
        path = f"data/redacted/{sha256}.{suffix}"
        if path not in self._hashes:
            raise _Wrong(f"{path} is missing")
        self._used.add(path)
        if self._hashes[path] != sha256:
            raise _Wrong(f"{path} is not the one that the redaction names")
        return self._archive.read(path, limit=layout.MAX_SMALL_BYTES)

    def _screen(self, request: dict[str, Any], subject: str) -> None:
        opening = json.loads(self._read(request["opening"], "json"))
        try:
            pixels = tiles.decode_png(self._read(request["rendition"], "png"))
        except ValueError as error:
            raise _Wrong(f"its picture is {error}") from error
        size = self._record.references.sizes.get(subject, (pixels.width, pixels.height))
        if size != (pixels.width, pixels.height):
            raise _Wrong(f"it is {pixels.width} x {pixels.height}, the screen is {size[0]} x {size[1]}")
        boxes = [Box(**region) for region in request["regions"]]
        hidden = tiles.hidden_by(pixels.width, pixels.height, boxes)
        if not tiles.is_covered(pixels, hidden):
            raise _Wrong("something else than the pattern stands within its rectangles")
        columns, rows = tiles.grid(pixels.width, pixels.height)
        numbers = range(columns * rows)
        if {int(number) for number in opening["leaves"]} != hidden:
            raise _Wrong("other tiles are withheld than its rectangles touch")
        salts = [
            None if number in hidden else bytes.fromhex(opening["salts"][str(number)]) for number in numbers
        ]
        known = tiles.leaves(pixels, salts)
        leaves = [
            bytes.fromhex(opening["leaves"][str(number)]) if leaf is None else leaf
            for number, leaf in enumerate(known)
        ]
        if any(len(leaf) != _HASH_BYTES for leaf in leaves) or root(leaves).hex() != request["root"]:
            raise _Wrong("outside of its rectangles it is not the screen that was committed to")

    def _event(self, request: dict[str, Any], shown: object) -> None:
        opening = json.loads(self._read(request["opening"], "json"))
        rendition = self._read(request["rendition"], "json")
        if layout.plain_json(shown) != rendition:
            raise _Wrong(f"{layout.WITHHELD} shows something else than the redaction names")
        salts = {pointer: bytes.fromhex(salt) for pointer, salt in opening["salts"].items()}
        found, hidden = fields.root_of(json.loads(rendition), salts)
        if hidden != frozenset(request["fields"]) or fields.SALT not in hidden:
            raise _Wrong("other fields are withheld than the redaction names")
        if found != request["root"]:
            raise _Wrong("outside of its fields it is not the event that was committed to")

    def _committed(self, said: _Said, one: _Redaction, part: str, subject: str) -> None:
        request = one.request or {}
        named = request["committed_in"]
        if named is None:
            self._later += 1
            self._voices |= {str(request["requested_by"]), str((one.item or {})["approver"])}
            return
        position, data = said.commitments.get(named, (0, {part: {}}))
        if not 0 < position < one.at or data[part].get(subject) != request["root"]:
            raise _Wrong(f"event {ascii(named)[:80]} did not commit to it before")

    def _conclude(self) -> Withheld:
        parts = self._withheld
        items = [item for part in parts.values() for item in part.values()]
        found = Withheld(
            frames=len(parts["frames"]),
            regions=sum(len(item["regions"]) for item in parts["frames"].values()),
            events=len(parts["events"]),
            fields=sum(len(set(item["fields"]) - {fields.SALT}) for item in parts["events"].values()),
            documents=len(parts["documents"]),
            deleted=len(parts["deleted"]),
            bases=tuple(sorted({str(item["basis"]) for item in items})),
            later=self._later,
        )
        if found or self._findings.failed("withheld"):
            self._findings.conclude("withheld", "completeness", found.words())
        if self._later:
            what = (
                f"what is shown of {self._later} redacted screens or events was first committed to when it was "
                f"redacted: the rest of them is on the word of {', '.join(sorted(self._voices))}"
            )
            self._findings.not_proved("committed", "integrity", what)
        return found

    def _problem(self, what: str, frame: str = "", *, file: str = "") -> None:
        self._findings.problem(
            Problem(check="withheld", what=what, frame=frame, file=file or layout.WITHHELD)
        )
