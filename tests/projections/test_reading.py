"""Reading the record: nothing can be changed through it, pages show everything, a read-only copy will do."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from domain.errors import ConfigError, WorldError
from domain.ids import EffectKey, EventId, StreamId
from domain.log_format import LEAF_BYTES
from domain.merkle import leaf_hash, root
from executor.store.log import RecordLog, open_record
from projections import reading
from projections.reading import open_reader
from tests.support.records import ACME, BACKENDS, Maker, fresh_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from domain.envelope import Draft


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.postgres if name == "postgres" else ()) for name in BACKENDS]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return fresh_url(request.param, tmp_path)


@pytest.fixture
def log(url: str) -> Iterator[RecordLog]:
    with open_record(url) as opened:
        yield opened


@pytest.fixture
def maker() -> Maker:
    return Maker(seed=4)


def _fill(log: RecordLog, maker: Maker) -> list[Draft]:
    drafts: list[Draft] = []
    for _ in range(3):
        batch = maker.notes(maker.task(), 4)
        log.append(batch)
        drafts += batch
    return drafts


@pytest.mark.parametrize("page", [1, 2, 5, 12, 1000])
def test_every_way_of_reading_sees_every_event_whatever_the_page(
    url: str, log: RecordLog, maker: Maker, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE", page)
    drafts = _fill(log, maker)
    key = EffectKey("k")
    for _ in range(3):
        stream = maker.task()
        log.append([maker.claimed(stream, 1, key)], claim=key)
        log.append([maker.released(stream, 2, key)], release=key)
    with open_reader(url) as reader:
        assert [row.position for row in reader.rows(ACME)] == list(range(1, 19))
        assert [item.row.position for item in reader.indexed_rows(ACME, after=5)] == list(range(6, 19))
        assert [row.position for row in reader.rows(ACME, after=3, limit=4)] == [4, 5, 6, 7]
        assert [item.event for item in reader.events(ACME)][:12] == [draft.event for draft in drafts]
        names = [item.name for item in reader.events(ACME, names=["task.claimed"])]
        assert names == ["task.claimed"] * 3
        one = drafts[0].envelope.stream
        assert [item.row.version for item in reader.stream(ACME, one, after=1)] == [2, 3, 4]
        assert [row.generation for row in reader.claims(ACME)] == [1, 2, 3]
        assert reader.positions(ACME) == 18


def test_leaves_give_the_root_of_the_head_at_every_size(url: str, log: RecordLog, maker: Maker) -> None:
    receipts = [log.append([maker.note(maker.task(), 1)]) for _ in range(9)]
    with open_reader(url) as reader:
        for receipt in receipts:
            joined = reader.leaves(ACME, receipt.last_position)
            hashes = [leaf_hash(joined[at : at + LEAF_BYTES]) for at in range(0, len(joined), LEAF_BYTES)]
            assert root(hashes) == receipt.root
        head = reader.head(ACME)
        assert head is not None
        assert (head.size, head.root, head.recorded_at_us) == (
            9,
            receipts[-1].root,
            receipts[-1].recorded_at_us,
        )


def test_streams_of_a_kind_come_in_order_of_their_first_event(url: str, log: RecordLog, maker: Maker) -> None:
    drafts = _fill(log, maker)
    log.append(maker.notes(StreamId("run:1"), 1))
    log.append(maker.notes(StreamId("taskforce:1"), 1))
    wanted = list(dict.fromkeys(draft.envelope.stream for draft in drafts))
    with open_reader(url) as reader:
        assert reader.streams(ACME, "task") == wanted
        assert reader.streams(ACME, "run") == ["run:1"]


def test_an_event_is_found_by_its_id(url: str, log: RecordLog, maker: Maker) -> None:
    draft = _fill(log, maker)[5]
    with open_reader(url) as reader:
        found = reader.find(ACME, draft.envelope.event_id)
        assert found is not None
        assert found.envelope == draft.envelope
        assert reader.find(ACME, EventId("nothing")) is None
        assert reader.missing_ids(ACME, [draft.envelope.event_id, "nothing"]) == {"nothing"}


@pytest.mark.parametrize(
    "statement", ["DELETE FROM event", "INSERT INTO record_format VALUES (9)", "DROP TABLE claim"]
)
def test_a_reader_cannot_write(url: str, log: RecordLog, maker: Maker, statement: str) -> None:
    _fill(log, maker)
    with (
        open_reader(url) as reader,
        reader._engine.connect() as connection,  # noqa: SLF001 - the door that must be locked
        pytest.raises(DBAPIError, match=r"readonly|read-only"),
    ):
        connection.execute(text(statement))


def test_a_copy_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path, maker: Maker) -> None:
    url = fresh_url("sqlite", tmp_path)
    with open_record(url) as log:
        _fill(log, maker)
    folder = tmp_path / "readonly"
    folder.mkdir()
    (folder / "copy.db").write_bytes(next(tmp_path.glob("*.db")).read_bytes())
    (folder / "copy.db").chmod(0o444)
    folder.chmod(0o555)
    for parent in (tmp_path, *list(tmp_path.parents)[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    script = (
        "import os, sqlite3, sys\n"
        "from projections.fsck import check\n"
        "from projections.reading import open_reader\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "reader = open_reader(sys.argv[1])\n"
        "report = check(reader, None)\n"
        "print(report.events, report.ok)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, f"sqlite:///{folder}/copy.db"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.split() == ["12", "True"]


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ("sqlite:////nowhere/record.db", "no record at"),
        ("mysql://x/y", "can be read"),
        ("nonsense", "no database URL"),
    ],
)
def test_a_wrong_url_is_refused_with_the_remedy(bad: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        open_reader(bad)


def test_a_reader_makes_no_record(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"no record"):
        open_reader(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.postgres
def test_a_database_that_is_away_is_the_worlds_failure_without_a_password() -> None:
    with pytest.raises(WorldError) as caught:
        open_reader("postgresql+psycopg://user:very-secret@127.0.0.1:9/desk")
    assert "very-secret" not in str(caught.value)
