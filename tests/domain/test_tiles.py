"""Tiles of a screen: what is shown is proved, what is withheld is not to be found, and nothing rides along."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import tiles
from domain.merkle import root
from domain.tiles import Pixels
from domain.values import Box

KEY = b"k" * 32


def picture(width: int, height: int, seed: int = 1) -> Pixels:
    return Pixels(width, height, random.Random(seed).randbytes(width * height * 3))


def root_shown(pixels: Pixels, hidden: frozenset[int], hashes: list[bytes], salts: list[bytes]) -> str:
    """What a reader computes: from the tiles shown with their salts, and the leaves of those that aren't."""
    known = tiles.leaves(pixels, [None if number in hidden else salt for number, salt in enumerate(salts)])
    return root([hashes[n] if leaf is None else leaf for n, leaf in enumerate(known)]).hex()


@given(width=st.integers(1, 100), height=st.integers(1, 100), seed=st.integers(0, 99))
def test_a_rendition_comes_back_from_its_png(width: int, height: int, seed: int) -> None:
    pixels = picture(width, height, seed)
    assert tiles.decode_png(tiles.encode_png(pixels)) == pixels


@given(
    width=st.integers(1, 130),
    height=st.integers(1, 130),
    box=st.tuples(st.integers(-9, 140), st.integers(-9, 140), st.integers(0, 90), st.integers(0, 90)),
)
def test_every_pixel_of_a_rectangle_is_hidden_and_the_rest_gives_the_root(
    width: int, height: int, box: tuple[int, int, int, int]
) -> None:
    pixels = picture(width, height)
    region = Box(x=box[0], y=box[1], width=box[2], height=box[3])
    hidden = tiles.hidden_by(width, height, [region])
    whole, hashes, salts = tiles.commit(pixels, KEY, "a")
    shown = tiles.covered(pixels, hidden)
    assert root_shown(shown, hidden, hashes, salts) == whole
    assert tiles.is_covered(shown, hidden)
    columns = tiles.grid(width, height)[0]
    for x, y in ((box[0], box[1]), (box[0] + box[2] - 1, box[1] + box[3] - 1)):
        if box[2] and box[3] and 0 <= x < width and 0 <= y < height:
            assert y // tiles.TILE * columns + x // tiles.TILE in hidden


def test_a_pixel_changed_outside_of_the_rectangle_gives_another_root() -> None:
    pixels = picture(100, 70)
    hidden = tiles.hidden_by(100, 70, [Box(x=0, y=0, width=10, height=10)])
    whole, hashes, salts = tiles.commit(pixels, KEY, "a")
    rgb = bytearray(tiles.covered(pixels, hidden).rgb)
    rgb[-1] ^= 1
    assert root_shown(Pixels(100, 70, bytes(rgb)), hidden, hashes, salts) != whole


def test_a_tile_moved_to_another_place_gives_another_root() -> None:
    blank = Pixels(64, 32, bytes(64 * 32 * 3))
    _, hashes, salts = tiles.commit(blank, KEY, "a")
    assert hashes[0] != hashes[1], "equal tiles have unequal leaves"
    assert tiles.leaves(blank, [salts[1], salts[0]]) != hashes


def test_something_else_in_a_hidden_tile_is_noticed() -> None:
    pixels = picture(64, 64)
    assert not tiles.is_covered(pixels, {0})


def test_leaves_of_a_hidden_tile_can_not_be_tried_out_without_its_salt() -> None:
    pixels = Pixels(32, 32, bytes(32 * 32 * 3))
    _, (leaf,), _ = tiles.commit(pixels, KEY, "a")
    _, (other,), _ = tiles.commit(pixels, b"another key" * 3, "a")
    assert leaf != other
    assert leaf != tiles.leaves(pixels, [bytes(tiles.SALT_BYTES)])[0]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_a_png_with_anything_more_in_it_is_refused() -> None:
    data = tiles.encode_png(picture(40, 40))
    end = _chunk(b"IEND", b"")
    comment = data.removesuffix(end) + _chunk(b"tEXt", b"Comment\x00the original") + end
    header = data[8:33]
    packed = zlib.compress(bytes(40 * 121))
    other = {
        "a comment": comment,
        "bytes after its end": data + b"the original",
        "a cut": data[:-4],
        "a broken checksum": data[:60] + bytes([data[60] ^ 1]) + data[61:],
        "bytes after the picture": data[:8] + header + _chunk(b"IDAT", packed + b"the original") + end,
        "too few lines": data[:8] + header + _chunk(b"IDAT", zlib.compress(bytes(39 * 121))) + end,
        "filtered lines": data[:8]
        + header
        + _chunk(b"IDAT", zlib.compress(b"\x01" + bytes(40 * 121 - 1)))
        + end,
        "sixteen bits": data[:8] + _chunk(b"IHDR", struct.pack(">II5B", 40, 40, 16, 2, 0, 0, 0)) + data[33:],
        "a size that is none": data[:8]
        + _chunk(b"IHDR", struct.pack(">II5B", 1 << 20, 1 << 20, 8, 2, 0, 0, 0))
        + data[33:],
        "no PNG": b"GIF89a",
    }
    for what, bad in other.items():
        with pytest.raises(ValueError, match=r"PNG|picture|RGB"):
            print(what, tiles.decode_png(bad))  # noqa: T201 - names the one that passed
