"""Mouse and keyboard on one page, every event through the target gate.

Rules: the gate is armed for the observed element, the input is given, the gate is switched off, and what it saw is
returned; text is inserted in one event, so that half of it can't land elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from playwright.sync_api import Page

from domain.errors import WorldError
from executor.guards.target_gate import ActionKind, TargetGate
from executor.tools.base import GateReport, Step, Target

PICK_UP_PX = 6
"""Movement that makes a press the beginning of a drag."""
DRAG_STEPS = 5


class Inputs:
    """Gives input to one page."""

    def __init__(self, page: Page, gate: TargetGate, *, enforce: bool) -> None:
        self.page = page
        self.gate = gate
        self.enforce = enforce

    def give(self, step: Step, target: Target, *, onto: Target | None = None) -> GateReport:
        """Do what the step says; ``onto`` is where a drag ends.

        Raises:
            WorldError: the field or list does not take the text.
        """
        if step.kind in {"click", "double_click"}:
            return self.click(target, times=2 if step.kind == "double_click" else 1)
        if step.kind == "drag":
            if onto is None:
                raise WorldError("there is nowhere to drag it to")
            return self.drag(target, onto)
        if step.kind == "fill":
            return self.fill(target, step.text)
        if step.kind == "select":
            return self.gate.choose(target, step.text, enforce=self.enforce)
        return self.press(target, step.text)

    def click(self, target: Target, *, times: int = 1) -> GateReport:
        """Click the target once or twice; each click of two meets the gate."""
        refused = self.gate.arm(target, enforce=self.enforce)
        if refused is not None:
            return refused
        report = GateReport()
        try:
            self.page.mouse.click(*self.gate.pointer(target), click_count=times)
        finally:
            report = self.gate.disarm()
        return report

    def drag(self, target: Target, onto: Target) -> GateReport:
        """Press the button on one element and let it go on another, both as they were observed.

        Where the second has changed meanwhile, it is put back where it came from.
        """
        here, there = self.gate.pointer(target), self.gate.pointer(onto)
        taken = self._with_gate(target, "mouse", lambda: self._pick_up(here))
        if taken.blocked and self.enforce:
            self._put_back(target, here)
            return taken
        dropped = self._with_gate(onto, "drop", lambda: self._let_go(there))
        if dropped.blocked and self.enforce:
            self._put_back(target, here)
        worst = dropped if dropped.blocked or not taken.blocked else taken
        return replace(
            worst,
            delivered=(*taken.delivered, *dropped.delivered),
            navigated=taken.navigated or dropped.navigated,
        )

    def _pick_up(self, here: tuple[float, float]) -> None:
        self.page.mouse.move(*here)
        self.page.mouse.down()
        self.page.mouse.move(here[0] + PICK_UP_PX, here[1])  # browsers begin a drag with a movement

    def _let_go(self, there: tuple[float, float]) -> None:
        self.page.mouse.move(*there, steps=DRAG_STEPS)
        self.page.mouse.up()

    def _put_back(self, target: Target, here: tuple[float, float]) -> None:
        self.page.keyboard.press("Escape")  # ends a drag of the browser's own
        self._with_gate(target, "drop", lambda: self._let_go(here))

    def _with_gate(self, target: Target, kind: ActionKind, act: Callable[[], None]) -> GateReport:
        refused = self.gate.arm(target, kind, enforce=self.enforce)
        if refused is not None:
            return refused
        report = GateReport()
        try:
            act()
        finally:
            report = self.gate.disarm()
        return report

    def press(self, target: Target, chord: str) -> GateReport:
        """Press a key chord with the focus on the target."""
        refused = self.gate.arm(target, "key", enforce=self.enforce, take="focus")
        if refused is not None:
            return refused
        report = GateReport()
        try:
            self.page.keyboard.press(chord)
        finally:
            report = self.gate.disarm()
        return report

    def fill(self, target: Target, text: str) -> GateReport:
        """Replace the target's text.

        Raises:
            WorldError: the field does not hold the text afterwards.
        """
        refused = self.gate.arm(target, "key", enforce=self.enforce, take="all")
        if refused is not None:
            return refused
        report = GateReport()
        try:
            if text:
                self.page.keyboard.insert_text(text)
            else:
                self.page.keyboard.press("Delete")
        finally:
            report = self.gate.disarm()
        if not report.blocked and not self.gate.holds(target, text):
            raise WorldError("the field does not hold what was typed")
        return report
