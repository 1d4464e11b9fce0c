"""The vision rung: an action at a point of the screen, through the same gate, hold and guards as any other (B2).

Rules: a point is turned into the element that lies there, and the gate lets the input pass only while it is that
element; text goes to the element that has the focus and never into a field for secrets; looking, waiting, pointing and
scrolling may send nothing that writes; nothing here decides whether an action may run.
"""

from __future__ import annotations

import contextlib
import time
from typing import Protocol

from playwright.sync_api import Error as PlaywrightError

from domain.actions import Action
from domain.errors import WorldError
from domain.values import Check, Intent, Point
from executor.config import Secret
from executor.runtime.kit import Hands
from executor.tools.base import (
    FieldMap,
    GateReport,
    LoginForm,
    Look,
    Performed,
    RequestRule,
    Settle,
    Status,
    Step,
    Target,
)
from executor.tools.browser import BrowserTool, first_line
from executor.tools.browser_hands import BrowserHands
from executor.tools.inputs import Inputs
from executor.tools.quiet import wait_until_quiet

READ_LIMIT_MS = 2_000


class PointingHands(Hands, Protocol):
    """Hands that also reach for a point, as a model sees the screen."""

    def target_at(self, point: Point, fields: FieldMap) -> Target | None:
        """The element at a pixel of the page; ``None`` outside of everything."""
        ...

    def focused(self, fields: FieldMap) -> Target | None:
        """The element that has the keyboard; the page itself when no field has it."""
        ...

    def takes_secret(self) -> bool:
        """Is the keyboard on a field for secrets?"""
        ...

    def act(
        self,
        action: Action,
        step: Step,
        target: Target | None,
        *,
        rule: RequestRule | None,
        intent: Intent | None,
    ) -> Performed:
        """Do one decided action; a scroll comes in pixels of the page."""
        ...

    def page_text(self) -> str:
        """What a person can read on the page; evidence only."""
        ...


class PointInputs(Inputs):
    """Typing puts text where the caret is, as a keyboard does; the log-in form is still filled."""

    def give(self, step: Step, target: Target, *, onto: Target | None = None) -> GateReport:
        """See ``Inputs``."""
        if step.kind != "fill":
            return super().give(step, target, onto=onto)
        refused = self.gate.arm(target, "key", enforce=self.enforce, take="focus")
        if refused is not None:
            return refused
        report = GateReport()
        try:
            self.page.keyboard.insert_text(step.text)
        finally:
            report = self.gate.disarm()
        return report


class VisionHands(BrowserHands):
    """Implements ``PointingHands`` on one guarded page."""

    def __init__(self, tool: BrowserTool, *, form: LoginForm, account: str, secret: Secret) -> None:
        super().__init__(tool, form=form, account=account, secret=secret)
        tool.inputs = PointInputs(tool.page, tool.gate, enforce=tool.mode == "guarded")

    def target_at(self, point: Point, fields: FieldMap) -> Target | None:
        """See ``PointingHands``."""
        return self.tool.gate.observe(point, fields=fields)

    def focused(self, fields: FieldMap) -> Target | None:
        """See ``PointingHands``."""
        page = self.tool.page
        try:
            own = page.locator(":focus")
            where = own if own.count() == 1 else page.locator("body")
        except PlaywrightError as error:
            raise WorldError(f"the page can't be asked for its focus: {first_line(error)}") from None
        return self.tool.gate.observe(where, fields=fields)

    def takes_secret(self) -> bool:
        """See ``PointingHands``."""
        own = self.tool.page.locator(":focus")
        with contextlib.suppress(PlaywrightError):
            return own.count() == 1 and own.get_attribute("type", timeout=READ_LIMIT_MS) == "password"
        return True

    def act(
        self,
        action: Action,
        step: Step,
        target: Target | None,
        *,
        rule: RequestRule | None,
        intent: Intent | None,
    ) -> Performed:
        """See ``PointingHands``."""
        if target is not None:
            return self.tool.perform(step, target, rule, intent=intent)
        return self._view(action)

    def _view(self, action: Action) -> Performed:
        """Look, wait, point, scroll: nothing that writes may leave meanwhile."""
        tool, began = self.tool, time.perf_counter_ns()
        tool.hold.begin(None, None)
        failure = ""
        try:
            self._move(action)
            wait_until_quiet(tool.world, tool.hold, Settle())
        except (PlaywrightError, WorldError) as error:
            failure = first_line(error)
        held = tool.hold.end()
        finding = held.finding
        status: Status = "failed" if failure else "blocked" if finding is not None else "executed"
        return Performed(
            status="unknown" if held.sent else status,
            check=finding,
            requests=held.listed,
            latency_us=(time.perf_counter_ns() - began) // 1000,
            reason=failure or (finding.found if finding is not None else ""),
        )

    def _move(self, action: Action) -> None:
        page = self.tool.page
        if action.point is not None:
            page.mouse.move(action.point.x, action.point.y)
        if action.kind == "scroll":
            page.mouse.wheel(action.dx, action.dy)
        elif action.kind == "wait":
            page.wait_for_timeout(action.duration_ms)

    def page_text(self) -> str:
        """See ``PointingHands``."""
        with contextlib.suppress(PlaywrightError):
            return self.tool.page.locator("body").inner_text(timeout=READ_LIMIT_MS)
        return ""


def nothing_there(action: Action, look: Look) -> Check:
    """The finding when no element lies at the point, or none has the keyboard."""
    where = f"at {action.point.x},{action.point.y}" if action.point is not None else "with the keyboard"
    return Check(
        guard="target",
        verdict="page_changed",
        expected=f"an element {where}",
        found=f"nothing on {look.title or look.url}",
    )
