"""How frames could be kept: time at capture against bytes kept, all without loss.

``python -m tests.benchmarks.frames [FOLDER]`` measures frames that a record holds (a folder of blobs), or captures some
of the practice portal itself. Each encoding is decoded again and compared pixel by pixel before it counts.
"""

from __future__ import annotations

import base64
import io
import statistics
import struct
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from playwright.sync_api import Page
from rich.console import Console
from rich.table import Table

from executor.cli.gauntlet_command import open_field
from executor.sandbox.gauntlet.arms import PublishedLoop
from executor.sandbox.gauntlet.scenario import find

_PNG = b"\x89PNG\r\n\x1a\n"
FAST_PNG = "PNG, optimised for speed"
TAKEN: Mapping[str, Mapping[str, str | int | bool]] = {
    FAST_PNG: {"format": "png", "optimizeForSpeed": True},
    "PNG": {"format": "png"},
    "WebP without loss, as the product does": {"format": "webp", "quality": 100},
}
"""How the browser can be asked for a picture."""
PAGES = 12
ROUNDS = 3
Encode = Callable[[Image.Image, bytes], bytes]


def _pillow(**options: Any) -> Encode:  # noqa: ANN401 - options of the encoder
    def encode(image: Image.Image, _: bytes) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, **options)
        return buffer.getvalue()

    return encode


def _unfiltered(image: Image.Image, level: int) -> bytes:
    """Rows as they are: what programs draw repeats itself to the pixel. Decoding the captured one comes on top."""
    pixels = np.asarray(image)
    height, width, depth = pixels.shape
    rows = np.zeros((height, 1 + width * depth), dtype=np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    kind = {3: 2, 4: 6}[depth]
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b""))
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def _zstd(level: int) -> Encode:
    codec = pa.Codec("zstd", compression_level=level)
    return lambda image, _: codec.compress(image.tobytes(), asbytes=True)


WAYS: dict[str, Encode] = {
    "PNG as captured (fast)": lambda _, captured: captured,
    "PNG, Pillow level 1": _pillow(format="PNG", compress_level=1),
    "PNG, Pillow level 6": _pillow(format="PNG", compress_level=6),
    "PNG, rows unfiltered, level 6": lambda image, _: _unfiltered(image, 6),
    "PNG, rows unfiltered, level 9": lambda image, _: _unfiltered(image, 9),
    "PNG, Pillow optimised": _pillow(format="PNG", optimize=True),
    "WebP lossless, method 0": _pillow(format="WEBP", lossless=True, exact=True, quality=0, method=0),
    "WebP lossless, method 2": _pillow(format="WEBP", lossless=True, exact=True, quality=50, method=2),
    "WebP lossless, method 4": _pillow(format="WEBP", lossless=True, exact=True, quality=75, method=4),
    "zstd 3 of raw pixels": _zstd(3),
    "zstd 9 of raw pixels": _zstd(9),
    "zstd 3 of the captured PNG": lambda _, captured: pa.Codec("zstd").compress(captured, asbytes=True),
}


def _loses(name: str, image: Image.Image, data: bytes) -> bool:
    if name.startswith("zstd"):
        return False  # bytes in, the same bytes out
    with Image.open(io.BytesIO(data)) as again:
        return again.convert(image.mode).tobytes() != image.tobytes()


def from_folder(folder: Path) -> list[bytes]:
    """Every PNG of a folder of blobs."""
    blobs = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    return [blob for blob in blobs if blob.startswith(_PNG)]


def capture(pages: int) -> tuple[list[bytes], dict[str, list[tuple[float, int]]]]:
    """Frames of the sandbox portal as fast PNG, and what taking them cost in each way (ms, and bytes)."""
    spent: dict[str, list[tuple[float, int]]] = {name: [] for name in TAKEN}
    frames = []
    with open_field(["published"], think_ms=0, language="zh") as stage:
        loop = stage.loops["published"]
        assert isinstance(loop, PublishedLoop)
        loop.log_in()
        session = loop.page.context.new_cdp_session(loop.page)
        for number in range(pages):
            bill = stage.arena.deal(find("quiet"), number).bill.id
            _visit(loop.page, stage.arena.portal.url, bill, number)
            for name, options in TAKEN.items():
                began = time.perf_counter()
                shot = base64.b64decode(session.send("Page.captureScreenshot", dict(options))["data"])
                spent[name].append(((time.perf_counter() - began) * 1000, len(shot)))
                if name == FAST_PNG:
                    frames.append(shot)
        session.detach()
        loop.rest()
    return frames, spent


def _visit(page: Page, url: str, bill: str, number: int) -> None:
    """By turns the list and a bill."""
    page.goto(f"{url}/bills/{bill}" if number % 2 else f"{url}/bills")


def measure(frames: Sequence[bytes]) -> list[tuple[str, float, float]]:
    """Way, CPU milliseconds a frame (least of some rounds), bytes a frame."""
    images: list[Image.Image] = []
    for data in frames:
        with Image.open(io.BytesIO(data)) as opened:
            images.append(opened.copy())
    found = []
    for name, encode in WAYS.items():
        costs, sizes = [], []
        for image, data in zip(images, frames, strict=True):
            times = []
            for _ in range(ROUNDS):
                began = time.process_time()
                made = encode(image, data)
                times.append(time.process_time() - began)
            if _loses(name, image, made):
                message = f"{name} changed pixels"
                raise AssertionError(message)
            costs.append(min(times) * 1000)
            sizes.append(len(made))
        found.append((name, statistics.median(costs), statistics.mean(sizes)))
    return found


def main(arguments: Sequence[str] = ()) -> None:
    """Measure and print the table."""
    spent: dict[str, list[tuple[float, int]]] = {}
    if arguments:
        frames = from_folder(Path(arguments[0]))
    else:
        frames, spent = capture(PAGES)
    rows = measure(frames)
    base = rows[0][2]
    table = Table(title=f"Keeping a frame: {len(frames)} frames", title_justify="left")
    for heading in ("way", "CPU ms a frame", "kB a frame", "of the captured PNG"):
        table.add_column(heading)
    for name, cost, size in rows:
        table.add_row(name, f"{cost:.1f}", f"{size / 1000:.1f}", f"{size / base:.2f}")
    Console(width=110).print(table)
    for name, values in spent.items():
        ms, octets = zip(*values, strict=True)
        print(f"taking one, {name}: {statistics.median(ms):.0f} ms, {statistics.mean(octets) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
