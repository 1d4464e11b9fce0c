"""Blobs that are encrypted at rest, each month and kind of a tenant under a data key of its own (X7).

Rules: the name of a blob stays the SHA-256 of its bytes, and they are checked against it on the way out; identical
bytes are kept once within a unit; plain blobs of before stay readable; wrapped keys lie in a keyring outside of the
blobs, so that destroying one there deletes its contents from every copy of the blobs too.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from domain.errors import ConfigError, IntegrityError, KeyGone, WorldError
from domain.ids import Sha256
from domain.sealing import (
    KEY_BYTES,
    NONCE_BYTES,
    UNIT,
    DataKey,
    SecretKey,
    holds,
    seal,
    seal_pieces,
    unseal,
    unwrap,
    wrap,
)
from executor.store.blobs import checked, name_of_blob, name_of_file, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from domain.ports import BlobStore, Clock

_ID_BYTES: Final = 8


class SealedPlaces(Protocol):
    """Where sealed contents are kept beside plain ones; ``FolderBlobs`` and ``BucketBlobs`` both."""

    def read_sealed(self, name: Sha256, key_id: str) -> bytes | None:
        """Stored bytes, None when there are none."""
        ...

    def sealed_pieces(self, name: Sha256, key_id: str) -> Iterator[bytes]:
        """The same piece by piece; none when there are none."""
        ...

    def write_sealed(self, name: Sha256, key_id: str, pieces: Iterable[bytes]) -> None:
        """Store bytes, durable before it returns."""
        ...

    def keys_of(self, name: Sha256) -> list[str]:
        """Ids of the keys under which a name is kept."""
        ...

    def sealed_names(self) -> Iterator[tuple[Sha256, str]]:
        """Every name with the id of its key."""
        ...


class Keyring:
    """Wrapped data keys in a folder: ``<tenant>/<kind>/<month>.json``, one for each unit."""

    def __init__(self, root: Path, secret: SecretKey) -> None:
        self._root = root
        self._secret = secret
        self._known: dict[str, DataKey] = {}
        self._current: dict[tuple[str, str], DataKey] = {}

    def _path(self, tenant: str, unit: str) -> Path:
        if not UNIT.fullmatch(unit):
            raise ConfigError(f"{unit!r} is no retention unit", remedy="give kind/month: frame/2026-11")
        return self._root / hashlib.sha256(tenant.encode()).hexdigest()[:16] / f"{unit}.json"

    def current(self, tenant: str, unit: str) -> DataKey:
        """The unit's key, made on first use; of processes that make it at once, one wins."""
        known = self._current.get((tenant, unit))
        path = self._path(tenant, unit)
        if known is not None and path.exists():  # another process may have destroyed it
            return known
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = DataKey(secrets.token_hex(_ID_BYTES), tenant, unit, secrets.token_bytes(KEY_BYTES))
            aside = path.with_name(f".{made.key_id}")
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(wrap(made, self._secret, secrets.token_bytes(NONCE_BYTES)))
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(aside, path)
            except FileExistsError:
                made = self._load(path)
            finally:
                aside.unlink()
            _sync_folder(path.parent)
        except OSError as error:
            raise WorldError(f"keyring: {error.strerror}", remedy="mend the folder of the keyring") from error
        self._known[made.key_id] = self._current[tenant, unit] = made
        return made

    def _load(self, path: Path) -> DataKey:
        try:
            return unwrap(path.read_text(encoding="ascii"), self._secret)
        except ValueError as error:
            raise ConfigError(f"{path}: {error}", remedy="name the privacy key of this keyring") from error

    def key(self, key_id: str) -> DataKey | None:
        """A key by its id; None when it was destroyed."""
        known = self._known.get(key_id)
        if known is not None and self._path(known.tenant, known.unit).exists():
            return known
        self._known = {key.key_id: key for key in self.keys()}
        return self._known.get(key_id)

    def keys(self, tenant: str | None = None) -> list[DataKey]:
        """Every key that is there, in order of units."""
        found = [self._load(path) for path in sorted(self._root.glob("*/*/*.json"))]
        return [key for key in found if tenant in {None, key.tenant}]

    def destroy(self, key: DataKey) -> None:
        """Overwrite a wrapped key and remove it; doing it again is no error, another key of the unit is left alone."""
        path = self._path(key.tenant, key.unit)
        try:
            if self._load(path).key_id != key.key_id:
                return
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.write(bytes(size))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
            _sync_folder(path.parent)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise WorldError(f"keyring: {error.strerror}", remedy="mend the folder of the keyring") from error
        self._known.pop(key.key_id, None)
        self._current.pop((key.tenant, key.unit), None)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


