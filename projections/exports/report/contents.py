"""What a report says: the desk's own answers, laid out in tables.

Rules enforced here:

* Nothing is computed here that the desk doesn't show: figures come from ``views.metrics``, ``views.slices``,
  ``views.runs``, ``views.targets`` and ``views.reconciliation``.
* Every figure can be counted again: each event of each denominator is a row of ``trials``, each step a row of
  ``steps``, both with their position in the tenant's log and with what the other tables group by.
* No clock: a report of the same record and period is the same, byte for byte, whenever it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from projections.exports.report.data import Period, Selected, TenantData, selected
from projections.exports.report.event_tables import runs_table, steps_table, targets_table, trials_table
from projections.exports.report.month_tables import month_tables
from projections.exports.report.tables import Cell, Report, Table, columns
from projections.views import metrics as metric_view
from projections.views.interval import ENOUGH, Rate
from projections.views.metrics import DEFINITIONS, NAMES, Metric
from projections.views.runs import STUCK_WINDOW
from projections.views.slices import DIMENSIONS, WARNING_PERMILLE, days, slices, verdicts
from projections.views.targets import standing


def compose(tenants: Sequence[TenantData], period: Period) -> Report:
    """Report on some tenants over one period."""
    chosen = [selected(data, period) for data in tenants]
    months = tuple((data.tenant, data.month) for data in tenants if data.month is not None)
    tables = (
        _about(chosen, period),
        _metrics(chosen, period),
        *month_tables(months),
        _slices(chosen),
        _days(chosen, period),
        _verdicts(chosen),
        runs_table(chosen, period),
        targets_table(chosen),
        _definitions(),
        trials_table(chosen),
        steps_table(chosen),
    )
    subtitle = ", ".join(data.tenant for data in tenants)
    return Report(title=f"Proofreel report {period.label}", subtitle=subtitle, tables=tables)


def _about(tenants: Sequence[Selected], period: Period) -> Table:
    return Table(
        name="about",
        title="What this rests on",
        about="The logs that were read, up to their newest event; the root of a log stands for exactly these events.",
        columns=columns(
            "tenant", "from:time", "until:time", "mode", "tasks:count", "events:count", "root", "chain"
        ),
        rows=tuple(
            (
                one.tenant,
                period.since_us,
                period.until_us,
                period.mode or "both",
                len(one.chosen),
                one.data.events,
                one.data.root,
                one.data.chain,
            )
            for one in tenants
        ),
    )


def rate_cells(rate: Rate | None) -> tuple[Cell, Cell, Cell]:
    """Rate and the ends of its interval in per mille."""
    return (None, None, None) if rate is None else (rate.permille, rate.low_permille, rate.high_permille)


def _figures(metric: Metric) -> tuple[Cell, ...]:
    worst = metric.worst.permille if metric.worst is not None else None
    counts = (len(metric.numerator), len(metric.denominator), len(metric.undecided))
    return (*counts, *rate_cells(metric.rate), worst, metric.note)


_FIGURES = (
    "hits:count",
    "trials:count",
    "undecided:count",
    "rate_permille:permille",
    "low_permille:permille",
    "high_permille:permille",
    "worst_permille:permille",
    "note",
)


def _metrics(tenants: Sequence[Selected], period: Period) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in tenants:
        found = metric_view.report(
            one.data.tallies, since_us=period.since_us, until_us=period.until_us, mode=period.mode
        )
        holds = {row.metric: row.holds for row in one.data.targets}
        for name in NAMES:
            metric, target = found.of(name), holds.get(name)
            goal = target.fact.target_permille if target else None
            side = target.fact.direction.replace("_", " ") if target else ""
            word = standing(target, metric.rate).replace("_", " ")
            events = (metric.numerator, metric.denominator, metric.undecided)
            rows.append((one.tenant, name, *_figures(metric), side, goal, word, *events))
    return Table(
        name="metrics",
        title="The four metrics",
        about="Rates with their 95 % interval (Wilson); worst: with everything undecided taken as a hit. The last "
        "three columns are positions in the tenant's log.",
        columns=columns(
            "tenant",
            "metric",
            *_FIGURES,
            "target_side",
            "target_permille:permille",
            "standing",
            "hit_events:positions",
            "trial_events:positions",
            "undecided_events:positions",
        ),
        rows=tuple(rows),
    )


def _slices(tenants: Sequence[Selected]) -> Table:
    rows = [
        (one.tenant, piece.dimension, piece.value, piece.metric.name, *_figures(piece.metric))
        for one in tenants
        for dimension in DIMENSIONS
        for piece in slices(one.trials, dimension)
    ]
    return Table(
        name="slices",
        title="By action, rung, principal, UI version and day",
        about="The metrics over groups of their events. The groups of a dimension are disjoint and sum to the whole.",
        columns=columns("tenant", "by", "value", "metric", *_FIGURES),
        rows=tuple(rows),
    )


def _days(tenants: Sequence[Selected], period: Period) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in tenants:
        for day in days(
            one.data.tallies, since_us=period.since_us, until_us=period.until_us, mode=period.mode
        ):
            changes = "; ".join(f"{change.page} {change.before} → {change.after}" for change in day.changes)
            rows.append(
                (
                    one.tenant,
                    day.day,
                    len(day.steps),
                    len(day.ok),
                    *rate_cells(day.rate),
                    day.warning,
                    changes,
                    tuple(change.position for change in day.changes),
                    day.note,
                )
            )
    return Table(
        name="days",
        title="Success by day, beside changes of the target's UI",
        about=f"Steps performed without an objection, of all steps; a warning under {WARNING_PERMILLE / 1000}. "
        "A change: the structure that a page was seen in most often is another one than before.",
        columns=columns(
            "tenant",
            "day",
            "steps:count",
            "ok:count",
            "rate_permille:permille",
            "low_permille:permille",
            "high_permille:permille",
            "warning:flag",
            "ui_changes",
            "ui_change_events:positions",
            "note",
        ),
        rows=tuple(rows),
    )


def _verdicts(tenants: Sequence[Selected]) -> Table:
    return Table(
        name="verdicts",
        title="Steps by verdict",
        about="Each step counts once: by the first objection of a guard, else as passed.",
        columns=columns("tenant", "verdict", "steps:count", "step_events:positions"),
        rows=tuple(
            (one.tenant, count.verdict, len(count.steps), count.steps)
            for one in tenants
            for count in verdicts(one.chosen)
        ),
    )


def _definitions() -> Table:
    rows: Iterable[tuple[Cell, ...]] = (
        *((name, DEFINITIONS[name]) for name in NAMES),
        ("step success", "Steps that were performed without an objection of a guard, of all steps."),
        ("stuck length", f"How many of the last {STUCK_WINDOW} screens equal the newest, itself included."),
        ("interval", f"Wilson's score interval at 95 %, rounded outwards; no rate under {ENOUGH} trials."),
    )
    return Table(
        name="definitions",
        title="Definitions",
        about="What each figure counts.",
        columns=columns("name", "definition"),
        rows=tuple(rows),
    )
