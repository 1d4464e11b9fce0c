"""What leaves a real record as figures: metrics, targets, reports, OCEL, the bill list."""

from __future__ import annotations

import csv
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from domain import events as e
from domain.envelope import Draft
from domain.ids import RunId, Sha256, TaskId, run_stream, targets_stream
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.reading import open_reader
from tests.executor.cli.conftest import Command
from tests.support.events import Book, intent

Tasks = Mapping[str, TaskId]
PERIOD = ("--since", "2026-10-01", "--until", "2026-12-01")
CANARY = (*PERIOD, "--share", 1000)


@pytest.fixture
def many(desk: Path) -> str:
    """Forty tasks of October, four of them handed over, and a fetched list; URL of the record."""
    book = Book()
    run = book.run()
    for number in range(40):
        task = run.task(f"t{number}", intent(f"B{number}"))
        if number < 4:
            task.hand_over()
        else:
            task.done()
    data = json.dumps({"bills": [{"bill_id": f"B{number}"} for number in range(40)]}).encode()
    blob = Sha256(hashlib.sha256(data).hexdigest())
    (desk / "blobs").mkdir(exist_ok=True)
    open_blobs(str(desk / "blobs")).put(data, media_type="application/jsonl")
    fact = e.BillListFetched(blob=blob, rows=40, source="list", account="acme-reader")
    book.add(fact, stream=run_stream(RunId("run-1")), run="run-1")
    url = f"sqlite:///{desk}/record.db"
    with open_record(url) as log:
        for recorded in book.events:
            claim = recorded.event.effect_key if isinstance(recorded.event, e.TaskClaimed) else None
            log.append([Draft(envelope=recorded.envelope, event=recorded.event)], claim=claim)
    return url


def test_metrics_of_a_real_record_are_shown_with_their_counts(proofreel: Command, recorded: Tasks) -> None:
    done = proofreel("metrics", "show", "--json")
    rows = {row["metric"]: row for row in done.json["metrics"]}
    assert (rows["completion"]["hits"], rows["completion"]["trials"]) == (1, 2)
    assert rows["completion"]["note"] == "not enough data (2 of at least 5)"
    assert "completion" in proofreel("metrics", "show").out


def test_metrics_are_split_by_what_is_asked_for(proofreel: Command, many: str) -> None:
    out = proofreel("metrics", "show", *PERIOD, "--by", "principal").out
    assert "By principal" in out
    assert "svc:acme-batch" in out
    assert "36 / 40" in out


def test_two_periods_at_once_are_bad_use(proofreel: Command, many: str) -> None:
    done = proofreel("metrics", "show", "--month", "2026-11", "--since", "2026-11-01")
    assert done.code == 2
    assert "two periods" in done.word


def test_proposing_targets_records_nothing(proofreel: Command, many: str) -> None:
    with open_reader(many) as reader:
        before = reader.positions(reader.tenants()[0])
    done = proofreel("metrics", "canary", *CANARY, "--json")
    assert done.code == 1  # nothing was undone in that period, so rollback has no target
    goals = {one["metric"]: one["proposed_permille"] for one in done.json["proposals"]}
    assert goals["rollback"] is None
    assert goals["completion"] == 769
    assert "40 of 40 tasks" in proofreel("metrics", "canary", *CANARY).out
    with open_reader(many) as reader:
        assert reader.positions(reader.tenants()[0]) == before


def test_an_accepted_target_is_on_record_and_the_period_stands_to_it(proofreel: Command, many: str) -> None:
    done = proofreel("metrics", "accept", "completion", *CANARY, "--as", "person:li.na")
    assert (done.code, done.err) == (0, "")
    assert done.out == "completion: at least 76.9 %, accepted by person:li.na\n"
    with open_reader(many) as reader:
        tenant = reader.tenants()[0]
        (recorded,) = reader.stream(tenant, targets_stream("completion"))
    assert recorded.envelope.principal == "person:li.na"
    assert isinstance(recorded.event, e.TargetAccepted)
    assert (recorded.event.hits, recorded.event.trials) == (36, 40)
    standing = {
        row["metric"]: row["standing"] for row in proofreel("metrics", "show", "--json").json["metrics"]
    }
    assert (standing["completion"], standing["takeover"]) == ("met", "no target")


