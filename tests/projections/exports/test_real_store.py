"""From the writer's store on disk to an auditor: real database, real folder of blobs, real key."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from domain.envelope import Draft
from domain.errors import IntegrityError
from domain.events import TaskClaimed
from domain.ids import TenantId
from executor.runtime.system import SystemClock
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.store.signing import make_key, sign_checkpoint
from projections.exports.bundle import BundleInfo, Extras, write_bundle
from projections.exports.select import scope_of
from projections.exports.verify import verify
from projections.reading import open_blob_reader, open_reader
from tests.projections.exports.made import Made, case_of

ACME = TenantId("acme")


class Desk:
    """A record on disk."""

    def __init__(self, folder: Path, made: Made) -> None:
        self.database = folder / "record.db"
        self.url, self.blobs = f"sqlite:///{self.database}", str(folder / "blobs")
        log, store = open_record(self.url), open_blobs(self.blobs)
        for recorded in made.book.events:
            claim = recorded.event.effect_key if isinstance(recorded.event, TaskClaimed) else None
            log.append([Draft(envelope=recorded.envelope, event=recorded.event)], claim=claim)
        for data in made.blobs.values():
            store.put(data, media_type="application/octet-stream")
        key = make_key(folder / "key", "desk.example")
        self.note = sign_checkpoint(log, ACME, key, SystemClock())
        self.key = str(key.verifier(ACME))
        log.close()

    def export(self, path: Path, made: Made) -> BundleInfo:
        with open_reader(self.url) as reader:
            return write_bundle(
                path,
                reader,
                open_blob_reader(self.blobs),
                tenant=ACME,
                scope=scope_of(bill="B1"),
                case=case_of(made),
                extras=Extras(checkpoint=self.note, keys=[self.key]),
            )


@pytest.fixture
def desk(tmp_path: Path, made: Made) -> Desk:
    (tmp_path / "desk").mkdir()
    return Desk(tmp_path / "desk", made)


def test_a_bundle_of_a_record_on_disk_verifies_with_its_key(desk: Desk, made: Made, tmp_path: Path) -> None:
    info = desk.export(tmp_path / "b1.zip", made)
    report = verify(tmp_path / "b1.zip", trusted_keys=[desk.key], known_checkpoints=[desk.note])
    assert report.ok, "\n".join(report.lines())
    assert report.proved["authenticity"] == "ok"
    assert (report.events, report.size) == (info.events, len(made.book.events))
    desk.export(tmp_path / "again.zip", made)
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "b1.zip").read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), '12000', '12001') AS BLOB) WHERE position = 2",
        "UPDATE event SET recorded_at_us = recorded_at_us - 1 WHERE position = 9",
        "DELETE FROM event WHERE position = 12",
        "UPDATE tenant_head SET size = size - 1",
    ],
)
def test_a_record_damaged_by_hand_gives_no_evidence(
    damage: str, desk: Desk, made: Made, tmp_path: Path
) -> None:
    with sqlite3.connect(desk.database) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(damage).rowcount == 1
    connection.close()
    with pytest.raises(IntegrityError):
        desk.export(tmp_path / "b1.zip", made)
    assert not (tmp_path / "b1.zip").exists()


def test_a_damaged_screen_gives_no_evidence(desk: Desk, made: Made, tmp_path: Path) -> None:
    frame = next(one.envelope.frames[0] for one in made.book.events if one.envelope.frames)
    path = next(path for path in Path(desk.blobs).rglob("*") if path.name.endswith(frame.sha256[-20:]))
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IntegrityError, match=frame.sha256):
        desk.export(tmp_path / "b1.zip", made)
