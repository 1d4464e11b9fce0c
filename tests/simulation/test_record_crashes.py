"""SIGKILL between two system calls of an append: what was acknowledged is there, nothing is there by half."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from domain.errors import WorldError
from domain.ids import EffectKey, StreamId
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.fsck import check
from projections.reading import open_blob_reader, open_reader
from tests.support.killing import Outcome, alone, run_traced
from tests.support.postgres import Cluster
from tests.support.records import ACME, Maker, fresh_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from domain.envelope import Draft

    Work = Callable[[Callable[[str], None]], None]

SEED = 20261201
KILL_POINTS = 220


class _Round:
    """One task's life in four appends, the same every time: opened with its claim, two batches, sealed and released."""

    def __init__(self, number: int) -> None:
        maker = Maker(seed=SEED + number)
        self.stream: StreamId = maker.task()
        self.key = EffectKey(f"effect-{number}")
        self.appends: list[list[Draft]] = [
            [maker.opened(self.stream, self.key), maker.claimed(self.stream, 2, self.key)],
            maker.notes(self.stream, 5, first=3, size=900),
            [maker.note(self.stream, 8)],
            [maker.released(self.stream, 9, self.key), maker.sealed(self.stream, 10)],
        ]

    def prepare(self, url: str) -> Callable[[], Work]:
        def opened() -> Work:
            log = open_record(url)
            log.claim_of(ACME, self.key)

            def work(acknowledge: Callable[[str], None]) -> None:
                for number, drafts in enumerate(self.appends):
                    log.append(
                        drafts,
                        claim=self.key if number == 0 else None,
                        release=self.key if number == 3 else None,
                    )
                    acknowledge(str(number))

            return work

        return opened

    def assert_survived(self, url: str, outcome: Outcome) -> None:
        """Whole appends only, every acknowledged one among them; the claim with its event."""
        with open_record(url) as log:
            stored = [item.envelope.event_id for item in log.stream(ACME, self.stream)]
            held = log.claim_of(ACME, self.key)
        ids = [[draft.envelope.event_id for draft in drafts] for drafts in self.appends]
        prefixes = [[one for drafts in ids[:count] for one in drafts] for count in range(len(ids) + 1)]
        assert stored in prefixes
        whole = prefixes.index(stored)
        assert whole >= len(outcome.acknowledged), "an acknowledged append is gone"
        assert (held is not None) == (1 <= whole <= 3)

    def assert_goes_on(self, url: str) -> None:
        """Whoever starts again appends the same drafts, and there is one of each in the end."""
        with open_record(url) as log:
            for number, drafts in enumerate(self.appends):
                log.append(
                    drafts, claim=self.key if number == 0 else None, release=self.key if number == 3 else None
                )
            assert [item.row.version for item in log.stream(ACME, self.stream)] == list(range(1, 11))
            assert log.claim_of(ACME, self.key) is None


def _assert_sound(url: str) -> None:
    with open_reader(url) as reader:
        assert check(reader, None).findings == []


def _points(total: int, wanted: int) -> list[int]:
    draw = random.Random(SEED)
    return sorted(draw.choice(range(1, total + 1)) for _ in range(wanted))


def _kill_through(url: str, points: int) -> None:
    open_record(url).close()
    total = run_traced(_Round(0).prepare(url)).stops
    for number, point in enumerate(_points(total, points), start=1):
        life = _Round(number)
        outcome = run_traced(life.prepare(url), kill_at=point)
        life.assert_survived(url, outcome)
        life.assert_goes_on(url)
        if number % 20 == 0:
            _assert_sound(url)
    _assert_sound(url)


def test_a_writer_killed_between_any_two_system_calls_on_sqlite(tmp_path: Path) -> None:
    alone(_kill_through, fresh_url("sqlite", tmp_path), KILL_POINTS)


@pytest.mark.postgres
def test_a_writer_killed_between_any_two_system_calls_on_postgres(tmp_path: Path) -> None:
    alone(_kill_through, fresh_url("postgres", tmp_path), 60)


def _kill_writers_of_blobs(url: str) -> None:
    def prepare(seed: int) -> Callable[[], Work]:
        def opened() -> Work:
            blobs = open_blobs(url)

            def work(acknowledge: Callable[[str], None]) -> None:
                for part in range(2):
                    acknowledge(
                        blobs.put(random.Random(seed * 2 + part).randbytes(3_000), media_type="image/png")
                    )

            return work

        return opened

    total = run_traced(prepare(0)).stops
    kept: set[str] = set()
    for number, point in enumerate(_points(total, 60), start=1):
        kept.update(run_traced(prepare(number), kill_at=point).acknowledged)
        reader = open_blob_reader(url)
        names = set(reader.names())
        assert kept <= names, "an acknowledged blob is gone"
    for name in names:
        assert len(reader.get(name)) == 3_000


def test_a_writer_of_blobs_killed_between_any_two_system_calls(tmp_path: Path) -> None:
    alone(_kill_writers_of_blobs, str(tmp_path / "blobs"))


@pytest.mark.postgres
def test_a_server_that_is_killed_and_comes_back_has_lost_nothing() -> None:
    server = Cluster()
    try:
        url = server.url()
        maker = Maker(seed=SEED)
        stream = maker.task()
        with open_record(url) as log:
            version = 0
            for _ in range(3):
                for _ in range(5):
                    version += 1
                    log.append([maker.note(stream, version)])
                lost = [maker.note(stream, version + 1)]
                server.kill()
                with pytest.raises(WorldError, match="store:"):
                    log.append(lost)
                server.start()
                log.append(lost)
                version += 1
            assert [item.row.version for item in log.stream(ACME, stream)] == list(range(1, version + 1))
        _assert_sound(url)
    finally:
        server.close()
