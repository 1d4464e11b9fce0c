"""What a bundle holds, file by file, and the bytes of every file that follows from the others.

The writer makes these files with these functions and the verifier makes them again and compares; so a bundle has no
file, and no field, whose content nobody checks. What can't be derived is listed under ``ATTACHED``: it is covered by
the exporter's signature or reported as not proved.

::

    data/events.jsonl        stored bytes of each event, one a line, in the order of the tenant's log
    data/entries.jsonl       for each: place, time, chain link and hash
    data/frames/             screens, named by their SHA-256
    data/settlement/         settlement files as received, named by their SHA-256
    data/documents/          other documents that events name
    data/traces/             traces of the browser, named by their SHA-256
    data/findings.json       what the export is about, and the desk's conclusion
    data/withheld.json       what is proved to exist and not shown, with the reason; only if there is such a thing
    data/redacted/           what is shown instead of redacted screens and events, and the salts that prove it
    data/attachments/        reports that the exporter added
    data/index.html, page/   the same for reading in a browser
    proof/skeleton.bin       all leaves of the tenant's log
    proof/head.json          size, root, and the streams that are shown
    proof/checkpoint*        signed note, its parts for other tools, an RFC 3161 time stamp
    proof/bundle.note        the exporter's signature over this bundle
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

FORMAT = 1
"""Version of this layout; a verifier refuses another one."""

EVENTS = "data/events.jsonl"
ENTRIES = "data/entries.jsonl"
FINDINGS = "data/findings.json"
WITHHELD = "data/withheld.json"
INDEX = "data/index.html"
PAGE_HEAD = "data/page/head.js"
SKELETON = "proof/skeleton.bin"
HEAD = "proof/head.json"
CHECKPOINT = "proof/checkpoint"
CHECKPOINT_BODY = "proof/checkpoint.body"
CHECKPOINT_SIGNATURE = "proof/checkpoint.sig"
CHECKPOINT_STAMP = "proof/checkpoint.tsr"
KEYS = "proof/keys.txt"
KEY_PEM = "proof/log.pub.pem"
SEAL = "proof/bundle.note"
README = "README-VERIFY.txt"
BAGIT = "bagit.txt"
BAG_INFO = "bag-info.txt"
MANIFEST = "manifest-sha256.txt"
TAG_MANIFEST = "tagmanifest-sha256.txt"
STATIC_PAGE = (INDEX, "data/page/app.js", "data/page/style.css", "data/page/words.js")
"""Files of the page that are the same in every bundle of a release."""

BAGIT_TEXT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"

MAX_LINE_BYTES = (1 << 20) + 1
"""An event has at most 1 MiB (``domain.codec.MAX_BODY_BYTES``)."""
MAX_SMALL_BYTES = 64 << 20
"""Findings, manifests and notes are read whole up to here."""
MAX_EMBEDDED_BYTES = 24 << 20
"""Up to this many bytes of screens, the page also carries them as scripts: a browser that opened a page from disk
lets it hash what a script brought, but not what an image shows."""
MAX_TIME_US = 253_402_300_799_000_000
"""End of the year 9999, beyond which there are no dates."""
CHUNK_EVENTS = 200
CHUNK_TEXT = 1 << 20

_HASH = r"[0-9a-f]{64}"
_UNESCAPED = re.compile(r"[ !#-\[\]-~]*")
"""Text that JSON writes as it is."""
_SAFE = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"
BASE = re.compile(r"proofreel-[0-9a-f]{16}")
"""The folder within the archive."""
FRAME = re.compile(rf"data/frames/({_HASH})\.(png|webp)")
SETTLEMENT = re.compile(rf"data/settlement/({_HASH})-({_SAFE})")
DOCUMENT = re.compile(rf"data/documents/({_HASH})\.dat")
TRACE = re.compile(rf"data/traces/({_HASH})\.zip")
ATTACHED = re.compile(rf"data/attachments/{_SAFE}")
RENDITION = re.compile(rf"data/redacted/({_HASH})\.(png)")
REDACTED = re.compile(rf"data/redacted/({_HASH})\.(?:png|json)")
PAGE_EVENTS = re.compile(r"data/page/events-\d{5}\.js")
PAGE_FRAME = re.compile(rf"data/page/frames/({_HASH})\.js")
_FIXED = frozenset(
    {
        EVENTS,
        ENTRIES,
        FINDINGS,
        WITHHELD,
        PAGE_HEAD,
        SKELETON,
        HEAD,
        CHECKPOINT,
        CHECKPOINT_BODY,
        KEYS,
        KEY_PEM,
    }
    | {
        CHECKPOINT_SIGNATURE,
        CHECKPOINT_STAMP,
        SEAL,
        README,
        BAGIT,
        BAG_INFO,
        MANIFEST,
        TAG_MANIFEST,
        *STATIC_PAGE,
    }
)
REQUIRED = frozenset(
    {
        EVENTS,
        ENTRIES,
        FINDINGS,
        PAGE_HEAD,
        SKELETON,
        HEAD,
        README,
        BAGIT,
        BAG_INFO,
        MANIFEST,
        TAG_MANIFEST,
        *STATIC_PAGE,
    }
)
UNLISTED = frozenset({TAG_MANIFEST, SEAL})
"""Not in the tag manifest: itself, and the signature over it."""

FRAME_FIELDS: Mapping[str, tuple[str, ...]] = {
    "action.proposed": ("planned_on",),
    "approval.requested": ("frame",),
}
"""Fields of facts that name a screen, beside the envelope's ``frames``."""
PRIVACY = frozenset(
    {"commitments.recorded", "data.deleted", "redaction.approved", "redaction.denied", "redaction.requested"}
)
"""Facts that say what is withheld."""
DOCUMENT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "bill_list.fetched": ("blob",),
    "model.responded": ("response",),
    "task.reopened": ("evidence",),
}
"""Fields of facts that name another document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event's place: a line of ``entries.jsonl``. Hashes in hex, time in microseconds since 1970 (UTC)."""

    position: int
    stream: str
    version: int
    recorded_at_us: int
    entry: str
    body_sha256: str
    event_id: str

    def to_dict(self) -> dict[str, int | str]:
        """Plain data, keys in order."""
        return {name: getattr(self, name) for name in ENTRY_FIELDS}

    def line(self) -> bytes:
        """Its one form, with the newline."""
        return (self._written() or plain_json(self.to_dict()).decode()).encode() + b"\n"

    def script(self) -> str:
        """The same for a script: JSON in ASCII."""
        return self._written() or _argument(self.to_dict())

    def _written(self) -> str:
        """Its JSON where no text in it needs an escape, which is the rule; else nothing."""
        if not _UNESCAPED.fullmatch(self.body_sha256 + self.entry + self.event_id + self.stream):
            return ""
        return (
            f'{{"body_sha256":"{self.body_sha256}","entry":"{self.entry}","event_id":"{self.event_id}",'
            f'"position":{self.position},"recorded_at_us":{self.recorded_at_us},"stream":"{self.stream}",'
            f'"version":{self.version}}}'
        )


