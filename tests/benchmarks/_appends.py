"""What an append costs, beside doing less: single events, batches, many writers, shared commits, claims."""

from __future__ import annotations

import multiprocessing
import queue
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.engine import make_url

from domain.codec import encode
from domain.envelope import Draft
from domain.events import name_of
from domain.ids import EffectKey, TenantId
from executor.store.log import RecordLog, open_record
from executor.store.requests import Entry, Request
from tests.benchmarks._measure import Producer, Rows, in_turns, rows_of
from tests.benchmarks._sides import BarePostgres, BareSqlite, LeastSqlite, library_postgres, library_sqlite
from tests.support.postgres import Cluster

WRITERS = 4
BATCHES_A_TURN = 4
"""On SQLite every second batch of 100 also files events (``sqlite_end``): a turn holds as many of either."""
T = TypeVar("T")
OURS_READY = "ours, from ready bytes"
LEAST = "bare, encoded and hashed as ours"
_SHARED_MEMORY = Path("/dev/shm")
_WARM_UP = 12_000
"""Events before the first measurement: SQLite's log grows in its first round and is written over afterwards."""


def _against(
    logs: tuple[RecordLog, RecordLog],
    others: dict[str, Any],
    *,
    batch: int,
    turns: int,
    title: str,
    goal: str,
    least: LeastSqlite | None = None,
) -> Rows:
    """Rows of our side and the others.

    The others are given ready bytes, ours makes them of its drafts. A further row is ours from ready bytes too: what
    the store alone costs, as it is measured of the others; it has a record of its own, so that neither does what the
    other put off.
    """
    maker = Producer(seed=batch)
    drafts: Callable[[], list[Draft]] = partial(maker.batch, batch)
    sides: dict[str, Callable[[Any], object]] = {name: side.put for name, side in others.items()}
    inputs: dict[str, Iterator[Any]] = {name: _each(lambda: _bodies(drafts())) for name in sides}
    if least is not None:
        sides[LEAST], inputs[LEAST] = least.append, _each(drafts)
    sides |= {"ours": logs[0].append, OURS_READY: logs[1].committer.submit}
    inputs |= {"ours": _each(drafts), OURS_READY: _each(lambda: _request(drafts()))}
    samples = in_turns(sides, inputs, turns=turns, commits=1 if batch == 1 else BATCHES_A_TURN)
    return rows_of(title, samples, base=next(iter(others)), goal=goal)


def _each(make: Callable[[], T]) -> Iterator[T]:
    """What is made anew for every turn."""
    while True:
        yield make()


def _bodies(drafts: Sequence[Draft]) -> list[bytes]:
    return [encode(draft) for draft in drafts]


def _request(drafts: Sequence[Draft]) -> Request:
    entries = tuple(
        Entry(
            draft.envelope.stream,
            draft.envelope.version,
            draft.envelope.event_id,
            name_of(draft.event)[0],
            encode(draft),
        )
        for draft in drafts
    )
    return Request(drafts[0].envelope.tenant, entries)


