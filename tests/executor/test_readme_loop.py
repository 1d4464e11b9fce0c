"""The lines that the root README shows around a loop of one's own are run as they stand there, on the portal."""

from __future__ import annotations

import asyncio
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page as AsyncPage
from playwright.async_api import Route as AsyncRoute
from playwright.async_api import async_playwright
from playwright.sync_api import Route

from domain import events as e
from domain.ids import TenantId
from domain.values import Intent
from executor.record import RecordPlace
from executor.sandbox.portal.server import PortalThread
from executor.sandbox.portal.web import SESSION_COOKIE
from executor.tools.chromium import find_chromium, flags
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader
from tests.support.chromium import running_browser

pytestmark = pytest.mark.browser

README = Path(__file__).parents[2] / "README.md"
SHOWN = "https://portal.example"
BILL = "CY202611-0007"


def shown(word: str) -> str:
    """The block of the README that holds ``word``: at most five lines that are not blank."""
    section = README.read_text(encoding="utf-8").split("### Around a loop of your own")[1].split("\n## ")[0]
    (block,) = [part for part in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if word in part]
    assert len([line for line in block.splitlines() if line.strip()]) == 5
    return str(block)


@pytest.fixture
def portal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PortalThread]:
    monkeypatch.chdir(tmp_path)  # the lines keep their record where they are run
    with PortalThread(tmp_path / "portal.db", counts={"acme": 20, "globex": 1}) as running:
        yield running


@pytest.fixture
def intent(portal: PortalThread) -> Intent:
    bill = next(bill for bill in portal.truth.bills("acme") if bill.id == BILL)
    return Intent(
        bill_id=BILL,
        action="mark_processed",
        counterparty=bill.counterparty,
        amount_minor=bill.amount_minor,
        currency=bill.currency,
        month=bill.month,
        expected_status="processed",
    )


def session(portal: PortalThread) -> Any:  # noqa: ANN401 - Playwright's own type, one for each of its two interfaces
    """The cookie of somebody who has logged in."""
    form = {"username": "svc-acme", "password": portal.accounts["svc-acme"].password}
    answer = httpx.post(f"{portal.url}/login", data=form)
    return {"name": SESSION_COOKIE, "value": answer.cookies[SESSION_COOKIE], "url": SHOWN}


def recorded(portal: PortalThread) -> list[str]:
    """What stands in the record that the lines made; the vendor was asked for nothing."""
    usual = RecordPlace(tenant="acme", principal="", origin="")
    with open_reader(usual.store) as reader:
        assert check(reader, open_blob_reader(usual.blobs), TenantId("acme")).ok
        facts = list(reader.events(TenantId("acme")))
    assert {one.envelope.principal for one in facts} == {"svc:agent"}
    proposed = next(one.event for one in facts if isinstance(one.event, e.ActionProposed))
    assert (proposed.label, proposed.url) == ("标记处理", f"{SHOWN}/bills")
    assert portal.truth.posts(f"/bills/{BILL}/actions") == []
    return [one.name for one in facts if one.envelope.task_id]


EXPECTED = [
    "task.opened",
    "observation.recorded",
    "action.proposed",
    "guard.judged",
    "action.attempted",
    "action.executed",
    "guard.judged",
    "observation.recorded",
    "task.declared_done",
    "task.sealed",
]


def test_the_five_lines_of_the_readme_record_a_loop(portal: PortalThread, intent: Intent) -> None:
    def forward(route: Route) -> None:
        answer = route.fetch(
            url=route.request.url.replace(SHOWN, portal.url),
            headers=route.request.all_headers(),
            max_redirects=0,
        )
        route.fulfill(response=answer)

    with running_browser() as browser:
        page = browser.new_page()
        page.route(f"{SHOWN}/**", forward)
        page.context.add_cookies([session(portal)])
        exec(shown("recorded_page"), {"page": page, "intent": intent})  # noqa: S102 - the README's own lines
    assert recorded(portal) == EXPECTED


def test_the_five_asynchronous_lines_do_the_same(portal: PortalThread, intent: Intent) -> None:
    async def forward(route: AsyncRoute) -> None:
        headers = await route.request.all_headers()
        url = route.request.url.replace(SHOWN, portal.url)
        await route.fulfill(response=await route.fetch(url=url, headers=headers, max_redirects=0))

    async def loop(lines: Callable[[AsyncPage, Intent], Any]) -> None:
        async with async_playwright() as playwright:
            choice = find_chromium(None, bundled=playwright.chromium.executable_path or "")
            browser = await playwright.chromium.launch(executable_path=choice.path, args=flags(root=True))
            page = await browser.new_page()
            await page.route(f"{SHOWN}/**", forward)
            await page.context.add_cookies([session(portal)])
            await lines(page, intent)
            await browser.close()

    body = textwrap.indent(shown("recorded_async_page"), "    ")
    names: dict[str, Any] = {}
    exec(f"async def lines(page, intent):\n{body}", names)  # noqa: S102 - the README's own lines
    asyncio.run(loop(names["lines"]))
    assert recorded(portal) == EXPECTED
