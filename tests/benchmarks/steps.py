"""What a guarded, recorded step costs, beside the published guard and beside plain Playwright, on the same page.

Five ways through the same clicks, dealt anew each round, in turns, so that other work on the machine blurs all of them
alike; where there is much of it, the quickest round says more than the median. There are two courses: the shortest
(the button and the answer, on a bill's own page), where nothing can be shared between steps, and a whole task as the
shipped recipe has it after the search (the bill in the list, the button, the answer). Waiting
for the page to settle is left out of the milliseconds everywhere; what is written to disk (frames, and for ours the
synced events) is counted everywhere. CPU is that of every process that takes part (executor, driver, browser, portal),
with opening the page and waiting: what a way takes beyond the bare clicks is its own. Aims: at most 0.6 of the
published guard, at most two screenshots around the click, and no more bytes than a Playwright trace with screenshots
and snapshots.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from playwright.sync_api import BrowserContext, Page

from domain import commands as c
from domain import events as e
from domain.idempotency import effect_key
from domain.ids import RunId, task_stream
from domain.values import Check
from executor.cli.gauntlet_command import open_field
from executor.findings import PASS
from executor.orders import derived_id
from executor.recipe import ActionSection
from executor.runtime.jobs import Job
from executor.runtime.steps import StepRunner
from executor.runtime.streams import TaskStream
from executor.sandbox.gauntlet.arena import Arena, Deal
from executor.sandbox.gauntlet.arms import QUIET_MS, PublishedLoop
from executor.sandbox.gauntlet.course import ACTIONS, Course, CourseStep, course_of
from executor.sandbox.gauntlet.ours import OurLoop, ThinkingHands, order_of
from executor.sandbox.gauntlet.scenario import find
from executor.sandbox.gauntlet.trials import Field
from executor.tools.base import Look

ROUNDS = 12
AIM_PUBLISHED = 0.6


class NoFaults:
    """A pace without thinking and without faults."""

    think_ms = 0

    @property
    def striker(self) -> NoFaults:
        """Itself: there is nothing to strike with."""
        return self

    def at_step(self, number: int) -> None:
        """Nothing happens."""


@dataclass(slots=True)
class Way:
    """Milliseconds and bytes of each step of one way."""

    name: str
    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    octets: list[float] = field(default_factory=list)

    def add(self, ms: float, octets: float, cpu_ms: float, *, steps: int) -> None:
        """One round: all of its steps."""
        self.ms.append(ms / steps)
        self.cpu_ms.append(cpu_ms / steps)
        self.octets.append(octets / steps)


class Bench:
    """The page, and the five ways through one course."""

    def __init__(self, stage: Field, folder: Path, *, whole: bool) -> None:
        self.whole = whole
        self.stage = stage
        self.arena: Arena = stage.arena
        self.folder = folder
        published, ours = stage.loops["published"], stage.loops["ours"]
        assert isinstance(published, PublishedLoop)
        assert isinstance(ours, OurLoop)
        self.published, self.ours = published, ours
        self.context: BrowserContext = published.page.context
        self.names = itertools.count()

    def course(self, deal: Deal) -> Course:
        """The clicks."""
        short = course_of(deal.scenario.course, deal.bill.id, self.stage.recipe, self.stage.language)
        if not self.whole:
            return short
        labels = self.stage.recipe.labels[self.stage.language]
        clicks = [
            CourseStep(
                selector=section.selectors[0].format(bill_id=deal.bill.id), label=labels[section.label]
            )
            for section in self.action(deal).steps
            if section.do is not None
        ]
        return Course(start="/bills", steps=tuple(clicks))

    def action(self, deal: Deal) -> ActionSection:
        """The same clicks, as our own loop takes them from a recipe."""
        recipe = self.stage.recipe
        if not self.whole:
            return recipe.actions[ACTIONS[deal.scenario.course]]
        usual = recipe.actions["mark_processed"]
        return msgspec.structs.replace(usual, steps=[usual.steps[0], *usual.steps[-3:]])

    def run_published(self, deal: Deal) -> tuple[float, float]:
        """The published guard."""
        self.published.log_in()
        said = self.published.run(self.course(deal), NoFaults())  # type: ignore[arg-type]
        self.published.rest()
        assert said.done, said.note
        return said.step_ms, said.kept_bytes

    def run_plain(self, deal: Deal, *, around: Callable[[Page], None]) -> float:
        """Locator clicks with something before and after each; its time."""
        self.published.log_in()
        page, spent = self.published.page, 0.0
        course = self.course(deal)
        page.goto(self.arena.portal.url + course.start)
        for step in course.steps:
            found = page.locator(step.selector)
            found.wait_for(state="visible")
            began = time.perf_counter()
            around(page)
            found.click()
            spent += time.perf_counter() - began
            page.wait_for_timeout(QUIET_MS)
            began = time.perf_counter()
            around(page)
            spent += time.perf_counter() - began
        page.locator("#toast.ok").wait_for()
        self.published.rest()
        return spent * 1000

    def run_bare(self, deal: Deal) -> tuple[float, float]:
        """Nothing around the clicks."""
        return self.run_plain(deal, around=lambda _: None), 0

    def run_screenshots(self, deal: Deal) -> tuple[float, float]:
        """A screenshot before and after, kept as a file."""
        paths: list[Path] = []

        def shoot(page: Page) -> None:
            paths.append(self.folder / f"{next(self.names)}.png")
            page.screenshot(path=paths[-1])

        spent = self.run_plain(deal, around=shoot)
        return spent, sum(path.stat().st_size for path in paths)

    def run_traced(self, deal: Deal) -> tuple[float, float]:
        """Playwright's own trace with screenshots and snapshots."""
        path = self.folder / f"{next(self.names)}.zip"
        self.context.tracing.start(screenshots=True, snapshots=True)
        spent = self.run_plain(deal, around=lambda _: None)
        self.context.tracing.stop(path=path)
        return spent, path.stat().st_size

    def run_ours(self, deal: Deal) -> tuple[float, float]:
        """Guarded and recorded: all of the step, with its durable events and frames."""
        means = self.ours.means
        kit, before = means.kit, means.kept_bytes()
        order = order_of(deal, kit)
        stream = TaskStream(
            kit.log,
            ids=kit.ids,
            clock=kit.clock,
            tenant=kit.tenant,
            task_id=order.task_id,
            run_id=RunId(derived_id("run", "steps")),
            principal=kit.identity.principal,
            correlation_id=f"bill:{order.intent.bill_id}",
        )
        key = effect_key(kit.tenant, order.intent)
        opened = e.TaskOpened(
            intent=order.intent,
            effect_key=key,
            requested_by=kit.identity.principal,
            reference=order.reference,
        )
        stream.submit(c.Open(opened))
        stream.submit(c.Claim(e.TaskClaimed(effect_key=key)), claim=key)
        snapshot = kit.readbacks[0].read(order.intent.bill_id)
        action = self.action(deal)

        def gate(_proposed: e.ActionProposed, _look: Look | None) -> Check:
            registered = e.CompensationRegistered(action=action.compensation, snapshot=snapshot, source="api")
            stream.stage(c.RegisterCompensation(registered))
            return PASS

        hands = ThinkingHands(means.hands(), NoFaults(), lambda _: None)  # type: ignore[arg-type]
        job = Job(
            stream=stream,
            intent=order.intent,
            action=action,
            key=key,
            rule=kit.recipe.request_rule(snapshot.extra),
            irreversible=False,
            gate=gate,
        )
        began = time.perf_counter()
        ended = StepRunner(kit, hands).run(job)
        spent = (time.perf_counter() - began) * 1000 - hands.waited_ms
        assert ended.how == "done", ended
        rows = sum(len(one.row.body) for one in kit.log.stream(kit.tenant, task_stream(order.task_id)))
        return spent, means.kept_bytes() - before + rows


