"""The player in a real Chromium, inside the real desk."""

from __future__ import annotations

import hashlib
import re
import time

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.replay_ui.player.server import CORRUPT, LOST, TAMPERED
from tests.replay_ui.synthetic import BLOCKED_STEP, FAILED_STEP, HOSTILE, entry

pytestmark = pytest.mark.browser


def open_player(page: Page, url: str, query: str = "") -> Locator:
    page.goto(f"{url}/{query}")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    root = page.locator(".pr-player")
    expect(root).to_have_attribute("data-state", "ready", timeout=60_000)
    return root


def shows(root: Locator, index: int) -> None:
    expect(root).to_have_attribute("data-frame", str(index))


def pixel_hash(page: Page) -> str:
    """Hash of what the canvas really holds, whatever the attributes say."""
    pixels = page.locator("canvas.pr-frame:not(.pr-other)").evaluate(
        "canvas => canvas.toDataURL('image/png')"
    )
    return hashlib.sha256(str(pixels).encode()).hexdigest()


def marked_pixels(page: Page) -> int:
    """How many pixels of the overlay are drawn on."""
    script = """canvas => {
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let drawn = 0;
        for (let i = 3; i < data.length; i += 4) if (data[i] > 0) drawn += 1;
        return drawn;
    }"""
    return int(page.locator("canvas.pr-marks").evaluate(script))


def test_five_presses_of_the_right_arrow_show_five_different_verified_frames(
    page: Page, desk_url: str
) -> None:
    root = open_player(page, desk_url)
    shows(root, 0)
    pictures, hashes = {pixel_hash(page)}, {root.get_attribute("data-sha256")}
    for index in range(1, 6):
        page.keyboard.press("ArrowRight")
        shows(root, index)
        expect(root).to_have_attribute("data-verified", "match")
        assert root.get_attribute("data-sha256") == entry(index).sha256
        pictures.add(pixel_hash(page))
        hashes.add(root.get_attribute("data-sha256"))
    assert len(pictures) == 6
    assert len(hashes) == 6
    expect(page.locator(".pr-caption .pr-badge")).to_have_text("Hash matches the record")


def test_a_slow_line_never_drags_the_viewer_back_to_where_they_were(page: Page, desk_url: str) -> None:
    """What the page writes into the address for the viewer comes late; meanwhile they go on."""
    line = SlowLine(page)
    root = open_player(page, desk_url)
    line.holds = True
    for index in (1, 2):
        page.keyboard.press("ArrowRight")
        shows(root, index)
        line.wait_for(f"state {index} match")
    line.let_through("state 1 match")
    page.wait_for_url("**/*frame=2*")
    page.keyboard.press("ArrowRight")
    shows(root, 3)
    line.wait_for("state 3 match")
    line.holds = False
    line.let_through()
    expect(page.get_by_text("state 3 match")).to_be_visible()
    page.wait_for_url("**/*frame=4*")
    shows(root, 3)


