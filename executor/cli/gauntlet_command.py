"""``proofreel gauntlet``: faults on the sandbox's portal, against loops with and without guards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from zoneinfo import ZoneInfo

import click

from domain.errors import ConfigError
from executor.cli.common import json_option, print_json, progress_bar

if TYPE_CHECKING:
    from executor.config import Config
    from executor.sandbox.gauntlet.arms import ArmName
    from executor.sandbox.gauntlet.ours import Means
    from executor.sandbox.gauntlet.scenario import Scenario
    from executor.sandbox.gauntlet.summary import ArmSummary
    from executor.sandbox.gauntlet.trials import Field
    from executor.sandbox.gauntlet.verdicts import Trial
    from executor.sandbox.gauntlet.workers import Job
    from executor.wiring import Workshop

DEADLINE_MS = 2_500
"""How long our loop waits for a late posting; longer than any that the scenarios make."""


@click.command(
    epilog="Examples: proofreel gauntlet --seeds 1; proofreel gauntlet --scenario glass-pane --arms published,ours"
)
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Seeds 1 to N.")
@click.option("--scenario", "names", multiple=True, help="Only this scenario; can be given again.")
@click.option("--arms", default="none,published,locator,ours", show_default=True, help="Loops to compare.")
@click.option(
    "--think-ms",
    type=click.IntRange(min=0),
    default=350,
    show_default=True,
    help="How long each loop's model thinks.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that share the trials; each has its own portal and browser.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("gauntlet.jsonl"),
    show_default=True,
    help="Every trial is added here; trials that it has are not run again.",
)
@click.option(
    "--lang",
    type=click.Choice(["zh", "en", "ja", "ko"]),
    default="zh",
    show_default=True,
    help="Language of the portal.",
)
@json_option
def gauntlet(
    seeds: int,
    names: tuple[str, ...],
    arms: str,
    think_ms: int,
    workers: int,
    results: Path,
    lang: str,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Run faults of a vendor's pages and books against four loops, and count what came of it.

    The truth is the vendor's own book. Exits 1 when our own loop let something wrong through, failed silently, or
    stopped where nothing was wrong.
    """
    from executor.sandbox.gauntlet.scenario import catalogue, find
    from executor.sandbox.gauntlet.summary import summarise
    from executor.sandbox.gauntlet.trials import Results

    try:
        scenarios = [find(name) for name in names] if names else list(catalogue())
    except LookupError as error:
        known = ", ".join(one.name for one in catalogue())
        raise ConfigError(f"there is no scenario {error}", remedy=f"use one of {known}") from None
    chosen = _arms(arms)
    trials = run_gauntlet(
        Results(results),
        scenarios,
        chosen,
        range(1, seeds + 1),
        think_ms=think_ms,
        language=lang,
        workers=workers,
    )
    by_name = {scenario.name: scenario for scenario in scenarios}
    summaries = [summarise(arm, trials, by_name) for arm in chosen]
    if as_json:
        print_json({"arms": summaries, "trials": trials})
    else:
        show(summaries, trials, scenarios)
    ours = next((one for one in summaries if one.arm == "ours"), None)
    return 1 if ours is not None and not is_clean(ours) else 0


def _arms(text: str) -> list[ArmName]:
    from executor.sandbox.gauntlet.arms import ARMS

    asked = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in asked if name not in ARMS]
    if unknown or not asked:
        raise ConfigError(f"there is no loop {', '.join(unknown)!r}", remedy=f"use {', '.join(ARMS)}")
    return cast("list[ArmName]", asked)


def is_clean(ours: ArmSummary) -> bool:
    """Nothing visible got through, nothing failed in silence, and no control was stopped."""
    return not (
        ours.wrong_but_visible.hits
        or ours.silent_failures.hits
        or ours.false_stops.hits
        or ours.rollback_silent
    )