def cpu_ms() -> float:
    """Processor time so far of this process and of everything that it started (Linux)."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))  # own and of children that have ended
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(ticks.get(pid, 0) for pid in own) * 1000 / os.sysconf("SC_CLK_TCK")


def measure(rounds: int, *, whole: bool) -> list[Way]:
    """All ways through one course, in turns."""
    names = ("bare clicks", "published guard", "two screenshots", "traced", "guarded and recorded")
    ways = [Way(name) for name in names]
    with (
        tempfile.TemporaryDirectory() as name,
        open_field(["published", "ours"], think_ms=0, language="zh") as stage,
    ):
        bench = Bench(stage, Path(name), whole=whole)
        runs = (bench.run_bare, bench.run_published, bench.run_screenshots, bench.run_traced, bench.run_ours)
        for number in range(rounds + 1):
            for way, run in zip(ways, runs, strict=True):
                deal = bench.arena.deal(find("quiet"), 1000 * len(way.name) + number)
                before = cpu_ms()
                result = run(deal)
                if number:  # the first round warms everything up
                    way.add(*result, cpu_ms() - before, steps=len(bench.course(deal).steps))
    return ways


def main(rounds: int = ROUNDS) -> None:
    """Measure and print a table for each course."""
    for whole, course in ((False, "the shortest course, two clicks"), (True, "a whole task, three clicks")):
        print(f"{course}, {rounds} rounds; load {os.getloadavg()[0]:.0f}")
        show(measure(rounds, whole=whole))


def show(ways: list[Way]) -> None:
    """Print one table: a step of each way, and ours against it."""
    ours, bare = ways[-1], statistics.median(ways[0].cpu_ms)
    own = statistics.median(ours.cpu_ms) - bare
    print(
        "                          ms: median  quickest   CPU   kB kept   ours / this: median  quickest  own CPU  bytes"
    )
    for way in ways:
        ms, best, octets = statistics.median(way.ms), min(way.ms), statistics.median(way.octets)
        cpu = statistics.median(way.cpu_ms)
        costs = f"{ms:14.0f} {best:9.0f} {cpu:5.0f} {octets / 1000:9.0f}"
        ratios = f"{statistics.median(ours.ms) / ms:20.2f} {min(ours.ms) / best:9.2f}"
        beyond = f"{own / (cpu - bare):8.2f}" if cpu > bare else f"{'–':>8}"
        kept = f"{statistics.median(ours.octets) / octets:6.2f}" if octets else f"{'–':>6}"
        print(f"  {way.name:<22}{costs} {ratios} {beyond} {kept}")
    print(
        f"  aims: at most {AIM_PUBLISHED} of the published guard, 1.00 of two screenshots, 1.00 of the trace's bytes"
    )


if __name__ == "__main__":
    main()
