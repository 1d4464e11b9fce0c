"""Reading a label that no document has: from the pixels of the element's own box, and of nothing beside it (G4).

Rules: recognition only, on the box that holds the point: measured, a neighbourhood of 64 px passes a wrong neighbour in
23 to 29 cases of 30, the own box reads Chinese, English and Japanese buttons without a fault. Where a canvas holds
several things, the box is what its borders or its gaps set apart around the point. Korean is read by Tesseract, whose
own model knows it. What can't be read is said with the remedy, and never passes.
"""

from __future__ import annotations

import functools
import io
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageOps

from domain.values import Box, Point

HANGUL: Final = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
INSTALL: Final = "pip install proofreel[ocr]"
INSTALL_KOREAN: Final = "apt-get install tesseract-ocr tesseract-ocr-kor"
TIME_LIMIT_S: Final = 10
REACH: Final = (260, 60)
"""Pixels left and right, above and below the point within which a label on a large surface is looked for."""
SEEDS: Final = tuple((dx, dy) for dy in (0, -9, 9, -4, 4) for dx in (0, -5, 5, -12, 12))
"""Where background is looked for, from the point; the point itself may lie on a letter."""
LOWEST: Final = 10
"""Pixels of height below which a stretch of background lies within a letter."""
INK: Final = 40
"""Difference of brightness from the background, of 255, from which a pixel counts as drawn."""
LINES_APART: Final = 8
"""Blank rows between two lines of text; fewer lie within a letter."""
GAP: Final = 1.2
"""Blank columns between two labels, in heights of the label."""
TALLEST: Final = 72
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What stands on a box, or why nobody can tell."""

    text: str = ""
    problem: str = ""
    engine: str = ""


def read_label(picture: bytes, box: Box, point: Point, *, expected: str) -> Reading:
    """The text on an element's own box.

    Args:
        picture: the screen, PNG or WebP, secrets painted over.
        box: the element's box on it.
        point: where the pointer goes.
        expected: what the plan expects; its script decides who reads.
    """
    with Image.open(io.BytesIO(picture)) as image:
        left, top = max(0, box.x), max(0, box.y)
        right, bottom = min(image.width, box.x + box.width), min(image.height, box.y + box.height)
        if right <= left or bottom <= top:
            return Reading(problem="it lies outside of the screen")
        part = image.convert("RGB").crop((left, top, right, bottom))
    own = own_box(np.asarray(part.convert("L")), point.x - left, point.y - top)
    if own is None:
        return Reading(problem="nothing is drawn at the point")
    return (_korean if HANGUL.search(expected) else _others)(part.crop(own))


def own_box(pixels: Pixels, x: int, y: int) -> tuple[int, int, int, int] | None:
    """Left, top, right and bottom of the label that is set apart around a point; None when none is drawn there."""
    height, width = pixels.shape
    if not (0 <= x < width and 0 <= y < height):
        return None
    x0, x1 = max(0, x - REACH[0]), min(width, x + REACH[0])
    y0, y1 = max(0, y - REACH[1]), min(height, y + REACH[1])
    part, at_x, at_y = pixels[y0:y1, x0:x1].astype(np.int16), x - x0, y - y0
    near = part[max(0, at_y - 12) : at_y + 12, max(0, at_x - 24) : at_x + 24]
    ink: npt.NDArray[np.bool_] = np.abs(part - int(np.median(near))) > INK
    left, top, right, bottom = _face(ink, at_x, at_y)
    lines: npt.NDArray[np.bool_] = np.any(ink[top:bottom, left:right], axis=1)
    first, last = _run(lines, at_y - top, blank=LINES_APART)
    label: npt.NDArray[np.bool_] = np.any(ink[top + first : top + last, left:right], axis=0)
    begin, end = _run(label, at_x - left, blank=round(GAP * min(last - first, TALLEST)))
    if first == last or begin == end:
        return None
    return x0 + left + begin, y0 + top + first, x0 + left + end, y0 + top + last


def _face(ink: npt.NDArray[np.bool_], x: int, y: int) -> tuple[int, int, int, int]:
    """The smallest stretch of background around a point that bears something: within its border, if it has one."""
    height, width = ink.shape
    filled = Image.fromarray(np.where(ink, 255, 0).astype(np.uint8)).copy()  # the array is not to be written
    best = (0, 0, width, height)
    for value, (dx, dy) in enumerate(SEEDS, 1):
        seed = (min(max(0, x + dx), width - 1), min(max(0, y + dy), height - 1))
        if filled.getpixel(seed) != 0:
            continue
        ImageDraw.floodfill(filled, seed, value)
        rows, columns = np.nonzero(np.asarray(filled) == value)
        box = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
        holds = box[0] <= x < box[2] and box[1] <= y < box[3] and box[3] - box[1] >= LOWEST
        drawn = ink[box[1] : box[3], box[0] : box[2]].any()
        if holds and drawn and _area(box) < _area(best):
            best = box
    return best


def _area(box: tuple[int, int, int, int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _run(drawn: npt.NDArray[np.bool_], at: int, *, blank: int) -> tuple[int, int]:
    """The drawn stretch around a place, up to blanks wider than ``blank``; empty when the place is in such a blank."""
    columns = np.flatnonzero(drawn)
    if not columns.size:
        return 0, 0
    for group in np.split(columns, np.flatnonzero(np.diff(columns) > blank) + 1):
        if group[0] - blank // 2 <= at <= group[-1] + blank // 2:
            return max(0, int(group[0]) - blank // 2), min(drawn.size, int(group[-1]) + 1 + blank // 2)
    return 0, 0


def _others(part: Image.Image) -> Reading:
    """Chinese, English, Japanese and whatever else is written in their characters."""
    engine = _rapid()
    if engine is None:
        return Reading(problem=f"no OCR is installed: {INSTALL}")
    bgr = np.ascontiguousarray(np.asarray(part)[:, :, ::-1])
    answer = engine(bgr, use_det=False, use_cls=False, use_rec=True)
    return Reading(text=" ".join(answer.txts or ()).strip(), engine="rapidocr")


@functools.cache
def _rapid() -> Callable[..., Any] | None:
    """The recogniser, loaded once; its models come with its package."""
    try:
        from rapidocr import RapidOCR  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        return None
    made: Callable[..., Any] = RapidOCR(params={"Global.log_level": "error"})
    return made


def _korean(part: Image.Image) -> Reading:
    program = shutil.which("tesseract")
    if program is None:
        return Reading(problem=f"no OCR for Korean is installed: {INSTALL_KOREAN}")
    data = io.BytesIO()
    _prepared(part).save(data, "PNG")
    try:
        done = subprocess.run(  # noqa: S603 - a program on PATH with fixed arguments
            [program, "stdin", "stdout", "-l", "kor", "--psm", "7"],
            input=data.getvalue(),
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Reading(problem=f"the OCR for Korean doesn't answer ({type(error).__name__})")
    if done.returncode:
        return Reading(problem=f"the OCR for Korean has no Korean: {INSTALL_KOREAN}")
    return Reading(text=done.stdout.decode("utf-8", "replace").strip(), engine="tesseract")


def _prepared(part: Image.Image) -> Image.Image:
    """Dark on light, three times as large, without a border and with a margin: what Tesseract reads best (measured)."""
    grey = part.convert("L")
    inset = 3 if min(grey.size) > 18 else 0  # noqa: PLR2004 - a border is thinner than what it holds
    grey = ImageOps.autocontrast(grey.crop((inset, inset, grey.width - inset, grey.height - inset)))
    if sum(grey.histogram()[:128]) * 2 > grey.width * grey.height:
        grey = ImageOps.invert(grey)
    large = grey.resize((grey.width * 3, grey.height * 3), Image.Resampling.LANCZOS)
    return ImageOps.expand(large, 20, 255)
