"""The guard alone, around somebody else's Playwright loop (G9).

Rules: every click, fill, choice and key that goes through the wrapper is observed before and after and reported;
``record_only`` stops nothing and says what the guard would have said; ``guarded`` stops, reports, and never
repeats by itself. Where the record goes is the sink's business::

    from executor.guards.page import guarded_page

    with guarded_page(page, rules=rules, sink=record) as guarded:
        guarded.goto("/bills")
        guarded.click("tr[data-bill-id=CY202611-0007] button", label="标记处理")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from domain.ports import Clock
from domain.values import Check, Point
from executor.guards.base import Purpose, check_effect, first_stop, pre_checks
from executor.runtime.system import SystemClock
from executor.tools.base import (
    Look,
    Mode,
    Performed,
    RequestRule,
    Settle,
    SiteRules,
    Step,
    StepReport,
    Target,
)
from executor.tools.browser import BrowserTool, first_line
from executor.traces.scrub import Scrubbed

Sink = Callable[[StepReport], None]


class GuardedPage:
    """A page whose steps are observed, judged and reported to ``sink``."""

    def __init__(self, tool: BrowserTool, sink: Sink, *, settle: Settle | None = None) -> None:
        self.tool = tool
        self.page = tool.page
        self.enforced = tool.mode == "guarded"
        self._sink = sink
        self._settle = settle

    def goto(self, url: str) -> None:
        """Open an address of the target system."""
        self.tool.goto(url, settle=self._settle)

    def click(
        self,
        selector: str,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Click an element; with ``rule`` the step may send the one request that it describes."""
        step = Step(kind="click", selectors=(selector,), label=label, writes=rule is not None)
        return self.act(step, purpose, rule)

    def click_at(
        self,
        x: int,
        y: int,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Click a point of the last screen capture, as a vision model asks for it."""
        step = Step(kind="click", selectors=(), label=label, writes=rule is not None)
        return self.act(step, purpose, rule, at=Point(x=x, y=y))

    def double_click(
        self,
        selector: str,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Click an element twice; the second click meets the gate like the first."""
        step = Step(kind="double_click", selectors=(selector,), label=label, writes=rule is not None)
        return self.act(step, purpose, rule)

    def drag(
        self,
        selector: str,
        onto: str,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Drag one element onto another; both must still be what they were when the button goes up."""
        step = Step(kind="drag", selectors=(selector,), onto=(onto,), label=label, writes=rule is not None)
        return self.act(step, purpose, rule)

    def fill(self, selector: str, text: str, *, secret: bool = False) -> StepReport:
        """Replace a field's text; a secret is in no report."""
        return self.act(Step(kind="fill", selectors=(selector,), text=text, secret=secret), None, None)

    def select(self, selector: str, option: str) -> StepReport:
        """Choose an option by value or text."""
        return self.act(Step(kind="select", selectors=(selector,), text=option), None, None)

    def key(self, selector: str, chord: str, *, rule: RequestRule | None = None) -> StepReport:
        """Press a key chord with the focus on an element."""
        step = Step(kind="key", selectors=(selector,), text=chord, writes=rule is not None)
        return self.act(step, None, rule)

    def begin_trace(self) -> None:
        """Start recording the browser's trace; see ``executor.runtime.traces.Traceable``."""
        self.tool.trace.begin()

    def end_trace(self, *, keep: bool) -> Scrubbed | None:
        """Stop it; with ``keep``, the trace without secrets."""
        return self.tool.trace.end(keep=keep)

    def act(
        self,
        step: Step,
        purpose: Purpose | None,
        rule: RequestRule | None,
        *,
        at: Point | None = None,
    ) -> StepReport:
        """One observed step: look, find, judge, perform, look again, report."""
        purpose = purpose or Purpose()
        before = self.tool.look()
        target = self.tool.gate.observe(at, fields=purpose.fields) if at else self._locate(step, purpose)
        checks = pre_checks(step, target, purpose, planned=before, now=before)
        stop = first_stop(checks) if self.enforced else None
        if stop is not None:
            performed = Performed(status="blocked", check=stop, reason=f"stopped by the {stop.guard} guard")
        elif target is None:
            performed = self._unobserved(step)
        else:
            performed = self.tool.perform(step, target, rule, intent=purpose.intent, settle=self._settle)
        report = self._report(step, before, target, checks, performed)
        self._sink(report)
        return report

    def _locate(self, step: Step, purpose: Purpose) -> Target | None:
        return self.tool.locate(step.selectors, step.label, fields=purpose.fields, iframe=step.iframe)

    def _report(
        self,
        step: Step,
        before: Look,
        target: Target | None,
        checks: tuple[Check, ...],
        performed: Performed,
    ) -> StepReport:
        after = self.tool.look()
        return StepReport(
            step=replace(step, text="") if step.secret else step,
            before=before,
            target=target,
            checks=checks,
            enforced=self.enforced,
            performed=performed,
            after=after,
            effect=check_effect(before, after, opaque=target is not None and target.opaque),
        )

    def _unobserved(self, step: Step) -> Performed:
        """A record-only step whose element the guard can't name: done as the user's own loop does it."""
        began = time.perf_counter_ns()
        if step.secret:
            self.tool.trace.knows(step.text)
        self.tool.hold.begin(None, None)
        failure = ""
        try:
            self._as_playwright_does(step)
        except PlaywrightError as error:
            failure = type(error).__name__ if step.secret else first_line(error)
        held = self.tool.hold.end()
        return Performed(
            status="unknown" if failure and held.sent else "failed" if failure else "executed",
            check=held.finding,
            requests=held.listed,
            latency_us=(time.perf_counter_ns() - began) // 1000,
            reason=failure or "the element was not observed",
        )

    def _as_playwright_does(self, step: Step) -> None:
        found = self.page.locator(step.selectors[0] if step.selectors else "body")
        if step.kind == "click":
            found.click()
        elif step.kind == "double_click":
            found.dblclick()
        elif step.kind == "drag":
            found.drag_to(self.page.locator(step.onto[0]))
        elif step.kind == "fill":
            found.fill(step.text)
        elif step.kind == "select":
            found.select_option(step.text)
        else:
            found.press(step.text)


@contextmanager
def guarded_page(
    page: Page,
    *,
    rules: SiteRules,
    sink: Sink,
    mode: Mode = "record_only",
    clock: Clock | None = None,
    account: str = "",
    settle: Settle | None = None,
) -> Iterator[GuardedPage]:
    """Wrap a page of your own; it stays yours and stays open.

    Args:
        page: a Playwright page.
        rules: what the guards must know of the target system.
        sink: called with each step's report.
        mode: ``record_only`` observes, ``guarded`` also stops.
        clock: time of day for the frames; the system's by default.
        account: whose session it should be.
        settle: how long to wait after an action.
    """
    tool = BrowserTool(page, rules, clock=clock or SystemClock(), account=account, mode=mode)
    try:
        yield GuardedPage(tool, sink, settle=settle)
    finally:
        tool.release()
