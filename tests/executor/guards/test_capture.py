"""Frames in a real Chromium: the pixels of Playwright's own screenshot, and never a secret."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from executor.guards import pictures
from executor.guards.capture import MASK_COLOUR, Camera
from executor.guards.world import IsolatedWorld
from executor.tools.base import SiteRules
from tests.support.chromium import FixedClock
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser

LOGIN = """<body style="margin:0"><style>input{position:absolute;left:100px;width:200px;height:30px;border:0}</style>
<input name=user value=me style="top:50px"><input name=pw type=password value=hunter22 style="top:100px">
<p class=card style="position:absolute;left:100px;top:200px;width:200px;height:30px;margin:0">4111 1111</p>"""


COLOURS = """<body style="margin:0;background:conic-gradient(red,yellow,lime,aqua,blue,magenta,red)">
<canvas id=noise width=200 height=150></canvas><p style="opacity:.37">差异单 difference 0123456789</p><script>
const pen = noise.getContext('2d'), data = pen.createImageData(200, 150);
let seed = 7;
for (let i = 0; i < data.data.length; i++) data.data[i] = (seed = seed * 48271 % 2147483647) % 256;
pen.putImageData(data, 0, 0);
</script>"""


def camera(page: Page, rules: SiteRules | None = None) -> Camera:
    return Camera(IsolatedWorld(page, rules or SiteRules(origins=())), FixedClock())


def pixels(data: bytes) -> npt.NDArray[np.uint8]:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def is_flat(picture: npt.NDArray[np.uint8], left: int, top: int, width: int, height: int) -> bool:
    part = picture[top : top + height, left : left + width].reshape(-1, 3)
    return {tuple(int(v) for v in pixel) for pixel in np.unique(part, axis=0)} == {MASK_COLOUR}


def test_a_frame_is_pixel_for_pixel_the_screenshot_of_playwright(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/form.html")
    frame = camera(page).capture()
    assert np.array_equal(pixels(frame.data), pixels(page.screenshot()))
    assert (frame.width, frame.height) == pictures.size(frame.data) == (1000, 700)
    assert frame.masked == 0
    assert frame.media_type == frame.ref("before").media_type == "image/webp"


@pytest.mark.parametrize("scale", [1, 2, 1.5])
def test_no_pixel_is_lost_whatever_is_on_the_page(browser: Browser, site: Site, scale: float) -> None:
    site.answers["/colours"] = Answer(body=COLOURS)
    page = browser.new_page(viewport={"width": 400, "height": 300}, device_scale_factor=scale)
    page.goto(f"{site.url}/colours")
    frame = camera(page).capture()
    plain = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "png"})
    assert np.array_equal(pixels(frame.data), pixels(base64.b64decode(plain["data"])))
    page.close()


def test_a_browser_whose_webp_loses_something_is_asked_for_png(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/form.html")
    world = IsolatedWorld(page, SiteRules(origins=()))
    lossy, asked = io.BytesIO(), []
    Image.new("RGB", (1000, 700)).save(lossy, "WEBP", quality=80)
    send = world.send

    def older(method: str, params: dict[str, Any]) -> Any:  # noqa: ANN401 - passed through
        asked.append(params["format"])
        if params["format"] == "webp":
            return {"data": base64.b64encode(lossy.getvalue()).decode()}
        return send(method, params)

    world.send = older  # type: ignore[method-assign]
    eye = Camera(world, FixedClock())
    frame = eye.capture()
    assert np.array_equal(pixels(frame.data), pixels(page.screenshot()))
    assert frame.media_type == frame.ref("before").media_type == "image/png"
    eye.capture()
    assert asked == ["webp", "png", "png"], "it is asked once"


def test_an_unchanged_page_gives_the_same_frame_and_a_changed_one_another(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/form.html")
    eye = camera(page)
    first, second = eye.capture(), eye.capture()
    assert first.sha256 == second.sha256
    assert first.data == second.data
    assert first.captured_at_us < second.captured_at_us
    page.evaluate("() => { document.querySelector('#status').textContent = 'approved'; }")
    assert eye.capture().sha256 != first.sha256


def test_passwords_and_configured_fields_are_painted_over(page: Page, site: Site) -> None:
    site.answers["/login"] = Answer(body=LOGIN)
    page.goto(f"{site.url}/login")
    frame = camera(page, SiteRules(origins=(), mask_selectors=(".card",))).capture()
    picture = pixels(frame.data)
    assert frame.masked == 2
    assert is_flat(picture, 100, 100, 200, 30)
    assert is_flat(picture, 100, 200, 200, 30)
    assert not is_flat(picture, 100, 50, 200, 30)
    shown = pixels(page.screenshot())
    assert np.array_equal(picture[:95], shown[:95])


def test_a_password_that_the_page_shows_in_clear_stays_painted_over(page: Page, site: Site) -> None:
    site.answers["/login"] = Answer(body=LOGIN)
    page.goto(f"{site.url}/login")
    eye = camera(page)
    page.locator("[name=pw]").focus()
    page.evaluate("() => { document.querySelector('[name=pw]').type = 'text'; }")
    frame = eye.capture()
    assert is_flat(pixels(frame.data), 100, 100, 200, 30)


def test_a_secret_in_a_frame_of_the_page_is_painted_over_at_its_place(page: Page, site: Site) -> None:
    site.answers["/login"] = Answer(body=LOGIN)
    site.answers["/outer"] = Answer(
        body="<body style='margin:0'><iframe src=/login style='position:absolute;left:50px;top:200px;"
        "width:500px;height:300px;border:10px solid red'></iframe>"
    )
    page.goto(f"{site.url}/outer")
    page.frame_locator("iframe").locator("[name=pw]").wait_for()
    frame = camera(page).capture()
    assert frame.masked == 1
    assert is_flat(pixels(frame.data), 160, 310, 200, 30)


def test_the_page_is_not_changed_by_a_capture(page: Page, site: Site) -> None:
    site.answers["/login"] = Answer(body=LOGIN)
    page.goto(f"{site.url}/login")
    eye = camera(page)
    page.evaluate(
        """() => { window.changes = 0; new MutationObserver(l => { changes += l.length; })
        .observe(document, {subtree: true, childList: true, attributes: true, characterData: true}); }"""
    )
    before = page.content()
    eye.capture()
    assert page.content() == before
    assert page.evaluate("changes") == 0


def test_a_picture_is_handed_out_before_the_page_is_read_unless_it_holds_a_secret(
    page: Page, site: Site
) -> None:
    order: list[str] = []
    page.goto(f"{site.url}/form.html")
    frame, _ = camera(page).capture_with(
        lambda: order.append("read"), early=lambda frame: order.append(frame.sha256)
    )
    assert order == [frame.sha256, "read"]

    order.clear()
    site.answers["/login"] = Answer(body=LOGIN)
    page.goto(f"{site.url}/login")
    camera(page).capture_with(lambda: order.append("read"), early=lambda frame: order.append(frame.sha256))
    assert order == ["read"]
