"""Hashes all members of a bundle: one pass over the file, shared among a few threads.

* each byte is read once, into a buffer that is used again, and goes through SHA-256 and CRC-32 while it is near;
  both leave the interpreter to the other threads meanwhile
* the file has one position, so threads read in turn; no second handle is opened, which could be of another file
* what is found does not depend on which thread came first
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from projections.exports.verify.archive import Archive
from projections.exports.verify.report import Findings, Problem
from projections.exports.verify.zipformat import Member

_BUFFER_BYTES = 1 << 18
"""Fits the nearer caches of a processor, and is long enough that taking turns costs nothing."""
_LARGE_BYTES = 64 << 20
"""Members from here on are begun first, so that no thread is left alone with one at the end."""
_PROGRESS_BYTES = 8 << 20
_MAX_THREADS = 8
"""More would wait for each other's reading."""

Progress = Callable[[int, int], None]
"""Called with the bytes hashed so far and in all."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def hash_members(archive: Archive, findings: Findings, progress: Progress | None = None) -> dict[str, str]:
    """SHA-256 of every member in hex; a stored checksum (CRC-32) that differs is a problem."""
    hashed = _Hashing(archive, progress).run(min(processors(), _MAX_THREADS))
    hashes: dict[str, str] = {}
    for path, member in archive.members.items():
        hashes[path], crc = hashed[path]
        if crc != member.crc:
            what = f"{path}: its bytes differ from the checksum stored in the archive"
            findings.problem(Problem(check="files", what=what, file=path))
    return hashes


class _Hashing:
    """The members that wait, what is known of the others, and the file's turn."""

    def __init__(self, archive: Archive, progress: Progress | None) -> None:
        self._archive = archive
        self._progress = progress
        self._turn = threading.Lock()
        self._waiting: Iterator[tuple[str, Member]] = iter(
            sorted(archive.members.items(), key=lambda item: item[1].size < _LARGE_BYTES)
        )
        self._total = sum(member.size for member in archive.members.values())
        self._done = self._shown = 0
        self._hashed: dict[str, tuple[str, int]] = {}

    def run(self, threads: int) -> dict[str, tuple[str, int]]:
        """Path → SHA-256 in hex and CRC-32; progress is told by the caller's own thread, which hashes too."""
        with ThreadPoolExecutor(max(threads - 1, 1), thread_name_prefix="hash") as pool:
            others = [pool.submit(self._work) for _ in range(threads - 1)]
            self._work(self._tell)
        for other in others:
            other.result()
        if self._progress is not None:
            self._progress(self._total, self._total)
        return self._hashed

    def _work(self, tell: Callable[[], None] = lambda: None) -> None:
        """Take members until none waits; where one can't be read, nobody begins another."""
        buffer = memoryview(bytearray(_BUFFER_BYTES))
        try:
            while (taken := self._take()) is not None:
                path, member = taken
                self._hashed[path] = self._hash(path, member, buffer, tell)
        finally:
            with self._turn:
                self._waiting = iter(())

    def _take(self) -> tuple[str, Member] | None:
        with self._turn:
            return next(self._waiting, None)

    def _hash(
        self, path: str, member: Member, buffer: memoryview, tell: Callable[[], None]
    ) -> tuple[str, int]:
        sha256, crc = hashlib.sha256(), 0
        at, end = member.data_offset, member.end
        while at < end:
            count = self._read(path, at, buffer[: end - at])
            data = buffer[:count]
            sha256.update(data)
            crc = zlib.crc32(data, crc)
            at += count
            tell()
        return sha256.hexdigest(), crc

    def _read(self, path: str, at: int, buffer: memoryview) -> int:
        with self._turn:
            count = self._archive.read_into(path, at, buffer)
            self._done += count
        return count

    def _tell(self) -> None:
        if self._progress is not None and self._done - self._shown >= _PROGRESS_BYTES:
            self._shown = self._done
            self._progress(self._shown, self._total)
