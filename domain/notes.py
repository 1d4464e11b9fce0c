"""Signed notes and checkpoints: a short text that others can check without asking us.

Formats are C2SP's: signed-note (text, blank line, one line per signature), tlog-checkpoint (origin, size, root) and
tlog-cosignature (a witness signs the text together with a time). The rules enforced here:

* a text ends with a newline and has no other control character
* a signature of a key that is known must verify, or the whole note is refused
* signatures of unknown keys are ignored, and a note without a known one is refused, never half trusted
* keys come from the reader, never from the note

Keys are written as verifier keys: ``name+id+base64(algorithm, public key)``. Private keys are only passed through.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from domain import ed25519
from domain.errors import IntegrityError

ED25519: Final = 1
"""Signature over the text itself (C2SP signed-note)."""
COSIGNATURE: Final = 4
"""Ed25519 over ``cosignature/v1``, a time and the text (C2SP tlog-cosignature)."""
MAX_NOTE_CHARS = 1 << 20
MAX_SIGNATURES = 100

_KEY_ID_BYTES = 4
_TIME_BYTES = 8
_ROOT_BYTES = 32
_NAME = re.compile(r"[^\s+]+")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_DASH = "\u2014 "


class PublicKey(Protocol):
    """What is needed of a public key; ``Ed25519PublicKey`` of ``cryptography`` has it."""

    def public_bytes_raw(self) -> bytes:
        """The 32 bytes."""
        ...


class PrivateKey(Protocol):
    """What is needed of a private key; ``Ed25519PrivateKey`` of ``cryptography`` has it."""

    def sign(self, data: bytes, /) -> bytes:
        """64-byte signature."""
        ...

    def public_key(self) -> PublicKey:
        """Its public half."""
        ...


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key under the name it signs with; ``str()`` is its text form."""

    name: str
    algorithm: Literal[1, 4]
    public: bytes

    @property
    def key_id(self) -> bytes:
        """Four bytes that let a reader find the key of a signature; no proof of anything."""
        prefix = self.name.encode() + b"\n" + bytes((self.algorithm,))
        return hashlib.sha256(prefix + self.public).digest()[:_KEY_ID_BYTES]

    def __str__(self) -> str:
        """``name+id+key``; safe to publish."""
        key = base64.b64encode(bytes((self.algorithm,)) + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{key}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line as it stands in a note, not yet checked."""

    name: str
    key_id: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature that verified; ``at_s`` is the witness's time (Unix seconds), None for a plain signature."""

    key: VerifierKey
    at_s: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A text and who signed it; there is at least one."""

    text: str
    signed: tuple[Signed, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says about itself at one moment."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()


def verifier_key(name: str, public: PublicKey, *, algorithm: Literal[1, 4] = ED25519) -> VerifierKey:
    """Key to check signatures of ``name`` with; ``ValueError`` on a name with spaces or a plus sign."""
    if not _NAME.fullmatch(name):
        message = f"{name!r} can't name a key: no spaces, no plus sign, not empty"
        raise ValueError(message)
    return VerifierKey(name, algorithm, public.public_bytes_raw())


def parse_verifier_key(text: str) -> VerifierKey:
    """Read ``name+id+key``; ``ValueError`` says what is wrong with it."""
    name, _, rest = text.strip().partition("+")
    key_id, _, encoded = rest.partition("+")
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        message = f"{text.strip()!r} is no verifier key: expected name+id+base64"
        raise ValueError(message) from error
    if not _NAME.fullmatch(name) or len(data) != 1 + ed25519.PUBLIC_BYTES or data[0] not in {1, 4}:
        message = f"{text.strip()!r} is no verifier key of Ed25519"
        raise ValueError(message)
    key = VerifierKey(name, ED25519 if data[0] == ED25519 else COSIGNATURE, data[1:])
    if key.key_id.hex() != key_id:
        message = f"{text.strip()!r} has id {key_id}, but its key gives {key.key_id.hex()}"
        raise ValueError(message)
    return key


def sign_note(text: str, name: str, private_key: PrivateKey) -> str:
    """The whole note: ``text`` and one signature of ``name``; ``ValueError`` when the text can't be signed."""
    _require_text(text)
    key = verifier_key(name, private_key.public_key())
    return f"{text}\n" + _line(key, private_key.sign(text.encode()))


def cosign(note: str, name: str, private_key: PrivateKey, *, at_s: int) -> str:
    """The note with one more line: a witness saw this text at ``at_s`` (Unix seconds)."""
    text, _ = split_note(note)
    key = verifier_key(name, private_key.public_key(), algorithm=COSIGNATURE)
    signature = private_key.sign(_cosigned(text, at_s))
    return note + _line(key, at_s.to_bytes(_TIME_BYTES, "big") + signature)


def split_note(note: str, *, where: str = "note") -> tuple[str, tuple[Signature, ...]]:
    """Text and signature lines, unchecked; ``IntegrityError`` when it isn't a note."""
    end = note.rfind("\n\n")
    if len(note) > MAX_NOTE_CHARS or end < 0 or not note.endswith("\n"):
        what = "not a signed note: expected a text, a blank line and signature lines"
        raise IntegrityError(what, where=where, remedy="")
    text, lines = note[: end + 1], note[end + 2 : -1].split("\n")
    if _CONTROL.search(note) or len(lines) > MAX_SIGNATURES:
        what = f"not a signed note: control characters, or more than {MAX_SIGNATURES} signatures"
        raise IntegrityError(what, where=where, remedy="")
    return text, tuple(_parse_line(line, where) for line in lines)


def open_note(note: str, keys: Sequence[VerifierKey], *, where: str = "note") -> Note:
    """The text, with the signatures of ``keys`` checked.

    Raises ``IntegrityError`` when it isn't a note, when a signature of a known key is wrong, and when no known key
    signed it. ``where`` names the note in the message.
    """
    text, signatures = split_note(note, where=where)
    known = {(key.name, key.key_id): key for key in keys}
    signed = tuple(
        _check(text, signature, known[signature.name, signature.key_id], where)
        for signature in signatures
        if (signature.name, signature.key_id) in known
    )
    if not signed:
        names = ", ".join(signature.name for signature in signatures)
        what = f"signed by {names}, and none of these keys is trusted here"
        raise IntegrityError(what, where=where, remedy="get the signer's key from the signer")
    return Note(text, signed)


def parse_checkpoint(text: str, *, where: str = "checkpoint") -> Checkpoint:
    """Read origin, size, root and extension lines; ``IntegrityError`` when a line is not as C2SP writes it."""
    lines = text.split("\n")
    expected = 4
    if (
        len(lines) < expected
        or lines[-1]
        or not all(lines[:-1])
        or not re.fullmatch(r"0|[1-9]\d{0,18}", lines[1])
    ):
        raise IntegrityError("expected origin, size and root, each on a line", where=where, remedy="")
    try:
        root = base64.b64decode(lines[2], validate=True)
    except ValueError:
        root = b""
    if len(root) != _ROOT_BYTES or base64.b64encode(root).decode() != lines[2]:
        raise IntegrityError("its root is not the base64 of 32 bytes", where=where, remedy="")
    return Checkpoint(lines[0], int(lines[1]), root, tuple(lines[3:-1]))


def _require_text(text: str) -> None:
    if not text.endswith("\n") or text == "\n" or _CONTROL.search(text):
        message = "a signed text ends with a newline and has no other control character"
        raise ValueError(message)


def _line(key: VerifierKey, data: bytes) -> str:
    return f"{_DASH}{key.name} {base64.b64encode(key.key_id + data).decode()}\n"


def _parse_line(line: str, where: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        data = b""
    canonical = base64.b64encode(data).decode() == encoded
    if not line.startswith(_DASH) or not _NAME.fullmatch(name) or len(data) <= _KEY_ID_BYTES or not canonical:
        raise IntegrityError(f"{line[:80]!r} is no signature line", where=where, remedy="")
    return Signature(name, data[:_KEY_ID_BYTES], data[_KEY_ID_BYTES:])


def _cosigned(text: str, at_s: int) -> bytes:
    return f"cosignature/v1\ntime {at_s}\n{text}".encode()


def _check(text: str, signature: Signature, key: VerifierKey, where: str) -> Signed:
    at_s, data, message = None, signature.data, text.encode()
    if key.algorithm == COSIGNATURE:
        at_s = int.from_bytes(data[:_TIME_BYTES], "big")
        data, message = data[_TIME_BYTES:], _cosigned(text, at_s)
    if not ed25519.verify(key.public, data, message):
        raise IntegrityError(
            f"the signature of {key.name} does not belong to this text", where=where, remedy=""
        )
    return Signed(key, at_s)
