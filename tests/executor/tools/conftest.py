"""A browser and a site for each module: Playwright's synchronous API allows one at a time in a thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.chromium import running_browser
from tests.support.site import Site, running_site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.clear()
    return running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1000, "height": 700})
    yield context.new_page()
    context.close()
