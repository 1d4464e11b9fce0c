"""Reading blobs without being able to change them; every byte that is handed out was checked against its name."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote, urlsplit

from domain.errors import ConfigError, IntegrityError, WorldError
from domain.ids import Sha256
from domain.sealing import KEY_ID
from projections.sealed import SealedReader, split_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from obstore.store import S3Store

RETRIES = 4
"""Times that a request is tried again while the storage is away."""
_NAME: Final = re.compile(r"[0-9a-f]{64}")


class BlobReader(Protocol):
    """Content-addressed bytes, for reading."""

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked; ``IntegrityError`` when damaged or missing."""
        ...

    def has(self, sha256: Sha256) -> bool:
        """True if the blob is there (its bytes are not checked)."""
        ...

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order."""
        ...


def _checked(data: bytes, name: Sha256) -> bytes:
    if hashlib.sha256(data).hexdigest() != name:
        raise IntegrityError("bytes differ from their name", where=f"blob {name}")
    return data


def _valid(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise IntegrityError("not the name of a blob", where=f"blob {name[:80]!r}")
    return name


class FolderReader:
    """Blobs in a folder, by the first bytes of their names."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def _path(self, name: str) -> Path:
        _valid(name)
        return self._root / name[:2] / name[2:4] / name

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked; ``IntegrityError`` when damaged or missing."""
        try:
            return _checked(self._path(sha256).read_bytes(), sha256)
        except FileNotFoundError as error:
            raise IntegrityError("missing", where=f"blob {sha256}") from error
        except OSError as error:
            raise WorldError(f"blob {sha256}: {error.strerror}", remedy="mend the folder") from error

    def has(self, sha256: Sha256) -> bool:
        """True if the blob is there (its bytes are not checked)."""
        return self._path(sha256).is_file()

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order."""
        for path in self._root.glob("??/??/*"):
            if _NAME.fullmatch(path.name):
                yield Sha256(path.name)

    def keys_of(self, sha256: Sha256) -> list[str]:
        """Ids of the keys under which a name is kept, sorted."""
        folder = self._path(sha256).parent
        try:
            found = [path.name.partition(".") for path in folder.iterdir()] if folder.is_dir() else []
        except OSError as error:
            raise WorldError(f"blob {sha256}: {error.strerror}", remedy="mend the folder") from error
        return sorted(key_id for name, _, key_id in found if name == sha256 and KEY_ID.fullmatch(key_id))

    def read_sealed(self, sha256: Sha256, key_id: str) -> bytes:
        """Stored bytes of a name under a key."""
        path = self._path(sha256)
        try:
            return path.with_name(f"{path.name}.{key_id}").read_bytes()
        except OSError as error:
            raise WorldError(f"blob {sha256}: {error.strerror}", remedy="mend the folder") from error

    def sealed_names(self) -> Iterator[Sha256]:
        """Names of sealed contents."""
        for path in self._root.glob("??/??/*.*"):
            name, _, key_id = path.name.partition(".")
            if _NAME.fullmatch(name) and KEY_ID.fullmatch(key_id):
                yield Sha256(name)


class BucketReader:
    """Blobs in S3-compatible storage, under ``prefix``."""

    def __init__(self, store: S3Store) -> None:
        self._store = store

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked; ``IntegrityError`` when damaged or missing."""
        key = _key(sha256)
        try:
            data = bytes(self._store.get(key).bytes())
        except FileNotFoundError as error:
            raise IntegrityError("missing", where=f"blob {sha256}") from error
        except Exception as error:  # the client's errors share no public base class
            raise _unreachable(error) from error
        return _checked(data, sha256)

    def has(self, sha256: Sha256) -> bool:
        """True if the blob is there (its bytes are not checked)."""
        key = _key(sha256)
        try:
            self._store.head(key)
        except FileNotFoundError:
            return False
        except Exception as error:  # the client's errors share no public base class
            raise _unreachable(error) from error
        return True

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order."""
        for page in self._store.list():
            for item in page:
                name = str(item["path"]).rpartition("/")[2]
                if _NAME.fullmatch(name):
                    yield Sha256(name)

    def keys_of(self, sha256: Sha256) -> list[str]:
        """Ids of the keys under which a name is kept, sorted."""
        folder = _key(sha256).rpartition("/")[0]
        return sorted(key_id for name, key_id in self._listed(folder) if name == sha256)

    def read_sealed(self, sha256: Sha256, key_id: str) -> bytes:
        """Stored bytes of a name under a key."""
        try:
            return bytes(self._store.get(f"{_key(sha256)}.{key_id}").bytes())
        except Exception as error:  # the client's errors share no public base class
            raise _unreachable(error) from error

    def sealed_names(self) -> Iterator[Sha256]:
        """Names of sealed contents."""
        yield from (name for name, _ in self._listed(None))

    def _listed(self, folder: str | None) -> Iterator[tuple[Sha256, str]]:
        try:
            for page in self._store.list(folder):
                for item in page:
                    name, _, key_id = str(item["path"]).rpartition("/")[2].partition(".")
                    if _NAME.fullmatch(name) and KEY_ID.fullmatch(key_id):
                        yield Sha256(name), key_id
        except Exception as error:  # the client's errors share no public base class
            raise _unreachable(error) from error


def _key(name: str) -> str:
    _valid(name)
    return f"{name[:2]}/{name[2:4]}/{name}"


def _unreachable(error: Exception) -> WorldError:
    return WorldError(
        f"blobs: {type(error).__name__}", remedy="check AWS_ENDPOINT_URL, the keys and the bucket"
    )


def open_blob_reader(url: str) -> BlobReader:
    """The blobs behind a URL, for reading: a path, ``file:///path``, ``s3://bucket/prefix``; ``sealed:…`` has keys."""
    sealed = split_url(url)
    if sealed is not None:
        inner, ring, key = sealed
        return SealedReader(_places(inner), ring, key)
    return _places(url)


def _places(url: str) -> FolderReader | BucketReader:
    parts = urlsplit(url)
    if parts.scheme == "s3":
        from obstore.store import S3Store  # noqa: PLC0415 - the client is optional

        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        return BucketReader(
            S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options={"allow_http": endpoint.startswith("http://")},
                retry_config={"max_retries": RETRIES},
            )
        )
    if parts.scheme not in {"", "file"}:
        raise ConfigError(
            f"no blobs can be read from {parts.scheme}://", remedy="use a folder or s3://bucket/prefix"
        )
    folder = Path(unquote(parts.path) if parts.scheme else url)
    if not folder.is_dir():
        raise ConfigError(
            f"there is no folder of blobs at {folder}", remedy="name the folder given to the writer"
        )
    return FolderReader(folder)
