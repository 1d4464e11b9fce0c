"""A trace without its secrets: ZIP in, ZIP out.

Rules: secrets are those that were typed or seen while it was recorded, what nodes held that are secret by the site's
rules, and every value that is secret by its name; each is taken out wherever and however it is written. Screens are our
own, masked when they were captured: a recorder that knows no secrets must not take any. At the end every member is
searched once more, and a trace in which anything is left is not handed out.
"""

from __future__ import annotations

import io
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from domain.errors import IntegrityError
from executor.guards.pictures import SUFFIXES, media_type
from executor.traces.lines import FORMAT, Reducer
from executor.traces.needles import MASK, Needles
from executor.traces.snapshots import Marker, Marks, mask_nodes, texts_of

MAX_BYTES: Final = 128 << 20
"""Unpacked size up to which a trace is read."""
LINES: Final = (".trace", ".network")
RESOURCES: Final = "resources/"
_LONG_COOKIE: Final = 8
"""Characters from which a cookie's value is a secret and not a setting (a language, a theme)."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_PACKED: Final = tuple(f".{suffix}" for suffix in SUFFIXES.values())
"""Endings of what is compressed already."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One of our own captures, secrets painted over, for the trace's film strip."""

    data: bytes = field(repr=False)
    """PNG or WebP."""
    width: int
    height: int
    at_ms: float
    """Wall clock, milliseconds since 1970 (UTC)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """A trace that may be kept."""

    data: bytes = field(repr=False)
    """ZIP, as Playwright's viewer opens it."""
    tool: str
    calls: int
    masked: int
    left_out: tuple[str, ...]


def scrub(
    data: bytes,
    *,
    secrets: Iterable[str],
    names: Iterable[str] = (),
    marker: Marker | None,
    screens: Sequence[Screen] = (),
) -> Scrubbed:
    """The trace without secrets.

    Args:
        data: a trace as Playwright wrote it, without screens of its own.
        secrets: what was typed or seen and is secret.
        names: field names that are secret on this site, beside those that are secret anywhere.
        marker: says which nodes of the snapshots are secret; None when no page is left to ask: no snapshot is kept.
        screens: our own captures, put where the trace's would be.

    Raises:
        IntegrityError: it is no trace of a known format, too large, or something secret was left.
    """
    members = _unpack(data)
    files = {name: _lines(content) for name, content in members.items() if name.endswith(LINES)}
    context = next(
        (line for lines in files.values() for line in lines if line.get("type") == "context-options"), {}
    )
    if context.get("version") != FORMAT:
        raise IntegrityError(f"a trace of format {context.get('version')}, not {FORMAT}", where="trace")
    files, held = _mask_snapshots(files, marker)
    known = {*secrets, *held}
    needles = Needles({*known, *_named(files, members, Needles(known, names=names))}, names=names)
    unwanted = [name for name, content in members.items() if needles.is_in(content)]
    reducer = Reducer(needles, unwanted)
    kept = {
        name: [short for short in map(reducer.line, lines) if short is not None]
        for name, lines in files.items()
    }
    out = {name: members[name] for name in sorted(reducer.wanted) if name in members}
    film = _film(context, files, screens)
    for name, lines in kept.items():
        shown = [*lines, *film.lines] if name.endswith(LINES[0]) and film.belongs(lines) else lines
        out[name] = b"".join(orjson.dumps(line) + b"\n" for line in shown)
    for name, content in out.items():
        if needles.is_in(content) or needles.is_in(name.encode()):
            raise IntegrityError("something secret is left in it", where="trace")
    left_out = ["bodies", "sources", *([] if marker else ["snapshots"])]
    return Scrubbed(
        data=_pack(out | film.files),
        tool=f"playwright {context.get('playwrightVersion', '')}".strip(),
        calls=sum(line.get("type") == "before" for lines in kept.values() for line in lines),
        masked=reducer.masked + len(held),
        left_out=tuple(left_out),
    )


