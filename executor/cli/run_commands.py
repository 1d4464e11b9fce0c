"""``proofreel run``, ``recover`` and ``tasks``: work on bills, settle what a crash left, look at what became of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from domain.ids import TaskId, TenantId
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    one_tenant,
    places,
    print_json,
    print_table,
    progress_bar,
    store_options,
    tenant_option,
)
from executor.cli.model_command import ModelAsk, model_options, run_goal
from executor.orchestrator import Outcome
from executor.orders import Batch, WorkOrder, load_batch
from executor.runtime.batch import BatchResult, BatchRunner
from executor.runtime.recovery import open_orders
from executor.wiring import Workshop, open_target
from projections.fold import run_keys
from projections.reading import open_reader
from projections.views.task_states import TaskStates

GOOD = frozenset({"succeeded", "already_in_progress", "awaiting_approval", "compensated", "resolved"})
"""Statuses that need nobody's attention beyond what they say."""


@click.command(
    epilog="Examples: proofreel run november.yaml --json; "
    "proofreel run --goal 'mark the bill processed' --provider openai --bill CY202611-0007 --action mark_processed"
)
@click.argument(
    "batch_path", metavar="[BATCH]", required=False, type=click.Path(path_type=Path, dir_okay=False)
)
@model_options
@config_option
@store_options
@click.option("--no-second-look", is_flag=True, help="Skip the second, later readback at the end of the run.")
@json_option
def run(
    batch_path: Path | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    no_second_look: bool,  # noqa: FBT001 - click passes flags by name
    as_json: bool,  # noqa: FBT001
    **model: Any,  # noqa: ANN401 - the options of a model's run, made into a ``ModelAsk``
) -> int:
    """Work through a BATCH of orders, or let a model try to reach a --goal; guarded and recorded.

    A model's endpoint and key come from the environment: COMPUTER_RESPONSES_URL, COMPUTER_MODEL, COMPUTER_API_KEY
    (openai); ANTHROPIC_BASE_URL, ANTHROPIC_MODEL, ANTHROPIC_API_KEY; GEMINI_BASE_URL, GEMINI_MODEL, GEMINI_API_KEY.

    Run it again after a stop: attempts left open are read back, nothing is done twice, approved orders go on.
    Exits 1 when a task failed, was refused or was handed to a person.
    """
    ask = ModelAsk(**model)
    by_model = ask.check(batch_path)
    config = configured(config_path)
    target = open_target(config, config_path)
    where = places(store, blobs, config_path)
    batch = None if by_model or batch_path is None else load_batch(batch_path, dict(target.rules))
    with Workshop(target, store=where.store, blobs=where.blobs, own_model=batch is not None) as workshop:
        if batch is None:
            result = run_goal(workshop, ask, second_look=not no_second_look)
        else:
            result = run_batch(workshop, batch, second_look=not no_second_look)
    report(result, as_json=as_json)
    return 0 if all(outcome.status in GOOD for outcome in result.outcomes) else 1


def run_batch(
    workshop: Workshop,
    batch: Batch,
    *,
    second_look: bool = True,
    before: Callable[[WorkOrder], None] = lambda _: None,
) -> BatchResult:
    """Run a batch with progress on standard error; ``before`` is called ahead of each order."""
    runner = BatchRunner(workshop.kit(), batch, lambda: workshop.setting(batch.name), hands=workshop.hands)
    with progress_bar() as bar:
        line = bar.add_task(batch.name, total=len(batch.orders))

        def show(number: int, total: int, outcome: Outcome | None, order: WorkOrder) -> None:
            del total
            if outcome is None:
                before(order)
                bar.update(line, description=f"{order.intent.action} {order.intent.bill_id}")
                return
            if outcome.verdict in {"session_expired", "forbidden", "left_origin"}:
                workshop.drop_hands()
            bar.update(line, completed=number)

        lane = workshop.read_lane(workshop.http_session())
        return runner.run(lane=lane, progress=show, second_look=second_look)


def report(result: BatchResult, *, as_json: bool) -> None:
    """Outcomes of a run as a table or as JSON."""
    if as_json:
        print_json({"run_id": result.run_id, "counts": result.counts(), "outcomes": result.outcomes})
        return
    console = Console()
    console.print(f"[bold]run {result.run_id}[/]", highlight=False)
    for outcome in result.outcomes:
        console.print(in_one_line(outcome), highlight=False)


def in_one_line(outcome: Outcome) -> str:
    """An outcome for people, with rich's markup."""
    colour = "green" if outcome.status in GOOD else "yellow" if outcome.status == "taken_over" else "red"
    blocked = f", blocked {outcome.blocks}x and looked at again" if outcome.blocks else ""
    verdict = "" if outcome.verdict == "pass" else f" ({outcome.verdict.replace('_', ' ')})"
    why = f": {escape(outcome.reason)}" if outcome.reason else ""
    head = f"{outcome.bill_id} {outcome.action.replace('_', ' ')}"
    return f"  {head} [{colour}]{outcome.status.replace('_', ' ')}[/]{verdict}{blocked}{why}"


@click.command(epilog="Example: proofreel recover --config proofreel.yaml")
@config_option
@store_options
@json_option
def recover(
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Settle what a crash left open: attempts without an outcome are read back, never repeated."""
    config = configured(config_path)
    target = open_target(config, config_path)
    where = places(store, blobs, config_path)
    with Workshop(target, store=where.store, blobs=where.blobs) as workshop:
        kit = workshop.kit()
        tenant = TenantId(config.tenant)
        rows = run_keys(TaskStates(), open_reader(where.store).events(tenant))
        outcomes = open_orders(kit, [TaskId(row.task_id) for row in rows.values()], hands=workshop.hands)
    if as_json:
        print_json({"outcomes": outcomes})
    else:
        print_table(
            "settled by readback",
            ("bill", "action", "status", "why"),
            [(o.bill_id, o.action, o.status, o.reason) for o in outcomes],
        )
    return 0 if all(outcome.status in GOOD for outcome in outcomes) else 1


@click.command(epilog="Example: proofreel tasks --store sqlite:///proofreel.db --status taken_over")
@config_option
@store_options
@tenant_option
@click.option("--status", help="Only tasks in this state.")
@json_option
def tasks(
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    status: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """List tasks with their state, key and run."""
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        rows = [
            row
            for row in run_keys(TaskStates(), reader.events(known)).values()
            if status in {None, row.status}
        ]
    if as_json:
        print_json({"tenant": known, "tasks": rows})
    else:
        print_table(
            f"tasks of {known}",
            ("task", "bill", "action", "status", "principal", "run"),
            [(r.task_id, r.bill_id, r.action, r.status, r.principal, r.run_id) for r in rows],
        )
    return 0
