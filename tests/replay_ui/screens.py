"""Screens compared with kept ones, as somebody would who looks from a step away.

Letters differ by a pixel between machines, and other fonts draw Chinese otherwise; a block that has moved, a colour
that has changed or a part that is gone differs by far more. So both are made small and soft first, and what is compared
is the share of places that still differ plainly.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageFilter

KEPT: Final = Path(__file__).parents[1] / "golden" / "screens"
SCALE: Final = 4
SOFT_PX: Final = 1.5
PLAIN: Final = 28
"""Levels (of 255) from which a place differs plainly."""
TOLERANCE: Final = 0.02
"""Share of places that may."""


def small(png: bytes) -> Image.Image:
    """The picture as it is kept."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    size = (max(image.width // SCALE, 1), max(image.height // SCALE, 1))
    return image.filter(ImageFilter.GaussianBlur(SOFT_PX)).resize(size, Image.Resampling.BOX)


def keep(name: str, png: bytes) -> None:
    """Make a picture the one to compare with."""
    KEPT.mkdir(parents=True, exist_ok=True)
    small(png).save(KEPT / f"{name}.png", optimize=True)


def difference(kept: Image.Image, png: bytes) -> float:
    """Share of places that differ plainly; 1 where the sizes have nothing to do with each other."""
    now = small(png)
    width, height = min(kept.width, now.width), min(kept.height, now.height)
    largest = max(kept.width, now.width) * max(kept.height, now.height)
    one, other = (
        np.asarray(image.crop((0, 0, width, height)), dtype=np.int16) for image in (kept.convert("RGB"), now)
    )
    differs = int((np.abs(one - other).max(axis=2) >= PLAIN).sum())
    return (differs + largest - width * height) / largest
