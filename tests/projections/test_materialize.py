"""Stored views: rebuilt equals incremental, rows and position move together, a new version builds itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.envelope import Recorded
from domain.errors import IntegrityError
from domain.ids import StreamId, TenantId
from projections.fold import Partitioned, run_keys
from projections.materialize import catch_up, position, rebuild, row, rows
from projections.tables import POSITIONS, ROWS
from projections.views import ALL
from projections.views.runs import RunRow, Runs
from projections.views.task_states import TaskRow, TaskStates
from projections.views.timeline import TimelineProjection
from tests.projections.views.histories import histories
from tests.support.events import TENANT, Book, intent
from tests.support.postgres import cluster


class Log:
    """An event source over a list."""

    def __init__(self, events: list[Recorded]) -> None:
        self.log = events
        self.read = 0

    def tenants(self) -> list[TenantId]:
        return [TENANT]

    def events(self, tenant: TenantId, *, after: int = 0) -> Iterator[Recorded]:
        for recorded in self.log:
            if recorded.row.tenant == tenant and recorded.row.position > after:
                self.read += 1
                yield recorded

    def stream(self, tenant: TenantId, stream: StreamId) -> Iterator[Recorded]:
        return (r for r in self.log if r.row.tenant == tenant and r.row.stream == stream)


def database() -> sa.Engine:
    return sa.create_engine("sqlite://", poolclass=sa.StaticPool)


def everything(engine: sa.Engine, view: Partitioned[Any]) -> list[Any]:
    return list(rows(engine, view, TENANT))


def folded(view: Partitioned[Any], events: list[Recorded]) -> list[Any]:
    return [row for _, row in sorted(run_keys(view, events).items())]


@given(history=histories, cuts=st.lists(st.integers(0, 40), max_size=3), batch=st.integers(1, 50))
def test_rebuilding_gives_what_growing_bit_by_bit_gave(
    history: list[Recorded], cuts: list[int], batch: int
) -> None:
    engine = database()
    for cut in sorted(cuts):
        catch_up(Log(history[:cut]), engine, TENANT, ALL, batch=batch)
    assert catch_up(Log(history), engine, TENANT, ALL, batch=batch) == len(history)
    grown = {view.name: everything(engine, view) for view in ALL}
    rebuild(Log(history), engine, TENANT, ALL)
    assert {view.name: everything(engine, view) for view in ALL} == grown
    assert grown == {view.name: folded(view, history) for view in ALL}
    engine.dispose()


@pytest.fixture
def engine() -> Iterator[sa.Engine]:
    made = database()
    yield made
    made.dispose()


@pytest.fixture
def book() -> Book:
    made = Book()
    run = made.run()
    run.task("t1").done()
    run.task("t2", intent("B2")).done()
    return made


def test_a_view_that_is_up_to_date_reads_nothing_again(engine: sa.Engine, book: Book) -> None:
    catch_up(Log(book.events), engine, TENANT, ALL)
    again = Log(book.events)
    assert catch_up(again, engine, TENANT, ALL) == len(book.events)
    assert again.read == 0


def test_progress_hears_of_every_event_once(engine: sa.Engine, book: Book) -> None:
    heard: list[int] = []
    catch_up(Log(book.events), engine, TENANT, ALL, heard.append, batch=4)
    assert sum(heard) == len(book.events)
    assert max(heard) == 4


def test_garbage_is_looked_for_less_often_while_events_are_folded_and_as_before_afterwards(
    engine: sa.Engine, book: Book
) -> None:
    before, inside = gc.get_threshold(), []
    catch_up(Log(book.events), engine, TENANT, ALL, lambda _: inside.append(gc.get_threshold()))
    assert all(now[0] > before[0] and now[1:] == before[1:] for now in inside)
    with pytest.raises(IntegrityError):
        rebuild(Log(book.events[1:]), engine, TENANT, ALL)
    assert gc.get_threshold() == before


def test_rows_are_found_by_key_and_by_group(engine: sa.Engine, book: Book) -> None:
    catch_up(Log(book.events), engine, TENANT, ALL)
    found = row(engine, TaskStates(), TENANT, "t2")
    assert found is not None
    assert found.bill_id == "B2"
    assert [task.task_id for task in rows(engine, TaskStates(), TENANT, "B1")] == ["t1"]
    assert row(engine, TaskStates(), TENANT, "t3") is None
    assert list(rows(engine, TaskStates(), TenantId("globex"))) == []


def test_a_batch_that_fails_leaves_rows_and_position_as_they_were(engine: sa.Engine, book: Book) -> None:
    catch_up(Log(book.events[:6]), engine, TENANT, ALL)
    kept = everything(engine, TaskStates())
    with pytest.raises(IntegrityError, match="event 9 is missing, the next one is 10"):
        catch_up(Log([*book.events[:8], *book.events[9:]]), engine, TENANT, ALL)
    assert position(engine, TaskStates(), TENANT) == 6
    assert everything(engine, TaskStates()) == kept


def test_a_view_that_raises_takes_no_other_view_with_it_halfway(engine: sa.Engine, book: Book) -> None:
    class Broken(Runs):
        name = "broken"

        def extend(self, view: RunRow, events: Sequence[Recorded]) -> RunRow:
            if events[-1].row.position >= 5:
                raise ArithmeticError
            return super().extend(view, events)

    with pytest.raises(ArithmeticError):
        catch_up(Log(book.events), engine, TENANT, [TaskStates(), Broken()], batch=3)
    assert position(engine, TaskStates(), TENANT) == position(engine, Broken(), TENANT) == 3
    assert everything(engine, TaskStates()) == folded(TaskStates(), book.events[:3])


def test_a_changed_version_is_built_again_by_itself_and_the_old_one_goes(
    engine: sa.Engine, book: Book
) -> None:
    class Louder(TaskStates):
        version = TaskStates.version + 1

        def extend(self, view: TaskRow, events: Sequence[Recorded]) -> TaskRow:
            return replace(super().extend(view, events), reference="LOUD")

    catch_up(Log(book.events), engine, TENANT, [TaskStates()])
    catch_up(Log(book.events), engine, TENANT, [Louder()])
    assert {task.reference for task in everything(engine, Louder())} == {"LOUD"}
    assert everything(engine, TaskStates()) == []
    assert position(engine, TaskStates(), TENANT) == 0


def test_a_view_that_joins_late_doesnt_repeat_events_for_the_others(engine: sa.Engine, book: Book) -> None:
    catch_up(Log(book.events), engine, TENANT, [TaskStates()])
    catch_up(Log(book.events), engine, TENANT, [TaskStates(), Runs()])
    assert everything(engine, TaskStates()) == folded(TaskStates(), book.events)
    assert everything(engine, Runs()) == folded(Runs(), book.events)


def test_of_two_catch_ups_at_once_neither_counts_an_event_twice(engine: sa.Engine, book: Book) -> None:
    @dataclass
    class Interrupted(Log):
        """Lets another catch-up finish in the middle of this one's reading."""

        log: list[Recorded]
        read: int = 0
        interrupted: bool = False

        def events(self, tenant: TenantId, *, after: int = 0) -> Iterator[Recorded]:
            for recorded in super().events(tenant, after=after):
                if recorded.row.position == 7 and not self.interrupted:
                    self.interrupted = True
                    catch_up(Log(book.events), engine, TENANT, ALL)
                yield recorded

    reader = Interrupted(book.events)
    assert catch_up(reader, engine, TENANT, ALL, batch=3) == len(book.events)
    assert reader.interrupted
    for view in ALL:
        assert everything(engine, view) == folded(view, book.events)


