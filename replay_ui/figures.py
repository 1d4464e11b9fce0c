"""What the page of metrics asks for, out of the rows of the view ``metrics`` (B13, G6).

Rules enforced here:

- One selection of tasks (period, mode) gives every figure of the page, so that its numbers belong together.
- Nothing is counted here; ``projections.views`` counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from projections.views import metrics as metric_view
from projections.views.metrics import MetricsReport, Trial, select, trials_of
from projections.views.slices import Day, VerdictCount, days, verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.views.tallies import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that is counted over one selection of tasks."""

    report: MetricsReport
    """The four metrics."""
    trials: tuple[Trial, ...]
    """Each event of a denominator, for slices."""
    days: tuple[Day, ...]
    """Days with a step or a change of the target's UI, in order."""
    verdicts: tuple[VerdictCount, ...]
    """Steps by the verdict they ended with."""


def figures_of(rows: Sequence[Tally], *, since_us: int, until_us: int | None, mode: str) -> Figures:
    """Figures over the tasks opened in ``[since_us, until_us)``, microseconds since 1970 (UTC); None for no end."""
    chosen = select(rows, since_us=since_us, until_us=until_us, mode=mode)
    return Figures(
        report=metric_view.report(rows, since_us=since_us, until_us=until_us, mode=mode),
        trials=trials_of(chosen, rows),
        days=days(rows, since_us=since_us, until_us=until_us, mode=mode),
        verdicts=verdicts(chosen),
    )
