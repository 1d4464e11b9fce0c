"""Every stored view built again from a record, and one new event made visible in all of them.

``python -m tests.benchmarks.views [events]``; other work on the machine blurs times on the wall, so times of the
processor stand beside them, and the time that reading and decoding the same events takes beside both: what the views
cost is what comes on top of that. The desk lets a second process build some of the views of a long record; the
processor's time beside its speed is that of the first process only. The aims: 50,000 events a second, and one poll (a
call of ``catch_up``) shows a new event in every view.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from domain.envelope import Draft
from domain.events import TakeoverRequested, TaskClaimed
from executor.store.log import open_record
from projections import beside
from projections.fold import run_keys
from projections.materialize import catch_up, forget, position, rebuild, row
from projections.reading import RecordReader, open_reader
from projections.views import ALL
from projections.views.takeover_queue import TakeoverQueue
from projections.views.task_states import TaskStates
from tests.support.events import TENANT, Book, intent

DEFAULT_EVENTS = 100_000
TASKS_OF_A_RUN = 50
ROUNDS = 3
MEMORY = Path("/dev/shm")


def record(url: str, events: int) -> Book:
    """A record of good tasks, ten events each, fifty to a run."""
    book, count = Book(), 0
    with open_record(url) as log:
        while len(book.events) < events:
            run = book.run(f"run-{count}")
            for number in range(TASKS_OF_A_RUN):
                run.task(f"task-{count}-{number}", intent(f"B{count}-{number}")).done()
            count += 1
        streams: dict[str, list[Draft]] = {}
        for recorded in book.events:
            streams.setdefault(recorded.row.stream, []).append(
                Draft(envelope=recorded.envelope, event=recorded.event)
            )
        for drafts in streams.values():
            claimed = (draft.event.effect_key for draft in drafts if isinstance(draft.event, TaskClaimed))
            log.append(drafts, claim=next(claimed, None))
    return book


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of the processor, each of its quickest round."""
    wall, processor = [], []
    for _ in range(ROUNDS):
        start, used = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return min(wall), min(processor)


def only_read(reader: RecordReader) -> int:
    """What reading and decoding alone takes."""
    return sum(1 for _ in reader.events(TENANT))


def visible(book: Book, url: str, reader: RecordReader, views: sa.Engine) -> tuple[float, float]:
    """Append one event and poll once; seconds on the wall and of the processor of that poll."""
    task = book.events[-1].envelope.task_id
    assert task is not None
    version = sum(1 for recorded in book.events if recorded.envelope.task_id == task)
    last = book.events[-1].envelope
    fact = TakeoverRequested(
        verdict="noop", reason="not read back", severity="high", due_at_us=last.occurred_at_us + 1
    )
    recorded = book.add(fact, stream=last.stream, run=last.run_id, task=task, key=last.idempotency_key)
    assert recorded.envelope.version == version + 1
    with open_record(url) as log:
        log.append([Draft(envelope=recorded.envelope, event=recorded.event)])
    start, used = time.perf_counter(), time.process_time()
    catch_up(reader, views, TENANT, ALL)
    took = time.perf_counter() - start, time.process_time() - used
    end = reader.positions(TENANT)
    assert end == len(book.events)
    assert {position(views, view, TENANT) for view in ALL} == {end}
    state, queue = row(views, TaskStates(), TENANT, task), row(views, TakeoverQueue(), TENANT, task)
    assert state is not None
    assert state.status == "taken_over"
    assert queue is not None
    assert queue.items
    return took


def rebuild_shared(reader: RecordReader, views: sa.Engine) -> int:
    """As the desk builds its views again."""
    forget(views, TENANT, ALL)
    return beside.catch_up(reader, views, TENANT, ALL, record=reader)


def main(events: int = DEFAULT_EVENTS) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        url = f"sqlite:///{folder}/record.db"
        book = record(url, events)
        count = len(book.events)
        views = sa.create_engine(f"sqlite:///{folder}/views.db")
        with open_reader(url) as reader:
            reading = best(lambda: only_read(reader))
            alone = best(lambda: rebuild(reader, views, TENANT, ALL))
            shared = best(lambda: rebuild_shared(reader, views))
            print(f"{count} events, {len(ALL)} views       events/s: wall  processor   of reading alone")
            rows = (
                ("read and decode", reading),
                ("rebuild, one process", alone),
                ("rebuild as the desk does", shared),
            )
            for name, (wall, processor) in rows:
                ratio = processor / reading[1]
                print(f"  {name:<24}{count / wall:13,.0f} {count / processor:10,.0f} {ratio:18.2f}")
            for view in ALL:
                folding = best(lambda view=view: run_keys(view, book.events))[1]  # type: ignore[misc]
                print(f"    fold of {view.name:<16}{1e6 * folding / count:8.2f} µs an event")
            wall, processor = visible(book, url, reader, views)
            print(
                f"  one new event in every view after one poll: {1000 * wall:.1f} ms, {1000 * processor:.1f} of CPU"
            )
        views.dispose()


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
