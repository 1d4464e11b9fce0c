"""Blobs encrypted at rest: read back, told apart when damaged or deleted, in a folder and in a bucket."""

from __future__ import annotations

import hashlib
import io
import stat
from pathlib import Path

import pytest
from obstore.store import S3Store

from domain.errors import ConfigError, IntegrityError, KeyGone
from domain.ids import Sha256
from domain.sealing import DataKey, holds, seal, seal_pieces
from executor.store.blobs import open_blobs
from executor.store.sealed import PROOF, SealedBlobs
from executor.store.sealing import sealed_url
from executor.store.secret_key import make_secret
from projections.blobs import BlobReader, open_blob_reader
from tests.executor.store.test_blobs import LARGE, _Place, place, s3
from tests.support.records import ManualClock

__all__ = ["place", "s3"]

PICTURE = b"\x89PNG picture of Li Na's bill " * 99
NAME = Sha256(hashlib.sha256(PICTURE).hexdigest())
NOVEMBER, DECEMBER = 1_793_600_000_000_000, 1_796_600_000_000_000


class Sealed:
    """Sealed blobs, as a writer and as a reader have them."""

    def __init__(self, place: _Place, folder: Path) -> None:
        self.place = place
        self.ring, self.key = folder / "ring", folder / "privacy.key"
        if not self.key.exists():
            make_secret(self.key)
        self.clock = ManualClock(NOVEMBER)

    def url(self, *, writes: bool = True) -> str:
        return sealed_url(self.place.url, ring=self.ring, key=self.key, tenant="acme", writes=writes)

    def writer(self, *, writes: bool = True) -> SealedBlobs:
        made = open_blobs(self.url(writes=writes))
        assert isinstance(made, SealedBlobs)
        made._clock = self.clock  # noqa: SLF001 - the month is what is tested
        return made

    def reader(self) -> BlobReader:
        return open_blob_reader(self.url())

    def destroy(self, month: str = "2026-11") -> None:
        writer = self.writer()
        (key,) = [one for one in writer.ring.keys("acme") if one.unit == f"frame/{month}"]
        writer.ring.destroy(key)

    def stored(self) -> dict[str, bytes]:
        """Every object with its bytes."""
        if self.place.endpoint:
            bucket = S3Store("frames", client_options={"allow_http": True})
            paths = [str(item["path"]) for page in bucket.list() for item in page]
            return {path.rpartition("/")[2]: bytes(bucket.get(path).bytes()) for path in paths}
        return {path.name: path.read_bytes() for path in Path(self.place.url).rglob("*") if path.is_file()}

    def overwrite(self, name: Sha256, data: bytes) -> None:
        """Put wrong bytes in the place of a name's only sealed content."""
        (stored,) = [found for found in self.stored() if found.startswith(name)]
        if self.place.endpoint:
            bucket = S3Store("frames", client_options={"allow_http": True})
            bucket.put(f"acme/{name[:2]}/{name[2:4]}/{stored}", data)
            return
        path = next(Path(self.place.url).rglob(stored))
        path.chmod(0o600)
        path.write_bytes(data)


@pytest.fixture
def sealed(place: _Place, tmp_path: Path) -> Sealed:
    return Sealed(place, tmp_path)


def test_sealed_bytes_come_back_and_lie_nowhere_in_the_clear(sealed: Sealed) -> None:
    writer = sealed.writer()
    assert writer.put(PICTURE, media_type="image/png") == NAME
    assert writer.get(NAME) == sealed.reader().get(NAME) == PICTURE
    assert writer.has(NAME)
    assert sealed.reader().has(NAME)
    assert [*writer.names()] == [*sealed.reader().names()] == [NAME]
    (content,) = sealed.stored().values()
    assert b"Li Na" not in content


