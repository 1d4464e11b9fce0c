"""Salted tiles of a screen: what is shown of a redacted screen is proved, what is withheld can't be guessed (X7).

A screen's pixels (8-bit RGB, rows from the top) are cut into tiles of 32 pixels. Each tile gives one leaf of a Merkle
tree, under a salt of its own; the root is committed to. Whoever withholds a tile shows its leaf and keeps its salt;
whoever is shown the other tiles with their salts computes the same root, or the picture is not the one committed to.
A rectangle therefore hides every tile that it touches: part of a tile would be shown unproved.

Hidden tiles of a rendition hold one pattern and nothing else, and a rendition is a PNG of one form (``encode_png``), so
that nothing can be smuggled in it. The form needs no library of pictures to be read.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from domain.merkle import leaf_hash, root
from domain.values import Box

TILE: Final = 32
"""Pixels of a tile's side; those at the right and bottom edge are as small as the screen makes them."""
SALT_BYTES: Final = 16
MAX_PIXELS: Final = 1 << 26
"""Pixels of the largest screen that is looked at."""
_CHANNELS: Final = 3
_STRIPE: Final = 4
_DARK, _LIGHT = bytes((0x45, 0x4F, 0x5B)), bytes((0x6B, 0x76, 0x84))
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER: Final = struct.Struct(">II5B")
_RGB8: Final = (8, 2, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Pixels:
    """A picture: ``width`` x ``height`` pixels, three bytes each, row by row from the top left."""

    width: int
    height: int
    rgb: bytes

    def __post_init__(self) -> None:
        """``ValueError`` when size and bytes don't agree."""
        if min(self.width, self.height) < 1 or self.width * self.height > MAX_PIXELS:
            message = f"{self.width} x {self.height} is no size of a screen"
            raise ValueError(message)
        if len(self.rgb) != self.width * self.height * _CHANNELS:
            message = f"{self.width} x {self.height} pixels are not {len(self.rgb)} bytes"
            raise ValueError(message)


def salt_for(key: bytes, subject: str, place: str) -> bytes:
    """Salt of one leaf: HMAC-SHA256 over what the tree is of and the leaf's place, cut to 16 bytes."""
    text = f"proofreel-salt/v1\x00{subject}\x00{place}".encode()
    return hmac.digest(key, text, hashlib.sha256)[:SALT_BYTES]


def grid(width: int, height: int) -> tuple[int, int]:
    """Columns and rows of tiles."""
    return -(-width // TILE), -(-height // TILE)


def hidden_by(width: int, height: int, regions: Sequence[Box]) -> frozenset[int]:
    """Numbers of the tiles that rectangles touch, row by row; what lies outside of the screen is passed over."""
    columns, rows = grid(width, height)
    hidden: set[int] = set()
    for box in regions:
        if box.width < 1 or box.height < 1:
            continue
        left, top = max(box.x, 0) // TILE, max(box.y, 0) // TILE
        right = min((box.x + box.width - 1) // TILE, columns - 1)
        bottom = min((box.y + box.height - 1) // TILE, rows - 1)
        for row in range(top, bottom + 1):
            hidden.update(range(row * columns + left, row * columns + right + 1))
    return frozenset(hidden)


def leaves(pixels: Pixels, salts: Sequence[bytes | None]) -> list[bytes | None]:
    """Leaf hash of each tile under its salt, None where there is no salt."""
    columns, rows = grid(pixels.width, pixels.height)
    if len(salts) != columns * rows:
        message = f"{columns * rows} tiles and {len(salts)} salts"
        raise ValueError(message)
    made: list[bytes | None] = []
    for number, salt in enumerate(salts):
        if salt is None:
            made.append(None)
            continue
        row, column = divmod(number, columns)
        place = struct.pack(">IIII", pixels.width, pixels.height, column, row)
        made.append(leaf_hash(salt + place + tile(pixels, number)))
    return made


def tile(pixels: Pixels, number: int) -> bytes:
    """The bytes of one tile, row by row."""
    row, column = divmod(number, grid(pixels.width, pixels.height)[0])
    left, right = column * TILE * _CHANNELS, min((column + 1) * TILE, pixels.width) * _CHANNELS
    stride = pixels.width * _CHANNELS
    lines = range(row * TILE, min((row + 1) * TILE, pixels.height))
    return b"".join([pixels.rgb[y * stride + left : y * stride + right] for y in lines])


def commit(pixels: Pixels, key: bytes, subject: str) -> tuple[str, list[bytes], list[bytes]]:
    """Root in hex, leaf hashes and salts of a whole screen; ``subject`` is its SHA-256."""
    columns, rows = grid(pixels.width, pixels.height)
    salts = [salt_for(key, subject, str(number)) for number in range(columns * rows)]
    hashes = [leaf for leaf in leaves(pixels, salts) if leaf is not None]
    return root(hashes).hex(), hashes, salts


def covered(pixels: Pixels, hidden: Collection[int]) -> Pixels:
    """The picture with the pattern in the hidden tiles."""
    columns = grid(pixels.width, pixels.height)[0]
    stride = pixels.width * _CHANNELS
    rgb = bytearray(pixels.rgb)
    for number in hidden:
        row, column = divmod(number, columns)
        left, right = column * TILE, min((column + 1) * TILE, pixels.width)
        for y in range(row * TILE, min((row + 1) * TILE, pixels.height)):
            start = y * stride + left * _CHANNELS
            rgb[start : y * stride + right * _CHANNELS] = _pattern(y, right - left)
    return Pixels(pixels.width, pixels.height, bytes(rgb))


def _pattern(y: int, width: int) -> bytes:
    """One line of a hidden tile: slanting stripes, the same in every tile."""
    return b"".join(_LIGHT if (x + y) // _STRIPE % 2 else _DARK for x in range(width))


def is_covered(pixels: Pixels, hidden: Collection[int]) -> bool:
    """True if the hidden tiles hold the pattern and nothing else."""
    return covered(pixels, hidden).rgb == pixels.rgb


def encode_png(pixels: Pixels) -> bytes:
    """PNG in the one form of a rendition: 8-bit RGB, unfiltered, one IDAT, no other chunk."""
    stride = pixels.width * _CHANNELS
    lines = b"".join(b"\x00" + pixels.rgb[y * stride : (y + 1) * stride] for y in range(pixels.height))
    header = _HEADER.pack(pixels.width, pixels.height, *_RGB8)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def decode_png(data: bytes) -> Pixels:
    """Read a rendition; ``ValueError`` for a PNG of any other form, whatever else it may show."""
    (width, height, *form), packed = _parts(data)
    if tuple(form) != _RGB8 or not 0 < width * height <= MAX_PIXELS:
        message = "not 8-bit RGB, or too large"
        raise ValueError(message)
    size = height * (1 + width * _CHANNELS)
    unpacker = zlib.decompressobj()
    try:
        lines = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        message = "the picture can't be unpacked"
        raise ValueError(message) from error
    stride = 1 + width * _CHANNELS
    if len(lines) != size or not unpacker.eof or unpacker.unused_data or any(lines[::stride]):
        message = "the picture has another size than it says, or filtered lines"
        raise ValueError(message)
    return Pixels(width, height, b"".join(lines[y * stride + 1 : (y + 1) * stride] for y in range(height)))


def _parts(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Fields of the header and the packed lines, if header, one IDAT and the end are all there is."""
    at = len(_SIGNATURE)
    found: list[tuple[bytes, bytes]] = []
    while data.startswith(_SIGNATURE) and at + 8 <= len(data) and len(found) < len(_RGB8):
        (size,) = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if _chunk(kind, content) != data[at : at + 12 + size]:
            break
        found.append((kind, content))
        at += 12 + size
    kinds = [kind for kind, _ in found]
    if kinds != [b"IHDR", b"IDAT", b"IEND"] or at != len(data) or len(found[0][1]) != _HEADER.size:
        message = "not a PNG of the one form: IHDR, one IDAT, IEND"
        raise ValueError(message)
    return _HEADER.unpack(found[0][1]), found[1][1]
