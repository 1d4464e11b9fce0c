"""Every page of the desk under axe: nothing that keeps somebody out, and nothing smaller in what is ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from domain.ids import TenantId
from projections.views.reconciliation import break_id
from tests.replay_ui.sample import DOUBLE, FAKE, RUN, WATCHED, Sample
from tests.replay_ui.serving import served, settled

pytestmark = pytest.mark.browser
BREAK = break_id(TenantId("acme"), "2026-11", DOUBLE, "duplicate_in_file")
PAGES = {
    "cases": "/",
    "runs": "/runs",
    "replay": f"/replay?run={RUN}&frame=3",
    "replay-side-by-side": f"/replay?run={RUN}&with={WATCHED}",
    "month": "/month",
    "difference": f"/month?break={BREAK}",
    "chain": f"/chain?bill={FAKE}",
    "queue": "/queue",
    "approval": "/queue?task=task-refund",
    "takeover": "/queue?task=task-fake",
    "alerts": "/alerts",
    "metrics": "/metrics",
    "metrics-split": "/metrics?part=slices&by=day&metric=completion",
    "metrics-days": "/metrics?part=days",
    "metrics-targets": "/metrics?part=targets&from=2026-10-01&to=2026-12-31&share=1000",
    "month-lines": "/month?show=lines",
    "integrity": "/integrity",
    "export": "/export?kind=log",
    "search": "/search?q=svc:acme-batch",
    "nothing-found": "/search?q=nothing-like-that",
    "no-such-run": "/replay?run=no-such-run",
}
PLAYERS = {"replay": 1, "replay-side-by-side": 2}
"""Pages with a player: axe looks once every one of them has its frame."""
OURS = (".ds-", ".pr-", "ds-sheet", "pr-player")
GRAVE = {"serious", "critical"}


@pytest.fixture(scope="module")
def url(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(sample, tmp_path_factory.mktemp("served")) as (address, _):
        yield address


def ours(node: dict[str, Any]) -> bool:
    """Whether a node is inside one of our components; their shadow roots make a path of selectors."""
    path = node["target"][0]
    return isinstance(path, list) or any(mark in f"{path}{node['html']}" for mark in OURS)


def violations(page: Page) -> list[tuple[str, str, str, bool]]:
    """Rule, impact, markup, and whether it is ours, of everything that axe objects to."""
    response: dict[str, Any] = Axe().run(page).response
    assert response["passes"], "axe looked at something"
    return [
        (found["id"], found["impact"], node["html"], ours(node))
        for found in response["violations"]
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_keeps_nobody_out(page: Page, url: str, name: str) -> None:
    page.goto(url + PAGES[name])
    settled(page)
    page.wait_for_selector(".ds-sheet > *")
    expect(page.locator(".pr-player[data-state=ready]")).to_have_count(PLAYERS.get(name, 0))
    page.evaluate("document.fonts.ready.then(() => true)")
    found = violations(page)
    assert [item for item in found if item[1] in GRAVE] == []
    assert [item for item in found if item[3]] == []


def test_an_objection_of_axe_is_heard(page: Page, url: str) -> None:
    page.goto(f"{url}/metrics")
    settled(page)
    page.evaluate(
        "document.querySelector('[data-testid=stMain]').insertAdjacentHTML('beforeend', '<img src=\"/favicon.png\">')"
    )
    assert ("image-alt", "critical") in {item[:2] for item in violations(page)}
