"""The zip's one form is read by others as what it is, also where numbers are too large for the first zip."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from projections.exports.verify.zipformat import (
    MAX_MEMBER_BYTES,
    Member,
    central_entry,
    end_record,
    local_header,
)
from projections.exports.zipwriter import Spool, ZipWriter, piece_of


def test_members_are_read_back_by_the_library() -> None:
    target = io.BytesIO()
    writer = ZipWriter(target, "base")
    for name in ("a.txt", "b/c.bin"):
        writer.add(name, piece_of(name.encode() * 1000))
    assert writer.finish() == len(target.getvalue())
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        assert archive.read("base/b/c.bin") == b"b/c.bin" * 1000


def test_more_members_than_sixteen_bits_count_are_all_there() -> None:
    target = io.BytesIO()
    writer = ZipWriter(target, "base")
    empty = piece_of(b"")
    for number in range(0x10002):
        writer.add(f"{number:06}", empty)
    writer.finish()
    with zipfile.ZipFile(target) as archive:
        assert len(archive.infolist()) == 0x10002


def test_a_member_beyond_four_gigabytes_is_found(tmp_path: Path) -> None:
    """A sparse file: 4 GiB of nothing, then a member."""
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        hole = MAX_MEMBER_BYTES
        first = Member("base/hole", hole, 0, 0)
        file.write(local_header(first.name, first.size, first.crc))
        file.seek(first.end)
        data = b"behind the hole"
        second = Member("base/z", len(data), piece_of(data).crc, first.end)
        file.write(local_header(second.name, second.size, second.crc) + data)
        directory = central_entry(first) + central_entry(second)
        file.write(directory + end_record(2, len(directory), second.end))
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("base/z").header_offset == first.end > 0xFFFFFFFF
        assert archive.read("base/z") == data


def test_a_member_of_four_gigabytes_is_refused() -> None:
    with pytest.raises(ValueError, match="below 4 GiB"):
        local_header("base/x", MAX_MEMBER_BYTES + 1, 0)


def test_a_name_beyond_ascii_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        local_header("base/é", 0, 0)


def test_a_spool_gives_back_each_piece_as_often_as_it_is_asked() -> None:
    spool = Spool()
    spool.write(b"one")
    first = spool.piece()
    spool.write(b"two ")
    spool.write(b"three")
    second = spool.piece()
    assert [b"".join(piece.chunks()) for piece in (second, first, second)] == [
        b"two three",
        b"one",
        b"two three",
    ]
    assert (first.size, first.sha256) == (3, piece_of(b"one").sha256)
    assert second.crc == piece_of(b"two three").crc
    spool.close()
