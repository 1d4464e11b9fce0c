"""Given some facts of a task, when a command comes, then these facts follow, or this rule forbids it.

``given(*facts).when(command).then(*facts)`` and ``given(*facts).when(command).refused("rule")``. Several commands are
decided one after the other, each on the state that the ones before left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from domain import commands as c
from domain import events as e
from domain.errors import CommandRefused
from domain.task import TaskState, decide, evolve, fold


@dataclass(frozen=True, slots=True)
class When:
    """Commands about to be decided."""

    state: TaskState
    commands: tuple[c.Command, ...]

    def decided(self) -> tuple[TaskState, tuple[e.Event, ...]]:
        """State and facts after all commands."""
        state, facts = self.state, []
        for command in self.commands:
            for fact in decide(command, state):
                facts.append(fact)
                state = evolve(state, fact)
        return state, tuple(facts)

    def then(self, *facts: e.Event) -> TaskState:
        """Exactly these facts follow; returns the state after them."""
        state, decided = self.decided()
        assert decided == facts
        return state

    def accepted(self) -> TaskState:
        """The commands' own facts are recorded; returns the state after them."""
        return self.decided()[0]

    def refused(self, rule: str) -> None:
        """The last command is forbidden by ``rule``; the ones before it are not."""
        state, _ = When(self.state, self.commands[:-1]).decided()
        with pytest.raises(CommandRefused) as refusal:
            decide(self.commands[-1], state)
        assert refusal.value.rule == rule


@dataclass(frozen=True, slots=True)
class Given:
    """A task with a past."""

    state: TaskState

    def when(self, *commands: c.Command) -> When:
        """Ask for something."""
        return When(self.state, commands)


def given(*facts: e.Event | Iterable[e.Event]) -> Given:
    """A task whose stream holds these facts; groups of facts may stand among them."""
    past: list[e.Event] = []
    for fact in facts:
        if isinstance(fact, Iterable):
            past.extend(fact)
        else:
            past.append(fact)
    return Given(fold(past))
