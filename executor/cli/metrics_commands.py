"""``proofreel metrics``: the four metrics, what a canary period proposes, and the targets that people accept (B13)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from domain.ids import TenantId
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    one_tenant,
    places,
    print_json,
    print_table,
    store_options,
    tenant_option,
)
from executor.cli.people_commands import note_option, person_option
from executor.cli.report_commands import (
    micros,
    mode_option,
    month_option,
    period_of,
    since_option,
    tenant_data,
    until_option,
)
from projections.reading import open_reader

if TYPE_CHECKING:
    from domain.events.target import TargetMetric
    from projections.canary import Proposals
    from projections.exports.report import TenantData
    from projections.exports.report.tables import Cell, Table

METRICS = ("mis_operation", "completion", "takeover", "rollback")
BY = ("action", "rung", "principal", "ui", "day")


@click.group(epilog="Example: proofreel metrics show --month 2026-11 --by rung")
def metrics() -> None:
    """The four metrics, proposals for targets, and the targets that hold."""


@metrics.command("show", epilog="Example: proofreel metrics show --month 2026-11 --by day")
@month_option
@since_option
@until_option
@mode_option
@click.option("--by", "dimension", type=click.Choice(BY), help="One line for each value of this.")
@config_option
@store_options
@tenant_option
@json_option
def show(
    month: str | None,
    since: datetime | None,
    until: datetime | None,
    mode: str | None,
    dimension: str | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Rates with their 95 % interval, against the targets that hold; and the success of each day.

    Exits 1 when a target is missed or a day is under the limit of 0.7.
    """
    from projections.exports.report import compose

    period = period_of(month, since, until, mode)
    found = compose([_data(config_path, store, blobs, tenant)], period)
    four, by, days = found.table("metrics"), found.table("slices"), found.table("days")
    if as_json:
        print_json({table.name: _plain(table) for table in (four, by, days, found.table("verdicts"))})
    else:
        _print(four, "Metrics", ("metric",), ("target_side", "target_permille", "standing"))
        if dimension:
            at = by.place("by")
            rows = [row for row in by.rows if row[at] == dimension]
            _print(by, f"By {dimension}", ("value", "metric"), (), rows)
        _print_days(days)
    missed = any(row[four.place("standing")] == "missed" for row in four.rows)
    warned = any(row[days.place("warning")] for row in days.rows)
    return 1 if missed or warned else 0


share_option = click.option(
    "--share",
    type=click.IntRange(1, 1000),
    default=200,
    show_default=True,
    help="Per mille of tasks to sample.",
)
seed_option = click.option("--seed", default="canary", show_default=True, help="Draws the same sample again.")
day_type = click.DateTime(["%Y-%m-%d"])
begin_option = click.option(
    "--since", type=day_type, required=True, help="First day of the canary period, UTC."
)
end_option = click.option("--until", type=day_type, required=True, help="Day after its last one, UTC.")


@metrics.command("canary", epilog="Example: proofreel metrics canary --since 2026-11-01 --until 2026-11-15")
@begin_option
@end_option
@share_option
@seed_option
@config_option
@store_options
@tenant_option
@json_option
def canary(
    since: datetime,
    until: datetime,
    share: int,
    seed: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Propose targets out of a sample of the period's tasks. Nothing is recorded.

    Exits 1 when a metric has too few events to propose anything.
    """
    data = _data(config_path, store, blobs, tenant)
    found = _proposals(data, since, until, share, seed)
    if as_json:
        print_json(found)
    else:
        _print_proposals(found)
    return 1 if any(one.proposed_permille is None for one in found.proposals) else 0


@metrics.command(
    "accept",
    epilog="Example: proofreel metrics accept completion --since 2026-11-01 --until 2026-11-15 --as person:li.na",
)
@click.argument("metric", type=click.Choice(METRICS))
@begin_option
@end_option
@share_option
@seed_option
@click.option("--target", type=click.IntRange(0, 1000), help="Per mille; the proposed one by default.")
@person_option
@note_option
@config_option
@store_options
@json_option
def accept(
    metric: str,
    since: datetime,
    until: datetime,
    share: int,
    seed: str,
    target: int | None,
    person: str,
    note: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Accept a target on the ground of a sample; it holds from then on, and who accepted it is on record."""
    from executor.runtime.system import SystemClock, SystemIds
    from executor.store.log import open_record
    from executor.targets import accept_target
    from projections.canary import acceptance

    config = configured(config_path)
    who = config.person(person)
    tenant = TenantId(config.tenant)
    found = _proposals(_data(config_path, store, blobs, tenant), since, until, share, seed)
    name = cast("TargetMetric", metric)
    fact = acceptance(found, name, by=who.principal, target_permille=target, note=note)
    with open_record(places(store, blobs or "unused", config_path).store) as log:
        accept_target(log, fact, ids=SystemIds(), clock=SystemClock(), tenant=tenant, person=who)
    if as_json:
        print_json(fact)
    else:
        side = fact.direction.replace("_", " ")
        click.echo(f"{metric}: {side} {fact.target_permille / 10:.1f} %, accepted by {who.principal}")
    return 0


def _data(config_path: Path, store: str | None, blobs: str | None, tenant: str | None) -> TenantData:
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        return tenant_data(reader, None, known, month=None, check=False)


def _proposals(data: TenantData, since: datetime, until: datetime, share: int, seed: str) -> Proposals:
    from projections.canary import Canary, propose

    period = Canary(since_us=micros(since), until_us=micros(until), share_permille=share, seed=seed)
    return propose(data.tallies, period, through_position=data.events)


def _print_proposals(found: Proposals) -> None:
    rows = []
    for one in found.proposals:
        rate, goal = one.sample.rate, one.proposed_permille
        interval = "" if rate is None else f"{rate.low_permille / 10:.1f} to {rate.high_permille / 10:.1f} %"
        proposed = "" if goal is None else f"{one.direction.replace('_', ' ')} {goal / 10:.1f} %"
        counts = f"{len(one.sample.numerator)} / {len(one.sample.denominator)}"
        rows.append((one.metric, counts, interval, proposed, one.note))
    title = f"{len(found.sampled)} of {found.eligible} tasks, up to event {found.through_position}"
    print_table(title, ("metric", "sample", "interval", "proposed", "note"), rows)


def _plain(table: Table) -> list[dict[str, object]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _print(
    table: Table,
    title: str,
    before: Sequence[str],
    after: Sequence[str],
    rows: Sequence[Sequence[Cell]] | None = None,
) -> None:
    """Rows of metrics: counts and interval in one cell each, so that a line fits a terminal."""
    from projections.exports.report.tables import shown

    lines = []
    for row in table.rows if rows is None else rows:

        def cell(name: str, row: Sequence[Cell] = row) -> str:
            return shown(table, row, table.place(name))

        rate = f"{cell('rate_permille')} ({cell('low_permille')} to {cell('high_permille')})"
        lines.append(
            (
                *map(cell, before),
                f"{cell('hits')} / {cell('trials')}",
                cell("note") or rate,
                cell("undecided"),
                *map(cell, after),
            )
        )
    heads = (*before, "events", "rate (95 % interval)", "undecided", *after)
    print_table(title, [head.removesuffix("_permille").replace("_", " ") for head in heads], lines)


def _print_days(days: Table) -> None:
    from projections.exports.report.tables import shown

    names = ("day", "ok", "steps", "rate_permille", "warning", "ui_changes", "note")
    cells = [[shown(days, row, days.place(name)) for name in names] for row in days.rows]
    print_table("Days", [days.columns[days.place(name)].title for name in names], cells)
