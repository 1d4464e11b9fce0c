"""The parts of a report that list one by one: runs, targets, counted events, steps.

Every figure of the other tables can be counted again from ``trials`` and ``steps``.
"""

from __future__ import annotations

from collections.abc import Sequence

from projections.exports.report.data import Period, Selected
from projections.exports.report.tables import Cell, Table, columns
from projections.views.runs import STUCK_WINDOW
from projections.views.slices import DIMENSIONS, value_of


def runs_table(tenants: Sequence[Selected], period: Period) -> Table:
    """Runs started in the period."""
    rows = [
        (
            one.tenant,
            run.run_id,
            run.mode,
            run.principal,
            run.started_at_us,
            run.status,
            run.stopped_by,
            run.steps,
            run.steps_ok,
            run.success_permille,
            run.stuck_length,
            ", ".join(f"{verdict} {count}" for verdict, count in sorted(run.verdicts.items())),
            ", ".join(f"{outcome} {count}" for outcome, count in sorted(run.outcomes.items())),
            run.first_position,
            run.last_position,
        )
        for one in tenants
        for run in sorted(one.data.runs, key=lambda run: run.first_position)
        if run.started_at_us >= period.since_us
        and (period.until_us is None or run.started_at_us < period.until_us)
        and period.mode in {"", run.mode}
    ]
    return Table(
        name="runs",
        title="Runs",
        about=f"Stuck: how many of the last {STUCK_WINDOW} screens equal the newest.",
        columns=columns(
            "tenant",
            "run",
            "mode",
            "principal",
            "started:time",
            "status",
            "stopped_by",
            "steps:count",
            "ok:count",
            "success_permille:permille",
            "stuck:count",
            "verdicts",
            "tasks",
            "first_event:count",
            "last_event:count",
        ),
        rows=tuple(rows),
    )


def targets_table(tenants: Sequence[Selected]) -> Table:
    """Every target that was accepted."""
    rows = [
        (
            one.tenant,
            row.metric,
            mine.fact.direction.replace("_", " "),
            mine.fact.target_permille,
            mine.fact.proposed_permille,
            mine.fact.hits,
            mine.fact.trials,
            mine.by,
            mine.at_us,
            mine.position,
            mine.fact.note,
        )
        for one in tenants
        for row in sorted(one.data.targets, key=lambda row: row.metric)
        for mine in row.accepted
    ]
    return Table(
        name="targets",
        title="Targets",
        about="Accepted by a person on the ground of a sample; the newest of a metric holds.",
        columns=columns(
            "tenant",
            "metric",
            "side",
            "target_permille:permille",
            "proposed_permille:permille",
            "sample_hits:count",
            "sample_trials:count",
            "accepted_by",
            "at:time",
            "event:count",
            "note",
        ),
        rows=tuple(rows),
    )


def trials_table(tenants: Sequence[Selected]) -> Table:
    """Every event of every denominator."""
    rows: list[tuple[Cell, ...]] = []
    for one in tenants:
        for trial in one.trials:
            evidence = sorted({at for finding in trial.findings for at in finding.evidence})
            rows.append(
                (
                    one.tenant,
                    trial.metric,
                    trial.position,
                    trial.at_us,
                    trial.task_id,
                    trial.bill_id,
                    *(value_of(dimension, trial) for dimension in DIMENSIONS),
                    bool(trial.findings),
                    trial.undecided,
                    ", ".join(finding.reason for finding in trial.findings),
                    tuple(evidence),
                )
            )
    return Table(
        name="trials",
        title="Every event that was counted",
        about="One row for each event of each denominator; counted: it is in the numerator, for the reasons given.",
        columns=columns(
            "tenant",
            "metric",
            "position:count",
            "at:time",
            "task",
            "bill",
            *DIMENSIONS,
            "counted:flag",
            "undecided:flag",
            "reasons",
            "evidence:positions",
        ),
        rows=tuple(rows),
    )


def steps_table(tenants: Sequence[Selected]) -> Table:
    """Every step of the tasks."""
    rows = [
        (
            one.tenant,
            step.position,
            step.at_us,
            tally.task_id,
            tally.run_id,
            step.rung,
            step.verdict or "unjudged",
            step.ok,
        )
        for one in tenants
        for tally in one.chosen
        for step in tally.steps
    ]
    return Table(
        name="steps",
        title="Every step",
        about="One row for each proposed action of the tasks.",
        columns=columns("tenant", "position:count", "at:time", "task", "run", "rung", "verdict", "ok:flag"),
        rows=tuple(rows),
    )