class SlowLine:
    """The page's WebSocket, whose messages to the page can be held back."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.holds = False
        self._held: list[str | bytes] = []
        self._socket: WebSocketRoute | None = None
        page.route_web_socket("**/_stcore/stream*", self._route)

    def _route(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        server = socket.connect_to_server()
        server.on_message(self._came)

    def _came(self, message: str | bytes) -> None:
        assert self._socket is not None
        if self.holds:
            self._held.append(message)
        else:
            self._socket.send(message)

    def wait_for(self, text: str) -> None:
        """Wait until a message with this text is held back."""
        end = time.monotonic() + 60
        while self._place(text) is None:
            assert time.monotonic() < end, f"{text!r} never came"
            self.page.wait_for_timeout(20)

    def let_through(self, text: str = "") -> None:
        """Let messages through, up to the one with this text, or all."""
        assert self._socket is not None
        place = self._place(text) if text else None
        count = len(self._held) if place is None else place + 1
        going, self._held = self._held[:count], self._held[count:]
        for message in going:
            self._socket.send(message)

    def _place(self, text: str) -> int | None:
        found = (n for n, one in enumerate(self._held) if text.encode() in _bytes(one))
        return next(found, None)


def _bytes(message: str | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.encode()


def test_the_click_is_marked_where_it_was_recorded_and_can_be_hidden(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, "?frame=2")
    point = entry(1).point
    assert point is not None
    expect(root).to_have_attribute("data-marker", f"{point[0]:g},{point[1]:g}")
    page.keyboard.press("o")
    with_marker = marked_pixels(page)
    page.keyboard.press("m")
    expect(root).to_have_attribute("data-marker", "")
    assert with_marker > marked_pixels(page) == 0
    page.keyboard.press("o")
    expect(page.locator("[data-command=boxes]")).to_have_attribute("aria-pressed", "true")
    assert marked_pixels(page) > 0


def test_a_tampered_frame_says_that_its_hash_differs(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, f"?frame={TAMPERED + 1}")
    shows(root, TAMPERED)
    expect(root).to_have_attribute("data-verified", "differs")
    expect(page.locator(".pr-caption .pr-badge")).to_contain_text("Hash differs from the record")
    expect(page.locator(".pr-stage")).to_have_class(re.compile("pr-bad"))
    page.keyboard.press("ArrowLeft")
    expect(root).to_have_attribute("data-verified", "match")


def test_a_frame_that_is_gone_or_refused_by_the_store_is_named_and_not_passed_over(
    page: Page, desk_url: str
) -> None:
    root = open_player(page, desk_url, f"?frame={LOST + 1}")
    shows(root, LOST)
    expect(root).to_have_attribute("data-verified", "missing")
    expect(page.locator(".pr-note")).to_contain_text("not available")
    page.keyboard.press("ArrowRight")
    shows(root, CORRUPT)
    expect(root).to_have_attribute("data-verified", "differs")


def test_brackets_jump_to_blocked_and_failed_steps_and_stop_at_the_last(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url)
    blocked, failed = (BLOCKED_STEP - 1) * 4 + 1, (FAILED_STEP - 1) * 4 + 3
    page.keyboard.press("]")
    shows(root, blocked)
    expect(page.locator(".pr-caption .pr-chip")).to_have_text("blocked")
    expect(page.locator(".pr-guard").first).to_contain_text("row_pixels_changed")
    expect(page.locator(".pr-guard").first).to_contain_text("1180")
    page.keyboard.press("]")
    shows(root, failed)
    page.keyboard.press("]")
    shows(root, failed)
    page.keyboard.press("[")
    shows(root, blocked)


def test_keys_move_by_ten_and_to_both_ends(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url)
    page.keyboard.press("Shift+ArrowRight")
    shows(root, 10)
    page.keyboard.press("End")
    shows(root, 39)
    page.keyboard.press("ArrowRight")
    shows(root, 39)
    page.keyboard.press("Home")
    shows(root, 0)


def test_a_link_opens_its_frame_and_the_page_follows_the_viewer(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, "?run=run-1&frame=8")
    shows(root, 7)
    page.keyboard.press("ArrowRight")
    shows(root, 8)
    expect(page.get_by_text("state 8 match")).to_be_visible()
    page.keyboard.press("u")
    expect(root).to_have_attribute("data-copied", re.compile(r"\?.*frame=9"))
    link = root.get_attribute("data-copied")
    assert link is not None
    page.goto("about:blank")
    page.goto(link)
    shows(page.locator(".pr-player"), 8)


def test_the_page_can_move_the_player_again_to_where_it_was_before(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url)
    page.get_by_role("button", name="Open frame 10", exact=True).click()
    shows(root, 9)
    expect(page.get_by_text("state 9 match")).to_be_visible()
    root.locator(".pr-slider").focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("state 0 match")).to_be_visible()
    page.get_by_role("button", name="Open frame 10", exact=True).click()
    shows(root, 9)


def test_playing_moves_on_by_itself_and_space_stops_it(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url)
    page.get_by_label("Playback speed").select_option("8")
    root.locator(".pr-slider").focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-command=play]")).to_have_attribute("aria-label", "Pause")
    expect(root).not_to_have_attribute("data-frame", re.compile("^[0-3]$"))
    page.keyboard.press("Space")
    expect(page.locator("[data-command=play]")).to_have_attribute("aria-label", "Play")
    page.keyboard.press("End")
    page.keyboard.press("j")
    expect(root).not_to_have_attribute("data-frame", re.compile("^3[7-9]$"))
    page.keyboard.press("k")


def test_comparing_uses_the_frame_before_the_action_and_counts_changed_tiles(
    page: Page, desk_url: str
) -> None:
    root = open_player(page, desk_url, "?frame=3")
    page.keyboard.press("d")
    expect(root).to_have_attribute("data-compare", "1")
    expect(root).to_have_attribute("data-changed", re.compile("^[1-9]"))
    expect(page.locator(".pr-compare-note:not([hidden])")).to_contain_text(
        "of 4000 tiles changed since frame 2"
    )
    page.keyboard.press("d")
    page.keyboard.press("b")
    other = page.locator("canvas.pr-other")
    expect(other).to_be_visible()
    expect(page.locator(".pr-compare-note:not([hidden])")).to_have_text(
        "Compared with frame 2 (before the action)"
    )
    handle = page.locator(".pr-swipe")
    handle.focus()
    page.keyboard.press("End")
    expect(handle).to_have_attribute("aria-valuenow", "100")
    shows(root, 2)
    page.keyboard.press("v")
    expect(handle).to_be_hidden()
    expect(other).to_be_hidden()
    expect(other).to_be_visible()


def test_zoom_reaches_single_pixels_and_comes_back(page: Page, desk_url: str) -> None:
    open_player(page, desk_url)
    frame = page.locator("canvas.pr-frame").first
    expect(frame).not_to_have_class(re.compile("pr-pixels"))
    page.locator(".pr-stage").hover()
    for _ in range(8):
        page.mouse.wheel(0, -100)
    expect(frame).to_have_class(re.compile("pr-pixels"))
    page.keyboard.press("0")
    expect(frame).not_to_have_class(re.compile("pr-pixels"))


def test_the_slider_is_a_slider_to_assistive_technology(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, "?frame=10")
    slider = page.get_by_role("slider", name="Position in the run")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuenow", "10")
    expect(slider).to_have_attribute("aria-valuemax", "40")
    expect(slider).to_have_attribute("aria-valuetext", "Frame 10 of 40, blocked")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2)
    shows(root, 39)


def test_markup_from_the_recorded_page_is_shown_as_text(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url)
    expect(root.locator("dd", has_text=HOSTILE)).to_be_visible()
    assert root.locator("script, img").count() == 0
    expect(page).to_have_title("Replay")


def test_the_stored_event_is_fetched_when_it_is_asked_for(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, "?frame=3")
    root.locator("summary").click()
    expect(root.locator("pre")).to_contain_text('"name": "action.executed"')


def test_help_opens_and_closes_by_key(page: Page, desk_url: str) -> None:
    open_player(page, desk_url)
    dialog = page.get_by_role("dialog", name="Keyboard help")
    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_one_frame_and_none_are_shown_for_what_they_are(page: Page, desk_url: str) -> None:
    root = open_player(page, desk_url, "?run=single&n=1")
    expect(root).to_have_attribute("data-total", "1")
    page.keyboard.press("ArrowRight")
    shows(root, 0)
    page.goto(f"{desk_url}/?run=empty&n=0")
    expect(page.locator(".pr-caption")).to_have_text("This run has no frames.")


def test_a_long_run_fetches_only_the_chunks_that_it_shows(page: Page, desk_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    root = open_player(page, desk_url, "?run=long&n=6000&frame=1")
    page.keyboard.press("End")
    shows(root, 5999)
    expect(root).to_have_attribute("data-verified", "match")
    chunks = {url.rsplit("/", 1)[1] for url in asked if "/manifest/acme/long/" in url}
    assert chunks == {"0.json", "11.json"}


def test_a_run_of_another_tenant_cannot_be_loaded(page: Page, desk_url: str) -> None:
    page.goto(f"{desk_url}/?tenant=globex&run=run-1")
    root = page.locator(".pr-player")
    expect(root).to_have_attribute("data-state", "failed")
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")


def test_the_desk_works_under_its_own_policy_and_asks_nobody_else(page: Page, desk_url: str) -> None:
    complaints: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: hosts.add(request.url.split("/")[2] if "//" in request.url else ""))
    open_player(page, desk_url)
    page.keyboard.press("ArrowRight")
    assert not [text for text in complaints if "Content Security Policy" in text or "Error" in text]
    assert hosts - {""} == {desk_url.split("/")[2]}