def test_identical_bytes_are_kept_once_within_a_unit(sealed: Sealed) -> None:
    writer = sealed.writer()
    writer.put(PICTURE, media_type="image/png")
    before = sealed.stored()
    writer.put(PICTURE, media_type="image/png")
    sealed.writer().put(PICTURE, media_type="image/png")
    assert sealed.stored() == before
    sealed.clock.value_us = DECEMBER
    writer.put(PICTURE, media_type="image/png")
    assert len(sealed.stored()) == 2, "the next month has a key, and so a copy, of its own"


def test_a_destroyed_key_deletes_and_is_not_damage(sealed: Sealed) -> None:
    writer, reader = sealed.writer(), sealed.reader()
    writer.put(PICTURE, media_type="image/png")
    assert reader.get(NAME) == PICTURE
    sealed.destroy()
    for blobs in (writer, reader, sealed.reader()):
        assert not blobs.has(NAME)
        with pytest.raises(KeyGone, match="its key was destroyed"):
            blobs.get(NAME)
    assert writer.put(PICTURE, media_type="image/png") == NAME, "what is stored anew has a new key"
    assert sealed.reader().get(NAME) == PICTURE


def test_a_copy_under_another_key_stays(sealed: Sealed) -> None:
    writer = sealed.writer()
    writer.put(PICTURE, media_type="image/png")
    sealed.clock.value_us = DECEMBER
    writer.put(PICTURE, media_type="image/png")
    sealed.destroy()
    assert sealed.reader().get(NAME) == PICTURE


def test_plain_blobs_of_before_stay_readable(sealed: Sealed) -> None:
    open_blobs(sealed.place.url).put(PICTURE, media_type="image/png")
    assert sealed.writer().get(NAME) == sealed.reader().get(NAME) == PICTURE
    other = sealed.writer(writes=False).put(b"plain", media_type="image/png")
    assert sealed.stored()[other] == b"plain"


def test_damaged_bytes_are_damage_and_not_a_deletion(sealed: Sealed) -> None:
    sealed.writer().put(PICTURE, media_type="image/png")
    (content,) = sealed.stored().values()
    sealed.overwrite(NAME, content[:-1] + bytes([content[-1] ^ 1]))
    for blobs in (sealed.writer(), sealed.reader()):
        with pytest.raises(IntegrityError, match="sealed bytes are damaged") as told:
            blobs.get(NAME)
        assert not isinstance(told.value, KeyGone)
    assert sealed.writer().put(PICTURE, media_type="image/png") == NAME, "and putting it again mends it"
    assert sealed.reader().get(NAME) == PICTURE


def test_what_was_sealed_under_a_wrong_name_is_damage(sealed: Sealed) -> None:
    writer = sealed.writer()
    writer.put(PICTURE, media_type="image/png")
    (key,) = writer.ring.keys("acme")
    sealed.overwrite(NAME, seal(b"another picture", NAME, key, b"n" * 12))
    for blobs in (writer, sealed.reader()):
        with pytest.raises(IntegrityError, match=r"damaged|differ from their name"):
            blobs.get(NAME)


def test_contents_can_not_be_exchanged(sealed: Sealed) -> None:
    """One content's ciphertext under another's name is noticed, although the key is the same."""
    writer = sealed.writer()
    writer.put(PICTURE, media_type="image/png")
    other = writer.put(b"another", media_type="image/png")
    (theirs,) = [content for name, content in sealed.stored().items() if name.startswith(other)]
    sealed.overwrite(NAME, theirs)
    with pytest.raises(IntegrityError, match="damaged"):
        sealed.reader().get(NAME)


def test_what_proves_a_redaction_outlives_every_key(sealed: Sealed) -> None:
    name = sealed.writer().put(b'{"salts":{}}', media_type=PROOF)
    assert sealed.stored()[name] == b'{"salts":{}}'


def test_documents_and_frames_have_keys_of_their_own(sealed: Sealed) -> None:
    writer = sealed.writer()
    writer.put(PICTURE, media_type="image/png")
    document = writer.put(b"a settlement file", media_type="text/csv")
    sealed.destroy()
    assert sealed.reader().get(document) == b"a settlement file"
    assert [key.unit for key in writer.ring.keys("acme")] == ["document/2026-11"]
    assert writer.ring.keys("globex") == []


