"""Writes the one form of a bundle's zip (``verify.zipformat``), from front to back, into anything that can be written.

Sizes and checksums are known before a member is written, so nothing is ever sought or patched.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from domain.errors import WorldError
from projections.exports.verify.zipformat import Member, central_entry, end_record, local_header

_CHUNK_BYTES = 1 << 20
_SPOOL_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of a member, read again when it is written."""

    size: int
    crc: int
    sha256: str
    chunks: Callable[[], Iterable[bytes]]


def piece_of(data: bytes, *, sha256: str | None = None) -> Piece:
    """Content in memory; ``sha256`` saves hashing what was hashed before."""
    return Piece(len(data), zlib.crc32(data), sha256 or hashlib.sha256(data).hexdigest(), lambda: (data,))


class Spool:
    """A temporary file for content that grows piece by piece; the file goes when it is closed."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._size = self._start = self._crc = 0
        self._sha256 = hashlib.sha256()
        self._waiting = bytearray()

    def write(self, data: bytes) -> None:
        """Add to the current piece."""
        self._waiting += data
        if len(self._waiting) >= _SPOOL_BYTES:
            self._settle()

    def piece(self) -> Piece:
        """End the current piece and begin another."""
        self._settle()
        start, end = self._start, self._size
        done = Piece(end - start, self._crc, self._sha256.hexdigest(), lambda: self._read(start, end))
        self._start, self._crc, self._sha256 = end, 0, hashlib.sha256()
        return done

    def _settle(self) -> None:
        """Write and hash what waits: many small pieces at once cost as much as one."""
        self._file.write(self._waiting)
        self._size += len(self._waiting)
        self._crc = zlib.crc32(self._waiting, self._crc)
        self._sha256.update(self._waiting)
        self._waiting.clear()

    def _read(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            self._file.seek(start)
            data = self._file.read(min(_CHUNK_BYTES, end - start))
            start += len(data)
            yield data

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


class ZipWriter:
    """Members in the order they are given, which is the caller's to choose; ``hashes`` collects what was written."""

    def __init__(self, file: BinaryIO, base: str) -> None:
        self._file = file
        self._base = base
        self._members: list[Member] = []
        self._at = 0
        self.hashes: dict[str, str] = {}
        self.sizes: dict[str, int] = {}

    def add(self, path: str, piece: Piece) -> None:
        """Write one member; ``ValueError`` when it is too large."""
        name = f"{self._base}/{path}"
        self._members.append(Member(name, piece.size, piece.crc, self._at))
        self._write(local_header(name, piece.size, piece.crc))
        for chunk in piece.chunks():
            self._write(chunk)
        self.hashes[path] = piece.sha256
        self.sizes[path] = piece.size

    def finish(self) -> int:
        """Write the directory; the size of the whole file."""
        directory = b"".join(central_entry(member) for member in self._members)
        self._write(directory + end_record(len(self._members), len(directory), self._at))
        return self._at

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when all went well, and vanishes when it didn't."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        what = f"{path}: {error.strerror}"
        raise WorldError(
            what, remedy="name a file in a folder that can be written, with space left"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
