"""Blobs in S3-compatible storage (``s3://bucket/prefix``), through ``obstore``.

Rules: endpoint, region and keys come from the environment (``AWS_ENDPOINT_URL``, ``AWS_REGION``,
``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``) and reach no message; an object appears whole or not at all, which
is what S3's PUT promises; what was written is read back and checked before its name is handed out.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from domain.errors import ConfigError, IntegrityError, WorldError
from domain.sealing import KEY_ID
from executor.store.blobs import PIECE_BYTES, checked, name_of_blob, name_of_file, pieces_of, valid_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from obstore.store import S3Store

    from domain.ids import Sha256

RETRIES = 4
"""Times that a request is tried again while the storage is away; every request here may be repeated."""

PART_BYTES = 8 << 20
"""Bytes of one part of a large object; S3 wants 5 MiB at least, and takes 10,000 parts."""
PARTS_AT_ONCE = 2


class BucketBlobs:
    """Blobs as objects ``prefix/ab/cd/abcd…``."""

    def __init__(self, store: S3Store) -> None:
        self._store = store

    def put(self, data: bytes, *, media_type: str) -> Sha256:
        """Store once, durable and checked before it returns; a damaged object under the name is replaced."""
        name = name_of_blob(data)
        if self._read(name) != data:
            with _failures_named():
                self._store.put(_key(name), data, attributes={"Content-Type": media_type})
            self.get(name)
        return name

    def put_file(self, file: BinaryIO, *, media_type: str) -> Sha256:
        """See ``put``; a seekable file, in parts, in memory that doesn't grow with it."""
        name = name_of_file(file)
        if not self._is(name):
            self._upload(_key(name), pieces_of(file, name), media_type)
            if not self._is(name):
                raise IntegrityError("bytes differ from their name", where=f"blob {name}")
        return name

    def _is(self, name: Sha256) -> bool:
        """Whether the object is there and its bytes are those of its name."""
        digest = hashlib.sha256()
        for piece in self._pieces(_key(name)):
            digest.update(piece)
        return digest.hexdigest() == name and self.has(name)

    def _pieces(self, key: str) -> Iterator[bytes]:
        with _failures_named():
            try:
                yield from map(bytes, self._store.get(key).stream(min_chunk_size=PIECE_BYTES))
            except FileNotFoundError:
                return

    def _upload(self, key: str, pieces: Iterable[bytes], media_type: str | None = None) -> None:
        """One request for what fits in a part, else parts that become an object together, or not at all."""
        left = iter(pieces)
        first = bytearray()
        for piece in left:
            first += piece
            if len(first) > PART_BYTES:
                break
        attributes = {"Content-Type": media_type} if media_type else None
        whole = bytes(first) if len(first) <= PART_BYTES else chain((bytes(first),), left)
        del first
        with _failures_named():
            self._store.put(
                key,
                whole,
                attributes=attributes,
                use_multipart=not isinstance(whole, bytes),
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE,
            )

    def get(self, sha256: Sha256) -> bytes:
        """The bytes, checked against their name; ``IntegrityError`` when damaged or missing."""
        data = self._read(sha256)
        if data is None:
            raise IntegrityError("missing", where=f"blob {sha256}")
        return checked(data, sha256)

    def _read(self, name: Sha256) -> bytes | None:
        return self._fetch(_key(name))

    def _fetch(self, key: str) -> bytes | None:
        with _failures_named():
            try:
                return bytes(self._store.get(key).bytes())
            except FileNotFoundError:
                return None

    def has(self, sha256: Sha256) -> bool:
        """True if the blob is there (its bytes are not checked)."""
        key = _key(sha256)
        with _failures_named():
            try:
                self._store.head(key)
            except FileNotFoundError:
                return False
        return True

    def read_sealed(self, name: Sha256, key_id: str) -> bytes | None:
        """Sealed bytes under a key, None when there are none."""
        return self._fetch(f"{_key(name)}.{key_id}")

    def sealed_pieces(self, name: Sha256, key_id: str) -> Iterator[bytes]:
        """Sealed bytes under a key, piece by piece; none when there are none."""
        return self._pieces(f"{_key(name)}.{key_id}")

    def write_sealed(self, name: Sha256, key_id: str, pieces: Iterable[bytes]) -> None:
        """Store sealed bytes, durable before it returns."""
        self._upload(f"{_key(name)}.{key_id}", pieces)

    def keys_of(self, name: Sha256) -> list[str]:
        """Ids of the keys under which a name is kept, sorted."""
        folder = _key(name).rpartition("/")[0]
        return sorted(key for own, key in self._listed(folder) if own == name)

    def sealed_names(self) -> Iterator[tuple[Sha256, str]]:
        """Every sealed name with the id of its key."""
        yield from self._listed(None)

    def _listed(self, folder: str | None) -> Iterator[tuple[Sha256, str]]:
        with _failures_named():
            for page in self._store.list(folder):
                for item in page:
                    name, _, key_id = str(item["path"]).rpartition("/")[2].partition(".")
                    if KEY_ID.fullmatch(key_id):
                        yield valid_name(name), key_id

    def names(self) -> Iterator[Sha256]:
        """Every stored name, in no order; other objects under the prefix are passed over."""
        for page in self._store.list():
            for item in page:
                name = str(item["path"]).rpartition("/")[2]
                try:
                    yield valid_name(name)
                except IntegrityError:
                    continue


def _key(name: str) -> str:
    valid_name(name)
    return f"{name[:2]}/{name[2:4]}/{name}"


@contextmanager
def _failures_named() -> Iterator[None]:
    """The client's failures as one line that names no key; their kinds share no public base class."""
    try:
        yield
    except WorldError:
        raise
    except Exception as error:
        what = f"blobs: {type(error).__name__}"
        raise WorldError(what, remedy="check AWS_ENDPOINT_URL, the keys and the bucket") from error


def open_s3(bucket: str, path: str) -> BucketBlobs:
    """Blobs in a bucket, under the URL's path; ``ConfigError`` without a bucket or the client."""
    if not bucket:
        raise ConfigError("the URL of the blobs names no bucket", remedy="use s3://bucket/prefix")
    try:
        from obstore.store import S3Store  # noqa: PLC0415 - the client is optional
    except ImportError as error:
        raise ConfigError("no S3 client is installed", remedy="pip install 'proofreel[s3]'") from error
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    return BucketBlobs(
        S3Store(
            bucket,
            prefix=path.strip("/") or None,
            client_options={"allow_http": endpoint.startswith("http://")},
            retry_config={"max_retries": RETRIES},
        )
    )
