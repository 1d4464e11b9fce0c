"""A month end at scale: settlement lines against the record, beside a DuckDB join of the same two tables.

``python -m tests.benchmarks.month_end [lines] [differences]``; five events a line. The aims, for a million lines: at
most 3 times the join, under 2 GiB. Turning the lines into columns is part of our time, loading DuckDB's tables is not
part of its; DuckDB works on all processors, we on one, which is why the ratio on the wall is the larger one. The record
is made as it is asked for, every event through its real bytes. The views stand in a SQLite file as the folds leave
them: of each thousandth task and of every difference by folding its events, of the others by the same row with their
own numbers, and the two are compared. Times are of the processor, all threads together: other work on the machine
blurs times on the wall, which stand beside them.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import sqlalchemy as sa
from msgspec import json

from domain import events as e
from domain.codec import encode, read
from domain.envelope import Draft, Envelope, Recorded, StoredRow
from domain.ids import ActionId, EventId, RunId, Sha256, StreamId, TaskId, TenantId, run_stream, task_stream
from domain.values import BusinessState, Intent
from projections.fold import Partitioned
from projections.materialize import catch_up
from projections.settlement.at_scale import month_end
from projections.settlement.effects import MONTH_VIEWS, BillTask, BillTasks, Effect, Effects, RunsSeen
from projections.settlement.importer import read_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile
from projections.tables import METADATA, POSITIONS
from tests.benchmarks.settlement import write_file
from tests.support.events import SERVICE, START_US, TENANT, key_of

DEFAULT_LINES: Final = 1_000_000
DEFAULT_DIFFERENCES: Final = 1_000
EACH: Final = 5
"""Events of a task."""
MONTH: Final = "2026-11"
ROUNDS: Final = 3
SAMPLE: Final = 1_000
CHUNK: Final = 20_000

T = TypeVar("T")


class MadeRecord:
    """A log of ``bills`` tasks, made when it is read; each task wrote one line of ``write_file``.

    Of ``differences`` bills, spread over the month, one half was refuted by the readback and one half is of another
    amount than the file says.
    """

    def __init__(self, bills: int, differences: int) -> None:
        self.bills = bills
        self._every = max(1, bills // differences) if differences else bills + 1
        self._read: dict[int, list[StoredRow]] = {}
        """Rows of tasks that were asked for, as a database keeps what it has read."""

    @property
    def size(self) -> int:
        """Events of the log: the run's beginning, the tasks', the run's end."""
        return self.bills * EACH + 2

    def tenants(self) -> Sequence[TenantId]:
        """The one tenant."""
        return [TENANT]

    def events(self, tenant: TenantId, after: int = 0) -> Iterator[Recorded]:
        """Events in order of position."""
        return map(read, self.rows(tenant, after))

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        """Events of one task."""
        first = int(stream.rpartition("-")[2]) * EACH + 1
        if first not in self._read:
            self._read[first] = list(self.rows(tenant, first, EACH))
        return map(read, self._read[first][after:])

    def rows(self, tenant: TenantId, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Stored rows in order of position."""
        end = self.size if limit is None else min(self.size, after + limit)
        return (self._row(tenant, position) for position in range(after + 1, end + 1))

    def _row(self, tenant: TenantId, position: int) -> StoredRow:
        number, part = divmod(position - 2, EACH)
        own = position in {1, self.size}
        stream = run_stream(RunId("run-1")) if own else task_stream(TaskId(f"task-{number}"))
        version = (1 if position == 1 else 2) if own else part + 1
        at_us = START_US + position * 1_000
        envelope = Envelope(
            event_id=EventId(f"019a0000-0000-7000-8000-{position:012x}"),
            tenant=tenant,
            stream=stream,
            version=version,
            principal=SERVICE,
            occurred_at_us=at_us,
            salt=f"{position:064x}",
            run_id=RunId("run-1"),
            task_id=None if own else TaskId(f"task-{number}"),
        )
        event = self._own(position) if own else self._fact(number, part)
        return StoredRow(
            tenant=tenant,
            position=position,
            stream=stream,
            version=version,
            recorded_at_us=at_us,
            body=encode(Draft(envelope=envelope, event=event)),
            entry_hash=b"",
        )

    def _own(self, position: int) -> e.Event:
        if position == 1:
            return e.RunStarted(
                mode="guarded",
                agent="proofreel",
                goal="November",
                origin="http://127.0.0.1:8800",
                browser="Chromium",
                viewport_width=1280,
                viewport_height=800,
                config_sha256="0" * 64,
                tasks_planned=self.bills,
            )
        return e.RunFinished(outcomes={}, verdicts={}, steps=self.bills, steps_ok=self.bills)

    def different(self, number: int) -> int:
        """0: agrees; 1: refuted by the readback; 2: another amount."""
        place, rest = divmod(number, self._every)
        return 0 if rest else place % 2 + 1

    def wanted(self, number: int) -> Intent:
        """What the task was for."""
        return Intent(
            bill_id=f"CY202611-{number:07d}",
            action="mark_processed",
            counterparty=f"深圳市华远物流有限公司{number % 500}",
            amount_minor=number * 7 % 100_000 * 100 + number % 100 + (self.different(number) == 2),
            currency="CNY",
            month=MONTH,
            expected_status="processed",
        )

    def _fact(self, number: int, part: int) -> e.Event:
        wanted = self.wanted(number)
        action = ActionId(f"action-{number}")
        match part:
            case 0:
                return e.TaskOpened(intent=wanted, effect_key=key_of(wanted), requested_by=SERVICE)
            case 1:
                return e.ActionProposed(
                    action_id=action,
                    kind="click",
                    rung="browser",
                    label="处理",
                    target="row",
                    writes=True,
                    irreversible=False,
                    digest=Sha256("0" * 64),
                    planned_on=None,
                )
            case 2:
                return e.ActionAttempted(action_id=action, writes=True, effect_key=key_of(wanted))
            case 3:
                sent = f"POST /bills/{wanted.bill_id}/actions 200"
                return e.ActionExecuted(action_id=action, latency_us=900, toast="处理成功", requests=(sent,))
            case _:
                return self._readback(number, wanted)

    def _readback(self, number: int, wanted: Intent) -> e.Event:
        refuted = self.different(number) == 1
        found = BusinessState(
            bill_id=wanted.bill_id,
            status="pending" if refuted else "processed",
            amount_minor=wanted.amount_minor,
            currency="CNY",
            counterparty=wanted.counterparty,
            month=MONTH,
            history_length=1,
            ledger_lines=0 if refuted else 1,
        )
        if refuted:
            return e.ReadbackMismatched(
                source="api",
                phase="first",
                account="acme-reader",
                expected_status="processed",
                found=found,
                differences={"status": "processed → pending"},
            )
        return e.ReadbackConfirmed(
            source="api", phase="first", account="acme-reader", expected_status="processed", found=found
        )


def store_views(record: MadeRecord, engine: sa.Engine) -> int:
    """Rows of the month's views as folding all events would leave them; returns the position they are true for."""
    METADATA.create_all(engine)
    effects, bills, runs = Effects(), BillTasks(), RunsSeen()
    folded = [next(record.events(TENANT))]
    with engine.begin() as connection:
        for start in range(0, record.bills, CHUNK):
            rows: list[tuple[str, int, TenantId, str, str, bytes]] = []
            for number in range(start, min(start + CHUNK, record.bills)):
                effect = like_the_first(record, number)
                if number % SAMPLE == 0 or record.different(number):
                    events = list(record.stream(TENANT, task_stream(TaskId(f"task-{number}"))))
                    real = effects.extend(effects.initial(), events)
                    assert record.different(number) == 1 or effect == real
                    effect, folded = real, [*folded, *events]
                bill = BillTask(task=effect.task, bill=effect.bill)
                assert number % SAMPLE or bill == bills.extend(bills.initial(), events[:1])
                rows.append((*_name(effects), effect.task, effects.group(effect), json.encode(effect)))
                rows.append((*_name(bills), bill.task, bills.group(bill), json.encode(bill)))
            connection.exec_driver_sql("INSERT INTO view_rows VALUES (?, ?, ?, ?, ?, ?)", rows)
        run = runs.extend(runs.initial(), [*folded, *record.events(TENANT, record.size - 1)])
        last = (*_name(runs), run.run_id, runs.group(run), json.encode(run))
        connection.exec_driver_sql("INSERT INTO view_rows VALUES (?, ?, ?, ?, ?, ?)", [last])
        for view in MONTH_VIEWS:
            place = dict(zip(("view", "version", "tenant"), _name(view), strict=True))
            connection.execute(sa.insert(POSITIONS).values(**place, position=record.size))
    return record.size


def _name(view: Partitioned[Any]) -> tuple[str, int, TenantId]:
    return view.name, view.version, TENANT


def like_the_first(record: MadeRecord, number: int) -> Effect:
    """Row of a task whose readback confirmed it."""
    wanted, first = record.wanted(number), number * EACH + 2
    return Effect(
        bill=wanted.bill_id,
        amount_minor=wanted.amount_minor,
        tail=f"{wanted.action}\0{wanted.currency}\0{wanted.counterparty}",
        bill_id=wanted.bill_id,
        key=key_of(wanted),
        task=f"task-{number}",
        month=MONTH,
        at_us=START_US + first * 1_000,
        version=EACH,
        position=first + EACH - 1,
        wrote=f"action-{number}",
        confirmed=True,
    )


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """Last result, least processor seconds and least wall seconds of some rounds."""
    spent, wall = [], []
    for _ in range(ROUNDS):
        start, begun = time.process_time(), time.perf_counter()
        result = work()
        spent.append(time.process_time() - start)
        wall.append(time.perf_counter() - begun)
    return result, min(spent), min(wall)


def join(record: MadeRecord, file: SettlementFile) -> list[tuple[str, int, float, float]]:
    """The two tables in DuckDB: every event joined to its line, and events grouped by bill, then joined."""
    con = duckdb.connect()
    every = record._every  # noqa: SLF001 - the same spread in SQL
    con.execute(
        f"""create table events as select i position, 'CY202611-' || lpad((i // {EACH})::varchar, 7, '0') bill,
        case i % {EACH} when 0 then 'task.opened' when 1 then 'action.proposed' when 2 then 'action.attempted'
        when 3 then 'action.executed' else 'readback' end as name, 'CNY' currency,
        i // {EACH} * 7 % 100000 * 100 + i // {EACH} % 100
        + (i // {EACH} % {every} = 0 and i // {EACH} // {every} % 2 = 1)::int amount_minor,
        not (i // {EACH} % {every} = 0 and i // {EACH} // {every} % 2 = 0) as as_wanted
        from range({record.bills * EACH}) t(i)"""  # noqa: S608 - whole numbers
    )
    con.execute(
        f"""create table lines as select 'JS202611-' || lpad(i::varchar, 7, '0') line_id,
        'CY202611-' || lpad(i::varchar, 7, '0') bill, 'CNY' currency,
        i * 7 % 100000 * 100 + i % 100 amount_minor from range({len(file.lines)}) t(i)"""  # noqa: S608 - a whole number
    )
    queries = {
        "each event with its line": "select count(*) from events join lines using (bill, currency)"
        " where events.amount_minor <> lines.amount_minor or not as_wanted",
        "grouped by bill": "select count(*) from (select bill, currency, any_value(amount_minor) amount_minor,"
        " bool_and(as_wanted or name <> 'readback') ok from events group by all) e"
        " full join lines l using (bill, currency) where l.amount_minor is distinct from e.amount_minor or not ok",
    }
    found = []
    for name, query in queries.items():
        rows, spent, wall = timed(lambda query=query: con.execute(query).fetchall())  # type: ignore[misc]
        found.append((name, int(rows[0][0]), spent, wall))
    return found


def main(lines: int = DEFAULT_LINES, differences: int = DEFAULT_DIFFERENCES) -> None:
    """Measure and print."""
    record = MadeRecord(lines, differences)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "month.csv"
        write_file(path, lines)
        engine = sa.create_engine(f"sqlite:///{folder}/views.db")
        end = store_views(record, engine)
        assert catch_up(record, engine, TENANT, MONTH_VIEWS) == end
        file = read_settlement(path.read_bytes(), load_profile("portal"), MONTH)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        result, ours, wall = timed(
            lambda: month_end(record, engine, file, tenant=TENANT, month=MONTH, end=end, chain_verified=True)
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        engine.dispose()
    assert len(result.matched) + len(result.breaks) == lines
    print(
        f"month end   {lines} lines, {len(result.breaks)} differences with causes: "
        f"{ours:.2f} s ({wall:.2f} s on the wall)"
    )
    print(f"memory      {peak:.0f} MiB at its peak, {before:.0f} before (aim: under 2048)")
    for name, count, theirs, theirs_wall in join(record, file):
        print(
            f"DuckDB      {name}: {theirs:.2f} s ({theirs_wall:.2f} s on the wall), {count} rows; "
            f"ratio {ours / theirs:.2f}, on the wall {wall / theirs_wall:.2f} (aim: 3)"
        )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
