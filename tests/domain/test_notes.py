"""Signed notes: what verifies, what is refused, and that others' implementations agree."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import ed25519, notes
from domain.errors import IntegrityError
from domain.log_format import checkpoint_text

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
WITNESS = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
LOG_KEY = notes.verifier_key("desk.example/acme", LOG.public_key())
WITNESS_KEY = notes.verifier_key("witness.example", WITNESS.public_key(), algorithm=notes.COSIGNATURE)
TEXT = checkpoint_text("desk.example/acme", 7, bytes(32))

# The example in the documentation of Go's golang.org/x/mod/sumdb/note, made by an implementation that isn't ours.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "\u2014 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)

# RFC 8032 section 7.1, tests 1 to 3: public key, message, signature.
RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]
BOTH = pytest.mark.parametrize("check", [ed25519.verify, ed25519.verify_plainly])


def test_a_note_of_another_implementation_verifies() -> None:
    note = notes.open_note(GO_NOTE, [notes.parse_verifier_key(GO_KEY)])
    assert note.text.startswith("If you think")
    assert [signed.key.name for signed in note.signed] == ["PeterNeumann"]


def test_a_signed_checkpoint_opens_to_the_text_that_was_signed() -> None:
    note = notes.open_note(notes.sign_note(TEXT, "desk.example/acme", LOG), [LOG_KEY])
    assert notes.parse_checkpoint(note.text) == notes.Checkpoint("desk.example/acme", 7, bytes(32))


def test_a_witness_adds_its_time_and_leaves_the_first_signature_alone() -> None:
    note = notes.cosign(
        notes.sign_note(TEXT, "desk.example/acme", LOG), "witness.example", WITNESS, at_s=1_764_547_200
    )
    opened = notes.open_note(note, [LOG_KEY, WITNESS_KEY])
    assert [(signed.key.name, signed.at_s) for signed in opened.signed] == [
        ("desk.example/acme", None),
        ("witness.example", 1_764_547_200),
    ]


def test_a_note_without_a_known_signature_is_refused() -> None:
    with pytest.raises(
        IntegrityError, match=r"signed by desk\.example/acme, and none of these keys is trusted"
    ):
        notes.open_note(notes.sign_note(TEXT, "desk.example/acme", LOG), [WITNESS_KEY])


def test_one_wrong_signature_of_a_known_key_spoils_the_note() -> None:
    first = notes.sign_note(TEXT, "desk.example/acme", LOG)
    stamped = notes.cosign(first, "witness.example", WITNESS, at_s=1)
    other = notes.cosign(
        notes.sign_note("another\n", "desk.example/acme", LOG), "witness.example", WITNESS, at_s=1
    )
    mixed = stamped.rsplit("\u2014", 1)[0] + "\u2014" + other.rsplit("\u2014", 1)[1]
    with pytest.raises(IntegrityError, match=r"signature of witness\.example does not belong"):
        notes.open_note(mixed, [LOG_KEY, WITNESS_KEY])


def test_a_witness_can_not_be_predated() -> None:
    note = notes.cosign(
        notes.sign_note(TEXT, "desk.example/acme", LOG), "witness.example", WITNESS, at_s=1000
    )
    line = note.rsplit(" ", 1)[1]
    data = base64.b64decode(line)
    earlier = data[:4] + (999).to_bytes(8, "big") + data[12:]
    with pytest.raises(IntegrityError, match=r"witness\.example"):
        notes.open_note(note.replace(line, base64.b64encode(earlier).decode() + "\n"), [WITNESS_KEY])


@given(st.data())
@settings(max_examples=60)
def test_no_changed_character_of_a_note_verifies(data: st.DataObject) -> None:
    note = notes.sign_note(TEXT, "desk.example/acme", LOG)
    index = data.draw(st.integers(0, len(note) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda char: char != note[index]))
    with pytest.raises(IntegrityError):
        notes.open_note(note[:index] + other + note[index + 1 :], [LOG_KEY])


@pytest.mark.parametrize("text", ["", "\n", "no newline", "tab\there\n", "bell\x07\n", "return\r\n"])
def test_a_text_that_could_be_read_two_ways_is_not_signed(text: str) -> None:
    with pytest.raises(ValueError, match="control character"):
        notes.sign_note(text, "desk.example/acme", LOG)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "line\nbreak"])
def test_a_name_that_would_break_the_line_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="can't name a key"):
        notes.sign_note(TEXT, name, LOG)


def test_a_verifier_key_survives_its_text() -> None:
    assert notes.parse_verifier_key(str(WITNESS_KEY)) == WITNESS_KEY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "name+00000000+!!",
        GO_KEY.replace("c74f20a3", "c74f20a4"),
        GO_KEY.replace("PeterNeumann", "PeterNeuman"),
        "PeterNeumann+c74f20a3+ARpc",
    ],
)
def test_a_damaged_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no verifier key|has id"):
        notes.parse_verifier_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n7\n",
        f"origin\n07\n{'A' * 43}=\n",
        f"origin\n-1\n{'A' * 43}=\n",
        f"origin\n7\n{'A' * 42}B=\n",
        f"origin\n7\n{'A' * 20}\n",
        f"origin\n7\n{'A' * 43}=",
        f"origin\n7\n{'A' * 43}=\n\nmore\n",
    ],
)
def test_a_checkpoint_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(IntegrityError):
        notes.parse_checkpoint(text)


@BOTH
@pytest.mark.parametrize(("public", "message", "signature"), RFC_8032)
def test_the_vectors_of_rfc_8032_verify(
    check: Callable[[bytes, bytes, bytes], bool], public: str, message: str, signature: str
) -> None:
    key, text, signed = (bytes.fromhex(part) for part in (public, message, signature))
    assert check(key, signed, text)
    assert not check(key, signed, text + b"\x00")
    assert not check(key, signed[:32] + bytes(32), text)


@BOTH
def test_a_signature_has_one_form(check: Callable[[bytes, bytes, bytes], bool]) -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    signature = LOG.sign(b"text")
    shifted = (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
    assert check(LOG_KEY.public, signature, b"text")
    assert not check(LOG_KEY.public, signature[:32] + shifted, b"text")


@BOTH
def test_bytes_that_are_no_key_verify_nothing(check: Callable[[bytes, bytes, bytes], bool]) -> None:
    assert not check(b"\x02" + bytes(31), LOG.sign(b"text"), b"text")
    assert not check(b"short", LOG.sign(b"text"), b"text")
    assert not check(LOG_KEY.public, b"short", b"text")


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=64), st.integers(0, 511))
@settings(max_examples=25, deadline=None)
def test_both_implementations_agree(seed: bytes, message: bytes, bit: int) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), bytearray(key.sign(message))
    assert ed25519.verify_plainly(public, bytes(signature), message)
    signature[bit // 8] ^= 1 << bit % 8
    assert not ed25519.verify(public, bytes(signature), message)
    assert not ed25519.verify_plainly(public, bytes(signature), message)
