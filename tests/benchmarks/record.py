"""What the record costs, beside doing less: ratios measured in one run, alternating, medians of rounds.

Run with ``python -m tests.benchmarks.record [--quick] [--growth N]``. The bare side is ``sqlite3`` or ``psycopg``
with the same bytes and the same durability and nothing else: no chain, no tree, no index but the primary key.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import resource
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from rich.console import Console
from rich.table import Table
from sqlalchemy.engine import make_url

from domain.codec import encode
from domain.envelope import Draft
from domain.ids import EffectKey, TenantId
from domain.values import FrameRef
from executor.store.blobs import open_blobs
from executor.store.log import RecordLog, open_record
from projections.fsck import check
from projections.reading import open_blob_reader, open_reader
from tests.support.postgres import Cluster
from tests.support.records import ACME, Maker

MESSAGE_BYTES = 500
"""With envelope and salt an event comes to about 1,000 bytes."""
Rows = list[tuple[str, str, str, str]]


def _drafts(maker: Maker, count: int) -> list[Draft]:
    return maker.notes(maker.task(), count, size=MESSAGE_BYTES)


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _each(do: Callable[..., object], *arguments: Sequence[object]) -> Callable[[], None]:
    """Work that calls ``do`` for each of the arguments in turn."""

    def work() -> None:
        for group in zip(*arguments, strict=True):
            do(*group)

    return work


class BareSqlite:
    """A commit of the same bytes, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "bare.db", isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")

    def put(self, bodies: Sequence[bytes]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany("INSERT INTO t (body) VALUES (?)", [(body,) for body in bodies])
        self.connection.execute("COMMIT")


class BarePostgres:
    """The same on PostgreSQL, a connection for each writer."""

    def __init__(self, dsn: str) -> None:
        self.session = psycopg.connect(dsn, autocommit=True)
        self.session.execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, body bytea)")

    def put(self, bodies: Sequence[bytes]) -> None:
        if len(bodies) == 1:
            self.session.execute("INSERT INTO bare (body) VALUES (%s)", (bodies[0],))
            return
        with self.session.transaction(), self.session.cursor() as cursor:
            cursor.executemany("INSERT INTO bare (body) VALUES (%s)", [(body,) for body in bodies])


class Library:
    """One of the library's recorders; each batch is an originator of its own."""

    def __init__(self, recorder: Any) -> None:  # noqa: ANN401 - recorders of both databases
        self.recorder = recorder

    def put(self, bodies: Sequence[bytes]) -> None:
        originator = uuid4()
        self.recorder.insert_events(
            [StoredEvent(originator, version, "note", body) for version, body in enumerate(bodies, start=1)]
        )


def _compare(
    ours: RecordLog, others: dict[str, Any], maker: Maker, *, batch: int, rounds: int, commits: int
) -> dict[str, tuple[float, float, float]]:
    """Seconds a commit by side: wall (median ratio to the first of ``others``), median wall, least CPU."""
    walls: dict[str, list[float]] = {name: [] for name in ("ours", *others)}
    cpus: dict[str, list[float]] = {name: [] for name in walls}
    for _ in range(rounds):
        drafts = [_drafts(maker, batch) for _ in range(commits)]
        bodies = [[encode(draft) for draft in group] for group in drafts]
        for name, side in others.items():
            wall, cpu = _timed(_each(side.put, bodies))
            walls[name].append(wall / commits)
            cpus[name].append(cpu / commits)
        wall, cpu = _timed(_each(ours.append, drafts))
        walls["ours"].append(wall / commits)
        cpus["ours"].append(cpu / commits)
    base = walls[next(iter(others))]
    return {
        name: (
            statistics.median(low / high for low, high in zip(base, values, strict=True)),
            statistics.median(values),
            min(cpus[name]),
        )
        for name, values in walls.items()
    }


def _rows_of(title: str, result: dict[str, tuple[float, float, float]], goal: str) -> Rows:
    return [
        (
            f"{title}: {name}",
            f"{ratio:.2f} of bare",
            f"{wall * 1e6:,.0f} µs, CPU {cpu * 1e6:,.0f} µs a commit",
            goal if name == "ours" else "",
        )
        for name, (ratio, wall, cpu) in result.items()
    ]


