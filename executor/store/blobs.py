"""Content-addressed bytes: screens, settlement files, traces.

Rules: the name of a blob is the SHA-256 of its bytes; bytes are checked against it on the way in and on the way
out; identical bytes are kept once; a blob is there whole or not at all (written aside, synced, renamed, folder
synced); nothing is ever overwritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from domain.errors import ConfigError, IntegrityError, WorldError
from domain.ids import Sha256
from domain.sealing import KEY_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from domain.ports import BlobStore

_NAME: Final = re.compile(r"[0-9a-f]{64}")
_WRITING: Final = ".writing-"
_EXAMPLES: Final = "use a folder, file:///path or s3://bucket/prefix"


def name_of_blob(data: bytes) -> Sha256:
    """The name under which bytes are kept."""
    return Sha256(hashlib.sha256(data).hexdigest())


PIECE_BYTES: Final = 1 << 20
"""Bytes of a large content that are in memory at once."""


def name_of_file(file: BinaryIO) -> Sha256:
    """The name of all of a seekable file."""
    file.seek(0)
    return Sha256(hashlib.file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type] # its stub asks for less common methods


def pieces_of(file: BinaryIO, name: Sha256) -> Iterator[bytes]:
    """All of a seekable file, piece by piece; ``WorldError`` after the last one when they don't make ``name``."""
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
        yield piece
    if digest.hexdigest() != name:
        raise WorldError("a file changed while it was read", remedy="wait until it is whole, and try again")


def checked(data: bytes, name: Sha256) -> bytes:
    """``data`` if it is what ``name`` says; ``IntegrityError`` otherwise."""
    if name_of_blob(data) != name:
        raise IntegrityError("bytes differ from their name", where=f"blob {name}")
    return data


def valid_name(name: str) -> Sha256:
    """The name, if it is one; a name from outside must not become a path."""
    if not _NAME.fullmatch(name):
        raise IntegrityError("not the name of a blob", where=f"blob {name[:80]!r}")
    return Sha256(name)


class FolderBlobs:
    """Blobs in a folder: ``ab/cd/abcd…`` by the first bytes of their names."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def _path(self, name: str) -> Path:
        valid_name(name)
        return self._root / name[:2] / name[2:4] / name

    def put(self, data: bytes, *, media_type: str) -> Sha256:  # noqa: ARG002 - a folder keeps no types
        """Store once, durable before it returns; a damaged blob under the same name is repaired."""
        name = name_of_blob(data)
        self._keep(name, (data,))
        return name

    def put_file(self, file: BinaryIO, *, media_type: str) -> Sha256:  # noqa: ARG002 - a folder keeps no types
        """See ``put``; a seekable file, in memory that doesn't grow with it."""
        name = name_of_file(file)
        self._keep(name, pieces_of(file, name))
        return name

    def _keep(self, name: Sha256, pieces: Iterable[bytes]) -> None:
        path = self._path(name)
        with _mended(name):
            if path.exists():
                with path.open("rb") as kept:
                    if name_of_file(kept) == name:
                        return
            self._make_folder(path.parent)
            self._write(path, pieces)

    def _write(self, path: Path, pieces: Iterable[bytes]) -> None:
        handle, aside = tempfile.mkstemp(prefix=_WRITING, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            Path(aside).chmod(0o444)
            Path(aside).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(aside).unlink()
            raise
        _sync_folder(path.parent)

    def _make_folder(self, folder: Path) -> None:
        if folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        for parent in (folder.parent, folder.parent.parent):
            _sync_folder(parent)

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked against their name; ``IntegrityError`` when damaged or missing."""
        try:
            data = self._path(sha256).read_bytes()
        except FileNotFoundError as error:
            raise IntegrityError("missing", where=f"blob {sha256}") from error
        except OSError as error:
            raise WorldError(f"blob {sha256}: {error.strerror}", remedy="mend the folder") from error
        return checked(data, sha256)

    def has(self, sha256: Sha256) -> bool:
        """True if the blob is there (its bytes are not checked)."""
        return self._path(sha256).is_file()

    def read_sealed(self, name: Sha256, key_id: str) -> bytes | None:
        """Sealed bytes under a key, None when there are none."""
        try:
            return self._sealed(name, key_id).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WorldError(f"blob {name}: {error.strerror}", remedy="mend the folder") from error

    def sealed_pieces(self, name: Sha256, key_id: str) -> Iterator[bytes]:
        """Sealed bytes under a key, piece by piece; none when there are none."""
        with (
            _mended(name),
            contextlib.suppress(FileNotFoundError),
            self._sealed(name, key_id).open("rb") as file,
        ):
            while piece := file.read(PIECE_BYTES):
                yield piece

    def write_sealed(self, name: Sha256, key_id: str, pieces: Iterable[bytes]) -> None:
        """Store sealed bytes, durable before it returns."""
        path = self._sealed(name, key_id)
        with _mended(name):
            self._make_folder(path.parent)
            self._write(path, pieces)

    def keys_of(self, name: Sha256) -> list[str]:
        """Ids of the keys under which a name is kept, sorted."""
        folder = self._path(name).parent
        try:
            found = [path.name.partition(".") for path in folder.iterdir()] if folder.is_dir() else []
        except OSError as error:
            raise WorldError(f"blob {name}: {error.strerror}", remedy="mend the folder") from error
        return sorted(key for own, _, key in found if own == name and KEY_ID.fullmatch(key))

    def sealed_names(self) -> Iterator[tuple[Sha256, str]]:
        """Every sealed name with the id of its key."""
        for path in self._root.glob("??/??/*.*"):
            name, _, key_id = path.name.partition(".")
            if _NAME.fullmatch(name) and KEY_ID.fullmatch(key_id):
                yield Sha256(name), key_id

    def _sealed(self, name: Sha256, key_id: str) -> Path:
        path = self._path(name)
        return path.with_name(f"{path.name}.{key_id}")

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order; what a killed writer left half-written has none."""
        for path in self._root.glob("??/??/*"):
            if _NAME.fullmatch(path.name):
                yield Sha256(path.name)


@contextlib.contextmanager
def _mended(name: Sha256) -> Iterator[None]:
    """The file system's failures, with what to do about them."""
    try:
        yield
    except OSError as error:
        raise WorldError(f"blob {name}: {error.strerror}", remedy="free space or mend the folder") from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_blobs(url: str) -> BlobStore:
    """The blobs behind a URL: a plain path, ``file:///path``, or ``s3://bucket/prefix``.

    A folder is made where it is missing. Raises ``ConfigError`` for anything else.
    """
    parts = urlsplit(url)
    if parts.scheme == "sealed":
        from executor.store.sealing import open_sealed  # noqa: PLC0415 - it opens plain ones itself

        return open_sealed(url)
    if parts.scheme == "s3":
        from executor.store.s3 import open_s3  # noqa: PLC0415 - its client is optional

        return open_s3(parts.netloc, parts.path)
    if parts.scheme not in {"", "file"} or (parts.scheme == "file" and parts.netloc not in {"", "localhost"}):
        raise ConfigError(f"no blobs can be kept under {parts.scheme}://{parts.netloc}", remedy=_EXAMPLES)
    folder = Path(unquote(parts.path) if parts.scheme else url)
    if not url or str(folder) == ".":
        raise ConfigError("the URL of the blobs is empty", remedy=_EXAMPLES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}", remedy=_EXAMPLES) from error
    return FolderBlobs(folder)
