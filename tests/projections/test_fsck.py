"""Whatever is damaged in a stored record is found, and named; a sound record has no findings."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from domain.events import SettlementImported
from domain.ids import EffectKey, EventId, Sha256, StreamId
from domain.values import FrameRef
from executor.store import sqlite_end
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections import fsck
from projections.fsck import Anchor, FsckReport, check
from projections.reading import open_blob_reader, open_reader
from tests.support.records import ACME, BACKENDS, GLOBEX, Maker, copy, execute, fresh_url, move

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY, OTHER_KEY = EffectKey("effect-1"), EffectKey("effect-2")
FILE = b"settlement,1,2,3\n"


class _Record:
    """A small record with everything in it: two tenants, claims, a release, frames, a file, a sealed task."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.blobs_url = str(folder / "blobs")
        blobs = open_blobs(self.blobs_url)
        maker = self.maker = Maker(seed=11)
        self.frame = blobs.put(b"picture", media_type="image/png")
        self.file = blobs.put(FILE, media_type="text/csv")
        self.task, self.other = maker.task(), maker.task()
        frame = FrameRef(role="observed", sha256=self.frame, width=10, height=10)
        with open_record(url) as log:
            log.append([maker.opened(self.task, KEY), maker.claimed(self.task, 2, KEY)], claim=KEY)
            log.append([maker.note(self.task, 3, frames=[frame]), maker.note(self.task, 4, frames=[frame])])
            log.append(
                [maker.opened(self.other, OTHER_KEY), maker.claimed(self.other, 2, OTHER_KEY)],
                claim=OTHER_KEY,
            )
            log.append([maker.released(self.other, 3, OTHER_KEY)], release=OTHER_KEY)
            log.append([maker.sealed(self.task, 5)])
            log.append([maker.draft(StreamId("settlement:2026-11"), 1, _imported(self.file))])
            globex = Maker(seed=12, tenant=GLOBEX)
            log.append(globex.notes(globex.task(), 3))

    def check(self, *, blobs: bool = True, anchors: Sequence[Anchor] = ()) -> FsckReport:
        with open_reader(self.url) as reader:
            return check(reader, open_blob_reader(self.blobs_url) if blobs else None, anchors=anchors)

    def codes(self) -> set[str]:
        return {finding.code for finding in self.check().findings}

    def damage(self, statement: str, *parameters: object) -> None:
        execute(self.url, statement, parameters)


def _imported(blob: Sha256) -> SettlementImported:
    return SettlementImported(
        blob=blob,
        file_name="november.csv",
        source="portal",
        profile="plain",
        month="2026-11",
        rows_read=1,
        rows_accepted=1,
        rows_refused=0,
        rows_other=0,
    )