def sqlite_appends(folder: Path, scale: int) -> Rows:
    """Single events and batches of 100 on SQLite, beside the library's own recorder."""
    library = SQLiteApplicationRecorder(SQLiteDatastore(str(folder / "library.db")))
    library.create_table()
    sides = {"bare sqlite3": BareSqlite(folder), "the library's recorder": Library(library)}
    with open_record(f"sqlite:///{folder}/record.db") as log:
        maker = Maker(seed=1)
        one = _compare(log, sides, maker, batch=1, rounds=9, commits=20 * scale)
        many = _compare(log, sides, maker, batch=100, rounds=7, commits=scale)
    return [*_rows_of("SQLite, one event", one, "≥ 0.7"), *_rows_of("SQLite, batch of 100", many, "≥ 0.5")]


def postgres_appends(server: Cluster, scale: int) -> Rows:
    """Single events and batches of 100 on PostgreSQL, beside the library's own recorder."""
    url = server.url()
    database = make_url(url).database
    assert database is not None
    store = PostgresDatastore(database, "127.0.0.1", str(server.port), "proofreel", "none")
    library = PostgresApplicationRecorder(store, events_table_name="library_events")
    library.create_table()
    bare = BarePostgres(server.dsn(database))
    sides = {"bare insert": bare, "the library's recorder": Library(library)}
    with open_record(url) as log:
        maker = Maker(seed=2)
        one = _compare(log, sides, maker, batch=1, rounds=9, commits=15 * scale)
        many = _compare(log, sides, maker, batch=100, rounds=7, commits=scale)
        four = _four_writers(log, server.dsn(database), scale)
    store.close()
    bare.session.close()
    return [
        *_rows_of("PostgreSQL, one event", one, ""),
        *_rows_of("PostgreSQL, batch of 100", many, "≥ 0.5"),
        *four,
    ]


def _spread(workers: Sequence[Callable[[], None]]) -> float:
    """Seconds until all workers, started together, are done."""
    barrier = threading.Barrier(len(workers) + 1)

    def run(work: Callable[[], None]) -> None:
        barrier.wait()
        work()

    threads = [threading.Thread(target=run, args=(work,)) for work in workers]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def _four_writers(log: RecordLog, dsn: str, scale: int) -> Rows:
    count, ratios, rates = 15 * scale, [], []
    makers = [Maker(seed=10 + number, tenant=TenantId(f"tenant-{number}")) for number in range(4)]
    sides = [BarePostgres(dsn) for _ in makers]
    for _ in range(7):
        drafts = [[[draft] for draft in _drafts(maker, count)] for maker in makers]
        bodies = [[[encode(group[0])] for group in own] for own in drafts]
        bare = _spread([_each(side.put, own) for side, own in zip(sides, bodies, strict=True)])
        ours = _spread([_each(log.append, own) for own in drafts])
        ratios.append(bare / ours)
        rates.append(4 * count / ours)
    for side in sides:
        side.session.close()
    ratio, rate = statistics.median(ratios), statistics.median(rates)
    return [("PostgreSQL, 4 writers on 4 tenants", f"{ratio:.2f} of bare", f"{rate:,.0f} events/s", "≥ 0.8")]


def shared_commits(folder: Path, scale: int) -> Rows:
    """32 threads that share commits, against one."""
    rows: Rows = []
    with open_record(f"sqlite:///{folder}/threads.db") as log:
        gains, rates = [], []
        for number in range(5):
            alone = [[draft] for draft in _drafts(Maker(seed=50 + number), 10 * scale)]
            one = _spread([_each(log.append, alone)]) / len(alone)
            many = [
                [[draft] for draft in _drafts(Maker(seed=1000 * (number + 1) + thread), 3 * scale)]
                for thread in range(32)
            ]
            shared = _spread([_each(log.append, own) for own in many])
            gains.append(one / (shared / (32 * 3 * scale)))
            rates.append(32 * 3 * scale / shared)
        rows.append(
            (
                "SQLite, 32 threads",
                f"{statistics.median(gains):.1f} × one thread",
                f"{statistics.median(rates):,.0f} events/s",
                "≥ 4",
            )
        )
        rows.append(_claims(log, scale))
    return rows


def _claims(log: RecordLog, scale: int) -> tuple[str, str, str, str]:
    ratios, costs = [], []
    for number in range(7):
        maker = Maker(seed=9_000 + number)
        plain = [[maker.note(maker.task(), 1, size=20)] for _ in range(10 * scale)]
        keys = [EffectKey(f"effect-{number}-{index}") for index in range(10 * scale)]
        claims = [[maker.claimed(maker.task(), 1, key)] for key in keys]
        append, _ = _timed(_each(log.append, plain))
        claim, _ = _timed(_each(lambda group, key: log.append(group, claim=key), claims, keys))
        ratios.append(claim / append)
        costs.append(claim / len(keys))
    return (
        "claim",
        f"{statistics.median(ratios):.2f} × an append",
        f"{statistics.median(costs) * 1e6:,.0f} µs",
        "≤ 1.5",
    )