def test_rows_of_another_tenant_stay_apart(engine: sa.Engine, book: Book) -> None:
    other = Book("globex")
    other.run().task("t1", intent("B9")).done()
    log = Log([*book.events, *other.events])
    catch_up(log, engine, TENANT, ALL)
    catch_up(log, engine, other.tenant, ALL)
    rebuild(log, engine, TENANT, ALL)
    found = row(engine, TaskStates(), other.tenant, "t1")
    assert found is not None
    assert found.bill_id == "B9"


def test_nothing_but_views_is_in_the_tables(engine: sa.Engine, book: Book) -> None:
    catch_up(Log(book.events), engine, TENANT, ALL)
    with engine.connect() as connection:
        names = set(connection.execute(sa.select(ROWS.c.view)).scalars())
        positions = set(connection.execute(sa.select(POSITIONS.c.position)).scalars())
    assert names <= {view.name for view in ALL}
    assert positions == {len(book.events)}


@pytest.mark.postgres
def test_on_postgresql_views_grow_and_are_built_again_as_on_sqlite(book: Book) -> None:
    engine = sa.create_engine(cluster().url())
    other = Book("globex")
    other.run().task("t1", intent("B9")).done()
    catch_up(Log(other.events), engine, other.tenant, ALL)
    for cut in (3, 12, 13, len(book.events)):
        catch_up(Log(book.events[:cut]), engine, TENANT, ALL, batch=5)
    for again in (False, True):
        if again:
            rebuild(Log(book.events), engine, TENANT, ALL)
        for view in ALL:
            assert everything(engine, view) == folded(view, book.events)
            assert list(rows(engine, view, other.tenant)) == folded(view, other.events)
    engine.dispose()


def test_a_group_is_found_by_its_index_in_order_of_key_and_not_by_walking_the_view() -> None:
    engine = database()
    book = Book()
    for number in (3, 1, 2):
        book.run("run-1").task(f"task-{number}", intent(f"B{number}"))
    catch_up(Log(book.events), engine, TENANT, ALL)
    asked: list[tuple[str, Any]] = []

    def note(_c: object, _k: object, statement: str, parameters: Any, *_: object) -> None:  # noqa: ANN401 - SQLAlchemy's
        asked.append((statement, parameters))

    view = TimelineProjection()
    sa.event.listen(engine, "before_cursor_execute", note)
    found = list(rows(engine, view, TENANT, "run-1"))
    sa.event.remove(engine, "before_cursor_execute", note)
    assert [row.task_id for row in found] == ["", "task-1", "task-2", "task-3"]
    ((statement, parameters),) = asked
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    assert [step[-1] for step in plan] == [
        "SEARCH view_rows USING INDEX view_rows_grouped (view=? AND version=? AND tenant=? AND grouped=?)"
    ]
    engine.dispose()
