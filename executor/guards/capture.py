"""Screen captures: fast, lossless, and without secrets.

Rules: the pixels are those of Playwright's own screenshot; password inputs and configured fields are painted over
before anything else sees the bytes; the page is not changed for it; an unchanged page gives byte-identical frames.
Captured through the DevTools protocol because that takes two thirds of the time, as WebP without loss because dense
pages take a third of the bytes that way, for 17 ms more (ADR 12); where WebP loses something, PNG is asked for.
"""

from __future__ import annotations

import base64
import hashlib
import io
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from PIL import Image, ImageDraw

from domain.errors import WorldError
from domain.ids import Sha256
from domain.ports import Clock
from executor.guards import pictures
from executor.guards.world import IsolatedWorld, WorldGone
from executor.tools.base import Frame

Rect = tuple[int, int, int, int]
"""Left, top, right, bottom in frame pixels."""
MASK_COLOUR = (38, 38, 38)
MARGIN = 1
MASK_ATTEMPTS = 3
FRESH_S = 0.25
"""How old an answer about the secrets before a capture may be; the one after it is never older than the pixels."""
_AS_WEBP: Final[Mapping[str, Any]] = {"format": "webp", "quality": 100}
"""In Chromium a quality of 100 is lossless; every picture is looked at all the same."""
_AS_PNG: Final[Mapping[str, Any]] = {"format": "png", "optimizeForSpeed": True}
T = TypeVar("T")


def paint_over(data: bytes, rects: Sequence[Rect]) -> bytes:
    """The same picture with flat rectangles, as PNG; the pixels under them are gone."""
    with Image.open(io.BytesIO(data)) as image:
        picture = image.convert("RGB")
    draw = ImageDraw.Draw(picture)
    for rect in rects:
        draw.rectangle(rect, fill=MASK_COLOUR)
    out = io.BytesIO()
    picture.save(out, format="PNG", compress_level=1)
    return out.getvalue()


class Camera:
    """Takes the frames of one page."""

    def __init__(self, world: IsolatedWorld, clock: Clock) -> None:
        self.world = world
        self.clock = clock
        self._options = _AS_WEBP
        self._last: tuple[bytes, tuple[Rect, ...], Frame] | None = None

    def capture(self) -> Frame:
        """Capture the viewport.

        Raises:
            WorldError: the page can't be captured, or its secret fields don't hold still.
        """
        return self.capture_with(lambda: None)[0]

    def capture_with(
        self, read: Callable[[], T], *, early: Callable[[Frame], object] | None = None
    ) -> tuple[Frame, T]:
        """Capture the viewport and read the page right afterwards; what is read may say where the secrets are.

        Args:
            read: reads the page.
            early: handed the picture before the page is read, where nothing in it has to be painted over; once more
                when it had to be taken again.

        Raises:
            WorldError: as for ``capture``.
        """
        began = time.perf_counter_ns()
        at_us = self.clock.now_us()
        before = self._secrets(since_s=time.monotonic() - FRESH_S)
        for _ in range(MASK_ATTEMPTS):
            raw = self._shoot()
            taken_s = time.monotonic()
            if early is not None and not before:
                early(self._frame(raw, (), at_us, began))
            answer = read()
            after = self._secrets(since_s=taken_s)
            if before == after:
                return self._frame(raw, after, at_us, began), answer
            before = after
        raise WorldError("secret fields keep moving", remedy="capture again when the page has settled")

    def _frame(self, raw: bytes, rects: tuple[Rect, ...], at_us: int, began_ns: int) -> Frame:
        last = self._last
        if last is not None and last[0] == raw and last[1] == rects:
            data, sha256, size = last[2].data, last[2].sha256, (last[2].width, last[2].height)
        else:
            data = paint_over(raw, rects) if rects else raw
            sha256, size = Sha256(hashlib.sha256(data).hexdigest()), pictures.size(data)
        frame = Frame(
            data=data,
            sha256=sha256,
            width=size[0],
            height=size[1],
            media_type=pictures.media_type(data),
            captured_at_us=at_us,
            latency_us=(time.perf_counter_ns() - began_ns) // 1000,
            masked=len(rects),
        )
        self._last = (raw, rects, frame)
        return frame

    def _shoot(self) -> bytes:
        raw = self._shot(self._options)
        if not pictures.is_lossless(raw):
            self._options = _AS_PNG
            raw = self._shot(self._options)
        return raw

    def _shot(self, options: Mapping[str, Any]) -> bytes:
        answer: dict[str, Any] = self.world.send("Page.captureScreenshot", dict(options))
        return base64.b64decode(answer["data"])

    def _secrets(self, *, since_s: float) -> tuple[Rect, ...]:
        """Where the secret fields are; an answer that the page gave since then counts as long as it is one frame."""
        places = self.world.places()
        seen = self.world.sighting
        known = len(places) == 1 and seen is not None and seen.place == places[0].unique_id
        found: list[Rect] = []
        for place in places:
            try:
                if known and seen is not None and seen.at_s >= since_s:
                    answer = seen.answer
                else:
                    answer = self.world.call("secretRects", place=place)
                left, top = self.world.offset_of(place) if answer["rects"] else (0.0, 0.0)
            except WorldGone:
                continue
            scale = answer["scale"]
            for x, y, width, height in answer["rects"]:
                x0, y0 = (x + left) * scale, (y + top) * scale
                x1, y1 = x0 + width * scale, y0 + height * scale
                box = (int(x0) - MARGIN, int(y0) - MARGIN, int(x1) + MARGIN + 1, int(y1) + MARGIN + 1)
                found.append(box)
        return tuple(sorted(found))
