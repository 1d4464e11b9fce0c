"""Bytes of the tenant's log that are shared by writer, reader and auditor.

Leaf (53 bytes): version 1, 16-byte stream tag, 4-byte stream version, 32-byte entry hash, integers big endian.
All leaves of a log (its skeleton) prove that no event of a stream is missing without showing anyone else's: the
root is recomputed from them, the stream's leaves are found by their tag, and their versions must run from 1 without
a gap. A tag tells nothing about the stream to somebody who doesn't know its (random) name.

Checkpoint text is that of C2SP tlog-checkpoint: origin, size, base64 root, each on a line.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from domain.ids import StreamId, TenantId

LEAF_BYTES = 53
LEAF_VERSION = 1
_HASHED_LEAF = bytes((0, LEAF_VERSION))
"""RFC 6962 puts a zero before a leaf that is hashed."""


def stream_tag(tenant: TenantId, stream: StreamId) -> bytes:
    """First 16 bytes of SHA-256 over the tenant's and the stream's name, each ended by a NUL."""
    return hashlib.sha256(b"proofreel-stream/v1\x00" + f"{tenant}\x00{stream}\x00".encode()).digest()[:16]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One entry of the log as the tree sees it."""

    tag: bytes
    version: int
    entry: bytes


def encode_leaf(tag: bytes, version: int, entry: bytes) -> bytes:
    """53 bytes; ``tag`` has 16, ``entry`` 32."""
    return bytes((LEAF_VERSION,)) + tag + version.to_bytes(4, "big") + entry


def hashed_leaf(tag: bytes, version: int, entry: bytes) -> bytes:
    """The tree's hash of a leaf (``domain.merkle.leaf_hash`` over ``encode_leaf``), in one step."""
    return hashlib.sha256(_HASHED_LEAF + tag + version.to_bytes(4, "big") + entry).digest()


def decode_leaf(data: bytes) -> Leaf:
    """Parse a leaf; ``ValueError`` on another length or version."""
    if len(data) != LEAF_BYTES or data[0] != LEAF_VERSION:
        message = f"a leaf has {LEAF_BYTES} bytes and version {LEAF_VERSION}"
        raise ValueError(message)
    return Leaf(tag=data[1:17], version=int.from_bytes(data[17:21], "big"), entry=data[21:])


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """Body of a checkpoint note (C2SP tlog-checkpoint), with its final newline."""
    return f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