PROOF: Final = "application/vnd.proofreel.proof+json"
"""Media type of what proves the rest of something redacted: it shows no more than the record does."""


def kind_of(media_type: str) -> str:
    """Kind of data by its media type: pictures are frames, everything else is a document; a proof has no kind."""
    if media_type == PROOF:
        return ""
    return "frame" if media_type.startswith("image/") else "document"


class SealedBlobs:
    """``BlobStore`` that encrypts what it stores, and reads what was stored plainly before.

    ``tenant`` and ``clock`` decide the unit; ``writes`` False stores plainly and still reads what is sealed.
    """

    def __init__(
        self,
        plain: BlobStore,
        places: SealedPlaces,
        ring: Keyring,
        *,
        tenant: str,
        clock: Clock,
        writes: bool = True,
    ) -> None:
        self._plain = plain
        self._places = places
        self.ring = ring
        self._tenant = tenant
        self._clock = clock
        self._writes = writes

    def put(self, data: bytes, *, media_type: str) -> Sha256:
        """Store once within the unit, durable before it returns; a damaged content under the name is replaced."""
        kind = kind_of(media_type)
        if not self._writes or not kind:
            return self._plain.put(data, media_type=media_type)
        name, key = name_of_blob(data), self._current(kind)
        stored = self._places.read_sealed(name, key.key_id)
        if stored is None or self._opened(stored, name, key) != data:
            sealed = seal(data, name, key, secrets.token_bytes(NONCE_BYTES))
            self._places.write_sealed(name, key.key_id, (sealed,))
        return name

    def put_file(self, file: BinaryIO, *, media_type: str) -> Sha256:
        """See ``put``; a seekable file, sealed piece by piece, in memory that doesn't grow with it."""
        kind = kind_of(media_type)
        if not self._writes or not kind:
            return self._plain.put_file(file, media_type=media_type)
        name, key = name_of_file(file), self._current(kind)
        if not holds(self._places.sealed_pieces(name, key.key_id), name, key):
            sealed = seal_pieces(pieces_of(file, name), name, key, secrets.token_bytes(NONCE_BYTES))
            self._places.write_sealed(name, key.key_id, sealed)
        return name

    def _current(self, kind: str) -> DataKey:
        """The key of this month's contents of a kind."""
        month = datetime.fromtimestamp(self._clock.now_us() / 1_000_000, UTC).strftime("%Y-%m")
        return self.ring.current(self._tenant, f"{kind}/{month}")

    @staticmethod
    def _opened(stored: bytes, name: Sha256, key: DataKey) -> bytes | None:
        try:
            return unseal(stored, name, key)
        except ValueError:
            return None

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked against their name; ``KeyGone`` when their key was destroyed."""
        key_ids = self._places.keys_of(sha256)
        if not key_ids:
            return self._plain.get(sha256)
        damaged = False
        for key_id in key_ids:
            key = self.ring.key(key_id)
            stored = None if key is None else self._places.read_sealed(sha256, key_id)
            if key is None or stored is None:
                continue
            data = self._opened(stored, sha256, key)
            if data is not None:
                return checked(data, sha256)
            damaged = True
        if self._plain.has(sha256):
            return self._plain.get(sha256)
        if damaged:
            raise IntegrityError("sealed bytes are damaged", where=f"blob {sha256}")
        raise KeyGone(sha256)

    def has(self, sha256: Sha256) -> bool:
        """True if the bytes can be had (they are not checked)."""
        return any(self.ring.key(key_id) for key_id in self._places.keys_of(sha256)) or self._plain.has(
            sha256
        )

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order; those whose key is gone are among them."""
        seen: set[Sha256] = set()
        for name, _ in self._places.sealed_names():
            if name not in seen:
                seen.add(name)
                yield name
        yield from (name for name in self._plain.names() if name not in seen)

    def sealed_names(self) -> Iterator[tuple[Sha256, str]]:
        """Every sealed name with the id of its key."""
        return self._places.sealed_names()

    def under(self, key_id: str) -> list[Sha256]:
        """Names that are kept under a key, sorted."""
        return sorted(name for name, found in self._places.sealed_names() if found == key_id)
