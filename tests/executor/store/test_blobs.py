"""Blobs in a folder and in S3-compatible storage: one suite, both implementations, reader and writer."""

from __future__ import annotations

import hashlib
import io
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

from domain.errors import ConfigError, IntegrityError, WorldError
from domain.ids import Sha256
from executor.store.blobs import open_blobs
from projections.reading import open_blob_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from domain.ports import BlobStore

PICTURE = b"\x89PNG picture " * 999
NAME = Sha256(hashlib.sha256(PICTURE).hexdigest())
ABSENT = Sha256("0" * 64)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class _Place:
    """One kind of storage: its URL, and a way to put wrong bytes under a name."""

    def __init__(self, url: str, endpoint: str = "") -> None:
        self.url = url
        self.endpoint = endpoint

    def damage(self, data: bytes) -> None:
        if self.endpoint:
            bucket = S3Store("frames", client_options={"allow_http": True})
            bucket.put(f"acme/{NAME[:2]}/{NAME[2:4]}/{NAME}", data)
            return
        path = Path(self.url) / NAME[:2] / NAME[2:4] / NAME
        path.chmod(0o600)
        path.write_bytes(data)


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Place:
    if request.param == "folder":
        return _Place(str(tmp_path / "blobs"))
    endpoint: str = request.getfixturevalue("s3")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing-secret")
    httpx.post(f"{endpoint}/moto-api/reset").raise_for_status()
    httpx.put(f"{endpoint}/frames").raise_for_status()
    return _Place("s3://frames/acme", endpoint)


@pytest.fixture
def blobs(place: _Place) -> BlobStore:
    return open_blobs(place.url)


def test_bytes_come_back_under_their_hash(place: _Place, blobs: BlobStore) -> None:
    assert blobs.put(PICTURE, media_type="image/png") == NAME
    assert blobs.has(NAME)
    assert blobs.get(NAME) == PICTURE
    reader = open_blob_reader(place.url)
    assert reader.has(NAME)
    assert reader.get(NAME) == PICTURE


def test_identical_bytes_are_kept_once(place: _Place, blobs: BlobStore) -> None:
    for _ in range(3):
        blobs.put(PICTURE, media_type="image/png")
    other = blobs.put(b"", media_type="text/plain")
    assert sorted(blobs.names()) == sorted([NAME, other])
    assert sorted(open_blob_reader(place.url).names()) == sorted([NAME, other])


def test_a_missing_blob_is_reported_by_name(place: _Place, blobs: BlobStore) -> None:
    blobs.put(PICTURE, media_type="image/png")
    assert not blobs.has(ABSENT)
    assert not open_blob_reader(place.url).has(ABSENT)
    for get in (blobs.get, open_blob_reader(place.url).get):
        with pytest.raises(IntegrityError, match=f"{ABSENT}: missing"):
            get(ABSENT)


def test_a_damaged_blob_is_reported_by_name_and_repaired_by_putting_it_again(
    place: _Place, blobs: BlobStore
) -> None:
    blobs.put(PICTURE, media_type="image/png")
    place.damage(PICTURE[:-1] + b"?")
    for get in (blobs.get, open_blob_reader(place.url).get):
        with pytest.raises(IntegrityError, match=f"{NAME}: bytes differ"):
            get(NAME)
    blobs.put(PICTURE, media_type="image/png")
    assert blobs.get(NAME) == PICTURE


@pytest.mark.parametrize("name", ["../../../../etc/passwd", "A" * 64, "0" * 63, "", "0" * 64 + "\n"])
def test_only_a_hash_is_a_name(place: _Place, blobs: BlobStore, name: str) -> None:
    for store in (blobs, open_blob_reader(place.url)):
        with pytest.raises(IntegrityError, match="not the name"):
            store.get(Sha256(name))
        with pytest.raises(IntegrityError, match="not the name"):
            store.has(Sha256(name))


def test_threads_that_put_the_same_bytes_agree(blobs: BlobStore) -> None:
    barrier = threading.Barrier(8)

    def put(_: int) -> Sha256:
        barrier.wait()
        return blobs.put(PICTURE, media_type="image/png")

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(put, range(8))) == {NAME}
    assert list(blobs.names()) == [NAME]


def test_a_kept_file_is_read_only_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    open_blobs(f"file://{tmp_path}/kept").put(PICTURE, media_type="image/png")
    files = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert [path.name for path in files] == [NAME]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o444


def test_a_write_that_fails_midway_leaves_no_blob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = open_blobs(str(tmp_path))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("executor.store.blobs.os.fsync", full)
    with pytest.raises(WorldError, match="No space left"):
        blobs.put(PICTURE, media_type="image/png")
    assert list(blobs.names()) == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_storage_that_is_away_is_the_worlds_failure_and_tells_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing-secret")
    monkeypatch.setattr("executor.store.s3.RETRIES", 0)
    with pytest.raises(WorldError) as caught:
        open_blobs("s3://frames/acme").get(NAME)
    assert "testing-secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "ftp://host/x", "file://elsewhere/x", "s3://"])
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        open_blobs(url)


def test_a_reader_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder of blobs"):
        open_blob_reader(str(tmp_path / "absent"))
    assert not (tmp_path / "absent").exists()


LARGE = bytes(range(256)) * (36 << 10)
"""9 MiB: more than one part of a large object, and no whole number of pieces with a byte more."""


@pytest.mark.parametrize("data", [b"", b"small", LARGE, LARGE + b"?"], ids=len)
def test_a_file_is_kept_as_its_bytes_are(place: _Place, blobs: BlobStore, data: bytes) -> None:
    with io.BytesIO(data) as file:
        file.seek(3)
        name = blobs.put_file(file, media_type="text/csv")
    assert name == hashlib.sha256(data).hexdigest()
    assert blobs.get(name) == open_blob_reader(place.url).get(name) == data
    assert blobs.put(data, media_type="text/csv") == name
    assert list(blobs.names()) == [name]


def test_a_damaged_blob_is_repaired_by_putting_its_file_again(place: _Place, blobs: BlobStore) -> None:
    for _ in range(2):
        blobs.put_file(io.BytesIO(PICTURE), media_type="image/png")
    place.damage(PICTURE[:-1] + b"?")
    blobs.put_file(io.BytesIO(PICTURE), media_type="image/png")
    assert blobs.get(NAME) == PICTURE


class Growing(io.BytesIO):
    """A file that somebody still writes to: from the second reading on it has more."""

    readings = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.readings += 1
        if self.readings == 2:
            super().seek(0, io.SEEK_END)
            self.write(b"more")
        return super().seek(offset, whence)


@pytest.mark.parametrize("data", [b"small", LARGE], ids=len)
def test_a_file_that_changes_meanwhile_is_refused_and_nothing_is_kept(
    place: _Place, blobs: BlobStore, data: bytes
) -> None:
    with pytest.raises(WorldError, match="changed while it was read"):
        blobs.put_file(Growing(data), media_type="text/csv")
    assert list(blobs.names()) == []
    if not place.endpoint:
        assert [path for path in Path(place.url).rglob("*") if path.is_file()] == []


def test_an_object_says_what_it_is(place: _Place, blobs: BlobStore) -> None:
    if not place.endpoint:
        return
    for data in (b"small", LARGE):
        name = blobs.put_file(io.BytesIO(data), media_type="text/csv")
        bucket = S3Store("frames", client_options={"allow_http": True})
        found = bucket.get(f"acme/{name[:2]}/{name[2:4]}/{name}")
        assert found.attributes["Content-Type"] == "text/csv"