ENTRY_FIELDS = tuple(sorted(item.name for item in fields(Entry)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The log's head and the streams shown: ``head.json``."""

    tenant: str
    size: int
    root: str
    streams: Mapping[str, int]
    """Stream → number of its events in the log."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "root": self.root,
            "size": self.size,
            "streams": dict(self.streams),
            "tenant": self.tenant,
        }

    def to_bytes(self) -> bytes:
        """Its one form."""
        return plain_json(self.to_dict()) + b"\n"


@dataclass(slots=True)
class References:
    """What events name: SHA-256 → label of the first event that names it (settlement: → its file name)."""

    frames: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    settlement: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height of a screen, as the first event that names it says."""

    def note(self, event: Mapping[str, Any], label: str) -> None:
        """Take in one event (its JSON); ``KeyError`` or ``TypeError`` when it has another form."""
        name, data = event["name"], event["data"]
        for frame in event["frames"]:
            self.frames.setdefault(_text(frame["sha256"]), label)
            self.sizes.setdefault(frame["sha256"], (frame["width"], frame["height"]))
        for key in FRAME_FIELDS.get(name, ()):
            if data.get(key):
                self.frames.setdefault(_text(data[key]), label)
        for key in DOCUMENT_FIELDS.get(name, ()):
            if data.get(key):
                self.documents.setdefault(_text(data[key]), label)
        if name == "trace.attached":
            self.traces.setdefault(_text(data["blob"]), label)
        if name == "settlement.imported":
            self.settlement.setdefault(_text(data["blob"]), _text(data["file_name"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {type(value).__name__}")
    return value


def plain_json(value: object) -> bytes:
    """JSON with sorted keys and no white space, as UTF-8."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def script(function: str, *arguments: object) -> bytes:
    """A call of the page's ``function``: data for a page that may not fetch. ASCII, and no ``<`` at all."""
    return _call(function, *(_argument(item) for item in arguments))


def _argument(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _call(function: str, *arguments: str) -> bytes:
    return f"{function}({','.join(arguments)});\n".replace("<", "\\u003c").encode("ascii")


def expected(path: str) -> bool:
    """True if a bundle may have a file of that name."""
    patterns = (FRAME, SETTLEMENT, DOCUMENT, TRACE, ATTACHED, REDACTED, PAGE_EVENTS, PAGE_FRAME)
    return path in _FIXED or any(pattern.fullmatch(path) for pattern in patterns)


def member_order(path: str) -> tuple[bool, str]:
    """Order of the members: pictures first, so that a writer reads each of them once; the rest by name."""
    return (not (path.startswith("data/frames/") or RENDITION.fullmatch(path)), path)


def image_suffix(data: bytes) -> str | None:
    """``png`` or ``webp`` by the first 12 bytes, None for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def settlement_path(sha256: str, file_name: str) -> str:
    """Path of a settlement file; its name is kept as far as it is safe everywhere."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", file_name.replace("\\", "/").rpartition("/")[2])[-80:]
    safe = re.sub(r"^[.-]", "_", safe) or "settlement"
    return f"data/settlement/{sha256}-{safe}"


def base_name(head: Head, findings: bytes) -> str:
    """Name of the folder, derived from what the bundle says."""
    identity = plain_json(
        [head.tenant, head.size, head.root, sorted(head.streams), hashlib.sha256(findings).hexdigest()]
    )
    return f"proofreel-{hashlib.sha256(identity).hexdigest()[:16]}"


def manifest(hashes: Mapping[str, str]) -> bytes:
    """A BagIt manifest of these paths, sorted; ``sha256sum -c`` reads it too."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes)).encode("ascii")


def bag_info(base: str, *, recorded_at_us: int, octets: int, files: int) -> bytes:
    """The bag's labels; its date is that of the last event, because an export has no time of its own."""
    day = datetime.fromtimestamp(recorded_at_us // 1_000_000, UTC).date().isoformat()
    lines = (
        "Bag-Software-Agent: proofreel",
        f"Bagging-Date: {day}",
        f"Bundle-Format: {FORMAT}",
        f"External-Identifier: {base}",
        f"Payload-Oxum: {octets}.{files}",
    )
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def seal_text(base: str, tag_manifest_sha256: str) -> str:
    """What the exporter signs: this folder name and the hash of its tag manifest, which covers all other files."""
    return f"proofreel-bundle/v{FORMAT}\n{base}\n{tag_manifest_sha256}\n"


def key_pem(public: bytes) -> bytes:
    """An Ed25519 public key as PEM (RFC 8410), for ``openssl pkeyutl``."""
    der = bytes.fromhex("302a300506032b6570032100") + public
    return b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(der) + b"\n-----END PUBLIC KEY-----\n"


def frame_script(sha256: str, suffix: str, data: bytes) -> bytes:
    """A screen as a script; ``script`` of the same, whose search for what must be escaped base64 does not need."""
    return b'proofreelFrame("%b","image/%b","%b");\n' % (
        sha256.encode(),
        suffix.encode(),
        base64.b64encode(data),
    )


class PageChunks:
    """Cuts the events into scripts of bounded size."""

    def __init__(self) -> None:
        self.count = 0
        self._items: list[str] = []
        self._text = 0

    def add(self, entry: Entry, body: bytes | None) -> Iterator[tuple[str, bytes]]:
        """Take one event (no body: it is withheld); gives a script when one is full."""
        text = json.dumps(None if body is None else body.decode("utf-8", "replace"))
        self._items.append(f"[{entry.script()},{text}]")
        self._text += len(body or b"")
        if len(self._items) >= CHUNK_EVENTS or self._text >= CHUNK_TEXT:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[str, bytes]]:
        """Give what is left."""
        if self._items:
            self.count += 1
            data = _call("proofreelEvents", str(self.count), f"[{','.join(self._items)}]")
            self._items, self._text = [], 0
            yield f"data/page/events-{self.count:05}.js", data


def page_head(
    base: str,
    head: Head,
    findings: Mapping[str, Any],
    *,
    chunks: int,
    files: Iterable[str],
    withheld: Mapping[str, Any],
    embedded: bool,
    checkpoint: str | None,
) -> bytes:
    """What the page needs before the events; ``files`` are the paths of screens, documents and attachments."""
    content = {
        "bundle": base,
        "checkpoint": checkpoint,
        "chunks": chunks,
        "embedded": embedded,
        "files": sorted(files),
        "findings": findings,
        "head": head.to_dict(),
        "withheld": withheld,
    }
    return script("proofreelHead", content)


def page_files(paths: Iterable[str]) -> Sequence[str]:
    """Those paths that the page links to."""
    linked = (FRAME, SETTLEMENT, DOCUMENT, TRACE, ATTACHED, RENDITION)
    return [path for path in paths if any(pattern.match(path) for pattern in linked)]