def run_gauntlet(
    results: object,
    scenarios: Sequence[Scenario],
    arms: Sequence[ArmName],
    seeds: Sequence[int],
    *,
    think_ms: int,
    language: str,
    workers: int = 1,
) -> list[Trial]:
    """Run what the results don't have yet; all trials of this plan, old and new."""
    from executor.sandbox.gauntlet.trials import Results, plan_of, wanted
    from executor.sandbox.gauntlet.workers import run_shared

    assert isinstance(results, Results)  # noqa: S101 - imported late, so that --help does not load a browser
    plans = {scenario.name: plan_of(scenario, think_ms) for scenario in scenarios}

    def fitting() -> list[Trial]:
        return [
            trial
            for trial in results.load()
            if trial.plan == plans.get(trial.scenario) and trial.arm in arms and trial.seed in seeds
        ]

    done = {(trial.arm, trial.scenario, trial.seed) for trial in fitting()}
    plan = list(wanted(scenarios, arms, seeds))
    jobs = [job for job in plan if (job[1], job[2].name, job[0]) not in done]
    if jobs:
        opened = partial(open_runner, arms, think_ms=think_ms, language=language)
        with (
            progress_bar() as bar,
            closing(run_shared(opened, jobs, workers=min(workers, len(jobs)))) as news,
        ):
            line = bar.add_task("gauntlet", total=len(plan), completed=len(plan) - len(jobs))
            for trial in news:
                results.add(trial)
                said = f"{trial.arm} {trial.scenario} seed {trial.seed}: {trial.ending}"
                bar.update(line, advance=1, description=said)
    return fitting()


@contextmanager
def open_runner(arms: Sequence[ArmName], *, think_ms: int, language: str) -> Iterator[Callable[[Job], Trial]]:
    """What a worker runs its trials with."""
    from executor.sandbox.gauntlet.trials import run_trial

    with open_field(arms, think_ms=think_ms, language=language) as field:
        yield lambda job: run_trial(field, job[1], job[2], job[0])


@contextmanager
def open_field(arms: Sequence[ArmName], *, think_ms: int, language: str) -> Iterator[Field]:
    """A portal, a browser, and the loops, in a folder that goes away afterwards."""
    from executor.config import Secret
    from executor.recipe import load_recipe
    from executor.sandbox.gauntlet.arena import COUNTS, Arena
    from executor.sandbox.gauntlet.arms import LOOPS, Loop
    from executor.sandbox.gauntlet.course import with_courses
    from executor.sandbox.gauntlet.ours import OurLoop
    from executor.sandbox.gauntlet.trials import Field
    from executor.sandbox.portal.server import PortalServer
    from executor.wiring import LOCALES, Target, Workshop

    recipe = with_courses(load_recipe("vendor-portal"))
    with (
        tempfile.TemporaryDirectory(prefix="gauntlet-") as name,
        PortalServer(Path(name, "portal.db"), counts=COUNTS, lang=language) as portal,
    ):
        folder = Path(name)
        config = configuration(portal.url, language)
        target = Target(
            config=config,
            recipe=recipe,
            rules=recipe.rules(),
            write_rules=(),
            zone=ZoneInfo("UTC"),
            service_secret=Secret(portal.accounts[config.target.service.account].password),
            readback_secret=Secret(portal.accounts[config.target.readback.account].password),
        )
        store, blobs = f"sqlite:///{folder / 'record.db'}", str(folder / "blobs")
        with Workshop(target, store=store, blobs=blobs) as workshop:
            arena = Arena(portal, think_ms=think_ms)
            loops: dict[ArmName, Loop | OurLoop] = {}
            for arm in arms:
                if arm == "ours":
                    loops[arm] = OurLoop(means_of(workshop, folder))
                    continue
                context = workshop.browser().new_context(
                    viewport={"width": 1280, "height": 800}, locale=LOCALES[language]
                )
                password = portal.accounts[config.target.service.account].password
                loops[arm] = LOOPS[arm](context, portal.url, password)
            try:
                yield Field(arena=arena, recipe=recipe, language=language, loops=loops)
            finally:
                arena.close()