@pytest.fixture(
    params=[
        *(pytest.param(name, marks=pytest.mark.postgres if name == "postgres" else ()) for name in BACKENDS),
        "sqlite, filed",
    ]
)
def record(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Record:
    """On SQLite once with all events at the end of the log, and once with most of them filed."""
    backend, _, filed = request.param.partition(", ")
    if filed:
        monkeypatch.setattr(sqlite_end, "FILE_AFTER", 4)
    return _Record(fresh_url(backend, tmp_path), tmp_path)


def test_a_sound_record_has_no_findings(record: _Record) -> None:
    report = record.check()
    assert report.findings == []
    assert report.ok
    assert report.tenants == [ACME, GLOBEX]
    assert (report.events, report.claims, report.blobs) == (12, 2, 2)


def test_progress_is_told_up_to_the_end(record: _Record) -> None:
    said: list[tuple[int, int, str]] = []
    with open_reader(record.url) as reader:
        check(reader, None, progress=lambda *words: said.append(words))
    assert said == [(9, 9, ACME), (3, 3, GLOBEX)]


@pytest.mark.parametrize("position", range(1, 10))
def test_a_changed_body_is_named(record: _Record, position: int) -> None:
    body = execute(record.url, "SELECT body FROM event WHERE tenant = 'acme' AND position = ?", (position,))[
        0
    ][0]
    changed = bytearray(body)
    at = random.Random(position).randrange(len(changed))
    changed[at] ^= 1 << random.Random(position).randrange(7)
    record.damage(
        "UPDATE event SET body = ? WHERE tenant = 'acme' AND position = ?", bytes(changed), position
    )
    findings = record.check().findings
    first = findings[0]
    assert (first.code, first.tenant, first.position) == ("entry_mismatch", ACME, position)
    assert {finding.position for finding in findings if finding.code == "entry_mismatch"} == {position}


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("stream", "task:somewhere-else", "column_mismatch"),
        ("version", 77, "stream_gap"),
        ("event_id", "00000000-0000-0000-0000-000000000000", "column_mismatch"),
        ("name", "task.sealed", "column_mismatch"),
        ("recorded_at_us", 1, "time_backwards"),
        ("recorded_at_us", 2**52, "entry_mismatch"),
        ("entry_hash", b"\x00" * 32, "entry_mismatch"),
    ],
)
def test_a_changed_column_is_named(record: _Record, column: str, value: object, code: str) -> None:
    statements = {
        name: f"UPDATE event SET {name} = ? WHERE tenant = 'acme' AND position = 3"  # noqa: S608 - fixed names
        for name in ("stream", "version", "event_id", "name", "recorded_at_us", "entry_hash")
    }
    record.damage(statements[column], value)
    report = record.check()
    assert code in {finding.code for finding in report.findings}
    assert record.task.removeprefix("task:") in report.tasks or column == "stream"


def test_a_changed_position_is_named(record: _Record) -> None:
    move(record.url, ACME, 3, 1000)
    report = record.check()
    assert "position_gap" in {finding.code for finding in report.findings}
    assert record.task.removeprefix("task:") in report.tasks


def test_a_changed_link_is_blamed_once_and_the_root_disagrees(record: _Record) -> None:
    record.damage("UPDATE event SET entry_hash = ? WHERE tenant = 'acme' AND position = 3", b"\x07" * 32)
    findings = record.check().findings
    assert [(finding.code, finding.position) for finding in findings] == [
        ("entry_mismatch", 3),
        ("root_mismatch", 0),
    ]


@pytest.mark.parametrize("position", [1, 3, 5])
def test_a_removed_event_is_missed(record: _Record, position: int) -> None:
    record.damage("DELETE FROM event WHERE tenant = 'acme' AND position = ?", position)
    codes = record.codes()
    assert {"position_gap", "stream_gap", "head_size"} <= codes


def test_a_removed_last_event_is_missed(record: _Record) -> None:
    record.damage("DELETE FROM event WHERE tenant = 'acme' AND position = 9")
    assert "head_size" in record.codes()


def test_two_events_that_changed_places_are_both_named(record: _Record) -> None:
    for old, new in ((3, 999), (4, 3), (999, 4)):
        move(record.url, ACME, old, new)
    found = {finding.position for finding in record.check().findings if finding.code == "entry_mismatch"}
    assert {3, 4} <= found


def test_an_event_that_was_copied_to_the_end_is_named(record: _Record) -> None:
    copy(record.url, ACME, 4, 10, 6)
    report = record.check()
    assert {"entry_mismatch", "column_mismatch"} <= {f.code for f in report.findings if f.position == 10}


