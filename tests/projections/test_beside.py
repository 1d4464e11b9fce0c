"""A second process builds some of the views: the rows are the same, each event passes once, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from domain.envelope import Recorded
from domain.ids import StreamId, TenantId
from projections import beside, materialize
from projections.beside import GIVEN_AWAY, Order
from projections.fold import Partitioned
from projections.materialize import Progress, catch_up, forget, position, rebuild, row, rows
from projections.ports import EventSource
from projections.reading import RecordReader, open_blob_reader, open_reader
from projections.views import ALL
from projections.views.evidence_chain import EvidenceChain
from replay_ui.data import Desk
from replay_ui.search import search
from tests.benchmarks.views import record
from tests.support.events import TENANT

EVENTS = 600
KEPT = [view for view in ALL if view.name not in GIVEN_AWAY]


class Watched:
    """The record, counting what passes; ``when`` is called before the event at a position."""

    def __init__(self, reader: RecordReader, when: dict[int, Callable[[], object]] | None = None) -> None:
        self._reader = reader
        self._when = when or {}
        self.passed = 0

    def tenants(self) -> list[TenantId]:
        return self._reader.tenants()

    def events(self, tenant: TenantId, *, after: int = 0) -> Iterator[Recorded]:
        for recorded in self._reader.events(tenant, after=after):
            self.passed += 1
            self._when.pop(recorded.row.position, int)()
            yield recorded

    def stream(self, tenant: TenantId, stream: StreamId) -> Iterator[Recorded]:
        return self._reader.stream(tenant, stream)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = f"sqlite:///{tmp_path_factory.mktemp('record')}/record.db"
    record(made, EVENTS)
    return made


@pytest.fixture
def reader(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordReader]:
    monkeypatch.setattr(beside, "SHARED_FROM", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with open_reader(url) as opened:
        yield opened


@pytest.fixture
def views(tmp_path: Path) -> Iterator[sa.Engine]:
    """In a folder whose name means something in a URL."""
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(tmp_path / "50% ?" / "views.db")))
    (tmp_path / "50% ?").mkdir()
    yield engine
    engine.dispose()


@pytest.fixture
def expected(reader: RecordReader) -> dict[str, list[Any]]:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    catch_up(reader, engine, TENANT, ALL)
    found = everything(engine)
    engine.dispose()
    return found


def everything(engine: sa.Engine) -> dict[str, list[Any]]:
    return {view.name: list(rows(engine, view, TENANT)) for view in ALL}


def left_behind(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*/*")} - {"views.db"}


def test_rows_are_what_one_process_makes_and_every_event_passes_here_once(
    reader: RecordReader, views: sa.Engine, expected: dict[str, list[Any]], tmp_path: Path
) -> None:
    end, heard = reader.positions(TENANT), list[int]()
    watched = Watched(reader)
    for _ in range(2):
        forget(views, TENANT, ALL)
        watched.passed = 0
        heard.clear()
        assert beside.catch_up(watched, views, TENANT, ALL, heard.append, record=reader) == end
        assert everything(views) == expected
        assert {position(views, view, TENANT) for view in ALL} == {end}
        assert watched.passed == sum(heard) == end
    assert left_behind(tmp_path) == set()


def test_the_other_process_builds_what_is_given_away_and_this_one_the_rest(
    reader: RecordReader, views: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[set[str]] = []

    def noted(
        source: EventSource,
        engine: sa.Engine,
        tenant: TenantId,
        chosen: Sequence[Partitioned[Any]],
        progress: Progress | None = None,
    ) -> int:
        behind = {view.name for view in chosen if position(engine, view, tenant) < EVENTS}
        here.append(behind)
        return catch_up(source, engine, tenant, chosen, progress)

    monkeypatch.setattr(materialize, "catch_up", noted)
    beside.catch_up(reader, views, TENANT, ALL, record=reader)
    assert here == [{view.name for view in KEPT}, set()]


def test_an_index_finds_rows_of_the_other_process_too(reader: RecordReader, views: sa.Engine) -> None:
    beside.catch_up(reader, views, TENANT, ALL, record=reader)
    found = row(views, EvidenceChain(), TENANT, "task-0-3")
    assert found is not None
    assert [one.task_id for one in rows(views, EvidenceChain(), TENANT, found.bill_id)] == ["task-0-3"]


def test_a_process_that_fails_costs_nothing_but_time(
    reader: RecordReader,
    views: sa.Engine,
    expected: dict[str, list[Any]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Elsewhere:
        url = f"sqlite:///{tmp_path}/nowhere.db"
        as_stored = False
        positions = reader.positions

    assert beside.catch_up(reader, views, TENANT, ALL, record=Elsewhere()) == reader.positions(TENANT)
    assert everything(views) == expected
    assert "beside this one failed" in caplog.text
    assert left_behind(tmp_path) == set()


def test_views_that_somebody_else_has_begun_meanwhile_are_not_taken_over(
    reader: RecordReader, views: sa.Engine, expected: dict[str, list[Any]]
) -> None:
    given = [view for view in ALL if view.name in GIVEN_AWAY]
    watched = Watched(reader, {1: lambda: catch_up(reader, views, TENANT, given)})
    assert beside.catch_up(watched, views, TENANT, ALL, record=reader) == reader.positions(TENANT)
    assert everything(views) == expected


def test_what_stands_already_is_continued_and_not_begun_again(
    reader: RecordReader, views: sa.Engine, expected: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        catch_up(Watched(reader, {500: stop}), views, TENANT, ALL, batch=100)
    assert {position(views, view, TENANT) for view in ALL} == {400}
    monkeypatch.setattr(subprocess, "Popen", None)  # none is started
    beside.catch_up(reader, views, TENANT, ALL, record=reader)
    assert everything(views) == expected


def test_an_interruption_ends_the_other_process_and_takes_its_file_along(
    reader: RecordReader, views: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def noted(command: list[str], **named: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - passed on
        started.append(start(command, **named))
        return started[-1]

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", noted)
    with pytest.raises(KeyboardInterrupt):
        beside.catch_up(Watched(reader, {300: interrupted}), views, TENANT, ALL, record=reader)
    assert [process.poll() is not None for process in started] == [True]
    assert left_behind(tmp_path) == set()
    rebuild(reader, views, TENANT, ALL)


def test_the_other_process_ends_with_its_parent_and_clears_up(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    order = Order(url=url, as_stored=False, tenant=TENANT, views=tuple(GIVEN_AWAY), folder=str(folder))
    command = [sys.executable, "-m", "projections.beside"]
    # The input ends after the order, as it does when the parent is killed.
    done = subprocess.run(command, input=msgspec.json.encode(order) + b"\n", capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout == b""
    assert not folder.exists()


def test_short_logs_and_databases_without_a_file_are_built_here(
    reader: RecordReader, views: sa.Engine, monkeypatch: pytest.MonkeyPatch, expected: dict[str, list[Any]]
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    memory = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    beside.catch_up(reader, memory, TENANT, ALL, record=reader)
    assert everything(memory) == expected
    memory.dispose()
    monkeypatch.setattr(beside, "SHARED_FROM", EVENTS * 2)
    beside.catch_up(reader, views, TENANT, ALL, record=reader)
    assert everything(views) == expected


def test_the_desk_lets_it_help_and_finds_what_passed_by(
    reader: RecordReader, views: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(database: sa.Engine) -> Desk:
        return Desk(reader, open_blob_reader(str(tmp_path)), database)

    memory = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    alone, helped = opened(memory), opened(views)
    taken: list[object] = []
    copy = beside._copy  # noqa: SLF001 - whether rows were taken over is what is asked
    monkeypatch.setattr(beside, "_copy", lambda *arguments: taken.append(copy(*arguments)))
    assert helped.catch_up(TENANT) == alone.catch_up(TENANT) == reader.positions(TENANT)
    assert taken == [None]
    for desk in (alone, helped):
        assert desk.tasks_of_bill(TENANT, "B0-7") != ()
    assert helped.chain(TENANT, "B0-7") == alone.chain(TENANT, "B0-7")
    link = next(reader.events(TENANT)).row.entry_hash.hex()
    assert search(helped, TENANT, link) != search(helped, TENANT, link[::-1])
    assert search(helped, TENANT, link) == search(alone, TENANT, link)
    memory.dispose()
