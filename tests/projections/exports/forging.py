"""A forger who knows the format: changes what he likes and makes every file that follows from the rest again."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.chain import GENESIS, body_hash, entry_hash
from domain.ids import StreamId, TenantId
from domain.log_format import encode_leaf, stream_tag
from domain.merkle import leaf_hash, root
from projections.exports.verify import layout
from projections.exports.verify.layout import Entry, Head, PageChunks
from projections.exports.zipwriter import ZipWriter, piece_of


@dataclass(slots=True)
class Event:
    """An entry with its event's bytes."""

    entry: dict[str, Any]
    body: bytes

    @property
    def name(self) -> str:
        return str(json.loads(self.body)["name"]) if self.body else ""


class Forger:
    """Files of a bundle, as they are or as they are wanted."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            self.base = names[0].partition("/")[0]
            self.files = {name.partition("/")[2]: archive.read(name) for name in names}

    def events(self) -> list[Event]:
        """Entries with their events, in order."""
        entries = self.files[layout.ENTRIES].splitlines()
        bodies = self.files[layout.EVENTS].splitlines()
        return [Event(json.loads(entry), body) for entry, body in zip(entries, bodies, strict=True)]

    def events_shown(self) -> list[Event]:
        """The same where some are withheld: those have no bytes."""
        hidden = self._hidden()
        bodies = iter(self.files[layout.EVENTS].splitlines())
        entries = [json.loads(line) for line in self.files[layout.ENTRIES].splitlines()]
        return [Event(one, b"" if one["event_id"] in hidden else next(bodies)) for one in entries]

    def _hidden(self) -> dict[str, Any]:
        """Events that are said to be withheld, whatever else stands there."""
        stated: Any = self.json(layout.WITHHELD) if layout.WITHHELD in self.files else {}
        hidden = stated.get("events") if isinstance(stated, dict) else None
        return hidden if isinstance(hidden, dict) else {}

    def put(self, events: list[Event]) -> None:
        """Replace them."""
        self.files[layout.ENTRIES] = b"".join(layout.plain_json(one.entry) + b"\n" for one in events)
        self.files[layout.EVENTS] = b"".join(one.body + b"\n" for one in events if one.body)

    def json(self, path: str) -> dict[str, Any]:
        """A JSON file."""
        value: dict[str, Any] = json.loads(self.files[path])
        return value

    def put_json(self, path: str, value: object) -> None:
        """Replace it."""
        self.files[path] = layout.plain_json(value) + b"\n"

    def frames(self) -> list[str]:
        """Paths of the screens."""
        return sorted(path for path in self.files if layout.FRAME.fullmatch(path))

    def chain_again(self, events: list[Event]) -> None:
        """Compute all hashes and links anew, as if it had always been so."""
        last: dict[str, bytes] = {}
        for one in events:
            entry = one.entry
            link = entry_hash(
                last.get(entry["stream"], GENESIS),
                body_hash(one.body),
                position=entry["position"],
                recorded_at_us=entry["recorded_at_us"],
            )
            entry["body_sha256"], entry["entry"] = body_hash(one.body).hex(), link.hex()
            last[entry["stream"]] = link
        self.put(events)

    def log_again(self) -> None:
        """Put the leaves of the events that are here into the skeleton, and count and sum up anew."""
        head = self.json(layout.HEAD)
        leaves = [
            self.files[layout.SKELETON][at : at + 53] for at in range(0, len(self.files[layout.SKELETON]), 53)
        ]
        head["streams"] = dict.fromkeys(head["streams"], 0)
        for one in self.events():
            entry = one.entry
            tag = stream_tag(TenantId(head["tenant"]), StreamId(entry["stream"]))
            leaves[entry["position"] - 1] = encode_leaf(tag, entry["version"], bytes.fromhex(entry["entry"]))
            head["streams"][entry["stream"]] += 1
        self.files[layout.SKELETON] = b"".join(leaves)
        head["size"], head["root"] = len(leaves), root([leaf_hash(leaf) for leaf in leaves]).hex()
        self.put_json(layout.HEAD, head)

    def head(self) -> Head:
        """The head as it stands."""
        raw = self.json(layout.HEAD)
        return Head(tenant=raw["tenant"], size=raw["size"], root=raw["root"], streams=raw["streams"])

    def cover(self) -> Forger:
        """Make page, labels and manifests again, so that they agree with everything else."""
        self._page()
        self.base = layout.base_name(self.head(), self.files[layout.FINDINGS])
        last = max(
            (one["recorded_at_us"] for one in map(json.loads, self.files[layout.ENTRIES].splitlines())),
            default=0,
        )
        self._head_script()
        payload = {path: data for path, data in self.files.items() if path.startswith("data/")}
        self.files[layout.BAG_INFO] = layout.bag_info(
            self.base, recorded_at_us=last, octets=sum(map(len, payload.values())), files=len(payload)
        )
        return self.list_again()

    def list_again(self) -> Forger:
        """Make the manifests again."""
        hashes = {path: piece_of(data).sha256 for path, data in self.files.items()}
        payload = {path: sha256 for path, sha256 in hashes.items() if path.startswith("data/")}
        self.files[layout.MANIFEST] = layout.manifest(payload)
        tags = {
            path: sha256
            for path, sha256 in hashes.items()
            if path not in payload and path not in layout.UNLISTED
        }
        tags[layout.MANIFEST] = piece_of(self.files[layout.MANIFEST]).sha256
        self.files[layout.TAG_MANIFEST] = layout.manifest(tags)
        return self

    def _page(self) -> None:
        for path in [
            path
            for path in self.files
            if layout.PAGE_EVENTS.fullmatch(path) or layout.PAGE_FRAME.fullmatch(path)
        ]:
            del self.files[path]
        chunks = PageChunks()
        hidden = self._hidden()
        bodies = iter(self.files[layout.EVENTS].splitlines())
        for line in self.files[layout.ENTRIES].splitlines():
            entry = json.loads(line)
            body = None if entry["event_id"] in hidden else next(bodies, b"{}")
            self.files.update(chunks.add(Entry(**entry), body))
        self.files.update(chunks.flush())
        for path in [path for path in self.files if layout.FRAME.match(path) or layout.RENDITION.match(path)]:
            match = layout.FRAME.fullmatch(path) or layout.RENDITION.fullmatch(path)
            assert match
            script = layout.frame_script(match[1], match[2], self.files[path])
            self.files[f"data/page/frames/{match[1]}.js"] = script

    def _head_script(self) -> None:
        self.files[layout.PAGE_HEAD] = layout.page_head(
            self.base,
            self.head(),
            self.json(layout.FINDINGS),
            chunks=sum(1 for path in self.files if layout.PAGE_EVENTS.fullmatch(path)),
            files=layout.page_files(self.files),
            withheld=self.json(layout.WITHHELD)
            if layout.WITHHELD in self.files
            else {"events": {}, "frames": {}},
            embedded=True,
            checkpoint=self.files[layout.CHECKPOINT].decode() if layout.CHECKPOINT in self.files else None,
        )

    def write(self, path: Path) -> Path:
        """Write the archive in its one form."""
        target = io.BytesIO()
        archive = ZipWriter(target, self.base)
        for name in sorted(self.files, key=layout.member_order):
            archive.add(name, piece_of(self.files[name]))
        archive.finish()
        path.write_bytes(target.getvalue())
        return path
