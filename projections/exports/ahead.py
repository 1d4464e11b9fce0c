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
SCREENS = 8
"""Screens in memory at once."""
DOCUMENTS = 2
"""Documents in memory at once: a trace of the browser may have 128 MiB."""
Read = tuple[bytes, Piece]
"""Bytes as they were checked by the source, and the same as content of a member."""


@contextlib.contextmanager
def reading_ahead(
    blobs: BlobSource, names: Sequence[str], *, most: int = SCREENS
) -> Iterator[Iterator[Read]]:
    """Gives each blob in turn, with at most ``most`` of them in memory.

    What went wrong with one is raised in its turn, and nothing is left running after.
    """
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="export-blob")
    try:
        yield _in_turn(pool, blobs, names, most)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_turn(pool: ThreadPoolExecutor, blobs: BlobSource, names: Sequence[str], most: int) -> Iterator[Read]:
    pending: deque[Future[Read]] = deque()
    for name in names:
        pending.append(pool.submit(_read, blobs, Sha256(name)))
        if len(pending) == most:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _read(blobs: BlobSource, name: Sha256) -> Read:
    data = blobs.get(name)
    return data, piece_of(data, sha256=name)
