"""The guard alone, around somebody else's asynchronous Playwright loop (G9).

The same script, guards and decisions as ``executor.guards.page``, through ``executor.guards.blocking``::

    from executor.guards.async_page import guarded_page

    async with guarded_page(page, rules=rules, sink=record) as guarded:
        await guarded.goto("/bills")
        await guarded.click("tr[data-bill-id=CY202611-0007] button", label="标记处理")

Rules: one step at a time; the sink is called on the event loop, after its step; the page stays the caller's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from playwright.async_api import Page

from domain.ports import Clock
from executor.guards import page as blocking_page
from executor.guards.base import Purpose
from executor.guards.blocking import Bridge
from executor.runtime.system import SystemClock
from executor.tools.base import Mode, RequestRule, Settle, SiteRules, StepReport
from executor.tools.browser import BrowserTool
from executor.traces.scrub import Scrubbed

T = TypeVar("T")


class AsyncGuardedPage:
    """See ``executor.guards.page.GuardedPage``; every step is awaited."""

    def __init__(self, page: Page, sink: blocking_page.Sink) -> None:
        self.page = page
        self._sink = sink
        self._bridge = Bridge(asyncio.get_running_loop())
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="guards")
        self._turn = asyncio.Lock()
        self._reports: list[StepReport] = []
        self._guarded: blocking_page.GuardedPage | None = None

    async def open(
        self, rules: SiteRules, *, clock: Clock, account: str, mode: Mode, settle: Settle | None
    ) -> None:
        """Put the guards around the page."""
        stand_in = self._bridge.wrap(self.page)

        def make() -> blocking_page.GuardedPage:
            tool = BrowserTool(stand_in, rules, clock=clock, account=account, mode=mode)
            return blocking_page.GuardedPage(tool, self._reports.append, settle=settle)

        self._guarded = await self._in_thread(make)

    async def close(self) -> None:
        """Let go of the page."""
        guarded = self._guarded
        if guarded is not None:
            await self._in_thread(guarded.tool.release)
        self._thread.shutdown(wait=False)

    async def goto(self, url: str) -> None:
        """Open an address of the target system."""
        await self._in_thread(lambda: self._inner.goto(url))

    async def click(
        self,
        selector: str,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Click an element; with ``rule`` the step may send the one request that it describes."""
        return await self._step(lambda: self._inner.click(selector, label=label, purpose=purpose, rule=rule))

    async def click_at(
        self,
        x: int,
        y: int,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Click a point of the last screen capture, as a vision model asks for it."""
        return await self._step(lambda: self._inner.click_at(x, y, label=label, purpose=purpose, rule=rule))

    async def double_click(
        self,
        selector: str,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Click an element twice; the second click meets the gate like the first."""
        return await self._step(
            lambda: self._inner.double_click(selector, label=label, purpose=purpose, rule=rule)
        )

    async def drag(
        self,
        selector: str,
        onto: str,
        *,
        label: str = "",
        purpose: Purpose | None = None,
        rule: RequestRule | None = None,
    ) -> StepReport:
        """Drag one element onto another; both must still be what they were when the button goes up."""
        return await self._step(
            lambda: self._inner.drag(selector, onto, label=label, purpose=purpose, rule=rule)
        )

    async def fill(self, selector: str, text: str, *, secret: bool = False) -> StepReport:
        """Replace a field's text; a secret is in no report."""
        return await self._step(lambda: self._inner.fill(selector, text, secret=secret))

    async def select(self, selector: str, option: str) -> StepReport:
        """Choose an option by value or text."""
        return await self._step(lambda: self._inner.select(selector, option))

    async def key(self, selector: str, chord: str, *, rule: RequestRule | None = None) -> StepReport:
        """Press a key chord with the focus on an element."""
        return await self._step(lambda: self._inner.key(selector, chord, rule=rule))

    async def begin_trace(self) -> None:
        """Start recording the browser's trace."""
        await self._in_thread(self._inner.begin_trace)

    async def end_trace(self, *, keep: bool) -> Scrubbed | None:
        """Stop it; with ``keep``, the trace without secrets."""
        return await self._in_thread(lambda: self._inner.end_trace(keep=keep))

    @property
    def _inner(self) -> blocking_page.GuardedPage:
        assert self._guarded is not None, "used before it was opened"  # noqa: S101 - invariant, stays on
        return self._guarded

    async def _step(self, work: Callable[[], StepReport]) -> StepReport:
        report = await self._in_thread(work)
        reports, self._reports[:] = list(self._reports), []
        for one in reports:
            self._sink(one)
        return report

    async def _in_thread(self, work: Callable[[], T]) -> T:
        async with self._turn:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._bridge.run, work)


@asynccontextmanager
async def guarded_page(
    page: Page,
    *,
    rules: SiteRules,
    sink: blocking_page.Sink,
    mode: Mode = "record_only",
    clock: Clock | None = None,
    account: str = "",
    settle: Settle | None = None,
) -> AsyncIterator[AsyncGuardedPage]:
    """Wrap an asynchronous page of your own; see ``executor.guards.page.guarded_page`` for the arguments."""
    guarded = AsyncGuardedPage(page, sink)
    try:
        await guarded.open(rules, clock=clock or SystemClock(), account=account, mode=mode, settle=settle)
        yield guarded
    finally:
        await guarded.close()
