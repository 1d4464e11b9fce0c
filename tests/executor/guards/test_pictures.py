"""A picture's kind, size and losslessness, read from its first bytes."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from executor.guards import pictures


def encoded(kind: str, size: tuple[int, int], **how: object) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(out, kind, **how)
    return out.getvalue()


@pytest.mark.parametrize("size", [(1, 1), (1280, 800), (16383, 2), (3, 16383)])
def test_sizes_are_read_without_decoding(size: tuple[int, int]) -> None:
    simple = encoded("WEBP", size, lossless=True)
    extended = encoded("WEBP", size, lossless=True, icc_profile=b"profile of an odd length")
    assert simple[12:16] == b"VP8L"
    assert extended[12:16] == b"VP8X"
    for data in (encoded("PNG", size), simple, extended):
        assert pictures.size(data) == size
        assert pictures.is_lossless(data)


def test_a_webp_that_lost_something_is_told_apart() -> None:
    lossy = encoded("WEBP", (40, 30), quality=90)
    extended = encoded("WEBP", (40, 30), quality=90, icc_profile=b"odd")
    for data in (lossy, extended):
        assert pictures.media_type(data) == "image/webp"
        assert not pictures.is_lossless(data)
        with pytest.raises(ValueError, match="not lossless"):
            pictures.size(data)


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"RIFF\0\0\0\0WAVE", b"\x89PN"])
def test_what_is_no_picture_of_ours_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="neither PNG nor WebP"):
        pictures.media_type(data)


def test_pixels_survive_the_way_to_png() -> None:
    data = encoded("WEBP", (64, 48), lossless=True)
    png = pictures.as_png(data)
    assert pictures.media_type(png) == "image/png"
    with Image.open(io.BytesIO(data)) as one, Image.open(io.BytesIO(png)) as two:
        assert one.convert("RGB").tobytes() == two.convert("RGB").tobytes()
    assert pictures.as_png(png) is png
