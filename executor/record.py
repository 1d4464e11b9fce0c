"""Somebody else's Playwright loop, recorded from its own code (G9).

In five lines::

    from executor.record import RecordPlace, recorded_page

    place = RecordPlace(tenant="acme", principal="svc:agent", origin="https://vendor.example")
    with recorded_page(page, place) as recorded, recorded.task(intent):
        recorded.page.goto("/bills")
        recorded.page.click("tr[data-bill-id=INV-4114] button", label="Approve")

Rules: the record is the same as a guarded run's and is looked at, proved and exported in the same ways; nothing is
stopped unless ``mode="guarded"`` asks for it; a loop that ends with an error has not declared its task done.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from playwright.async_api import Page as AsyncPage
from playwright.sync_api import Page

from domain.errors import ConfigError, IntegrityError, WorldError
from domain.ids import PrincipalId, Sha256, TaskId, TenantId
from domain.values import Intent
from executor.guards import async_page
from executor.guards.async_page import AsyncGuardedPage
from executor.guards.page import GuardedPage, guarded_page
from executor.runtime.batch import Setting
from executor.runtime.system import SystemClock, SystemIds
from executor.runtime.traces import end_quietly, not_kept
from executor.runtime.watch import Recording, Watch
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.tools.base import Mode, SiteRules, TracePolicy
from executor.traces.scrub import Scrubbed

Guarded = TypeVar("Guarded", GuardedPage, AsyncGuardedPage)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """Where a loop is recorded, for whom, as whom, and on which target."""

    tenant: str
    principal: str
    origin: str
    """Scheme, host and port of the target."""
    store: str = "sqlite:///agent.db"
    """URL of the record (``sqlite:///…``, ``postgresql+psycopg://…``)."""
    blobs: str = "frames"
    """Where frames go: a folder or ``s3://…``."""


class RecordedTask(Generic[Guarded]):
    """One piece of work on a recorded page: ``with`` on a synchronous page, ``async with`` on either.

    A block that ends well declares the work done, in the loop's own word. Its trace is kept as the policy says; on
    failure means that the block ended with an error.
    """

    def __init__(
        self, page: Guarded, watch: Watch, block: AbstractContextManager[TaskId], trace: TracePolicy
    ) -> None:
        self._page: Guarded = page
        self._watch = watch
        self._block = block
        self._trace = trace

    def __enter__(self) -> TaskId:
        if self._trace != "never":
            self._plain_page().begin_trace()
        return self._block.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._trace != "never":
            self._keep(end_quietly(self._plain_page(), keep=self._is_kept(error)))
        self._leave(kind, error, at)

    async def __aenter__(self) -> TaskId:
        page: GuardedPage | AsyncGuardedPage = self._page
        if not isinstance(page, AsyncGuardedPage):
            return self.__enter__()
        if self._trace != "never":
            await page.begin_trace()
        return self._block.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        page: GuardedPage | AsyncGuardedPage = self._page
        if not isinstance(page, AsyncGuardedPage):
            return self.__exit__(kind, error, at)
        if self._trace != "never":
            try:
                self._keep(await page.end_trace(keep=self._is_kept(error)))
            except (WorldError, IntegrityError) as failure:
                not_kept(failure)
        return self._leave(kind, error, at)

    def _plain_page(self) -> GuardedPage:
        page: GuardedPage | AsyncGuardedPage = self._page
        if isinstance(page, AsyncGuardedPage):
            raise ConfigError(
                "an asynchronous page is traced asynchronously", remedy="use 'async with recorded.task(…)'"
            )
        return page

    def _is_kept(self, error: BaseException | None) -> bool:
        return self._trace == "always" or error is not None

    def _keep(self, trace: Scrubbed | None) -> None:
        if trace is not None:
            self._watch.attach(trace)

    def _leave(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if error is None:
            self._watch.declare_done("the loop's own block ended without an error")
        self._block.__exit__(kind, error, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Generic[Guarded]):
    """A page whose steps are recorded while a task is open."""

    page: Guarded
    watch: Watch
    trace: TracePolicy = "never"

    def task(self, intent: Intent, *, reference: str = "") -> RecordedTask[Guarded]:
        """Steps inside belong to this piece of work; see ``RecordedTask``."""
        block = self.watch.task(intent, reference=reference or intent.bill_id)
        return RecordedTask(self.page, self.watch, block, self.trace)


@contextmanager
def recorded_page(
    page: Page,
    place: RecordPlace,
    *,
    rules: SiteRules | None = None,
    mode: Mode = "record_only",
    trace: TracePolicy = "never",
    agent: str = "a loop of one's own",
    goal: str = "",
) -> Iterator[Recorded[GuardedPage]]:
    """Record a synchronous Playwright page; it stays yours and stays open.

    Args:
        page: the page that the loop works on.
        place: where it is recorded, and as whom.
        rules: what the guards must know of the target, if more than its origin.
        mode: ``record_only``, or ``guarded`` to stop what the guards object to.
        trace: which tasks keep Playwright's own trace, without secrets; its recording takes time.
        agent: what drives, in words.
        goal: what for.
    """
    viewport = page.viewport_size or {"width": 0, "height": 0}
    browser = page.context.browser
    setting = _setting(
        agent, goal, browser.version if browser else "", (viewport["width"], viewport["height"])
    )
    with (
        _watching(place, setting) as watch,
        guarded_page(
            page, rules=rules or SiteRules(origins=(place.origin,)), sink=watch.sink, mode=mode
        ) as guarded,
    ):
        yield Recorded(page=guarded, watch=watch, trace=trace)


@asynccontextmanager
async def recorded_async_page(
    page: AsyncPage,
    place: RecordPlace,
    *,
    rules: SiteRules | None = None,
    mode: Mode = "record_only",
    trace: TracePolicy = "never",
    agent: str = "a loop of one's own",
    goal: str = "",
) -> AsyncIterator[Recorded[AsyncGuardedPage]]:
    """Record an asynchronous Playwright page; see ``recorded_page`` for the arguments."""
    viewport = page.viewport_size or {"width": 0, "height": 0}
    browser = page.context.browser
    setting = _setting(
        agent, goal, browser.version if browser else "", (viewport["width"], viewport["height"])
    )
    with _watching(place, setting) as watch:
        known = rules or SiteRules(origins=(place.origin,))
        async with async_page.guarded_page(page, rules=known, sink=watch.sink, mode=mode) as guarded:
            yield Recorded(page=guarded, watch=watch, trace=trace)


def _setting(agent: str, goal: str, version: str, size: tuple[int, int]) -> Setting:
    return Setting(
        agent=agent,
        goal=goal,
        browser=f"chromium {version}".strip(),
        viewport_width=size[0],
        viewport_height=size[1],
        config_sha256=Sha256(hashlib.sha256(b"").hexdigest()),
    )


@contextmanager
def _watching(place: RecordPlace, setting: Setting) -> Iterator[Watch]:
    with open_record(place.store) as log:
        to = Recording(
            log=log,
            blobs=open_blobs(place.blobs),
            ids=SystemIds(),
            clock=SystemClock(),
            tenant=TenantId(place.tenant),
            principal=PrincipalId(place.principal),
            origin=place.origin,
        )
        watch = Watch(to, setting)
        watch.start(tasks_planned=0)
        try:
            yield watch
        finally:
            watch.finish()
