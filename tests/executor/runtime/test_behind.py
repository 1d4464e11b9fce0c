"""Frames that are written behind: durable before the event that names them, and never lost in silence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from domain.errors import WorldError
from domain.ids import Sha256
from domain.ports import EventLog
from executor.runtime import behind
from executor.runtime.behind import BlobsBehind, LogAfterBlobs
from executor.store.blobs import FolderBlobs, name_of_blob


class SlowBlobs(FolderBlobs):
    """A folder that writes only when it is let."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.open = threading.Event()
        self.full = False

    def put(self, data: bytes, *, media_type: str) -> Sha256:
        """See ``BlobStore``."""
        assert self.open.wait(10)
        if self.full:
            raise WorldError("no space left", remedy="free space")
        return super().put(data, media_type=media_type)


@pytest.fixture
def slow(tmp_path: Path) -> SlowBlobs:
    return SlowBlobs(tmp_path)


@pytest.fixture
def blobs(slow: SlowBlobs) -> Iterator[BlobsBehind]:
    made = BlobsBehind(slow)
    yield made
    slow.open.set()
    made.close()


def log_that_notes(slow: SlowBlobs, noted: list[list[Sha256]]) -> EventLog:
    """A log of which only ``append`` is used: it notes which blobs are there."""
    return cast("EventLog", SimpleNamespace(append=lambda *_, **__: noted.append(sorted(slow.names()))))


def test_putting_does_not_wait_for_the_disk_and_appending_does(slow: SlowBlobs, blobs: BlobsBehind) -> None:
    noted: list[list[Sha256]] = []
    log = LogAfterBlobs(log_that_notes(slow, noted), blobs)
    names = [blobs.put(data, media_type="image/png") for data in (b"one", b"two")]
    assert names == [name_of_blob(b"one"), name_of_blob(b"two")]
    assert list(slow.names()) == []

    threading.Timer(0.05, slow.open.set).start()
    log.append([])
    assert noted == [sorted(names)]


def test_nothing_is_appended_when_a_frame_could_not_be_kept(slow: SlowBlobs, blobs: BlobsBehind) -> None:
    noted: list[list[Sha256]] = []
    log = LogAfterBlobs(log_that_notes(slow, noted), blobs)
    slow.open.set()
    slow.full = True
    blobs.put(b"one", media_type="image/png")
    with pytest.raises(WorldError, match="no space left"):
        log.append([])
    assert noted == []

    slow.full = False
    blobs.put(b"one", media_type="image/png")
    log.append([])
    assert noted == [[name_of_blob(b"one")]]


def test_what_was_put_is_read_back_at_once(slow: SlowBlobs, blobs: BlobsBehind) -> None:
    threading.Timer(0.05, slow.open.set).start()
    name = blobs.put(b"one", media_type="image/png")
    assert blobs.has(name)
    assert blobs.get(name) == b"one"
    assert list(blobs.names()) == [name]


def test_no_more_than_so_many_frames_wait_for_the_disk(
    slow: SlowBlobs, blobs: BlobsBehind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behind, "WAITING_LIMIT", 2)
    for data in (b"one", b"two"):
        blobs.put(data, media_type="image/png")
    threading.Timer(0.05, slow.open.set).start()
    blobs.put(b"three", media_type="image/png")
    assert len(list(slow.names())) >= 2
