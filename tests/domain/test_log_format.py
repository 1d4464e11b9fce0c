"""Leaves, stream tags and checkpoint texts: the bytes that writer, reader and auditor share."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ids import StreamId, TenantId
from domain.log_format import LEAF_BYTES, Leaf, checkpoint_text, decode_leaf, encode_leaf, stream_tag

ACME = TenantId("acme")


def test_a_leaf_has_53_bytes_in_a_fixed_order() -> None:
    leaf = encode_leaf(b"t" * 16, 258, b"e" * 32)
    assert leaf == b"\x01" + b"t" * 16 + b"\x00\x00\x01\x02" + b"e" * 32
    assert len(leaf) == LEAF_BYTES


@given(st.binary(min_size=16, max_size=16), st.integers(0, 2**32 - 1), st.binary(min_size=32, max_size=32))
def test_a_leaf_is_read_back_as_it_was_written(tag: bytes, version: int, entry: bytes) -> None:
    assert decode_leaf(encode_leaf(tag, version, entry)) == Leaf(tag=tag, version=version, entry=entry)


@pytest.mark.parametrize("data", [b"", b"\x01" * 52, b"\x01" * 54, b"\x02" * 53])
def test_another_length_or_version_is_no_leaf(data: bytes) -> None:
    with pytest.raises(ValueError, match="a leaf has"):
        decode_leaf(data)


def test_a_tag_is_the_hash_of_both_names_each_ended() -> None:
    by_hand = hashlib.sha256(b"proofreel-stream/v1\x00acme\x00task:1\x00").digest()[:16]
    assert stream_tag(ACME, StreamId("task:1")) == by_hand


@pytest.mark.parametrize(("tenant", "stream"), [("acme", "task:2"), ("acm", "etask:1"), ("other", "task:1")])
def test_another_tenant_or_stream_has_another_tag(tenant: str, stream: str) -> None:
    assert stream_tag(TenantId(tenant), StreamId(stream)) != stream_tag(ACME, StreamId("task:1"))


def test_a_checkpoint_is_three_lines() -> None:
    assert (
        checkpoint_text("desk.example.com/acme", 5, bytes(32)) == f"desk.example.com/acme\n5\n{'A' * 43}=\n"
    )