def configuration(origin: str, language: str) -> Config:
    """What an executor of the sandbox's tenant is configured with."""
    from executor.config import AccountSection, Config, IdentitySection, PolicySection, TargetSection
    from executor.sandbox.gauntlet.course import ACTIONS

    return Config(
        tenant="acme",
        identity=IdentitySection(
            principal="svc:gauntlet", tenants=["acme"], actions=[*ACTIONS.values(), "undo"]
        ),
        target=TargetSection(
            name="vendor portal (sandbox)",
            origin=origin,
            recipe="vendor-portal",
            language=language,
            service=AccountSection(account="svc-acme", secret_env="PROOFREEL_GAUNTLET"),  # noqa: S106 - a name
            readback=AccountSection(account="readback-acme", secret_env="PROOFREEL_GAUNTLET"),  # noqa: S106
        ),
        write_policy=PolicySection(readback_sources=("api", "detail"), readback_deadline_ms=DEADLINE_MS),
    )


def means_of(workshop: Workshop, folder: Path) -> Means:
    """What our loop is given."""
    from executor.sandbox.gauntlet.ours import Means
    from executor.tools.browser_hands import BrowserHands

    kit = workshop.kit()

    def hands() -> BrowserHands:
        current = workshop.hands()
        if current.tool.probe().status != 200:  # noqa: PLR2004 - HTTP OK; ended by an earlier trial
            workshop.drop_hands()
            current = workshop.hands()
        return current

    def pause(milliseconds: float) -> None:
        workshop.hands().tool.page.wait_for_timeout(milliseconds)

    def rest() -> None:
        workshop.hands().tool.page.goto("about:blank")
        shutil.rmtree(folder / "blobs", ignore_errors=True)

    return Means(
        kit=kit,
        hands=hands,
        pause=pause,
        kept_bytes=lambda: sum(
            file.stat().st_size for file in (folder / "blobs").rglob("*") if file.is_file()
        ),
        rest=rest,
    )


def show(summaries: Sequence[ArmSummary], trials: Sequence[Trial], scenarios: Sequence[Scenario]) -> None:
    """Two tables: the loops, and the scenarios."""
    from executor.sandbox.gauntlet.summary import confusion

    lines = [
        ("trials", [str(one.trials) for one in summaries]),
        ("wrong effects", [one.wrong_effects.text() for one in summaries]),
        ("of those, visible before", [one.wrong_but_visible.text() for one in summaries]),
        ("nothing wrong sent, of faults in form or request", [one.nothing_sent.text() for one in summaries]),
        ("silent failures", [one.silent_failures.text() for one in summaries]),
        ("false stops on controls", [one.false_stops.text() for one in summaries]),
        ("completion of controls", [one.benign_completion.text() for one in summaries]),
        ("completion of all", [one.completion.text() for one in summaries]),
        ("handed to a person", [one.takeover.text() for one in summaries]),
        ("rolled back", [one.rollback.text() for one in summaries]),
        ("a step, ms (median)", [f"{one.step_ms:.0f}" for one in summaries]),
        ("a step, bytes kept (median)", [f"{one.step_bytes:,.0f}" for one in summaries]),
    ]
    arms = [one.arm for one in summaries]
    _columns("the loops, with 95 % intervals", ("", *arms), [(name, *cells) for name, cells in lines])
    rows = [(name, shown, *cells) for name, shown, *cells in confusion(trials, scenarios, arms)]
    _columns("how the trials ended", ("scenario", "shown by", *arms), rows)
    click.echo(
        "done: said and true; stopped: nothing happened, and said so; told: not well, and said so;\n"
        "SILENT: said done and is not; WRONG: the loop itself sent something wrong"
    )


def _columns(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Plain columns as wide as what they hold: a table that is fitted to a terminal would drop some."""
    widths = [max(len(row[number]) for row in (heads, *rows)) for number in range(len(heads))]
    click.echo(title)
    for row in (heads, *rows):
        click.echo(
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    click.echo()
