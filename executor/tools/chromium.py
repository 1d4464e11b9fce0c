"""Which Chromium runs, and how it is started.

Rules: a configured browser that does not work is an error, never silently replaced; the sandbox is given up only
for root, where Chromium refuses to start with it; hosts outside the allow-list don't resolve, whatever a page does
(redirects, popups and web sockets included).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Playwright, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from domain.errors import ConfigError, WorldError

ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # One process for all frames of a page, so that one session's gate stands in every frame from its first script.
    "--disable-site-isolation-trials",
)
REMEDY = "set PROOFREEL_CHROMIUM to a Chromium, or run 'playwright install chromium'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChromiumChoice:
    """An executable and why it was chosen."""

    path: str
    origin: Literal["configured", "playwright", "path"]


def find_chromium(configured: str | None, *, bundled: str | None = None) -> ChromiumChoice:
    """The configured browser, else Playwright's own, else one on ``PATH``.

    Args:
        configured: value of ``PROOFREEL_CHROMIUM``: a path, or a command on ``PATH``; empty counts as not configured.
        bundled: path of Playwright's own browser when it is known; asked of Playwright otherwise.

    Raises:
        ConfigError: the configured browser is not an executable file.
        WorldError: there is none at all.
    """
    if configured:
        found = shutil.which(configured)
        if found is None:
            raise ConfigError(
                f"PROOFREEL_CHROMIUM={configured} is not an executable file",
                remedy="correct it, or unset it to let one be found",
            )
        return ChromiumChoice(path=found, origin="configured")
    own = _bundled_path() if bundled is None else bundled
    if own and os.access(own, os.X_OK) and Path(own).is_file():
        return ChromiumChoice(path=own, origin="playwright")
    for name in ON_PATH:
        found = shutil.which(name)
        if found is not None:
            return ChromiumChoice(path=found, origin="path")
    raise WorldError("no Chromium was found", remedy=REMEDY)


def _bundled_path() -> str:
    """Where Playwright would put its own browser; it may not be there."""
    try:
        with sync_playwright() as playwright:
            return playwright.chromium.executable_path
    except PlaywrightError:  # inside a running loop; the caller can hand the path in
        return ""


def choose_chromium(playwright: Playwright) -> ChromiumChoice:
    """``find_chromium`` with the environment's configuration and this Playwright's own browser."""
    return find_chromium(
        os.environ.get("PROOFREEL_CHROMIUM"), bundled=playwright.chromium.executable_path or ""
    )


def flags(origins: Sequence[str] = (), *, root: bool) -> list[str]:
    """Command line of the browser; with ``origins``, only their hosts resolve."""
    chosen = list(QUIET_FLAGS)
    if root:
        chosen.append("--no-sandbox")
    if origins:
        hosts = sorted({urlsplit(origin).hostname or "" for origin in origins} - {""})
        rules = ", ".join(["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in hosts)])
        chosen.append(f"--host-resolver-rules={rules}")
    return chosen


def launch(
    playwright: Playwright,
    choice: ChromiumChoice,
    *,
    headless: bool = True,
    origins: Sequence[str] = (),
) -> Browser:
    """Start the browser; its version is ``Browser.version``.

    Raises:
        WorldError: it does not start.
    """
    try:
        return playwright.chromium.launch(
            executable_path=choice.path,
            headless=headless,
            args=flags(origins, root=hasattr(os, "geteuid") and os.geteuid() == 0),
        )
    except PlaywrightError as error:
        first = error.message.splitlines()[0] if error.message else "unknown reason"
        raise WorldError(f"{choice.path} does not start: {first}", remedy=REMEDY) from error
