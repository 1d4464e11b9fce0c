"""Two frames compared: the published distances, and what changed where (G1, G2).

Rules: equal bytes are equal pictures and are not decoded; the published distances (imagehash's 8 x 8 dHash of the
whole screen, stop above 10 bits; a crop of radius 48 px around the point, stop above 8 bits) are always measured
and recorded under the published verdicts, and don't decide: measured, they miss most harmful changes and stop
on a change of theme. Where there is no document to read (canvas, plug-in), changed pixels in the target's band
do decide.
"""

from __future__ import annotations

import functools
import io
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import imagehash
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops

from domain.ids import Sha256
from domain.values import Box, Check, Point
from executor.tools.base import Frame

SCREEN_LIMIT_BITS = 10
CROP_LIMIT_BITS = 8
CROP_RADIUS_PX = 48
TILE_PX = 16

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameDifference:
    """How two frames of one page differ; all zero when their bytes are equal."""

    same_size: bool = True
    dhash_screen_bits: int = 0
    dhash_crop_bits: int = 0
    changed_tiles: int = 0
    """Tiles of 16 x 16 px with at least one changed pixel."""
    changed_band_px: int = 0
    """Changed pixels in the full-width band of the target's row."""


class Comparison:
    """Two frames compared in a thread of its own, while the page that shows the newer one is read."""

    _pool = ThreadPoolExecutor(1, thread_name_prefix="pixels")

    def __init__(self, planned: Frame, *, point: Point | None, row: Box | None) -> None:
        self._planned = planned
        self._point = point
        self._row = row
        self._under_way: tuple[Sha256, Future[FrameDifference]] | None = None

    def begin(self, now: Frame) -> None:
        """The newer frame has been taken."""
        work = self._pool.submit(compare, self._planned, now, point=self._point, row=self._row)
        self._under_way = (now.sha256, work)

    def with_(self, now: Frame) -> FrameDifference:
        """How it differs; measured now if it is not the one that was begun with."""
        if self._under_way is not None and self._under_way[0] == now.sha256:
            return self._under_way[1].result()
        return compare(self._planned, now, point=self._point, row=self._row)


@functools.lru_cache(maxsize=4)
def decode(frame: Frame) -> Image.Image:
    """The picture, in RGB; the last few are kept, since a step's last frame is the next one's first."""
    with Image.open(io.BytesIO(frame.data)) as image:
        return image.convert("RGB")


@functools.lru_cache(maxsize=4)
def screen_hash(frame: Frame) -> imagehash.ImageHash:
    """The published hash of the whole screen."""
    return imagehash.dhash(decode(frame))


def changed_tiles(before: Pixels, after: Pixels) -> npt.NDArray[np.bool_]:
    """Which tiles differ, as rows and columns; tiles at the right and bottom edges may be smaller."""
    differs = (before != after).any(axis=2)
    height, width = differs.shape
    padded = np.pad(differs, ((0, -height % TILE_PX), (0, -width % TILE_PX)))
    rows, columns = padded.shape[0] // TILE_PX, padded.shape[1] // TILE_PX
    grid = padded.reshape(rows, TILE_PX, columns, TILE_PX)
    tiles: npt.NDArray[np.bool_] = np.asarray(grid.any(axis=(1, 3)), dtype=np.bool_)
    return tiles


def band_of(box: Box, width: int) -> Box:
    """The full-width band at the height of ``box``."""
    return Box(x=0, y=box.y, width=width, height=box.height)