@pytest.mark.parametrize("data", [b"", b"small", LARGE, LARGE + b"?"], ids=len)
def test_a_file_is_sealed_as_its_bytes_are(sealed: Sealed, data: bytes) -> None:
    writer = sealed.writer()
    name = writer.put_file(io.BytesIO(data), media_type="text/csv")
    assert name == hashlib.sha256(data).hexdigest()
    assert writer.get(name) == sealed.reader().get(name) == data
    before = sealed.stored()
    assert writer.put_file(io.BytesIO(data), media_type="text/csv") == name
    assert writer.put(data, media_type="text/csv") == name
    assert sealed.stored() == before, "what is there is seen to be whole, and not written again"
    assert data[:64] == b"" or all(data[:64] not in content for content in before.values())
    assert [key.unit for key in writer.ring.keys("acme")] == ["document/2026-11"]


@pytest.mark.parametrize("place_of_damage", [0, 9, 17, 30, -17, -16, -1])
def test_a_damaged_file_is_mended_by_putting_it_again(sealed: Sealed, place_of_damage: int) -> None:
    writer = sealed.writer()
    writer.put_file(io.BytesIO(PICTURE), media_type="image/png")
    (content,) = sealed.stored().values()
    damaged = bytearray(content)
    damaged[place_of_damage] ^= 1
    for wrong in (bytes(damaged), content[:20], content[:-1], b""):
        sealed.overwrite(NAME, wrong)
        writer.put_file(io.BytesIO(PICTURE), media_type="image/png")
        assert sealed.reader().get(NAME) == PICTURE


def test_what_is_sealed_under_a_wrong_name_does_not_stand_for_it(sealed: Sealed) -> None:
    writer = sealed.writer()
    writer.put(PICTURE, media_type="image/png")
    (key,) = writer.ring.keys("acme")
    sealed.overwrite(NAME, seal(b"another picture", NAME, key, b"n" * 12))
    writer.put_file(io.BytesIO(PICTURE), media_type="image/png")
    assert writer.get(NAME) == PICTURE


def test_pieces_are_sealed_as_the_whole_is() -> None:
    key = DataKey("0123456789abcdef", "acme", "document/2026-11", b"k" * 32)
    for pieces in ([], [b""], [PICTURE], [PICTURE[:1], PICTURE[1:1000], b"", PICTURE[1000:]]):
        whole = seal(b"".join(pieces), NAME, key, b"n" * 12)
        assert b"".join(seal_pieces(pieces, NAME, key, b"n" * 12)) == whole
    assert holds((bytes([byte]) for byte in whole), NAME, key)
    assert not holds((), NAME, key)


def test_files_stay_plain_where_nothing_is_sealed(sealed: Sealed) -> None:
    other = sealed.writer(writes=False).put_file(io.BytesIO(b"plain"), media_type="text/csv")
    assert sealed.stored()[other] == b"plain"
    proof = sealed.writer().put_file(io.BytesIO(b"{}"), media_type=PROOF)
    assert sealed.stored()[proof] == b"{}"


def test_keys_are_for_their_owner_alone_and_another_privacy_key_opens_none(sealed: Sealed) -> None:
    sealed.writer().put(PICTURE, media_type="image/png")
    (kept,) = sealed.ring.rglob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    sealed.key.unlink()
    make_secret(sealed.key)
    for blobs in (sealed.writer(), sealed.reader()):
        with pytest.raises(ConfigError, match="privacy key of this keyring"):
            blobs.get(NAME)


def test_a_malformed_url_is_refused() -> None:
    for opening in (open_blobs, open_blob_reader):
        with pytest.raises(ConfigError, match="malformed"):
            opening("sealed:blobs=x")
