"""When a model's run has reached its goal: asked before and after each action, of somebody else than the screen (C4).

Rules: the model's word and the page's banner are no answer; what was there before the run began does not count; a
source that can't be read now has not said yes.
"""

from __future__ import annotations

from typing import Protocol

from domain.errors import WorldError
from domain.values import Check, Intent
from executor.readback import Readback
from executor.receivers.base import Expected, Finding, Receiver, Record, as_check, judge, wait_for


class Goal(Protocol):
    """Says whether the effect is there."""

    def begin(self) -> None:
        """Remember how things are before the run; ``WorldError`` when that can't be known."""
        ...

    def reached(self) -> bool:
        """Is the effect there now?"""
        ...

    def settle(self, deadline_s: float) -> Check:
        """Wait for the effect, as a finding for the record that stops nothing by itself."""
        ...


class ReceiverGoal:
    """Exactly one new, expected record at the receiver."""

    def __init__(self, receiver: Receiver, expected: Expected) -> None:
        self.receiver = receiver
        self.expected = expected
        self.before: tuple[Record, ...] = ()
        self.last = Finding(verdict="not_yet", new_records=0)

    def begin(self) -> None:
        """See ``Goal``."""
        self.before = self.receiver.records()

    def reached(self) -> bool:
        """See ``Goal``."""
        try:
            self.last = judge(self.before, self.receiver.records(), self.expected)
        except WorldError:
            return False
        return self.last.ok

    def settle(self, deadline_s: float) -> Check:
        """See ``Goal``."""
        self.last = wait_for(self.receiver, self.before, self.expected, deadline_s=deadline_s)
        return as_check(self.receiver, self.last)


class ReadbackGoal:
    """The bill has the intended status at an independent source."""

    def __init__(self, source: Readback, intent: Intent) -> None:
        self._source = source
        self._intent = intent

    def begin(self) -> None:
        """See ``Goal``."""

    def reached(self) -> bool:
        """See ``Goal``."""
        try:
            return self._source.read(self._intent.bill_id).status == self._intent.expected_status
        except WorldError:
            return False

    def settle(self, deadline_s: float) -> Check:
        """See ``Goal``; the readback that decides waits by itself."""
        del deadline_s
        there = self.reached()
        return Check(
            guard="receiver",
            verdict="pass" if there else "noop",
            decisive=False,
            expected=self._intent.expected_status,
            found=f"{self._source.source}: {'there' if there else 'not yet'}",
        )
