"""``proofreel reconcile --keep`` and ``proofreel cases`` on a real record, up to the bundle that an auditor gets."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from domain.ids import TaskId
from projections.exports.verify import verify
from tests.executor.cli.conftest import Command
from tests.support.settlement import FileLine, month_bytes
from tests.support.workbench import BILL

LI = ("--as", "person:li.na")
FOREIGN = FileLine(bill="CY202611-0999", account="wang.li")


def bring(desk: Path, proofreel: Command, name: str, *lines: FileLine) -> None:
    (desk / name).write_bytes(month_bytes(*lines))
    assert proofreel("settlement", "import", name, "--month", "2026-11").code == 0


@pytest.fixture
def month(desk: Path, recorded: Mapping[str, TaskId], proofreel: Command) -> Path:
    bring(desk, proofreel, "november.csv", FOREIGN)
    return desk


def keep(proofreel: Command) -> str:
    done = proofreel("reconcile", "--month", "2026-11", "--keep", "--json")
    assert done.code == 1
    assert done.json["breaks"]
    return done.word


def listed(proofreel: Command) -> dict[str, dict[str, Any]]:
    cases = proofreel("cases", "list", "--all", "--json").json["cases"]
    return {case["bill_id"]: case for case in cases}


def test_what_was_not_kept_is_no_case(month: Path, proofreel: Command) -> None:
    assert proofreel("reconcile", "--month", "2026-11").code == 1
    assert proofreel("cases", "list", "--json").json == {"tenant": "acme", "cases": []}


def test_differences_are_kept_and_kept_again_without_a_trace(month: Path, proofreel: Command) -> None:
    first = keep(proofreel)
    opened = len(listed(proofreel))
    assert first.startswith(f"cases of 2026-11: {opened} opened, 0 concluded anew, 0 gone, 0 as before")
    assert f"0 opened, 0 concluded anew, 0 gone, {opened} as before; 0 sign-offs" in keep(proofreel)
    assert BILL in listed(proofreel)
    assert proofreel("fsck").code == 0


def test_a_person_reads_notes_and_signs_off_what_they_read(month: Path, proofreel: Command) -> None:
    keep(proofreel)
    case = listed(proofreel)[FOREIGN.bill]
    shown = proofreel("cases", "show", case["break_id"]).out
    assert case["digest"] in "".join(shown.split())
    assert proofreel("cases", "note", case["break_id"], "asked the vendor", *LI).code == 0
    wrong = proofreel("cases", "sign-off", case["break_id"], "--digest", "0123456789abcdef", *LI)
    assert (wrong.code, "case.sign_off_digest" in wrong.word) == (1, True)
    assert proofreel("cases", "sign-off", case["break_id"], "--digest", case["digest"][:12], *LI).code == 0
    row = proofreel("cases", "show", case["break_id"], "--json").json
    assert row["standing"] == "signed_off"
    assert row["sign_offs"][0]["digest"] == case["digest"]
    assert [entry["name"] for entry in row["entries"]] == [
        "case.opened",
        "case.concluded",
        "case.noted",
        "case.signed_off",
    ]
    waiting = proofreel("cases", "list", "--json").json["cases"]
    assert case["break_id"] not in {one["break_id"] for one in waiting}
    assert proofreel("cases", "reopen", case["break_id"], "--reason", "new facts", *LI).code == 0
    assert proofreel("cases", "show", case["break_id"], "--json").json["standing"] == "waits"


def test_a_late_file_updates_the_cases_and_keeps_their_past(month: Path, proofreel: Command) -> None:
    keep(proofreel)
    missing = listed(proofreel)[BILL]
    expected = -missing["amount_minor"]
    party = proofreel("reconcile", "--month", "2026-11", "--json").json["breaks"]
    counterparty = next(found["expected"]["counterparty"] for found in party if found["bill"] == BILL)
    line = FileLine(bill=BILL, amount_minor=expected, counterparty=counterparty, account="acme-bot")
    bring(month, proofreel, "late.csv", FOREIGN, line)
    assert "1 gone" in keep(proofreel)
    case = proofreel("cases", "show", missing["break_id"], "--json").json
    assert case["standing"] == "gone"
    assert [made["fact"]["standing"] for made in case["conclusions"]] == [True, False]


def test_the_bundle_of_a_difference_carries_its_case_and_verifies(month: Path, proofreel: Command) -> None:
    keep(proofreel)
    for bill in (BILL, FOREIGN.bill):
        case = listed(proofreel)[bill]
        out = month / f"{bill}.zip"
        made = proofreel(
            "export", "--break", case["break_id"], "--month", "2026-11", "-o", str(out), "--json"
        )
        assert f"case:{case['break_id']}" in made.json["bundle"]["streams"]
        assert verify(out).ok
        with zipfile.ZipFile(out) as archive:
            (events,) = (name for name in archive.namelist() if name.endswith("data/events.jsonl"))
            assert b'"name":"case.concluded"' in archive.read(events)


def test_views_that_are_kept_give_the_same_result_and_are_read_again(month: Path, proofreel: Command) -> None:
    plain = proofreel("reconcile", "--month", "2026-11", "--json").json
    for _ in range(2):
        assert proofreel("reconcile", "--month", "2026-11", "--views", "views.db", "--json").json == plain
    (month / "text.db").write_text("no database at all, but long enough to look like a file of something")
    done = proofreel("reconcile", "--month", "2026-11", "--views", "text.db")
    assert (done.code, "text.db" in done.word) == (2, True)