def _unpack(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_BYTES:
                raise IntegrityError(f"a trace of more than {MAX_BYTES >> 20} MiB", where="trace")
            return {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise IntegrityError("the trace is no ZIP file", where="trace") from error


def _lines(content: bytes) -> list[Line]:
    try:
        return [orjson.loads(line) for line in content.splitlines() if line.strip()]
    except orjson.JSONDecodeError as error:
        raise IntegrityError("the trace has a line that is no JSON", where="trace") from error


def _mask_snapshots(
    files: dict[str, list[Line]], marker: Marker | None
) -> tuple[dict[str, list[Line]], list[str]]:
    """The lines with their snapshots masked, or without any; and what the masked nodes held."""
    if marker is None:
        bare = {
            name: [line for line in lines if line.get("type") != "frame-snapshot"]
            for name, lines in files.items()
        }
        return bare, []
    by_frame: dict[str, list[Line]] = defaultdict(list)
    for lines in files.values():
        for line in lines:
            if line.get("type") == "frame-snapshot":
                by_frame[line["snapshot"]["frameId"]].append(line["snapshot"])
    marks: Sequence[Marks] = marker([[one["html"] for one in each] for each in by_frame.values()])
    held: list[str] = []
    for snapshots, of_frame in zip(by_frame.values(), marks, strict=True):
        for snapshot, marked in zip(snapshots, of_frame, strict=True):
            snapshot["html"], texts = mask_nodes(snapshot["html"], frozenset(marked))
            held += texts
    return files, [text for text in held if text and text != MASK]


def _named(files: dict[str, list[Line]], members: dict[str, bytes], known: Needles) -> Iterator[str]:
    """Values that are secret by their name, anywhere: they may stand elsewhere without it."""
    for lines in files.values():
        for line in lines:
            for text in texts_of(line):
                yield from known.named_in(text)
            if line.get("type") == "resource-snapshot":
                yield from _session(line["snapshot"])
    for name, content in members.items():
        if name.startswith(RESOURCES):
            yield from known.named_in(content.decode("utf-8", "replace"))


def _session(entry: Line) -> Iterator[str]:
    """What proves who is asking: values of cookies, and of headers that carry a permission."""
    for side in (entry["request"], entry["response"]):
        for cookie in side.get("cookies", ()):
            if len(str(cookie.get("value", ""))) >= _LONG_COOKIE:
                yield str(cookie["value"])
        for header in side.get("headers", ()):
            value = str(header["value"])
            if header["name"].lower() in {"authorization", "proxy-authorization"}:
                yield value
                yield value.partition(" ")[2]
            elif header["name"].lower() in {"cookie", "set-cookie"}:
                pairs = (part.partition("=")[2].strip() for part in value.split(";"))
                yield from (pair for pair in pairs if len(pair) >= _LONG_COOKIE)


@dataclass(frozen=True, slots=True)
class _Film:
    """Our screens as the trace has its own."""

    lines: tuple[Line, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)

    def belongs(self, lines: Sequence[Line]) -> bool:
        """Is this the file of the context that they are from?"""
        return any(line.get("type") == "context-options" for line in lines)


def _film(context: Line, files: dict[str, list[Line]], screens: Sequence[Screen]) -> _Film:
    page = next(
        (
            line["params"]["pageId"]
            for lines in files.values()
            for line in lines
            if line.get("type") == "event" and line.get("method") == "page"
        ),
        None,
    )
    if page is None or not screens:
        return _Film()
    lines: list[Line] = []
    pictures: dict[str, bytes] = {}
    for screen in screens:
        name = f"screencast/{page}-{round(screen.at_ms)}.{SUFFIXES[media_type(screen.data)]}"
        pictures[name] = screen.data
        lines.append(
            {
                "type": "screencast-frame",
                "pageId": page,
                "file": name,
                "width": screen.width,
                "height": screen.height,
                "timestamp": context["monotonicTime"] + screen.at_ms - context["wallTime"],
                "frameSwapWallTime": screen.at_ms,
            }
        )
    return _Film(tuple(lines), pictures)


def _pack(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_STORED if name.endswith(_PACKED) else zipfile.ZIP_DEFLATED
            archive.writestr(info, members[name])
    return out.getvalue()
