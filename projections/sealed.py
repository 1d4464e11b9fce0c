"""Reading contents that are encrypted at rest; the format is in ``domain.sealing``.

Rules: bytes are checked against their name before they are handed out; a key that was destroyed is told apart from
bytes that are missing or damaged; keys are only read.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs

from domain.errors import ConfigError, IntegrityError, KeyGone
from domain.ids import Sha256
from domain.sealing import DataKey, parse_secret, unseal, unwrap


class SealedPlaces(Protocol):
    """Plain blobs with the sealed ones beside them."""

    def get(self, sha256: Sha256) -> bytes:
        """A plain content, checked."""
        ...

    def has(self, sha256: Sha256) -> bool:
        """True if a plain content is there."""
        ...

    def names(self) -> Iterator[Sha256]:
        """Names of plain contents."""
        ...

    def keys_of(self, sha256: Sha256) -> list[str]:
        """Ids of the keys under which a name is kept, sorted."""
        ...

    def read_sealed(self, sha256: Sha256, key_id: str) -> bytes:
        """Stored bytes of a name under a key."""
        ...

    def sealed_names(self) -> Iterator[Sha256]:
        """Names of sealed contents; those under several keys come several times."""
        ...


class SealedReader:
    """``BlobReader`` over sealed and plain contents."""

    def __init__(self, places: SealedPlaces, ring: Path, key_path: Path) -> None:
        self._places = places
        self._ring = ring
        self._key_path = key_path
        self._keys: dict[str, tuple[Path, DataKey]] = {}

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked; ``KeyGone`` when their key was destroyed, ``IntegrityError`` for anything else."""
        gone = damaged = False
        for key_id in self._places.keys_of(sha256):
            key = self._key(key_id)
            gone |= key is None
            if key is not None:
                data = _opened(self._places.read_sealed(sha256, key_id), sha256, key)
                if data is not None:
                    return data
                damaged = True
        if damaged and not self._places.has(sha256):
            raise IntegrityError("sealed bytes are damaged", where=f"blob {sha256}")
        if gone and not self._places.has(sha256):
            raise KeyGone(sha256)
        return self._places.get(sha256)

    def has(self, sha256: Sha256) -> bool:
        """True if the bytes can be had (they are not checked)."""
        return any(self._key(key_id) for key_id in self._places.keys_of(sha256)) or self._places.has(sha256)

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order; those whose key is gone are among them."""
        seen: set[Sha256] = set()
        for name in (*self._places.sealed_names(), *self._places.names()):
            if name not in seen:
                seen.add(name)
                yield name

    def _key(self, key_id: str) -> DataKey | None:
        known = self._keys.get(key_id)
        if known is None or not known[0].exists():
            self._keys = {key.key_id: (path, key) for path, key in self._all()}
            known = self._keys.get(key_id)
        return None if known is None else known[1]

    def _all(self) -> Iterator[tuple[Path, DataKey]]:
        try:
            if stat.S_IMODE(self._key_path.stat().st_mode) & 0o077:
                what = f"{self._key_path} may be read by others"
                raise ConfigError(what, remedy=f"chmod 600 {self._key_path}")
            secret = parse_secret(self._key_path.read_text(encoding="ascii"))
            for path in sorted(self._ring.glob("*/*/*.json")):
                yield path, unwrap(path.read_text(encoding="ascii"), secret)
        except (OSError, ValueError) as error:
            what = f"the keys of {self._ring} can't be read with {self._key_path}"
            raise ConfigError(what, remedy="name the privacy key of this keyring") from error


def _opened(stored: bytes, name: Sha256, key: DataKey) -> bytes | None:
    """The bytes that belong to a name, None when these don't."""
    try:
        data = unseal(stored, name, key)
    except ValueError:
        return None
    return data if hashlib.sha256(data).hexdigest() == name else None


def split_url(url: str) -> tuple[str, Path, Path] | None:
    """Inner URL, keyring and key file of a ``sealed:`` URL; None for any other."""
    scheme, _, rest = url.partition(":")
    if scheme != "sealed":
        return None
    try:
        parts = {name: values[0] for name, values in parse_qs(rest, strict_parsing=True).items()}
        return parts["blobs"], Path(parts["ring"]), Path(parts["key"])
    except (KeyError, ValueError) as error:
        raise ConfigError(
            "a URL of sealed blobs is malformed", remedy="let the configuration name it"
        ) from error
