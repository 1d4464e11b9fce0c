"""A Chromium, and the desk over made-up runs in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from replay_ui.data import Desk
from tests.replay_ui.sample import Sample, make

expect.set_options(timeout=20_000)  # a busy machine is slow, not wrong

ROOT: Final = Path(__file__).parents[2]
FLAGS: Final = (
    "--no-sandbox",  # the suite may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """The configured browser, else one on PATH; None leaves it to Playwright's own."""
    return os.environ.get("PROOFREEL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make(tmp_path_factory.mktemp("record"))


@pytest.fixture
def desk(sample: Sample) -> Iterator[Desk]:
    opened = sample.desk()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def desk_url() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.replay_ui.player.server", "6000"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url, "the desk ended before it took connections"
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()
