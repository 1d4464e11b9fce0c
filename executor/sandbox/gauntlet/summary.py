"""What a set of trials says: rates with their 95 % intervals, and a table of scenarios against loops.

Rules: a rate is shown with its count and its Wilson score interval (Wilson 1927; Newcombe 1998, method 3), which stays
sensible at 0 of n; costs are medians; a loop that never undoes anything has no rollback rate instead of a good one.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from executor.sandbox.gauntlet.scenario import Scenario
from executor.sandbox.gauntlet.verdicts import Ending, Trial

Z: Final = 1.959963984540054
"""97.5 % quantile of the normal distribution."""
EDGE: Final = 0.1
"""Shares below it are shown with a decimal."""
WORDS: Final[dict[Ending, str]] = {"done": "done", "stopped": "stopped", "told": "told", "silent": "SILENT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many of so many, with the interval that holds the true rate with 95 % confidence."""

    hits: int
    of: int
    low: float
    high: float

    def text(self) -> str:
        """``3/40 2.6–20 %``: count, and the interval in percent."""
        if not self.of:
            return "–"
        low, high = (f"{100 * edge:.{1 if 0 < edge < EDGE else 0}f}" for edge in (self.low, self.high))
        return f"{self.hits}/{self.of} {low}–{high} %"


def wilson(hits: int, of: int) -> Rate:
    """The Wilson score interval of a binomial rate."""
    if of == 0:
        return Rate(hits=0, of=0, low=0.0, high=1.0)
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return Rate(hits=hits, of=of, low=max(0.0, middle - half), high=min(1.0, middle + half))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSummary:
    """One loop over all its trials."""

    arm: str
    trials: int
    wrong_effects: Rate
    """Trials in which the loop itself sent something wrong."""
    wrong_but_visible: Rate
    """The same, of faults that pixels, document or request show."""
    nothing_sent: Rate
    """Trials of faults that only the document or the request shows, in which nothing wrong left the browser."""
    silent_failures: Rate
    false_stops: Rate
    """Benign trials with at least one stop, or without an end."""
    benign_completion: Rate
    completion: Rate
    takeover: Rate
    """Trials that ended with a person."""
    rollback: Rate
    rollback_silent: int
    """Undone according to the loop, and not undone."""
    step_ms: float
    """Median of a step."""
    step_bytes: float


def summarise(arm: str, trials: Sequence[Trial], scenarios: Mapping[str, Scenario]) -> ArmSummary:
    """Count one loop's trials."""
    own = [trial for trial in trials if trial.arm == arm and trial.scenario in scenarios]
    benign = [trial for trial in own if scenarios[trial.scenario].benign]
    visible = [trial for trial in own if scenarios[trial.scenario].preventable]
    behind = [trial for trial in own if scenarios[trial.scenario].shown_by in {"document", "request"}]
    undone = [trial for trial in own if trial.rollback]
    stepped = [trial for trial in own if trial.steps]

    def rate(of: Sequence[Trial], hit: Callable[[Trial], bool]) -> Rate:
        return wilson(sum(hit(trial) for trial in of), len(of))

    return ArmSummary(
        arm=arm,
        trials=len(own),
        wrong_effects=rate(own, lambda trial: trial.wrong_effects > 0),
        wrong_but_visible=rate(visible, lambda trial: trial.wrong_effects > 0),
        nothing_sent=rate(behind, lambda trial: trial.wrong_effects == 0),
        silent_failures=rate(own, lambda trial: trial.ending == "silent"),
        false_stops=rate(benign, lambda trial: trial.stops > 0 or trial.ending != "done"),
        benign_completion=rate(benign, lambda trial: trial.ending == "done"),
        completion=rate(own, lambda trial: trial.ending == "done"),
        takeover=rate(own, lambda trial: trial.ending in {"stopped", "told"}),
        rollback=rate(undone, lambda trial: trial.rollback == "restored"),
        rollback_silent=sum(trial.rollback == "failed_silently" for trial in undone),
        step_ms=_median(trial.step_ms / trial.steps for trial in stepped),
        step_bytes=_median(trial.kept_bytes / trial.steps for trial in stepped),
    )


def _median(values: Iterable[float]) -> float:
    listed = list(values)
    return statistics.median(listed) if listed else 0.0


def confusion(
    trials: Sequence[Trial], scenarios: Sequence[Scenario], arms: Sequence[str]
) -> list[tuple[str, ...]]:
    """One row for each scenario: what could show it, and how each loop's trials ended."""
    rows = []
    for scenario in scenarios:
        cells = [
            _cell([trial for trial in trials if trial.arm == arm and trial.scenario == scenario.name])
            for arm in arms
        ]
        if any(cells):
            rows.append((scenario.name, scenario.shown_by.replace("_", " "), *cells))
    return rows


def _cell(trials: Sequence[Trial]) -> str:
    endings = Counter(trial.ending for trial in trials)
    parts = [f"{endings[key]} {word}" for key, word in WORDS.items() if endings[key]]
    wrong = sum(trial.wrong_effects > 0 for trial in trials)
    return " ".join([*parts, *([f"{wrong} WRONG"] if wrong else [])])
