"""The gauntlet for one seed: every scenario against every loop (``proofreel gauntlet --seeds 20`` for more)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from executor.cli.gauntlet_command import run_gauntlet, show
from executor.sandbox.gauntlet.arms import ARMS
from executor.sandbox.gauntlet.scenario import catalogue
from executor.sandbox.gauntlet.summary import summarise
from executor.sandbox.gauntlet.trials import Results

THINK_MS = 350


def main(seeds: int = 1) -> None:
    """Run and print both tables."""
    scenarios = catalogue()
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder, "gauntlet.jsonl"))
        trials = run_gauntlet(results, scenarios, ARMS, range(1, seeds + 1), think_ms=THINK_MS, language="zh")
    by_name = {scenario.name: scenario for scenario in scenarios}
    show([summarise(arm, trials, by_name) for arm in ARMS], trials, scenarios)


if __name__ == "__main__":
    main()