def _warm(logs: Sequence[RecordLog], others: Iterable[Any]) -> None:
    maker = Producer(seed=7)
    for _ in range(_WARM_UP // 100):
        drafts = maker.batch(100)
        for log in logs:
            log.append(drafts)
        for side in others:
            side.put(_bodies(drafts))


def sqlite_appends(folder: Path, scale: int) -> Rows:
    """Single events and batches of 100 on SQLite, beside the library's own recorder; then without a disk."""
    sides = {
        "bare sqlite3": BareSqlite(folder / "bare.db"),
        "the library's recorder": library_sqlite(folder / "library.db"),
    }
    rows = _sqlite(folder, sides, scale, title="SQLite", goals=("≥ 0.7", "≥ 0.5"))
    return rows + (_without_disk(scale) if _SHARED_MEMORY.is_dir() else [])


def _without_disk(scale: int) -> Rows:
    """The same in memory: what is left is the processor's part."""
    with tempfile.TemporaryDirectory(dir=_SHARED_MEMORY, prefix="proofreel-bench-") as name:
        sides = {"bare sqlite3": BareSqlite(Path(name) / "bare.db")}
        return _sqlite(Path(name), sides, scale, title="SQLite in memory", goals=("CPU ≤ 80 µs", ""))


def _sqlite(folder: Path, sides: dict[str, Any], scale: int, *, title: str, goals: tuple[str, str]) -> Rows:
    least = LeastSqlite(folder / "least.db")
    with (
        open_record(f"sqlite:///{folder}/record.db") as log,
        open_record(f"sqlite:///{folder}/ready.db") as ready,
    ):
        _warm((log, ready), [*sides.values(), least])
        measured = partial(_against, (log, ready), sides, least=least)
        rows = measured(batch=1, turns=50 * scale, title=f"{title}, one event", goal=goals[0])
        return rows + measured(batch=100, turns=2 * scale, title=f"{title}, batch of 100", goal=goals[1])


def postgres_appends(server: Cluster, scale: int) -> Rows:
    """Single events and batches of 100 on PostgreSQL, beside the library's own recorder."""
    url = server.url()
    library, store = library_postgres(url)
    bare = BarePostgres(server.dsn(str(make_url(url).database))).make()
    sides = {"bare insert": bare, "the library's recorder": library}
    with open_record(url) as log, open_record(server.url()) as ready:
        measured = partial(_against, (log, ready), sides)
        rows = measured(batch=1, turns=25 * scale, title="PostgreSQL, one event", goal="")
        rows += measured(batch=100, turns=scale, title="PostgreSQL, batch of 100", goal="≥ 0.5")
    store.close()
    bare.session.close()
    return rows


class _Writer:
    """One writer with a tenant of its own, and what it does by turns."""

    def __init__(self, url: str, dsn: str, number: int, count: int) -> None:
        self.maker = Producer(seed=10 + number, tenant=TenantId(f"tenant-{number}"))
        self.bare, self.log, self.count = BarePostgres(dsn), open_record(url), count
        self.log.append(self.maker.batch(1))

    def turn(self, start: Callable[[], object]) -> tuple[tuple[float, float], tuple[float, float]]:
        """Begin and end of a bare round and of ours, all writers at once."""
        drafts: list[list[Draft]] = [self.maker.batch(1) for _ in range(self.count)]
        bodies = [[encode(group[0])] for group in drafts]
        return _spell(start, self.bare.put, bodies), _spell(start, self.log.append, drafts)

    def close(self) -> None:
        """Give back the sessions."""
        self.bare.session.close()
        self.log.close()


def _spell(
    start: Callable[[], object], do: Callable[[Any], object], each: Sequence[object]
) -> tuple[float, float]:
    start()
    began = time.monotonic()
    for one in each:
        do(one)
    return began, time.monotonic()


def _work(url: str, dsn: str, number: int, plan: tuple[int, int], barrier: Any, answers: Any) -> None:  # noqa: ANN401
    count, rounds = plan
    writer = _Writer(url, dsn, number, count)
    for _ in range(rounds):
        answers.put(writer.turn(barrier.wait))
    writer.close()


def _row(title: str, turns: Sequence[Sequence[Any]], count: int, goal: str) -> tuple[str, str, str, str]:
    """Ratio of the time from the first begin to the last end, by turn."""
    spans = [
        [max(ends[side][1] for ends in turn) - min(ends[side][0] for ends in turn) for side in (0, 1)]
        for turn in turns
    ]
    ratios = sorted(bare / ours for bare, ours in spans)
    quick = min(bare for bare, _ in spans) / min(ours for _, ours in spans)
    rate = WRITERS * count / statistics.median(ours for _, ours in spans)
    bare_rate = WRITERS * count / statistics.median(bare for bare, _ in spans)
    text = f"{statistics.median(ratios):.2f} ({quick:.2f} quiet)"
    return (title, text, f"{rate:,.0f} events/s, bare {bare_rate:,.0f}", goal)


def four_writers(server: Cluster, scale: int) -> Rows:
    """Four writers on four tenants, as processes and as threads of one process."""
    count, rounds = 8 * scale, 9
    url = server.url()
    dsn = server.dsn(str(make_url(url).database))
    BarePostgres(dsn).make().session.close()
    open_record(url).close()
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(WRITERS), context.Queue()
    plan = (count, rounds)
    workers = [
        context.Process(target=_work, args=(url, dsn, number, plan, barrier, answers))
        for number in range(WRITERS)
    ]
    for worker in workers:
        worker.start()
    turns = [[_answer(answers, workers) for _ in range(WRITERS)] for _ in range(rounds)]
    for worker in workers:
        worker.join()
    return [
        _row("PostgreSQL, 4 processes on 4 tenants", turns, count, "≥ 0.8"),
        _row("PostgreSQL, 4 threads on 4 tenants", _threads(url, dsn, count, rounds), count, ""),
    ]


def _answer(answers: Any, workers: Sequence[Any]) -> Any:  # noqa: ANN401 - a queue and processes of a context
    """What a worker has measured; ``RuntimeError`` when one of them is dead, since all wait for each other."""
    while True:
        try:
            return answers.get(timeout=1)
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                for worker in workers:
                    worker.kill()
                message = "a writer died"
                raise RuntimeError(message) from None


def _threads(url: str, dsn: str, count: int, rounds: int) -> list[list[Any]]:
    writers = [_Writer(url, dsn, 10 + number, count) for number in range(WRITERS)]
    turns = []
    for _ in range(rounds):
        barrier = threading.Barrier(WRITERS)
        turns.append(_together([partial(one.turn, barrier.wait) for one in writers]))
    for writer in writers:
        writer.close()
    return turns


def _together(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each thread's work gave."""
    with ThreadPoolExecutor(len(works)) as pool:
        return [answer.result() for answer in [pool.submit(work) for work in works]]


def shared_commits(folder: Path, scale: int) -> Rows:
    """32 threads that share commits, against one; and claims against plain appends."""
    with open_record(f"sqlite:///{folder}/threads.db") as log:
        gains, rates = [], []
        each = 3 * scale
        for number in range(7):
            single = Producer(seed=50 + number)
            alone = [single.batch(1) for _ in range(10 * scale)]
            began, ended = _spell(lambda: None, log.append, alone)
            one = (ended - began) / len(alone)
            makers = [Producer(seed=1000 * (number + 1) + thread) for thread in range(32)]
            many = [[maker.batch(1) for _ in range(each)] for maker in makers]
            barrier = threading.Barrier(32)
            spans = _together([partial(_spell, barrier.wait, log.append, own) for own in many])
            took = max(end for _, end in spans) - min(start for start, _ in spans)
            gains.append(one * 32 * each / took)
            rates.append(32 * each / took)
        gain, rate = statistics.median(gains), statistics.median(rates)
        row = ("SQLite, 32 threads", f"{gain:.1f} × one thread", f"{rate:,.0f} events/s", "≥ 4")
        return [row, *_claims(log, scale)]


def _claims(log: RecordLog, scale: int) -> Rows:
    maker = Producer(seed=9_000)
    keys = [EffectKey(f"effect-{index}") for index in range(25 * scale)]
    plain = (([maker.note(maker.task(), 1, size=20)], None) for _ in keys)
    claims = (([maker.claimed(maker.task(), 1, key)], key) for key in keys)
    samples = in_turns(
        {
            "append": lambda one: log.append(one[0]),
            "claim": lambda one: log.append(one[0], claim=one[1]),
        },
        {"append": plain, "claim": claims},
        turns=len(keys),
    )
    append, claim = samples["append"], samples["claim"]
    ratio = f"{claim.median / append.median:.2f} × an append ({claim.quiet / append.quiet:.2f} quiet)"
    return [("claim", ratio, f"{claim.median * 1e6:,.0f} µs", "≤ 1.5")]
