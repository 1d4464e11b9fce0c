"""``proofreel drill``: can everything that is done be undone? Tried out, not assumed.

The record of a drill lives as long as the drill: its claims must not stand in the way of the next one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import click

from domain.errors import ConfigError
from domain.ids import RunId
from domain.policy import RungName
from executor.cli.common import json_option, print_json, print_table, progress_bar
from executor.config import Config, load_config
from executor.drill import Drilled, Exercise, drill
from executor.orders import load_batch
from executor.wiring import Target, Workshop, open_target

RUNGS: tuple[RungName, ...] = ("api", "browser")
"""Rungs that our own sandbox is drilled on when none is named."""


@click.command(
    "drill",
    epilog="Examples: proofreel drill --json; proofreel drill drill.yaml --config sandbox.yaml --rung api",
)
@click.argument(
    "batch_path", metavar="[BATCH]", required=False, type=click.Path(path_type=Path, dir_okay=False)
)
@click.option(
    "-c",
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A target marked 'sandbox: true'; BATCH has an order for each action. Otherwise: a portal of our own.",
)
@click.option(
    "--rung",
    "named",
    multiple=True,
    type=click.Choice(["api", "mcp", "browser"]),
    help="Only these rungs.",
)
@click.option(
    "--lang",
    type=click.Choice(["zh", "en", "ja", "ko"]),
    default="zh",
    show_default=True,
    help="Language of our own portal.",
)
@json_option
def drill_command(
    batch_path: Path | None,
    config_path: Path | None,
    named: tuple[str, ...],
    lang: str,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Execute and undo every registered action on a sandbox. Exits 1 when any state isn't as before."""
    rungs = cast("tuple[RungName, ...]", named)
    with tempfile.TemporaryDirectory(prefix="drill-") as name, ExitStack() as stack:
        folder = Path(name)
        if config_path is None and batch_path is None:
            results = _own_sandbox(stack, folder, rungs or RUNGS, lang)
        elif config_path is not None and batch_path is not None:
            results = _configured(stack, folder, rungs, config_path, batch_path)
        else:
            raise ConfigError(
                "a drill on a target of your own needs BATCH and --config", remedy="give both, or neither"
            )
    _report(results, as_json=as_json)
    return 0 if results and all(result.ok for result in results) else 1


def _own_sandbox(stack: ExitStack, folder: Path, rungs: Sequence[RungName], lang: str) -> list[Drilled]:
    from executor.sandbox.drill_ground import RUN_ID, drill_ground

    ground = stack.enter_context(drill_ground(folder, language=lang, rungs=rungs))
    config = load_config(ground.config)
    target = open_target(config, ground.config)
    starts = {name: action.precondition for name, action in target.recipe.actions.items()}
    exercises = ground.exercises(target.rules, starts, rungs)
    return _perform(stack, folder, target, exercises, RUN_ID)


def _configured(
    stack: ExitStack, folder: Path, rungs: Sequence[RungName], config_path: Path, batch_path: Path
) -> list[Drilled]:
    config = load_config(config_path)
    if not config.target.sandbox:
        raise ConfigError(
            f"target {config.target.name} isn't marked as a sandbox: a drill writes to it",
            file=str(config_path),
            remedy="set target.sandbox: true, if it really is one",
        )
    target = open_target(config, config_path)
    batch = load_batch(batch_path, dict(target.rules))
    rung = (rungs or config.tools.ladder)[0]
    exercises = [Exercise(order=order, rung=rung) for order in batch.orders]
    return _perform(stack, folder, target, exercises, batch.run_id)


def _perform(
    stack: ExitStack, folder: Path, target: Target, exercises: Sequence[Exercise], run_id: RunId
) -> list[Drilled]:
    config: Config = target.config
    people = [config.person(person.principal) for person in config.people]
    if not people:
        raise ConfigError("a drill needs a person who has it undone", remedy="add one under people")
    store, blobs = f"sqlite:///{folder / 'drill.db'}", str(folder / "blobs")
    workshop = stack.enter_context(Workshop(target, store=store, blobs=blobs))
    bar = stack.enter_context(progress_bar())
    line = bar.add_task("drill", total=len(exercises))
    told: Callable[[Exercise], None] = lambda next_one: bar.update(  # noqa: E731 - one expression
        line, description=f"{next_one.order.intent.action} by {next_one.rung}"
    )
    results = []
    for result in drill(workshop.kit(), workshop.hands, exercises, people=people, run_id=run_id, before=told):
        results.append(result)
        bar.advance(line)
    return results


def _report(results: Sequence[Drilled], *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": bool(results) and all(result.ok for result in results), "drilled": results})
        return
    print_table(
        "drill",
        ("action", "rung", "bill", "as before", "why", "stays"),
        [
            (
                result.action,
                result.rung,
                result.bill_id,
                "yes" if result.ok else "NO",
                "; ".join(f"{name} {what}" for name, what in result.differences.items()) or result.reason,
                "; ".join(result.residual_effects),
            )
            for result in results
        ],
    )
