"""Observing and clicking through the gate, for the specifications of this folder."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

from domain.values import Point
from executor.guards.target_gate import TargetGate
from executor.tools.base import FieldMap, GateReport, Target


def observed(gate: TargetGate, where: Locator | Point, fields: FieldMap | None = None) -> Target:
    target = gate.observe(where, fields=fields)
    assert target is not None
    return target


def click(gate: TargetGate, target: Target, *, enforce: bool = True) -> GateReport:
    refused = gate.arm(target, enforce=enforce)
    if refused is not None:
        return refused
    gate.world.page.mouse.click(*gate.pointer(target))
    return gate.disarm()


def arrange(page: Page, kind: str) -> Locator:
    page.mouse.move(900, 650)
    page.evaluate("name => arrange(name)", kind)
    inside = kind == "inside_iframe"
    button = (page.frame_locator("iframe") if inside else page).locator("button").first
    button.wait_for()
    return button
