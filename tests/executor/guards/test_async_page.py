"""The guard alone, around somebody else's asynchronous Playwright page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, async_playwright

from executor.guards.async_page import guarded_page
from executor.guards.base import Purpose
from executor.tools.base import Settle, SiteRules, StepReport
from executor.tools.chromium import find_chromium, flags
from tests.executor.guards.support import FIELDS, INTENT, RULE
from tests.support.site import Site

pytestmark = pytest.mark.browser
QUICK = Settle(quiet_ms=40)
PURPOSE = Purpose(intent=INTENT, fields=FIELDS)
SWAP = "() => { document.querySelector('#approve').textContent = 'Reject'; }"


def rules(site: Site) -> SiteRules:
    return SiteRules(origins=(site.url,))


@asynccontextmanager
async def opened() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        choice = find_chromium(None, bundled=playwright.chromium.executable_path or "")
        browser = await playwright.chromium.launch(executable_path=choice.path, args=flags(root=True))
        context = await browser.new_context(viewport={"width": 1000, "height": 700})
        yield await context.new_page()
        await browser.close()


def on_a_page(loop: Callable[[Page], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with opened() as page:
            await loop(page)

    asyncio.run(whole())


def test_a_loop_of_ones_own_is_recorded_step_by_step(site: Site) -> None:
    reports: list[StepReport] = []

    async def loop(page: Page) -> None:
        async with guarded_page(page, rules=rules(site), sink=reports.append, settle=QUICK) as guarded:
            await guarded.goto("/form.html")
            await guarded.fill("[name=amount]", "99.00")
            await guarded.click("#approve", label="Approve", rule=RULE, purpose=PURPOSE)

    on_a_page(loop)
    assert [r.step.kind for r in reports] == ["fill", "click"]
    last = reports[-1]
    assert last.performed.status == "executed"
    assert last.performed.requests == ("POST /bills/INV-4114/actions 200",)
    assert last.before.frame.sha256 != last.after.frame.sha256
    assert {c.guard for c in last.checks} >= {"auth", "frame", "target", "intent", "label"}


def test_record_only_says_what_it_would_have_stopped_and_stops_nothing(site: Site) -> None:
    reports: list[StepReport] = []

    async def loop(page: Page) -> None:
        async with guarded_page(page, rules=rules(site), sink=reports.append, settle=QUICK) as guarded:
            await guarded.goto("/form.html")
            await page.locator("[name=amount]").fill("143474")
            await guarded.click("#approve", label="Approve", rule=RULE, purpose=PURPOSE)

    on_a_page(loop)
    assert {c.guard: c.verdict for c in reports[0].checks}["intent"] == "intent_mismatch"
    assert len(site.posts) == 1


def test_guarded_holds_the_request_that_does_not_agree(site: Site) -> None:
    async def loop(page: Page) -> None:
        async with guarded_page(
            page, rules=rules(site), sink=lambda _: None, mode="guarded", settle=QUICK
        ) as guarded:
            await guarded.goto("/form.html")
            await page.locator("[name=amount]").fill("143474")
            report = await guarded.click(
                "#approve", label="Approve", rule=RULE, purpose=Purpose(intent=INTENT)
            )
        assert report.performed.status == "blocked"
        assert report.performed.check is not None
        assert report.performed.check.verdict == "request_mismatch"

    on_a_page(loop)
    assert site.posts == []


def test_guarded_stops_at_another_element_and_the_loop_goes_on(site: Site) -> None:
    async def loop(page: Page) -> None:
        ticks: list[int] = []

        async def clock() -> None:
            while True:
                ticks.append(1)
                await asyncio.sleep(0.01)

        beside = asyncio.create_task(clock())
        async with guarded_page(
            page, rules=rules(site), sink=lambda _: None, mode="guarded", settle=QUICK
        ) as guarded:
            await guarded.goto("/form.html")
            await page.evaluate(SWAP)
            before = len(ticks)
            report = await guarded.click("#approve", label="Approve", rule=RULE, purpose=Purpose())
            assert len(ticks) > before, "the caller's loop was not held up"
        beside.cancel()
        assert report.performed.check is not None
        assert report.performed.check.verdict == "precondition_failed"

    on_a_page(loop)
    assert site.posts == []


def test_a_native_dialog_is_dismissed_and_recorded(site: Site) -> None:
    async def loop(page: Page) -> None:
        async with guarded_page(page, rules=rules(site), sink=lambda _: None, settle=QUICK) as guarded:
            await guarded.goto("/form.html")
            await page.evaluate("() => { window.onclick = () => confirm('Sure?'); }")
            report = await guarded.click("[name=month]")
        assert [(d.kind, d.message, d.accepted) for d in report.performed.dialogs] == [
            ("confirm", "Sure?", False)
        ]

    on_a_page(loop)


def test_the_page_is_free_again_after_the_block(site: Site) -> None:
    async def loop(page: Page) -> None:
        async with guarded_page(
            page, rules=rules(site), sink=lambda _: None, mode="guarded", settle=QUICK
        ) as guarded:
            await guarded.goto("/form.html")
        status = await page.evaluate("() => fetch('/free', {method: 'POST'}).then(r => r.status)")
        assert status == 200

    on_a_page(loop)
    assert [path for path, _ in site.posts] == ["/free"]
