"""Blobs read ahead: in the order asked for, few at a time, and what goes wrong in its turn."""

from __future__ import annotations

import hashlib
import threading

import pytest

from domain.errors import IntegrityError
from domain.ids import Sha256
from projections.exports.ahead import reading_ahead
from projections.exports.zipwriter import Spool, piece_of

CONTENTS = [f"blob {number}".encode() * 1_000 for number in range(40)]
NAMES = [hashlib.sha256(data).hexdigest() for data in CONTENTS]


class Counting:
    """Blobs that count what was asked for, and lack some; the first answers only after the second was asked for."""

    def __init__(self, *, missing: frozenset[str] = frozenset()) -> None:
        self.asked: list[str] = []
        self._missing = missing
        self._second = threading.Event()

    def get(self, sha256: Sha256) -> bytes:
        self.asked.append(sha256)
        if sha256 == NAMES[0]:
            assert self._second.wait(30)
        if sha256 == NAMES[1]:
            self._second.set()
        if sha256 in self._missing:
            raise IntegrityError("missing", where=f"blob {sha256}")
        return CONTENTS[NAMES.index(sha256)]

    def has(self, sha256: Sha256) -> bool:
        return sha256 not in self._missing


def take_all(blobs: Counting, taken: list[bytes]) -> None:
    with reading_ahead(blobs, NAMES) as contents:
        for data, _ in contents:
            taken.append(data)


def test_blobs_come_in_the_order_asked_for_while_others_are_read() -> None:
    with reading_ahead(Counting(), NAMES) as contents:
        read = list(contents)
    assert [data for data, _ in read] == CONTENTS
    for (data, piece), name in zip(read, NAMES, strict=True):
        assert piece.sha256 == name
        assert (piece.size, piece.crc) == (len(data), piece_of(data).crc)
        assert b"".join(piece.chunks()) == data


@pytest.mark.parametrize("most", [2, 8])
def test_only_a_few_are_read_before_they_are_taken(most: int) -> None:
    blobs = Counting()
    with reading_ahead(blobs, NAMES, most=most) as contents:
        for taken in range(1, 4):
            next(contents)
            assert len(blobs.asked) < taken + most


def test_what_is_missing_is_said_in_its_turn_and_nothing_goes_on_behind_it() -> None:
    blobs = Counting(missing=frozenset({NAMES[5], NAMES[6]}))
    taken: list[bytes] = []
    with pytest.raises(IntegrityError, match=NAMES[5]):
        take_all(blobs, taken)
    assert taken == CONTENTS[:5]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("export-blob")]


def test_a_spool_gives_its_pieces_whatever_waits() -> None:
    spool = Spool()
    first, second = [b"a" * 100, b"b" * 200_000, b""], [b"c" * 7]
    for data in first:
        spool.write(data)
    one = spool.piece()
    for data in second:
        spool.write(data)
    two, none = spool.piece(), spool.piece()
    for piece, data in ((one, b"".join(first)), (two, b"".join(second)), (none, b"")):
        known = piece_of(data)
        assert (piece.size, piece.crc, piece.sha256) == (known.size, known.crc, known.sha256)
        assert b"".join(piece.chunks()) == data
    spool.close()
