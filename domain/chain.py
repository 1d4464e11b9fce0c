"""The stream's hash chain: each entry binds its bytes, its place, its time, and all entries before it.

``entry = SHA-256(0x02 | previous entry | SHA-256(body) | position | recorded_at_us)``, integers as 8 bytes big
endian, the first entry after 32 zero bytes. Position and time are assigned by the store, so they are outside the
body and inside the entry. The tenant's Merkle log has one leaf for each entry (``domain.log_format``); a leaf
therefore fixes the whole history of its stream up to it.
"""

from __future__ import annotations

import hashlib
from struct import Struct

_sha256 = hashlib.sha256
_place = Struct(">QQ").pack

GENESIS = b"\x00" * 32
"""What stands before the first entry of a stream."""


def body_hash(body: bytes) -> bytes:
    """SHA-256 of the stored bytes; what ``sha256sum`` prints for them."""
    return _sha256(body).digest()


def entry_hash(previous: bytes, body_sha256: bytes, *, position: int, recorded_at_us: int) -> bytes:
    """Next link of the chain; ``previous`` and ``body_sha256`` are 32 bytes each."""
    return _sha256(b"\x02" + previous + body_sha256 + _place(position, recorded_at_us)).digest()


def entry_of(previous: bytes, body: bytes, position: int, recorded_at_us: int) -> bytes:
    """``entry_hash`` over ``body_hash``, in one step."""
    return _sha256(b"\x02" + previous + _sha256(body).digest() + _place(position, recorded_at_us)).digest()