def reading(folder: Path, scale: int) -> Rows:
    """The log read back as domain events, and checked, beside hashing its bytes."""
    url, blobs_url = f"sqlite:///{folder}/reading.db", str(folder / "blobs")
    blobs, maker = open_blobs(blobs_url), Maker(seed=3)
    count = 500 * scale
    with open_record(url) as log:
        for _ in range(count // 50):
            batch = _drafts(maker, 50)
            log.append(batch)
    names = [blobs.put(maker.random.randbytes(300_000), media_type="image/png") for _ in range(10 * scale)]
    checked_url = f"sqlite:///{folder}/checked.db"
    with open_record(checked_url) as log:
        for name in names:
            frame = FrameRef(role="observed", sha256=name, width=1280, height=800)
            stream = maker.task()
            first = maker.note(stream, 1, size=MESSAGE_BYTES, frames=[frame])
            log.append([first, *maker.notes(stream, 4, first=2, size=MESSAGE_BYTES)])
    rates, hash_rates, check_rates = [], [], []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_reader(url) as reader:
        total = reader.positions(ACME)
        for _ in range(5):
            wall, _ = _timed(lambda: deque(reader.events(ACME), maxlen=0).clear())
            rates.append(total / wall)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_reader(checked_url) as reader:
        files = open_blob_reader(blobs_url)
        known = reader.positions(ACME)
        bodies = [row.body for row in reader.rows(ACME)]
        paths = [folder / "blobs" / name[:2] / name[2:4] / name for name in names]

        def hash_all() -> None:
            for body in bodies:
                hashlib.sha256(body).digest()
            for path in paths:
                hashlib.sha256(path.read_bytes()).digest()

        for _ in range(3):
            hashed, _ = _timed(hash_all)
            checked, _ = _timed(_each(check, [reader], [files]))
            hash_rates.append(hashed / checked)
            check_rates.append(known / checked)
    return [
        (
            "reading as domain events",
            f"{statistics.median(rates):,.0f} a second",
            f"{total:,} events, {(after - before) / 1024:.0f} MiB more memory",
            "≥ 80,000, flat",
        ),
        (
            "fsck, one frame of 300 kB to 5 events",
            f"{statistics.median(hash_rates):.2f} of hashing alone",
            f"{statistics.median(check_rates):,.0f} events/s",
            "≥ 0.5",
        ),
    ]


def growth(folder: Path, most: int) -> Rows:
    """Median cost of an append on a log of 30 thousand events and of ``most``."""
    medians = {}
    with open_record(f"sqlite:///{folder}/growth.db") as log:
        maker, size = Maker(seed=4), 0
        for goal in (30_000, most):
            while size < goal:
                log.append(_drafts(maker, 1_000))
                size += 1_000
            costs = []
            for _ in range(600):
                draft = [maker.note(maker.task(), 1, size=MESSAGE_BYTES)]
                start = time.perf_counter()
                log.append(draft)
                costs.append(time.perf_counter() - start)
            medians[goal] = statistics.median(costs)
    ratio = medians[most] / medians[30_000]
    detail = f"{medians[30_000] * 1e6:,.0f} µs, then {medians[most] * 1e6:,.0f} µs"
    return [(f"append at {most:,} events", f"{ratio:.2f} × at 30,000", detail, "≤ 1.3 at 3,000,000")]


def main(arguments: Sequence[str] = ()) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--growth", type=int, default=300_000, metavar="N", help="events of the grown log")
    options = parser.parse_args(list(arguments))
    scale = 4 if options.quick else 40
    folder = Path(tempfile.mkdtemp(prefix="proofreel-bench-"))
    server = Cluster(fsync=True)
    try:
        rows = [
            *sqlite_appends(folder, scale),
            *shared_commits(folder, scale),
            *postgres_appends(server, scale),
            *reading(folder, scale),
            *growth(folder, options.growth if not options.quick else 60_000),
        ]
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    table = Table(title="The record", title_justify="left")
    for heading in ("what", "ratio", "raw, on this machine", "goal"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