def test_an_event_that_was_moved_to_another_tenant_is_missed_and_found(record: _Record) -> None:
    move(record.url, ACME, 4, 4, to_tenant=GLOBEX)
    by_tenant = {(finding.tenant, finding.code) for finding in record.check().findings}
    assert (ACME, "position_gap") in by_tenant
    assert (GLOBEX, "column_mismatch") in by_tenant
    assert (GLOBEX, "entry_mismatch") in by_tenant


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM event_place WHERE id & 255 = 2",
        "UPDATE event_place SET id = id + 1 WHERE id & 255 = 2",
        "INSERT INTO event_place SELECT tenant, 'nothing', id FROM event_place LIMIT 1",
        "DELETE FROM stream_place WHERE id & 255 = 1",
        "UPDATE stream_place SET count = count + 1 WHERE id & 255 = 1",
        "INSERT INTO stream_place SELECT tenant, 'task:nothing', version, id, 1 FROM stream_place LIMIT 1",
        "UPDATE tenant_head SET filed = filed - 1 WHERE filed > 0",
        "UPDATE tenant_head SET filed = size WHERE tenant = 'globex'",
    ],
)
def test_a_place_that_says_otherwise_than_the_events_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    monkeypatch.setattr(sqlite_end, "FILE_AFTER", 4)
    made = _Record(fresh_url("sqlite", tmp_path), tmp_path)
    assert made.check().ok
    made.damage(statement)
    assert "place_mismatch" in made.codes()


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE tenant_head SET size = size + 1", "head_size"),
        ("UPDATE tenant_head SET recorded_at_us = recorded_at_us + 1", "head_time"),
        ("DELETE FROM tenant_head", "head_missing"),
    ],
)
def test_a_changed_head_is_found(record: _Record, statement: str, code: str) -> None:
    record.damage(statement)
    assert code in record.codes()


def test_a_changed_frontier_is_found(record: _Record) -> None:
    record.damage("UPDATE tenant_head SET frontier = ? WHERE tenant = 'acme'", b"\x05" * 64)
    assert record.codes() == {"root_mismatch"}


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("DELETE FROM claim WHERE effect_key = 'effect-1'", "claim_row_missing"),
        ("DELETE FROM claim_release", "claim_row_missing"),
        ("DELETE FROM claim WHERE effect_key = 'effect-2'", "release_without_claim"),
        ("UPDATE claim SET stream = 'task:thief' WHERE effect_key = 'effect-1'", "claim_mismatch"),
        ("UPDATE claim SET principal = 'svc:thief' WHERE effect_key = 'effect-1'", "claim_mismatch"),
        ("UPDATE claim SET claimed_at_us = 5 WHERE effect_key = 'effect-1'", "claim_mismatch"),
        ("UPDATE claim SET effect_key = 'effect-3' WHERE effect_key = 'effect-1'", "claim_mismatch"),
        ("UPDATE claim SET generation = 3 WHERE effect_key = 'effect-1'", "claim_gap"),
        ("UPDATE claim SET event_id = 'nothing' WHERE effect_key = 'effect-1'", "claim_event_missing"),
        (
            (
                "INSERT INTO claim SELECT tenant, effect_key, 2, stream, principal, event_id, claimed_at_us FROM claim"
                " WHERE effect_key = 'effect-1'"
            ),
            "claim_doubled",
        ),
    ],
)
def test_claims_that_do_not_fit_their_events_are_found(record: _Record, statement: str, code: str) -> None:
    record.damage(statement)
    report = record.check()
    assert code in {finding.code for finding in report.findings}
    assert all(finding.tenant == ACME for finding in report.findings)


def test_a_missing_blob_is_named_with_every_event_that_needs_it(record: _Record) -> None:
    path = record.blobs_url + f"/{record.frame[:2]}/{record.frame[2:4]}/{record.frame}"
    Path(path).unlink()
    findings = record.check().findings
    assert [(finding.code, finding.position, finding.blob) for finding in findings] == [
        ("blob_missing", 3, record.frame),
        ("blob_missing", 4, record.frame),
    ]
    assert {finding.task for finding in findings} == {record.task.removeprefix("task:")}
    assert record.check(blobs=False).ok


