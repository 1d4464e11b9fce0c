"""What a captured picture says of itself in its first bytes, without being decoded.

Sources: PNG, 11.2.2 (IHDR); RFC 9649, 2.5 to 2.7 and 3.4 (WebP: the simple lossless and the extended format).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Final

from PIL import Image

PNG: Final = "image/png"
WEBP: Final = "image/webp"
SUFFIXES: Final = {PNG: "png", WEBP: "webp"}
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PNG_SIZE: Final = struct.Struct(">II")
_PNG_SIZE_AT: Final = 16
_CHUNK: Final = struct.Struct("<4sI")
_FIRST_CHUNK_AT: Final = 12
_LOSSLESS_SIDE_BITS: Final = 14


def media_type(data: bytes) -> str:
    """``image/png`` or ``image/webp``; ``ValueError`` for anything else."""
    if data.startswith(_PNG_SIGNATURE):
        return PNG
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return WEBP
    message = "a picture that is neither PNG nor WebP"
    raise ValueError(message)


def is_lossless(data: bytes) -> bool:
    """True for any PNG, and for a WebP whose picture is a lossless bit stream."""
    return media_type(data) == PNG or _lossless_stream_at(data) is not None


def size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels, of a PNG or of a lossless WebP; ``ValueError`` for anything else."""
    if media_type(data) == PNG:
        width, height = _PNG_SIZE.unpack_from(data, _PNG_SIZE_AT)
        return width, height
    at = _lossless_stream_at(data)
    if at is None:
        message = "a WebP that is not lossless"
        raise ValueError(message)
    bits = int.from_bytes(data[at + 1 : at + 5], "little")  # after the signature 0x2f
    side = (1 << _LOSSLESS_SIDE_BITS) - 1
    return (bits & side) + 1, (bits >> _LOSSLESS_SIDE_BITS & side) + 1


def as_png(data: bytes) -> bytes:
    """The same pixels as PNG, for whoever takes nothing else."""
    if media_type(data) == PNG:
        return data
    out = io.BytesIO()
    with Image.open(io.BytesIO(data)) as image:
        image.convert("RGB").save(out, "PNG", compress_level=1)
    return out.getvalue()


def _lossless_stream_at(data: bytes) -> int | None:
    for name, at in _chunks(data):
        if name == b"VP8L":
            return at
    return None


def _chunks(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Name of each chunk of a WebP, and where its content begins."""
    at = _FIRST_CHUNK_AT
    while at + _CHUNK.size <= len(data):
        name, length = _CHUNK.unpack_from(data, at)
        yield name, at + _CHUNK.size
        at += _CHUNK.size + length + (length & 1)
