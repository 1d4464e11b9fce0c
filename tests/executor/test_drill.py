"""The drill: on a vendor in memory, where undoing can be broken, and on the sandbox's real portal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from domain.ids import RunId
from domain.policy import Identity
from executor.cli import run_command
from executor.drill import Drilled, Exercise, differences, drill
from executor.sandbox import story
from tests.support.vendor import FakeVendor, Fault
from tests.support.workbench import BILL, PERSON, Bench

Benches = Callable[..., Bench]


def drilled(bench: Bench, action: str = "mark_processed", people: Sequence[Identity] = (PERSON,)) -> Drilled:
    exercise = Exercise(order=bench.order(BILL, action), rung="browser")
    (result,) = drill(bench.kit, bench.open_hands, [exercise], people=people, run_id=RunId("run-1"))
    return result


def test_an_action_that_is_undone_leaves_the_business_as_before(bench: Bench, vendor: FakeVendor) -> None:
    result = drilled(bench)
    assert (result.ok, result.executed, result.undone, result.differences) == (True, True, True, {})
    assert [code for _, code in vendor.bills[BILL].history] == ["process", "undo"]


def test_an_action_that_waits_for_a_person_is_answered_and_drilled(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    result = drilled(bench, "refund")
    assert result.ok
    assert result.residual_effects == ("the counterparty may have been notified of the refund",)


@pytest.mark.parametrize(
    ("fault", "executed"), [("fake_success", False), ("session_expired", False), ("double_posting", False)]
)
def test_an_action_that_fails_is_not_drilled_well(
    bench: Bench,
    vendor: FakeVendor,
    fault: Fault,
    executed: bool,  # noqa: FBT001 - from the table
) -> None:
    vendor.switch_on(BILL, fault)
    result = drilled(bench)
    assert (result.ok, result.executed) == (False, executed)
    assert result.reason


def test_an_undoing_that_changes_something_else_is_a_difference(
    bench: Bench, vendor: FakeVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = vendor.book

    def careless(account: str, bill_id: str, code: str) -> None:
        book(account, bill_id, code)
        if code == "undo":
            vendor.bills[bill_id].handled = {"month": "2026-12"}

    monkeypatch.setattr(vendor, "book", careless)
    result = drilled(bench)
    assert (result.executed, result.undone, result.ok) == (True, True, False)
    assert result.differences["api handled.month"] == " → 2026-12"


def test_what_only_grows_is_no_difference(bench: Bench, vendor: FakeVendor) -> None:
    source = bench.kit.readbacks[0]
    before = {"api": source.read(BILL)}
    vendor.book("wang.li", BILL, "process")
    vendor.book("wang.li", BILL, "undo")
    vendor.bills[BILL].handled = {}
    assert differences(before, {"api": source.read(BILL)}) == {}


# -- the command -------------------------------------------------------------------------------------------------


def test_the_command_drills_every_action_on_the_sandbox(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command(["drill", "--rung", "api", "--rung", "mcp", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["ok"]) == (0, True), result
    assert [(item["action"], item["rung"]) for item in result["drilled"]] == [
        ("mark_processed", "api"),
        ("mark_processed", "mcp"),
        ("refund", "api"),
        ("refund", "mcp"),
    ]


@pytest.mark.browser
def test_the_command_drills_on_screens_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["drill", "--rung", "browser"]) == 0
    shown = capsys.readouterr().out
    assert "refund" in shown
    assert "NO" not in shown


def test_a_target_that_is_no_sandbox_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = story.write_config(tmp_path / "proofreel.yaml", origin="http://127.0.0.1:1", language="zh")
    batch = story.write_batch(tmp_path / "drill.yaml", "drill", [])
    assert run_command(["drill", str(batch), "--config", str(config)]) == 2
    assert "isn't marked as a sandbox" in capsys.readouterr().err


def test_half_a_target_of_one_s_own_is_bad_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["drill", str(tmp_path / "drill.yaml")]) == 2
    assert "give both, or neither" in capsys.readouterr().err
