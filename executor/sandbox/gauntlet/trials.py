"""Runs trials in order and keeps their results, one line each, so that a stopped run goes on where it was.

Rules: seeds come outermost, so that a part of a run already covers every scenario; a line counts only for the plan
(scenario, pause) that it was made under; nothing is kept of a trial that was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from executor.recipe import Recipe
from executor.sandbox.gauntlet.arena import Arena, Deal, Striker
from executor.sandbox.gauntlet.arms import ArmName, Loop
from executor.sandbox.gauntlet.course import course_of
from executor.sandbox.gauntlet.ours import OurLoop
from executor.sandbox.gauntlet.scenario import Scenario
from executor.sandbox.gauntlet.verdicts import Rollback, Trial, ending_of, look_up, restored

ROLLED_BACK = frozenset({"quiet", "quiet-on-list", "late-posting"})
"""Scenarios whose effect is undone afterwards though it is right; wrong ones are always undone."""


@dataclass(slots=True)
class Run:
    """How one trial runs; see ``Pace``."""

    striker: Striker
    think_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Everything that trials run on."""

    arena: Arena
    recipe: Recipe
    language: str
    loops: dict[ArmName, Loop | OurLoop]


def plan_of(scenario: Scenario, think_ms: int) -> str:
    """Digest of what a result depends on, beside arm and seed."""
    text = json.dumps([msgspec.to_builtins(scenario), think_ms], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_trial(field: Field, arm: ArmName, scenario: Scenario, number: int) -> Trial:
    """Run one loop once through one scenario."""
    arena = field.arena
    deal = arena.deal(scenario, number)
    striker = Striker(arena, deal)
    striker.before()
    pace = Run(striker, arena.think_ms)
    loop = field.loops[arm]
    rollback: Rollback = ""
    if isinstance(loop, OurLoop):
        said = loop.run(arena, deal, pace)
    else:
        loop.log_in()
        said = loop.run(course_of(scenario.course, deal.bill.id, field.recipe, field.language), pace)
        loop.rest()
        striker.finish()
        arena.wait_for_jobs()
    truth = look_up(arena, deal)
    ending = ending_of(said, truth)
    if isinstance(loop, OurLoop):
        if truth.touched and (ending == "told" or scenario.name in ROLLED_BACK):
            rollback = _rolled_back(loop, arena, deal)
        loop.rest()
    return Trial(
        plan=plan_of(scenario, arena.think_ms),
        arm=arm,
        scenario=scenario.name,
        seed=number,
        ending=ending,
        wrong_effects=truth.wrong_effects,
        differs=truth.differs,
        stops=said.stops,
        steps=said.steps,
        step_ms=round(said.step_ms, 1),
        kept_bytes=said.kept_bytes,
        posts=truth.posts,
        rollback=rollback,
        note=said.note,
    )


def _rolled_back(loop: OurLoop, arena: Arena, deal: Deal) -> Rollback:
    arena.portal.control.reset()
    claimed = loop.roll_back(deal)
    if claimed is None:
        return ""
    if restored(arena, deal):
        return "restored"
    return "failed_silently" if claimed else "failed_and_said"


class Results:
    """A file of results, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[Trial]:
        """The results so far; a line that an interruption cut off is left out."""
        if not self._path.exists():
            return []
        trials = []
        for line in self._path.read_bytes().splitlines():
            try:
                trials.append(msgspec.json.decode(line, type=Trial))
            except msgspec.DecodeError:
                continue
        return trials

    def add(self, trial: Trial) -> None:
        """Append one, on a line of its own even after a line that an interruption cut off."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab+") as file:
            if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                file.write(b"\n")
            file.write(msgspec.json.encode(trial) + b"\n")


def wanted(
    scenarios: Sequence[Scenario], arms: Sequence[ArmName], seeds: Sequence[int]
) -> Iterator[tuple[int, ArmName, Scenario]]:
    """All trials of a run: whole rounds, and within one the loops take turns, so that all meet the same machine."""
    for number in seeds:
        for scenario in scenarios:
            for arm in arms:
                yield number, arm, scenario