def test_a_missed_target_exits_1(proofreel: Command, many: str) -> None:
    raised = ("--target", 999, "--note", "as agreed")
    assert proofreel("metrics", "accept", "completion", *CANARY, "--as", "person:li.na", *raised).code == 0
    done = proofreel("metrics", "show", "--json")
    assert done.code == 1
    assert {row["metric"]: row["standing"] for row in done.json["metrics"]}["completion"] == "missed"


def test_a_service_or_a_stranger_accepts_no_target(proofreel: Command, many: str) -> None:
    for who in ("svc:acme-batch", "person:nobody"):
        done = proofreel("metrics", "accept", "completion", *CANARY, "--as", who)
        assert done.code == 2
        assert who in done.word


def test_a_report_is_written_in_every_format_and_is_the_same_again(
    proofreel: Command, many: str, desk: Path
) -> None:
    first = proofreel("report", *PERIOD, "--out", "one", "--json")
    assert (first.code, first.json["tenants"]) == (0, {"acme": "verified"})
    assert proofreel("report", *PERIOD, "-o", "two").code == 0
    names = sorted(path.relative_to(desk / "one") for path in (desk / "one").rglob("*.*"))
    assert {name.suffix for name in names} == {".html", ".xlsx", ".csv", ".parquet"}
    for name in names:
        assert (desk / "one" / name).read_bytes() == (desk / "two" / name).read_bytes()
    with (desk / "one/csv/metrics.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    assert (rows["completion"]["hits"], rows["completion"]["trials"]) == ("36", "40")


def test_a_report_over_a_broken_chain_says_so_and_exits_1(proofreel: Command, many: str, desk: Path) -> None:
    with closing(sqlite3.connect(desk / "record.db")) as database, database:
        for (trigger,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            database.execute(f'DROP TRIGGER "{trigger}"')
        database.execute("UPDATE event SET recorded_at_us = recorded_at_us + 1 WHERE position = 3")
    done = proofreel("report", "--out", "out", "--format", "html", "--json")
    assert (done.code, done.json["tenants"]) == (1, {"acme": "broken"})
    assert "fsck" in done.word
    assert "broken" in (desk / "out/report.html").read_text(encoding="utf-8")


def test_a_report_where_nobody_may_write_is_bad_use(proofreel: Command, many: str, desk: Path) -> None:
    (desk / "taken").write_text("a file", encoding="utf-8")
    done = proofreel("report", "--out", "taken/report")
    assert done.code == 2
    assert "can't be written" in done.word


def test_the_log_leaves_as_ocel(proofreel: Command, many: str, desk: Path) -> None:
    done = proofreel("ocel", "--out", "record.json", "--json")
    found = json.loads((desk / "record.json").read_bytes())
    assert (done.code, done.json["events"]) == (0, len(found["events"]))
    assert sum(thing["type"] == "task" for thing in found["objects"]) == 40
    assert proofreel("ocel", "--out", "no/such/folder.json").code == 2


def test_the_bill_list_leaves_for_the_warehouse(proofreel: Command, many: str, desk: Path) -> None:
    assert proofreel("bills", "--out", "bills.parquet").out == "bills.parquet: 40 rows\n"
    found = pq.read_table(desk / "bills.parquet")
    assert found.column("bill_id").to_pylist() == [f"B{number}" for number in range(40)]
    assert proofreel("bills", "--out", "bills.csv", "--json").json["rows"] == 40
    wrong = proofreel("bills", "--out", "bills.xls")
    assert wrong.code == 2
    assert ".parquet" in wrong.word
