"""Frames and shadow roots in a real Chromium: the gate follows into them, and denies the others."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Browser, Page

from domain.values import Point
from executor.guards.target_gate import TargetGate
from executor.guards.world import IsolatedWorld
from executor.tools.base import SiteRules
from executor.tools.chromium import find_chromium, flags
from tests.executor.guards.gating import arrange, click, observed
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser


@pytest.fixture
def gate(page: Page) -> TargetGate:
    return TargetGate(IsolatedWorld(page, SiteRules(origins=())))


def test_a_frame_that_slides_over_the_target_gets_no_click(gate: TargetGate, page: Page, site: Site) -> None:
    site.answers["/over"] = Answer(body="<body onclick='parent.hits = 1' style='margin:0;height:100vh'>over")
    page.goto(f"{site.url}/swaps.html")
    target = observed(gate, arrange(page, "replaced_node"))
    with page.expect_response("**/over"):
        page.evaluate(
            """() => { const f = document.createElement("iframe"); f.src = "/over"; f.id = "over";
            f.style.cssText = "position:fixed;left:0;top:400px;width:400px;height:200px"; document.body.append(f); }"""
        )
    page.frame_locator("#over").get_by_text("over").wait_for()
    assert gate.arm(target) is None
    page.evaluate("() => { document.getElementById('over').style.top = '0'; }")
    page.mouse.click(*gate.pointer(target))
    report = gate.disarm()
    assert report.blocked
    assert "frame=" in report.found
    assert page.evaluate("window.hits") is None
    assert page.evaluate("done") == {"right": 0, "wrong": 0}


def test_an_iframe_on_a_scrolled_page_is_followed_from_a_point(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/swaps.html")
    button = arrange(page, "inside_iframe")
    page.evaluate("() => { stage.style.paddingTop = '900px'; scrollTo(0, 500); }")
    target = observed(gate, button)
    at_point = observed(gate, target.point)
    assert at_point.fingerprint == target.fingerprint
    assert at_point.box == target.box
    assert not click(gate, at_point).blocked
    assert page.evaluate("done.right") == 1


def test_a_frame_in_a_process_of_its_own_is_followed_and_otherwise_denied(
    browser: Browser, site: Site
) -> None:
    bundled = browser.browser_type.executable_path
    isolated = browser.browser_type.launch(
        executable_path=find_chromium(os.environ.get("PROOFREEL_CHROMIUM"), bundled=bundled).path,
        args=[f for f in flags(root=os.geteuid() == 0) if "isolation" not in f],
    )
    try:
        page = isolated.new_page(viewport={"width": 1000, "height": 700})
        gate = TargetGate(IsolatedWorld(page, SiteRules(origins=())))
        other = site.url.replace("127.0.0.1", "localhost")
        site.answers["/inner"] = Answer(body="<button onclick=\"this.textContent = 'Done'\">Inner</button>")
        site.answers["/outer"] = Answer(
            body="<body style='margin:0'><button onclick=\"this.textContent = 'Done'\">Outer</button>"
            f"<iframe src='{other}/inner' style='position:absolute;left:100px;top:200px'></iframe>"
        )
        page.goto(f"{site.url}/outer")
        inner = page.frame_locator("iframe").locator("button")
        inner.wait_for()
        assert not click(gate, observed(gate, inner)).blocked
        assert inner.inner_text() == "Done"
        outer = page.locator("button")
        target = observed(gate, outer)
        assert gate.arm(target) is None
        page.evaluate("() => { const f = document.querySelector('iframe').style; f.left = f.top = '-9px'; }")
        page.wait_for_timeout(100)
        page.mouse.click(*gate.pointer(target))
        report = gate.disarm()
        assert report.blocked
        assert "frame=" in report.found
        assert outer.inner_text() == "Outer"
    finally:
        isolated.close()


def test_an_element_in_a_closed_shadow_root_is_observed_and_guarded(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/swaps.html")
    page.evaluate(
        """() => { window.hits = 0; const host = document.createElement("div");
        host.style.cssText = "position:fixed;left:300px;top:300px"; document.body.append(host);
        window.root = host.attachShadow({mode: "closed"}); root.innerHTML = "<button>Hidden</button>";
        root.firstChild.onclick = () => { hits += 1; }; }"""
    )
    place = Point(x=312, y=310)
    target = observed(gate, place)
    assert target.label == "Hidden"
    assert not click(gate, target).blocked
    assert page.evaluate("hits") == 1
    target = observed(gate, place)
    assert gate.arm(target) is None
    page.evaluate("() => { root.firstChild.textContent = 'Other'; }")
    page.mouse.click(312, 310)
    assert gate.disarm().blocked
    assert page.evaluate("hits") == 1
