"""Metrics by action, rung, principal, UI version and day; steps by verdict and day (G6, B13).

Rules enforced here:

* A slice is a group of trials (see ``projections.views.metrics``). The slices of a dimension are disjoint, and their
  numerators and denominators together are those of the whole.
* A step counts once, by its verdict, on the day it was proposed. It is ok when it was performed and nobody objected.
* A day's success rate under 0.7 is a warning (published); under five steps nothing is stated.
* The UI version of a page on a day is the structure that it was seen in most often; a dialog that was open for a
  moment is no new version. A change is a day on which that differs from the day before on which the page was seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from projections.views.interval import ENOUGH, Rate, wilson
from projections.views.metrics import NAMES, Metric, Trial, metric_of
from projections.views.tallies import DAY_US, UI_DIGITS, Looks, StepTally, Tally

Dimension = Literal["action", "rung", "principal", "ui", "day"]
DIMENSIONS: tuple[Dimension, ...] = ("action", "rung", "principal", "ui", "day")
WARNING_PERMILLE = 700
"""Published: warn when a day's success rate is under 0.7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One metric over the trials that share a value."""

    dimension: Dimension
    value: str
    """Empty when the record doesn't say."""
    metric: Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class UiChange:
    """A page whose usual structure became another one."""

    page: str
    before: str
    after: str
    position: int
    """First look at the new one on that day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day's steps beside what changed in the target's UI."""

    day: str
    """``YYYY-MM-DD``, UTC."""
    steps: tuple[int, ...]
    """Positions of ``action.proposed``."""
    ok: tuple[int, ...]
    rate: Rate | None
    warning: bool
    note: str
    changes: tuple[UiChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCount:
    """Steps that ended with one verdict."""

    verdict: str
    """``unjudged`` for steps that no guard spoke about."""
    steps: tuple[int, ...]


def day_text(day: int) -> str:
    """Day since 1970 as ``YYYY-MM-DD``."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)).date().isoformat()


def value_of(dimension: Dimension, trial: Trial) -> str:
    """What a trial is grouped by."""
    match dimension:
        case "action":
            return trial.action
        case "rung":
            return trial.rung
        case "principal":
            return trial.principal
        case "ui":
            return trial.ui
        case "day":
            return day_text(trial.at_us // DAY_US)


def slices(trials: Iterable[Trial], dimension: Dimension) -> tuple[Slice, ...]:
    """Every metric for every value of the dimension, in order of value; those without a trial are left out."""
    groups: dict[tuple[str, int], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[value_of(dimension, trial), NAMES.index(trial.metric)].append(trial)
    return tuple(
        Slice(dimension=dimension, value=value, metric=metric_of(NAMES[number], group))
        for (value, number), group in sorted(groups.items())
    )


def verdicts(tallies: Iterable[Tally]) -> tuple[VerdictCount, ...]:
    """Steps by verdict, the published counts, over the given tasks."""
    found: dict[str, list[int]] = defaultdict(list)
    for tally in tallies:
        for step in tally.steps:
            found[step.verdict or "unjudged"].append(step.position)
    return tuple(
        VerdictCount(verdict=verdict, steps=tuple(sorted(steps))) for verdict, steps in sorted(found.items())
    )


def days(
    tallies: Sequence[Tally], *, since_us: int = 0, until_us: int | None = None, mode: str = ""
) -> tuple[Day, ...]:
    """Days with a step or a UI change in ``[since_us, until_us)``, in order.

    Args:
        tallies: rows of the view ``metrics``, all of the tenant: a change is told against older days too.
        since_us: microseconds since 1970 (UTC).
        until_us: end of the period, not included; None for no end.
        mode: ``guarded`` or ``record_only`` steps only; empty for both. UI changes are the target's, in any mode.
    """
    steps: dict[int, list[StepTally]] = defaultdict(list)
    for tally in tallies:
        for step in tally.steps if mode in {"", tally.mode} else ():
            if step.at_us >= since_us and (until_us is None or step.at_us < until_us):
                steps[step.at_us // DAY_US].append(step)
    changes = ui_changes(look for tally in tallies for look in tally.looks)
    changed = {
        day
        for day in changes
        if (day + 1) * DAY_US > since_us and (until_us is None or day * DAY_US < until_us)
    }
    return tuple(
        _day(day, sorted(steps[day], key=lambda step: step.position), changes.get(day, ()))
        for day in sorted({*steps, *changed})
    )


def _day(day: int, steps: Sequence[StepTally], changes: tuple[UiChange, ...]) -> Day:
    ok = tuple(step.position for step in steps if step.ok)
    rate = wilson(len(ok), len(steps))
    return Day(
        day=day_text(day),
        steps=tuple(step.position for step in steps),
        ok=ok,
        rate=rate,
        warning=rate is not None and 1000 * len(ok) < WARNING_PERMILLE * len(steps),
        note="" if rate is not None else f"not enough data ({len(steps)} of at least {ENOUGH})",
        changes=changes,
    )


def ui_changes(looks: Iterable[Looks]) -> dict[int, tuple[UiChange, ...]]:
    """Changes by day since 1970; the first version ever seen of a page is none."""
    counts: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    first: dict[tuple[int, str, str], int] = {}
    for look in looks:
        counts[look.day, look.page][look.structure] += look.count
        place = (look.day, look.page, look.structure)
        first[place] = min(first.get(place, look.first), look.first)
    usual: dict[str, str] = {}
    found: dict[int, list[UiChange]] = defaultdict(list)
    for (day, page), seen in sorted(counts.items()):
        now = max(seen, key=lambda name: (seen[name], -first[day, page, name]))
        before = usual.get(page)
        if before is not None and before != now:
            change = UiChange(
                page=page, before=before[:UI_DIGITS], after=now[:UI_DIGITS], position=first[day, page, now]
            )
            found[day].append(change)
        usual[page] = now
    return {day: tuple(changes) for day, changes in found.items()}
