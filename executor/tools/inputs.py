"""Mouse and keyboard on one page, every event through the target gate.

Rules: the gate is armed for the observed element, the input is given, the gate is switched off, and what it saw is
returned; text is inserted in one event, so that half of it can't land elsewhere.
"""

from __future__ import annotations

from playwright.sync_api import Page

from domain.errors import WorldError
from executor.guards.target_gate import TargetGate
from executor.tools.base import GateReport, Step, Target


class Inputs:
    """Gives input to one page."""

    def __init__(self, page: Page, gate: TargetGate, *, enforce: bool) -> None:
        self.page = page
        self.gate = gate
        self.enforce = enforce

    def give(self, step: Step, target: Target) -> GateReport:
        """Do what the step says.

        Raises:
            WorldError: the field or list does not take the text.
        """
        if step.kind == "click":
            return self.click(target)
        if step.kind == "fill":
            return self.fill(target, step.text)
        if step.kind == "select":
            return self.gate.choose(target, step.text, enforce=self.enforce)
        return self.press(target, step.text)

    def click(self, target: Target) -> GateReport:
        """Click the target once."""
        refused = self.gate.arm(target, enforce=self.enforce)
        if refused is not None:
            return refused
        report = GateReport()
        try:
            self.page.mouse.click(*self.gate.pointer(target))
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
