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
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from playwright.async_api import Page as AsyncPage
from playwright.sync_api import Page

from domain.ids import PrincipalId, Sha256, TaskId, TenantId
from domain.values import Intent
from executor.guards import async_page
from executor.guards.async_page import AsyncGuardedPage
from executor.guards.page import GuardedPage, guarded_page
from executor.runtime.batch import Setting
from executor.runtime.system import SystemClock, SystemIds
from executor.runtime.watch import Recording, Watch
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.tools.base import Mode, SiteRules

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Generic[Guarded]):
    """A page whose steps are recorded while a task is open."""

    page: Guarded
    watch: Watch

    @contextmanager
    def task(self, intent: Intent, *, reference: str = "") -> Iterator[TaskId]:
        """Steps inside belong to this piece of work; a block that ends well declares it done."""
        with self.watch.task(intent, reference=reference or intent.bill_id) as task_id:
            yield task_id
            self.watch.declare_done("the loop's own block ended without an error")


@contextmanager
def recorded_page(
    page: Page,
    place: RecordPlace,
    *,
    rules: SiteRules | None = None,
    mode: Mode = "record_only",
    agent: str = "a loop of one's own",
    goal: str = "",
) -> Iterator[Recorded[GuardedPage]]:
    """Record a synchronous Playwright page; it stays yours and stays open.

    Args:
        page: the page that the loop works on.
        place: where it is recorded, and as whom.
        rules: what the guards must know of the target, if more than its origin.
        mode: ``record_only``, or ``guarded`` to stop what the guards object to.
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
        yield Recorded(page=guarded, watch=watch)


@asynccontextmanager
async def recorded_async_page(
    page: AsyncPage,
    place: RecordPlace,
    *,
    rules: SiteRules | None = None,
    mode: Mode = "record_only",
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
            yield Recorded(page=guarded, watch=watch)


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
