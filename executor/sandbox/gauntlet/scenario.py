"""What a scenario is: a course through the vendor's pages, the faults on it, and what could show them.

Rules: a scenario is data (``scenarios.yaml``, one line each); its seed decides the bill and the moment and nothing else
does; a benign scenario changes the screen and not what an action means.
"""

from __future__ import annotations

import functools
from importlib.resources import as_file, files
from typing import Literal

import msgspec

from executor.yaml_source import load_yaml

CourseName = Literal["list", "detail"]
Moment = Literal["before", "random", "pointer", "press", "post"]
"""``before``: on from the start; ``random``: at a seeded time between look and click; ``pointer`` and ``press``: in
the moment the pointer moves or presses; ``post``: when the form arrives at the server."""
ShownBy = Literal["screen", "document", "request", "readback", "second_readback", "nothing_wrong"]
"""The first thing that could tell: pixels; the document or form behind them; the request that leaves; only an
independent reader; only a later one; or nothing, because nothing is wrong."""
Doer = Literal["portal", "colleague", "colleague_elsewhere", "sessions"]

PREVENTABLE: frozenset[ShownBy] = frozenset({"screen", "document", "request"})
"""Faults that can be seen before anything is sent."""


class Blow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault: what, when, and at which step of the course."""

    fault: str = ""
    """Name in the portal's registry; empty where a person or the session store acts."""
    moment: Moment = "random"
    step: int = 0
    """Step of the course that it strikes at: 0 opens the question, 1 answers it."""
    params: dict[str, str | int | bool] = {}
    doer: Doer = "portal"
    """``colleague`` processes the same bill by hand, ``colleague_elsewhere`` another one; ``sessions`` ends them."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the catalogue."""

    name: str
    says: str
    """What happens, in a sentence."""
    course: CourseName
    blows: tuple[Blow, ...] = ()
    shown_by: ShownBy

    @property
    def benign(self) -> bool:
        """Nothing is wrong: every stop is a false one."""
        return self.shown_by == "nothing_wrong"

    @property
    def preventable(self) -> bool:
        """A guard can see it before anything is sent."""
        return self.shown_by in PREVENTABLE


class _Catalogue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    scenarios: tuple[Scenario, ...]


@functools.cache
def catalogue() -> tuple[Scenario, ...]:
    """All scenarios, in the order of the file."""
    with as_file(files("executor.sandbox.gauntlet") / "scenarios.yaml") as path:
        return load_yaml(path, _Catalogue).scenarios


def find(name: str) -> Scenario:
    """A scenario by name.

    Raises:
        LookupError: there is none.
    """
    for scenario in catalogue():
        if scenario.name == name:
            return scenario
    raise LookupError(name)
