"""How contents are encrypted at rest, each month and kind of a tenant under a data key of its own (X7).

A sealed content is kept under the SHA-256 of its bytes and the id of its data key; destroying that key is how it is
deleted, and what events say of it stays. AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce; the additional data
binds the ciphertext to its name and key, so that contents can't be exchanged for one another.

::

    content    "PRSEALED1" | key id, 8 bytes | nonce, 12 bytes | ciphertext and tag
    wrapped    JSON: key_id, tenant, unit, and the data key under the wrapping key, bound to all three

The secret in the privacy key file is never used itself: each purpose has a key derived from it by HMAC-SHA256.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
SECRET_PREFIX: Final = "PROOFREEL+PRIVACY+KEY+"  # noqa: S105 - what a file of it begins with
_MAGIC: Final = b"PRSEALED1"
_ID_BYTES: Final = 8
_TAG_BYTES: Final = 16
_HEAD: Final = len(_MAGIC) + _ID_BYTES + NONCE_BYTES
KEY_ID: Final = re.compile(r"[0-9a-f]{16}")
UNIT: Final = re.compile(r"(frame|document)/\d{4}-\d{2}")
"""Kind and month of storage: what is deleted together."""


@dataclass(frozen=True, slots=True, repr=False)
class SecretKey:
    """One secret, used for different ends under different names; it has no text form."""

    secret: bytes

    def derived(self, purpose: str) -> bytes:
        """32 bytes for one purpose, which tell nothing of those for another."""
        return hmac.digest(self.secret, f"proofreel-privacy/v1\x00{purpose}".encode(), hashlib.sha256)

    @property
    def salts(self) -> bytes:
        """Key of the salts of tiles and fields."""
        return self.derived("salts")

    @property
    def wrapping(self) -> bytes:
        """Key by which data keys are wrapped."""
        return self.derived("wrapping")

    @property
    def name(self) -> str:
        """Eight digits by which two keys can be told apart."""
        return self.derived("name").hex()[:8]


@dataclass(frozen=True, slots=True, repr=False)
class DataKey:
    """The key of one unit; it has no text form."""

    key_id: str
    tenant: str
    unit: str
    key: bytes


def parse_secret(text: str) -> SecretKey:
    """The secret of a privacy key file; ``ValueError`` when the text is none."""
    secret = base64.b64decode(text.strip().removeprefix(SECRET_PREFIX), validate=True)
    if not text.startswith(SECRET_PREFIX) or len(secret) != KEY_BYTES:
        message = "no privacy key"
        raise ValueError(message)
    return SecretKey(secret)


def seal(data: bytes, name: str, key: DataKey, nonce: bytes) -> bytes:
    """Encrypt a content; ``nonce`` is 12 random bytes, never used twice with a key."""
    head = _MAGIC + bytes.fromhex(key.key_id)
    return head + nonce + AESGCM(key.key).encrypt(nonce, data, head + name.encode())


def unseal(stored: bytes, name: str, key: DataKey) -> bytes:
    """Decrypt a content; ``ValueError`` when it is damaged, or is another's."""
    head = _MAGIC + bytes.fromhex(key.key_id)
    if len(stored) < _HEAD or stored[: len(head)] != head:
        message = "not sealed under this key"
        raise ValueError(message)
    try:
        return AESGCM(key.key).decrypt(stored[len(head) : _HEAD], stored[_HEAD:], head + name.encode())
    except InvalidTag as error:
        message = "sealed bytes are damaged"
        raise ValueError(message) from error


def seal_pieces(pieces: Iterable[bytes], name: str, key: DataKey, nonce: bytes) -> Iterator[bytes]:
    """What ``seal`` makes of the joined pieces, in pieces: memory holds one at a time."""
    head = _MAGIC + bytes.fromhex(key.key_id)
    sealing = Cipher(algorithms.AES(key.key), modes.GCM(nonce)).encryptor()
    sealing.authenticate_additional_data(head + name.encode())
    yield head + nonce
    yield from map(sealing.update, pieces)
    yield sealing.finalize() + sealing.tag


def holds(stored: Iterable[bytes], name: str, key: DataKey) -> bool:
    """Whether a sealed content, in pieces, is whole and is that of ``name``, the SHA-256 of its bytes."""
    head = _MAGIC + bytes.fromhex(key.key_id)
    kept, opening, digest = b"", None, hashlib.sha256()
    for piece in stored:
        kept += piece
        if opening is None and len(kept) >= _HEAD:
            if kept[: len(head)] != head:
                return False
            opening = Cipher(algorithms.AES(key.key), modes.GCM(kept[len(head) : _HEAD])).decryptor()
            opening.authenticate_additional_data(head + name.encode())
            kept = kept[_HEAD:]
        if opening is not None and len(kept) > _TAG_BYTES:  # the last bytes may be the tag
            digest.update(opening.update(kept[:-_TAG_BYTES]))
            kept = kept[-_TAG_BYTES:]
    try:
        return (
            opening is not None
            and len(kept) == _TAG_BYTES
            and opening.finalize_with_tag(kept) == b""
            and digest.hexdigest() == name
        )
    except InvalidTag:
        return False


def wrap(key: DataKey, secret: SecretKey, nonce: bytes) -> str:
    """The data key as it is kept: one line of JSON."""
    wrapped = AESGCM(secret.wrapping).encrypt(nonce, key.key, _bound(key.key_id, key.tenant, key.unit))
    kept = {"format": 1, "key_id": key.key_id, "nonce": nonce.hex(), "tenant": key.tenant, "unit": key.unit}
    return json.dumps({**kept, "wrapped": wrapped.hex()}, sort_keys=True) + "\n"


def unwrap(text: str, secret: SecretKey) -> DataKey:
    """Read a kept data key; ``ValueError`` when it is malformed, or was wrapped by another secret."""
    try:
        kept = json.loads(text)
        names = (kept["key_id"], kept["tenant"], kept["unit"])
        nonce, wrapped = bytes.fromhex(kept["nonce"]), bytes.fromhex(kept["wrapped"])
        key = AESGCM(secret.wrapping).decrypt(nonce, wrapped, _bound(*names))
    except (KeyError, TypeError, AttributeError, InvalidTag) as error:
        message = "a kept data key is malformed, or belongs to another privacy key"
        raise ValueError(message) from error
    return DataKey(*names, key)


def _bound(key_id: str, tenant: str, unit: str) -> bytes:
    return f"{key_id}\x00{tenant}\x00{unit}".encode()
