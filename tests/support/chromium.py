"""One real Chromium for the tests of a module, with the executor's own way of finding and starting it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from executor.tools.chromium import choose_chromium, launch


class FixedClock:
    """A clock that ticks one microsecond for each question."""

    def __init__(self, start_us: int = 1_700_000_000_000_000) -> None:
        self._now_us = start_us

    def now_us(self) -> int:
        """Microseconds since 1970 (UTC)."""
        self._now_us += 1
        return self._now_us


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser until the end of the block."""
    with sync_playwright() as playwright:
        browser = launch(playwright, choose_chromium(playwright))
        try:
            yield browser
        finally:
            browser.close()
