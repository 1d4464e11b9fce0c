"""Blobs in a given order, read by a few threads a little ahead of whoever takes them.

Reading, hashing and checksumming leave the interpreter to others, so they go on while what came before is written; from
an object store, requests overlap. Never more than a few blobs are in memory.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from domain.ids import Sha256
from projections.exports.ports import BlobSource
from projections.exports.zipwriter import Piece, piece_of

_THREADS = 4
_IN_FLIGHT = 8
Read = tuple[bytes, Piece]
"""Bytes as they were checked by the source, and the same as content of a member."""


@contextlib.contextmanager
def reading_ahead(blobs: BlobSource, names: Sequence[str]) -> Iterator[Iterator[Read]]:
    """Gives each blob in turn; what went wrong with one is raised in its turn, with nothing left running after."""
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="export-blob")
    try:
        yield _in_turn(pool, blobs, names)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_turn(pool: ThreadPoolExecutor, blobs: BlobSource, names: Sequence[str]) -> Iterator[Read]:
    pending: deque[Future[Read]] = deque()
    for name in names:
        pending.append(pool.submit(_read, blobs, Sha256(name)))
        if len(pending) == _IN_FLIGHT:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _read(blobs: BlobSource, name: Sha256) -> Read:
    data = blobs.get(name)
    return data, piece_of(data, sha256=name)
