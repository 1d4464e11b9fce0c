"""The player on a long run: what it keeps, and what arrives late."""

from __future__ import annotations

import re
from typing import Final

import pytest
from playwright.sync_api import Page, Route, expect

from tests.replay_ui.player.test_player_browser import open_player, shows
from tests.replay_ui.synthetic import BLOCKED_STEP, entry

pytestmark = pytest.mark.browser

LONG: Final = "?run=long&n=6000&frame=1"
KEPT: Final = 8
"""Chunks that the player holds; there are twelve."""
BLOCKED: Final = (BLOCKED_STEP - 1) * 4 + 1

# What the player does after a frame was painted can be held back by the test.
HOLDING: Final = """
(() => {
  const native = window.requestAnimationFrame.bind(window);
  const held = [];
  window.holdPainting = false;
  window.requestAnimationFrame = (callback) => (window.holdPainting ? -held.push(callback) : native(callback));
  window.paint = () => { window.holdPainting = false; held.splice(0).forEach((callback) => native(callback)); };
})();
"""
COLOURS: Final = """
canvas => {
  const { width, height } = canvas;
  const line = canvas.getContext("2d").getImageData(0, Math.floor(height / 2), width, 1).data;
  const seen = [];
  for (let x = 0; x < width; x += 1) seen.push([...line.slice(4 * x, 4 * x + 3)].join(" "));
  return seen;
}
"""
UNKNOWN: Final = "42 49 66"
"""Colour of the slider where no verdict is known yet."""


def test_a_long_run_is_looked_through_without_keeping_all_of_its_manifest(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, LONG)
    slider = root.locator(".pr-slider")
    box = slider.bounding_box()
    assert box is not None
    for chunk in range(12):
        share = (chunk + 0.5) / 12
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        expect(root).to_have_attribute("data-frame", re.compile(f"^{(500 * chunk + 250) // 100}.."))
    expect(root).to_have_attribute("data-chunks", str(KEPT))
    colours = slider.locator("canvas").evaluate(COLOURS)
    assert UNKNOWN not in colours, "the slider has forgotten verdicts of chunks that were dropped"
    page.keyboard.press("Home")
    shows(root, 0)
    expect(root).to_have_attribute("data-sha256", entry(0).sha256)
    page.keyboard.press("]")
    shows(root, BLOCKED)
    expect(root).to_have_attribute("data-tone", "stopped")
    expect(root).to_have_attribute("data-chunks", str(KEPT))


def test_a_frame_on_its_way_is_not_dropped_for_neighbours_of_the_one_before(
    page: Page, desk_url: str
) -> None:
    """The last frame is wanted, and is late, when the player comes to what lies around the frame before."""
    page.add_init_script(HOLDING)
    late = entry(5999).sha256
    came: list[Route] = []

    def hold(route: Route) -> None:
        came.append(route)

    page.route(f"**/frames/acme/long/{late}", hold)
    root = open_player(page, desk_url, LONG)
    current = root.locator(".pr-thumb[data-current]")
    expect(current).to_have_attribute("data-index", "0")
    page.evaluate("window.holdPainting = true")
    page.keyboard.press("ArrowRight")
    shows(root, 1)
    with page.expect_request(f"**/frames/acme/long/{late}"):
        page.keyboard.press("End")
    page.evaluate("window.paint()")
    expect(current).to_have_attribute("data-index", "1")
    assert len(came) == 1
    came[0].continue_()
    shows(root, 5999)
    expect(root).to_have_attribute("data-verified", "match")


def test_the_strip_shows_the_frames_around_the_current_one_in_their_order(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, LONG)
    for keys, place in (
        ("End", 5999),
        ("ArrowLeft", 5998),
        ("Home", 0),
        ("PageDown", 100),
        ("ArrowRight", 101),
    ):
        page.keyboard.press(keys)
        shows(root, place)
        expect(root.locator(".pr-thumb[data-current]")).to_have_attribute("data-index", str(place))
        shown = [int(text) - 1 for text in root.locator(".pr-thumb .pr-number").all_inner_texts()]
        assert shown == list(range(shown[0], shown[0] + len(shown)))
        assert place in shown
        assert root.locator(".pr-thumb[data-current]").count() == 1
    for name in ("ArrowLeft", "ArrowLeft", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(name)
    shows(root, 110)
    thumb = root.locator(".pr-thumb[data-index='113']")
    expect(thumb).to_have_attribute("aria-label", re.compile(r"^Frame 114 of 6000"))
    thumb.click()
    shows(root, 113)
