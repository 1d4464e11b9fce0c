"""Processes that want the same thing: one effect, one stream, one file."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from domain.errors import ClaimTaken, VersionConflict, WorldError
from domain.ids import EffectKey, StreamId
from executor.store import engine
from executor.store.log import open_record
from projections.fsck import check
from projections.reading import open_reader
from tests.support.records import ACME, Maker, fresh_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier
    from pathlib import Path


PROCESSES = 8
KEYS = 200
_CONTEXT = multiprocessing.get_context("forkserver")
_WAIT_S = 240


def _run(target: Callable[..., None], url: str) -> list[Any]:
    """Results of as many processes as there are, which begin their work together."""
    barrier, results = _CONTEXT.Barrier(PROCESSES), _CONTEXT.Queue()
    workers = [
        _CONTEXT.Process(target=target, args=(url, number, barrier, results)) for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=_WAIT_S) for _ in workers]
    for worker in workers:
        worker.join()
    return found


def _claim_all(url: str, number: int, barrier: Barrier, results: Queue[Any]) -> None:
    maker = Maker(seed=1_000 + number)
    keys = [EffectKey(f"effect-{key}") for key in range(KEYS)]
    random.Random(number).shuffle(keys)
    won, told = [], []
    with open_record(url) as log:
        barrier.wait()
        for key in keys:
            stream = maker.task()
            try:
                log.append([maker.opened(stream, key), maker.claimed(stream, 2, key)], claim=key)
                won.append((key, stream))
            except ClaimTaken as error:
                told.append((key, error.holder_stream, error.since_us > 0))
    results.put((won, told))


def test_of_eight_processes_that_claim_the_same_effects_one_wins_each(url: str) -> None:
    open_record(url).close()
    outcomes = _run(_claim_all, url)
    winners = dict(pair for won, _ in outcomes for pair in won)
    assert Counter(key for won, _ in outcomes for key, _ in won) == Counter(
        {f"effect-{n}": 1 for n in range(KEYS)}
    )
    losers = [loss for _, told in outcomes for loss in told]
    assert len(losers) == KEYS * (PROCESSES - 1)
    assert all(winners[key] == holder and since for key, holder, since in losers)
    with open_reader(url) as reader:
        report = check(reader, None)
        assert (report.findings, report.claims, report.events) == ([], KEYS, KEYS * 2)


def _append_to_one(url: str, number: int, barrier: Barrier, results: Queue[Any]) -> None:
    maker = Maker(seed=2_000 + number)
    stream = StreamId("run:shared")
    conflicts = 0
    with open_record(url) as log:
        barrier.wait()
        for _ in range(5):
            while True:
                version = max((item.row.version for item in log.stream(ACME, stream)), default=0) + 1
                try:
                    log.append([maker.note(stream, version)])
                    break
                except VersionConflict:
                    conflicts += 1
    results.put(conflicts)


def test_processes_that_append_to_one_stream_never_overwrite_each_other(url: str) -> None:
    open_record(url).close()
    conflicts = sum(_run(_append_to_one, url))
    with open_reader(url) as reader:
        assert check(reader, None).ok
        versions = [item.row.version for item in reader.stream(ACME, StreamId("run:shared"))]
    assert versions == list(range(1, PROCESSES * 5 + 1))
    assert conflicts > 0, "the processes never met, so nothing was shown"


def test_a_claim_whose_owner_died_is_not_handed_over(url: str) -> None:
    script = (
        "import os, sys\n"
        "from executor.store.log import open_record\n"
        "from tests.support.records import Maker\n"
        "maker = Maker(seed=1); stream = maker.task(); log = open_record(sys.argv[1])\n"
        "log.append([maker.opened(stream, 'k'), maker.claimed(stream, 2, 'k')], claim='k')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, url], check=False).returncode == -9
    maker = Maker(seed=2)
    stream = maker.task()
    with open_record(url) as log:
        held = log.claim_of(ACME, EffectKey("k"))
        assert held is not None
        with pytest.raises(ClaimTaken):
            log.append([maker.claimed(stream, 1, "k")], claim=EffectKey("k"))
        assert [item.name for item in log.stream(ACME, held.stream)] == ["task.opened", "task.claimed"]


def test_a_locked_file_is_waited_for_and_then_a_failure_of_the_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 200)
    url = fresh_url("sqlite", tmp_path)
    maker = Maker(seed=1)
    stream = maker.task()
    drafts = [maker.note(stream, 1)]
    with open_record(url) as log:
        other = sqlite3.connect(next(tmp_path.glob("*.db")), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WorldError, match="locked"):
            log.append(drafts)
        other.execute("ROLLBACK")
        other.close()
        assert not log.append(drafts).repeated


@pytest.mark.parametrize("seed", range(12))
def test_a_log_file_that_was_torn_off_recovers_to_whole_appends(seed: int, tmp_path: Path) -> None:
    """A power cut that keeps a part of the write-ahead log: what recovers is a sound prefix."""
    url = fresh_url("sqlite", tmp_path)
    path = next(iter([tmp_path / url.rpartition("/")[2]]))
    maker = Maker(seed=seed)
    copy = tmp_path / "copy.db"
    with open_record(url) as log:
        for _ in range(30):
            log.append(maker.notes(maker.task(), maker.random.choice((1, 4)), size=700))
        copy.write_bytes(path.read_bytes())
        journal = (tmp_path / f"{path.name}-wal").read_bytes()
    cut = maker.random.randrange(32, len(journal))
    torn = journal[:cut] if seed % 2 else journal[:cut] + maker.random.randbytes(512) + journal[cut + 512 :]
    (tmp_path / "copy.db-wal").write_bytes(torn)
    with open_record(f"sqlite:///{copy}") as log:
        log.append(maker.notes(maker.task(), 1))
    with open_reader(f"sqlite:///{copy}") as reader:
        report = check(reader, None)
        assert report.findings == []
        assert report.events > 0
