"""The stream's chain: each link binds bytes, place, time and everything before."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from domain.chain import GENESIS, body_hash, entry_hash

HASHES = st.binary(min_size=32, max_size=32)
NUMBERS = st.integers(0, 2**63 - 1)


def test_a_link_is_the_sha256_of_what_it_says() -> None:
    body = b'{"id":"1"}'
    by_hand = hashlib.sha256(
        b"\x02" + bytes(32) + hashlib.sha256(body).digest() + (7).to_bytes(8, "big") + (9).to_bytes(8, "big")
    ).digest()
    assert entry_hash(GENESIS, body_hash(body), position=7, recorded_at_us=9) == by_hand
    assert body_hash(body).hex() == hashlib.sha256(body).hexdigest()


@given(HASHES, HASHES, NUMBERS, NUMBERS, st.integers(0, 639))
def test_any_flipped_bit_gives_another_link(
    before: bytes, body: bytes, position: int, at: int, bit: int
) -> None:
    whole = before + body + position.to_bytes(8, "big") + at.to_bytes(8, "big")
    flipped = (int.from_bytes(whole, "big") ^ (1 << bit)).to_bytes(len(whole), "big")
    parts = (
        flipped[:32],
        flipped[32:64],
        int.from_bytes(flipped[64:72], "big"),
        int.from_bytes(flipped[72:], "big"),
    )
    other = entry_hash(parts[0], parts[1], position=parts[2], recorded_at_us=parts[3])
    assert other != entry_hash(before, body, position=position, recorded_at_us=at)
