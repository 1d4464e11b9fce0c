"""A few screens beside kept ones, with tolerance.

When a change of the look is meant: run this file with ``PROOFREEL_KEEP_SCREENS=1``, and look at what is kept before
committing it.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Page

from domain.ids import TenantId
from projections.views.reconciliation import break_id
from tests.replay_ui.sample import DOUBLE, FAKE, RUN, Sample
from tests.replay_ui.screens import KEPT, SCALE, TOLERANCE, difference, keep
from tests.replay_ui.serving import served, settled

pytestmark = pytest.mark.browser
BREAK = break_id(TenantId("acme"), "2026-11", DOUBLE, "duplicate_in_file")


PLAYER = ".pr-player"
DRAWN = """canvases => canvases.every((canvas) =>
    canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[3] > 0)"""


class Screen(NamedTuple):
    """What is looked at; parts that show the time of day are left out by choosing one that doesn't."""

    path: str
    part: str
    language: str = "en-US"


SCREENS = {
    "runs": Screen("/runs", "[data-testid=stMain]"),
    "runs-ja": Screen("/runs", "[data-testid=stMain]", "ja-JP"),
    "month": Screen("/month", "[data-testid=stMain]"),
    "difference": Screen(f"/month?break={BREAK}", "[data-testid=stMain]"),
    "chain": Screen(f"/chain?bill={FAKE}", "[data-testid=stMain]"),
    "metrics": Screen("/metrics", "[data-testid=stMain]"),
    "player": Screen(f"/replay?run={RUN}&frame=8", PLAYER),
    "navigation": Screen("/metrics", "[data-testid=stSidebarNav]"),
}


@pytest.fixture(scope="module")
def url(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(sample, tmp_path_factory.mktemp("served")) as (address, _):
        yield address


def picture(page: Page, url: str, screen: Screen) -> bytes:
    """The part of the page, with nothing moving and every picture there."""
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, locale=screen.language, reduced_motion="reduce"
    )
    context.set_default_timeout(60_000)
    try:
        shown = context.new_page()
        shown.goto(url + screen.path)
        settled(shown)
        shown.wait_for_selector(".ds-sheet > *, .pr-player[data-state=ready]")
        if screen.part == PLAYER:
            drawn(shown)
        shown.wait_for_load_state("networkidle")
        shown.evaluate("document.fonts.ready.then(() => true)")
        return shown.locator(screen.part).first.screenshot(animations="disabled", caret="hide")
    finally:
        context.close()


def drawn(page: Page) -> None:
    """Wait until the player has its frame, and each thumbnail its picture."""
    page.wait_for_selector(f"{PLAYER}[data-state=ready] .pr-thumb[data-current]")
    end = time.monotonic() + 60
    while not page.locator(".pr-thumb canvas").evaluate_all(DRAWN):
        assert time.monotonic() < end, "the strip never had its pictures"
        page.wait_for_timeout(50)


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_looks_as_it_did(page: Page, url: str, name: str, tmp_path: Path) -> None:
    now = picture(page, url, SCREENS[name])
    if os.environ.get("PROOFREEL_KEEP_SCREENS"):
        keep(name, now)
    (tmp_path / f"{name}.png").write_bytes(now)
    share = difference(Image.open(KEPT / f"{name}.png"), now)
    assert share <= TOLERANCE, f"{share:.1%} of {name} differ; look at {tmp_path / name}.png"


def test_every_kept_screen_is_compared() -> None:
    assert {path.stem for path in KEPT.glob("*.png")} == set(SCREENS)


def test_what_somebody_would_notice_is_noticed() -> None:
    """Each kept screen against itself with a block painted over, moved down, and cut off."""
    for path in KEPT.glob("*.png"):
        kept = Image.open(path).convert("RGB")
        width, height = kept.size
        painted = kept.copy()
        painted.paste((200, 40, 40), (width // 4, height // 4, width // 2, height // 2))
        assert _share(kept, painted) > TOLERANCE, path.stem
        assert _share(kept, kept.crop((0, 0, width, height * 9 // 10))) > TOLERANCE, path.stem
        assert _share(kept, kept) <= TOLERANCE / 4, path.stem
        if path.stem != "navigation":
            assert _share(kept, ImageChops.offset(kept, 0, 12)) > TOLERANCE, path.stem


def _share(kept: Image.Image, other: Image.Image) -> float:
    made = io.BytesIO()
    other.resize((other.width * SCALE, other.height * SCALE)).save(made, "PNG")
    return difference(kept, made.getvalue())
