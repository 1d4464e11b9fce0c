"""Commands over a real record: their exit codes, their JSON, and what they leave on record."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from domain.ids import TaskId
from projections.settlement import profiles
from tests.executor.cli.conftest import Command
from tests.support.settlement import FileLine, month_bytes
from tests.support.workbench import BILL, THIRD_BILL

Tasks = Mapping[str, TaskId]
PROFILES = Path(profiles.__file__).parent


def test_tasks_are_listed_with_their_state(proofreel: Command, recorded: Tasks) -> None:
    done = proofreel("tasks", "--json")
    assert done.code == 0
    assert done.json["tenant"] == "acme"
    rows = {row["task_id"]: row["status"] for row in done.json["tasks"]}
    assert rows == {task: status for status, task in recorded.items()}
    only = proofreel("tasks", "--json", "--status", "taken_over").json["tasks"]
    assert [row["task_id"] for row in only] == [recorded["taken_over"]]


def test_tasks_are_found_by_the_store_alone(
    proofreel: Command, recorded: Tasks, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "proofreel.yaml").unlink()
    assert proofreel("tasks").code == 2
    store = f"sqlite:///{desk}/record.db"
    assert len(proofreel("tasks", "--json", "--store", store).json["tasks"]) == 3
    monkeypatch.setenv("PROOFREEL_STORE", store)
    assert len(proofreel("tasks", "--json").json["tasks"]) == 3


def test_a_table_is_for_people_and_names_the_bill(proofreel: Command, recorded: Tasks) -> None:
    assert BILL in proofreel("tasks").out


def test_a_request_is_listed_granted_and_gone(proofreel: Command, recorded: Tasks) -> None:
    task = recorded["awaiting_approval"]
    (request,) = proofreel("approvals", "list", "--json").json["requests"]
    assert (request["task_id"], request["intent"]["bill_id"]) == (task, THIRD_BILL)
    assert THIRD_BILL in proofreel("approvals", "list").out
    done = proofreel("approvals", "grant", task, "--as", "person:li.na", "--note", "checked")
    assert (done.code, done.err) == (0, "")
    assert proofreel("approvals", "list", "--json").json["requests"] == []
    again = proofreel("approvals", "grant", task, "--as", "person:li.na")
    assert again.code == 1
    assert "approval.none" in again.word
    assert proofreel("fsck").code == 0, "the refused answer is on record too"


def test_a_denied_request_is_recorded_as_the_person_s(proofreel: Command, recorded: Tasks) -> None:
    done = proofreel("approvals", "deny", recorded["awaiting_approval"], "--as", "person:li.na")
    assert done.code == 0
    assert done.out.startswith("denied by person:li.na")


def test_a_takeover_is_listed_taken_and_resolved(proofreel: Command, recorded: Tasks) -> None:
    task = recorded["taken_over"]
    (item,) = proofreel("takeover", "list", "--json").json["queue"]
    assert (item["task_id"], item["item"]["severity"], item["item"]["owner"]) == (task, "high", "")
    early = proofreel("takeover", "resolve", task, "effect_absent", "--as", "person:li.na", "--note", "x")
    assert early.code == 1
    assert "takeover.owner" in early.word
    assert proofreel("takeover", "take", task, "--as", "person:li.na").code == 0
    (item,) = proofreel("takeover", "list", "--json").json["queue"]
    assert item["item"]["owner"] == "person:li.na"
    done = proofreel("takeover", "resolve", task, "effect_absent", "--as", "person:li.na", "--note", "looked")
    assert done.code == 0
    assert proofreel("takeover", "list", "--json").json["queue"] == []
    assert len(proofreel("takeover", "list", "--all", "--json").json["queue"]) == 1


def test_an_unknown_resolution_is_bad_use(proofreel: Command, recorded: Tasks) -> None:
    done = proofreel(
        "takeover", "resolve", recorded["taken_over"], "whatever", "--as", "person:li.na", "--note", "x"
    )
    assert done.code == 2


def test_an_exported_bundle_verifies_and_a_spoiled_one_does_not(
    proofreel: Command, recorded: Tasks, desk: Path
) -> None:
    out = desk / "evidence.zip"
    done = proofreel("export", "--bill", BILL, "-o", out, "--json")
    assert done.code == 0
    assert done.json["file"] == str(out)
    assert done.json["bundle"]["events"] > 0
    root = done.json["bundle"]["root"]
    verified = proofreel("verify", out, "--json", "--root", root)
    assert (verified.code, verified.json["ok"]) == (0, True)
    assert proofreel("verify", out, "--root", "0" * 64).code == 1
    data = bytearray(out.read_bytes())
    data[len(data) // 2] ^= 1
    out.write_bytes(data)
    assert proofreel("verify", out).code == 1


def test_a_sound_record_passes_and_a_changed_one_is_found(
    proofreel: Command, recorded: Tasks, desk: Path
) -> None:
    done = proofreel("fsck", "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    with closing(sqlite3.connect(desk / "record.db", isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        changed = connection.execute(
            "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB)", (BILL, "CY202611-9999")
        )
        assert changed.rowcount
    assert proofreel("fsck").code == 1


def test_a_settlement_file_that_can_not_be_read_in_full_exits_1(
    proofreel: Command, recorded: Tasks, desk: Path
) -> None:
    (desk / "november.csv").write_bytes("什么都不是\n1,2\n".encode())
    done = proofreel("settlement", "import", "november.csv", "--month", "2026-11", "--json")
    assert done.code in {1, 2}
    if done.code == 1:
        assert done.json["findings"] or done.json["refused"]


def test_a_refused_row_is_told_with_its_line_its_value_and_the_reason(
    proofreel: Command, recorded: Tasks, desk: Path
) -> None:
    rows = [FileLine(bill=f"B{number}", raw_amount="twelve") for number in range(25)]
    (desk / "november.csv").write_bytes(month_bytes(FileLine(bill="B"), *rows))
    done = proofreel("settlement", "import", "november.csv", "--month", "2026-11")
    assert done.code == 1
    told = [line for line in done.out.splitlines() if line.startswith("  refused: ")]
    assert len(told) == 20
    assert told[0].startswith("  refused: line 7, Amount “twelve”: ")
    assert "5 more refused rows" in done.out


def test_the_same_file_adds_nothing_unless_it_is_read_with_another_profile(
    proofreel: Command, recorded: Tasks, desk: Path
) -> None:
    (desk / "november.csv").write_bytes(month_bytes(FileLine(bill="B")))
    other = (PROFILES / "portal.yaml").read_text("utf-8").replace("name: portal", "name: other", 1)
    (desk / "other.yaml").write_text(other, "utf-8")
    command = ("settlement", "import", "november.csv", "--month", "2026-11")
    assert proofreel(*command, "--json").json["added"] is True
    assert proofreel(*command, "--json").json["added"] is False
    assert "nothing was added" in proofreel(*command).out
    assert proofreel(*command, "--profile", "other.yaml", "--json").json["added"] is True


def test_a_file_without_a_settlement_line_says_so(proofreel: Command, recorded: Tasks, desk: Path) -> None:
    (desk / "november.csv").write_bytes(month_bytes())
    done = proofreel("settlement", "import", "november.csv", "--month", "2026-11")
    assert "no settlement line" in done.out
