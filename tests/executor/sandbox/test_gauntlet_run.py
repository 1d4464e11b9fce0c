"""The gauntlet in short: every class of scenario once, in a real browser, judged by the vendor's book (G10, X1, X8).

The long one is ``proofreel gauntlet --seeds 20``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.cli import run_command
from executor.cli.gauntlet_command import is_clean, open_field
from executor.sandbox.gauntlet.scenario import PREVENTABLE, find
from executor.sandbox.gauntlet.summary import summarise
from executor.sandbox.gauntlet.trials import Field, run_trial

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

CHOSEN = (
    "row-pushed",
    "amount-shifted-at-press",
    "glass-pane",
    "double-submit",
    "fake-success",
    "double-posting",
    "late-reversal",
    "quiet",
    "redrawn",
)
THINK_MS = 300


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    with open_field(["none", "published", "ours"], think_ms=THINK_MS, language="zh") as opened:
        yield opened


def test_the_chosen_scenarios_are_of_every_class() -> None:
    assert {find(name).shown_by for name in CHOSEN} == {
        *PREVENTABLE,
        "readback",
        "second_readback",
        "nothing_wrong",
    }


def test_our_loop_lets_nothing_visible_through_and_never_fails_in_silence(field: Field) -> None:
    scenarios = {name: find(name) for name in CHOSEN}
    trials = [run_trial(field, "ours", scenario, 1) for scenario in scenarios.values()]
    summary = summarise("ours", trials, scenarios)
    told = {trial.scenario: (trial.ending, trial.note) for trial in trials}

    assert summary.wrong_effects.hits == 0, told
    assert summary.silent_failures.hits == 0, told
    assert summary.false_stops.hits == 0, told
    assert summary.benign_completion.hits == summary.benign_completion.of == 2, told
    assert is_clean(summary)
    assert told["fake-success"][0] == "stopped"
    assert {told["double-posting"][0], told["late-reversal"][0]} == {"told"}
    rollbacks = {trial.scenario: trial.rollback for trial in trials}
    assert (rollbacks["quiet"], rollbacks["double-posting"]) == ("restored", "failed_and_said")


def test_an_invisible_layer_takes_the_click_of_a_loop_without_a_guard(field: Field) -> None:
    trial = run_trial(field, "none", find("glass-pane-at-answer"), 2)

    assert (trial.wrong_effects, trial.differs) == (1, True)


def test_the_published_guard_does_not_see_a_hidden_amount(field: Field) -> None:
    trial = run_trial(field, "published", find("amount-wrong-from-start"), 1)

    assert (trial.wrong_effects, trial.ending) == (1, "silent")


def test_the_command_says_what_it_counted_and_takes_up_its_results(tmp_path: Path) -> None:
    results = tmp_path / "runs.jsonl"
    command = [sys.executable, "-m", "executor.cli", "gauntlet", "--scenario", "quiet", "--arms", "none"]
    command += ["--results", str(results), "--json"]
    first, again = (
        json.loads(subprocess.run(command, check=True, capture_output=True, timeout=300).stdout) for _ in "12"
    )

    assert first == again
    assert first["arms"][0]["benign_completion"]["hits"] == 1
    assert len(results.read_bytes().splitlines()) == 1


def test_the_command_names_what_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["gauntlet", "--scenario", "nonsense"]) == 2
    assert "glass-pane" in capsys.readouterr().err
    assert run_command(["gauntlet", "--arms", "nobody"]) == 2
    assert "published" in capsys.readouterr().err