def compare(
    planned: Frame, now: Frame, *, point: Point | None = None, row: Box | None = None
) -> FrameDifference:
    """Measure what changed between the frame an action was planned on and the newest one."""
    if planned.sha256 == now.sha256:
        return FrameDifference()
    first, second = decode(planned), decode(now)
    screen = int(screen_hash(planned) - screen_hash(now))
    if first.size != second.size:
        return FrameDifference(same_size=False, dhash_screen_bits=screen)
    crop = 0
    if point is not None:
        square = (
            max(0, point.x - CROP_RADIUS_PX),
            max(0, point.y - CROP_RADIUS_PX),
            min(first.width, point.x + CROP_RADIUS_PX),
            min(first.height, point.y + CROP_RADIUS_PX),
        )
        crop = int(imagehash.dhash(first.crop(square)) - imagehash.dhash(second.crop(square)))
    area = _changed_area(first, second)
    if area is None:  # the same pixels in other bytes
        return FrameDifference(dhash_screen_bits=screen, dhash_crop_bits=crop)
    one, two = (np.asarray(picture.crop(area)) for picture in (first, second))
    band = 0
    if row is not None:
        rows = slice(max(0, row.y - area[1]), max(0, row.y + row.height - area[1]))
        band = int((one[rows] != two[rows]).any(axis=2).sum())
    return FrameDifference(
        dhash_screen_bits=screen,
        dhash_crop_bits=crop,
        changed_tiles=int(changed_tiles(one, two).sum()),
        changed_band_px=band,
    )


def _changed_area(first: Image.Image, second: Image.Image) -> tuple[int, int, int, int] | None:
    """The rectangle of all changes (left, top, right, bottom), its corner moved onto the grid of tiles.

    Most changes are small, and comparing the whole screen pixel by pixel costs as much as decoding it.
    """
    box = ImageChops.difference(first, second).getbbox()
    if box is None:
        return None
    return box[0] // TILE_PX * TILE_PX, box[1] // TILE_PX * TILE_PX, box[2], box[3]


def check_frame(
    planned: Frame, now: Frame, seen: FrameDifference, *, row: Box | None, opaque: bool = False
) -> Check:
    """The frame guard's finding, with its measures.

    Args:
        planned: the frame the action was planned on.
        now: the frame right before the action.
        seen: how they differ; nothing where the newer one is the planned one itself, which is said.
        row: band of the row that holds the target.
        opaque: there is no document at the point, so pixels have to decide.
    """
    measures = {
        "recaptured": int(planned is not now),
        "dhash_screen_bits": seen.dhash_screen_bits,
        "dhash_screen_limit_bits": SCREEN_LIMIT_BITS,
        "dhash_crop_bits": seen.dhash_crop_bits,
        "dhash_crop_limit_bits": CROP_LIMIT_BITS,
        "changed_tiles": seen.changed_tiles,
        "changed_band_px": seen.changed_band_px,
    }
    if not seen.same_size:
        return Check(
            guard="frame",
            verdict="stale",
            expected=f"{planned.width} x {planned.height} px",
            found=f"{now.width} x {now.height} px",
            measures=measures,
        )
    if opaque and (seen.changed_band_px or (row is None and seen.changed_tiles)):
        return Check(
            guard="frame",
            verdict="stale_local",
            expected="unchanged pixels around an opaque target",
            found=f"{seen.changed_band_px or seen.changed_tiles} changed",
            measures=measures,
        )
    if seen.dhash_screen_bits > SCREEN_LIMIT_BITS:
        return Check(guard="frame", verdict="stale", decisive=False, measures=measures)
    if seen.dhash_crop_bits > CROP_LIMIT_BITS:
        return Check(guard="frame", verdict="stale_local", decisive=False, measures=measures)
    return Check(guard="frame", verdict="pass", decisive=False, measures=measures)


def check_effect(*, same_document: bool, before: Frame, after: Frame, opaque: bool = False) -> Check:
    """Did the action do anything (G3)? The document decides; pixels only where there is none.

    Measured: by hash alone, 8 of 13 real effects would have been called a no-op.
    """
    seen = compare(before, after)
    measures = {"dhash_screen_bits": seen.dhash_screen_bits, "changed_tiles": seen.changed_tiles}
    nothing = same_document and not (opaque and seen.changed_tiles)
    return Check(guard="effect", verdict="noop" if nothing else "pass", measures=measures)
