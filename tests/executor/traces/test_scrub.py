"""Traces that are none, or not as known, are not handed out; without a page to ask, no snapshot is kept."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from PIL import Image

from domain.errors import IntegrityError
from executor.traces.scrub import Screen, scrub

CONTEXT = {
    "type": "context-options",
    "version": 10,
    "playwrightVersion": "1.65.1",
    "wallTime": 1000,
    "monotonicTime": 5,
}
PAGE = {
    "type": "event",
    "time": 6,
    "class": "BrowserContext",
    "method": "page",
    "params": {"pageId": "page@1"},
}
SNAPSHOT = {
    "type": "frame-snapshot",
    "snapshot": {
        "callId": "c@1",
        "frameId": "f@1",
        "pageId": "page@1",
        "html": ["HTML", {}, ["P", {}, "hello there"]],
    },
}


def packed(*lines: Any, **members: bytes) -> bytes:  # noqa: ANN401 - any JSON
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("trace.trace", "\n".join(json.dumps(line) for line in lines))
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def lines_of(data: bytes) -> list[dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [json.loads(line) for line in archive.read("trace.trace").splitlines()]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no zip", "no ZIP file"),
        (packed({**CONTEXT, "version": 99}), "format 99, not 10"),
        (packed(), "format None"),
        (packed(CONTEXT).replace(b"context", b"con\x00ext"), "no ZIP file|no JSON"),
    ],
)
def test_what_is_not_understood_is_refused(data: bytes, said: str) -> None:
    with pytest.raises((IntegrityError, zipfile.BadZipFile), match=f"{said}|CRC"):
        scrub(data, secrets=(), marker=None)


def test_without_a_page_to_ask_no_snapshot_is_kept() -> None:
    made = scrub(packed(CONTEXT, PAGE, SNAPSHOT), secrets=(), marker=None)
    assert [line["type"] for line in lines_of(made.data)] == ["context-options", "event"]
    assert made.left_out == ("bodies", "sources", "snapshots")


def test_lines_and_members_of_unknown_kinds_are_left_out() -> None:
    unknown = {"type": "new-in-2031", "data": "who knows"}
    made = scrub(
        packed(CONTEXT, unknown, **{"resources/a.bin": b"x", "odd/b": b"y"}), secrets=(), marker=None
    )
    assert [line["type"] for line in lines_of(made.data)] == ["context-options"]
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        assert archive.namelist() == ["trace.trace"]


def test_a_marked_text_is_gone_from_everywhere() -> None:
    call = {"type": "before", "callId": "c@1", "method": "click", "params": {"selector": "text=hello there"}}
    made = scrub(
        packed(CONTEXT, PAGE, SNAPSHOT, call), secrets=(), marker=lambda frames: [[[0]] for _ in frames]
    )
    assert b"hello there" not in made.data
    snapshot = next(line for line in lines_of(made.data) if line["type"] == "frame-snapshot")
    assert snapshot["snapshot"]["html"] == ["HTML", {}, ["P", {}, "•"]]
    assert made.masked == 2


@pytest.mark.parametrize(("kind", "suffix"), [("PNG", ".png"), ("WEBP", ".webp")])
def test_screens_stand_where_they_were_taken(kind: str, suffix: str) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 9)).save(picture, kind, lossless=True)
    shown = Screen(data=picture.getvalue(), width=8, height=9, at_ms=1250.0)
    made = scrub(packed(CONTEXT, PAGE), secrets=(), marker=None, screens=[shown])
    frame = lines_of(made.data)[-1]
    assert (frame["type"], frame["pageId"], frame["timestamp"]) == ("screencast-frame", "page@1", 255.0)
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        assert archive.read(frame["file"]) == shown.data
        assert archive.getinfo(frame["file"]).compress_type == zipfile.ZIP_STORED
    assert frame["file"].endswith(suffix)


def test_the_same_trace_gives_the_same_bytes() -> None:
    raw = packed(CONTEXT, PAGE, SNAPSHOT)
    one, two = (scrub(raw, secrets=("hello",), marker=lambda f: [[[]] for _ in f]).data for _ in range(2))
    assert one == two