def test_a_flipped_bit_in_a_blob_is_named(record: _Record) -> None:
    path = Path(record.blobs_url) / record.file[:2] / record.file[2:4] / record.file
    path.chmod(0o600)
    path.write_bytes(b"S" + FILE[1:])
    findings = record.check().findings
    assert [(finding.code, finding.blob, finding.stream) for finding in findings] == [
        ("blob_damaged", record.file, "settlement:2026-11")
    ]


def test_a_seal_with_the_wrong_count_is_found(record: _Record) -> None:
    maker = Maker(seed=13)
    stream = maker.task()
    wrong = maker.sealed(stream, 5)
    drafts = [
        maker.note(stream, 1),
        replace(wrong, envelope=msgspec.structs.replace(wrong.envelope, version=2)),
    ]
    with open_record(record.url) as log:
        log.append(drafts)
    assert record.codes() == {"seal_count"}


def test_a_cause_that_is_not_in_the_log_is_found(record: _Record) -> None:
    maker = Maker(seed=13)
    stream = maker.task()
    event = maker.note(stream, 1).event
    with open_record(record.url) as log:
        log.append([maker.draft(stream, 1, event, cause=EventId("nowhere"))])
    findings = record.check().findings
    assert [(finding.code, finding.task) for finding in findings] == [
        ("cause_missing", stream.removeprefix("task:"))
    ]


def test_an_event_from_the_future_is_reported_and_the_check_goes_on(record: _Record) -> None:
    record.damage("UPDATE event SET body = ? WHERE tenant = 'acme' AND position = 1", b'{"format":9}')
    findings = record.check().findings
    assert ("unreadable", 1) in {(finding.code, finding.position) for finding in findings}
    assert record.check().events == 12


def test_a_record_set_back_to_an_older_copy_is_caught_by_a_receipt(record: _Record) -> None:
    maker = Maker(seed=13)
    with open_record(record.url) as log:
        receipt = log.append(maker.notes(maker.task(), 2))
    anchor = Anchor(tenant=ACME, size=receipt.last_position, root=receipt.root, source="a receipt")
    assert record.check(anchors=[anchor]).ok
    ahead = Anchor(tenant=ACME, size=50, root=receipt.root, source="a receipt")
    assert [finding.code for finding in record.check(anchors=[ahead]).findings] == ["truncated"]
    other = Anchor(tenant=ACME, size=5, root=receipt.root, source="a receipt")
    assert [finding.code for finding in record.check(anchors=[other]).findings] == ["history_rewritten"]


def test_streams_beyond_the_memory_are_looked_up_again(
    record: _Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(seed=14)
    streams = [maker.task() for _ in range(8)]
    with open_record(record.url) as log:
        for version in range(1, 4):
            for stream in streams:
                log.append([maker.note(stream, version)])
    monkeypatch.setattr(fsck, "_STREAMS_KEPT", 2)
    assert record.check().ok
    record.damage("DELETE FROM event WHERE stream = ? AND version = 2", streams[5])
    assert "stream_gap" in record.codes()


@pytest.mark.parametrize("seed", range(25))
def test_a_bit_flipped_anywhere_in_a_sqlite_file_is_found_or_harmless(seed: int, tmp_path: Path) -> None:
    """Free space and unused header bytes may change; whatever is read must be what was recorded or be a finding."""
    record = _Record(fresh_url("sqlite", tmp_path), tmp_path)
    path = next(tmp_path.glob("*.db"))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with open_reader(record.url) as reader:
        before = [list(reader.indexed_rows(tenant)) for tenant in (ACME, GLOBEX)]
    data = bytearray(path.read_bytes())
    draw = random.Random(seed)
    at = draw.randrange(100, len(data))
    data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(data)
    try:
        report = record.check()
    except Exception as error:  # noqa: BLE001 - any word of our own is a fine answer to a ruined schema
        assert type(error).__module__ == "domain.errors"  # noqa: PT017
        return
    if report.ok:
        with open_reader(record.url) as reader:
            assert [list(reader.indexed_rows(tenant)) for tenant in (ACME, GLOBEX)] == before
