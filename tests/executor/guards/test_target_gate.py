"""The target gate in a real Chromium: what must not get through, and what must."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import Page

from executor.guards.target_gate import TargetGate, gate_check
from executor.guards.world import IsolatedWorld
from executor.tools.base import FieldMap, SiteRules
from tests.executor.guards.gating import arrange, click, observed
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser

SWAPS = (
    "replaced_node",
    "changed_node",
    "acts_on_pointerdown",
    "clear_overlay",
    "swapped_order",
    "shifted_row",
    "shadow_root",
    "inside_iframe",
)
BENIGN = (
    "plain",
    "same_text_again",
    "table_drawn_again_with_a_row_below",
    "other_row_changes",
    "relative_time_in_the_row",
    "title_on_hover",
    "class_on_press",
    "label_on_press",
    "expanded_on_press",
    "pressed_on_click",
    "state_on_press",
    "ripple_in_the_button",
    "link_to_a_part",
    "form_submits",
    "label_of_a_checkbox",
    "icon_in_the_button",
    "blur_tidies_a_field",
    "theme_turns_dark",
    "spinner_in_the_button",
)
ALL_EVENTS = ("pointerdown", "mousedown", "pointerup", "mouseup", "click")


@pytest.fixture
def gate(page: Page) -> TargetGate:
    return TargetGate(IsolatedWorld(page, SiteRules(origins=())))


@pytest.mark.parametrize("kind", SWAPS)
def test_no_swap_between_look_and_click_gets_a_click_on_the_wrong_thing(
    gate: TargetGate, page: Page, site: Site, kind: str
) -> None:
    page.goto(f"{site.url}/swaps.html")
    seeded = random.Random(f"swap {kind}")
    blocked = 0
    for _ in range(5):
        button = arrange(page, kind)
        target = observed(gate, button)
        page.evaluate("ms => later(ms)", seeded.uniform(0, 40))
        report = click(gate, target)
        page.wait_for_timeout(60)
        done = page.evaluate("done")
        assert done["wrong"] == 0
        assert done["right"] == (0 if report.blocked else 1), report
        blocked += report.blocked
    button = arrange(page, kind)
    target = observed(gate, button)
    page.evaluate("swap()")
    assert click(gate, target).blocked
    assert page.evaluate("done") == {"right": 0, "wrong": 0}


@pytest.mark.parametrize("kind", SWAPS)
def test_a_swap_after_the_gate_was_armed_is_swallowed_in_the_event_itself(
    gate: TargetGate, page: Page, site: Site, kind: str
) -> None:
    page.goto(f"{site.url}/swaps.html")
    target = observed(gate, arrange(page, kind))
    assert gate.arm(target) is None
    page.evaluate("swap()")
    page.mouse.click(*gate.pointer(target))
    report = gate.disarm()
    assert report.blocked
    assert report.event == "pointerdown"
    assert report.expected != report.found
    assert gate_check(report).verdict == "target_changed"
    assert page.evaluate("done") == {"right": 0, "wrong": 0}


@pytest.mark.parametrize("kind", BENIGN)
def test_a_benign_change_is_not_blocked(gate: TargetGate, page: Page, site: Site, kind: str) -> None:
    page.goto(f"{site.url}/benign.html")
    for _ in range(2):
        page.mouse.move(900, 650)
        page.evaluate("name => arrange(name)", kind)
        target = observed(gate, page.locator("#t"))
        page.wait_for_timeout(40)
        report = click(gate, target)
        assert not report.blocked, (kind, report)
        assert page.evaluate("hits") == 1


def test_a_record_only_gate_says_what_it_would_have_blocked_and_blocks_nothing(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/swaps.html")
    target = observed(gate, arrange(page, "replaced_node"))
    page.evaluate("swap()")
    report = click(gate, target, enforce=False)
    assert report.blocked
    assert (report.expected, report.found) == ("label=Save", "label=Delete")
    assert report.delivered == ALL_EVENTS
    assert page.evaluate("done") == {"right": 0, "wrong": 1}


def test_the_page_neither_sees_the_gate_nor_can_switch_it_off(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/swaps.html")
    target = observed(gate, arrange(page, "replaced_node"))
    names = page.evaluate("Object.keys(window).filter(k => /^b[0-9a-f]{24}$/.test(k)).length")
    assert [page.evaluate("typeof __proofreel"), names] == ["undefined", 0]
    page.evaluate(
        """() => { window.early = 0;
        window.addEventListener("pointerdown", e => { early += 1; e.stopImmediatePropagation(); }, true);
        EventTarget.prototype.addEventListener = () => {}; EventTarget.prototype.dispatchEvent = () => true;
        Event.prototype.composedPath = () => []; JSON.stringify = () => "{}"; }"""
    )
    assert gate.arm(target) is None
    page.evaluate("swap()")
    page.mouse.click(*gate.pointer(target))
    assert gate.disarm().blocked
    assert page.evaluate("[early, done.wrong]") == [0, 0]


def test_the_gate_stands_again_after_the_document_was_written_anew(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/swaps.html")
    page.evaluate(
        """() => { document.open(); document.write("<button onclick='window.hits = 1'>New</button>");
        document.close(); }"""
    )
    target = observed(gate, page.locator("button"))
    assert gate.arm(target) is None
    page.evaluate("() => { document.querySelector('button').textContent = 'Other'; }")
    page.mouse.click(*gate.pointer(target))
    assert gate.disarm().blocked
    assert page.evaluate("window.hits") is None


def test_keyboard_input_passes_only_while_the_observed_element_has_the_focus(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/swaps.html")
    save = arrange(page, "swapped_order")
    target = observed(gate, save)
    assert gate.arm(target, "key", take="focus") is None
    page.keyboard.press("Enter")
    assert not gate.disarm().blocked
    assert page.evaluate("done") == {"right": 1, "wrong": 0}
    assert gate.arm(target, "key", take="focus") is None
    page.evaluate("() => document.querySelectorAll('button')[1].focus()")
    page.keyboard.press("Enter")
    report = gate.disarm()
    assert report.blocked
    assert "label=Delete" in report.found
    assert page.evaluate("done") == {"right": 1, "wrong": 0}


def test_typed_text_does_not_land_in_a_field_that_took_the_focus(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/form.html")
    target = observed(gate, page.locator("[name=amount]"))
    assert gate.arm(target, "key", take="all") is None
    page.evaluate("() => document.querySelector('[name=month]').focus()")
    page.keyboard.insert_text("99")
    assert gate.disarm().blocked
    assert page.locator("[name=month]").input_value() == "2026-11"
    assert gate.arm(target, "key", take="all") is None
    page.keyboard.insert_text("99")
    assert not gate.disarm().blocked
    assert gate.holds(target, "99")


def test_a_click_of_which_no_event_was_seen_is_told_apart_from_a_navigation(
    gate: TargetGate, page: Page, site: Site
) -> None:
    site.answers["/away"] = Answer(body="<a href='/gone'>Leave</a>")
    site.answers["/gone"] = Answer(body="<p>gone</p>")
    page.goto(f"{site.url}/away")
    target = observed(gate, page.locator("a"))
    assert gate.arm(target) is None
    silent = gate.disarm()
    assert gate_check(silent).verdict == "noop"
    assert gate.arm(target) is None
    page.mouse.click(*gate.pointer(target))
    page.wait_for_url("**/gone")
    left = gate.disarm()
    assert left.navigated
    assert left.delivered == ALL_EVENTS
    assert gate_check(left).verdict == "pass"


def test_an_element_of_an_earlier_document_is_refused(gate: TargetGate, page: Page, site: Site) -> None:
    page.goto(f"{site.url}/swaps.html")
    target = observed(gate, arrange(page, "replaced_node"))
    page.goto(f"{site.url}/form.html")
    refused = gate.arm(target)
    assert refused is not None
    assert refused.blocked


def test_a_changed_hidden_field_is_a_changed_target(gate: TargetGate, page: Page, site: Site) -> None:
    page.goto(f"{site.url}/form.html")
    target = observed(gate, page.locator("#approve"))
    assert target.form["counterparty_id"] == "V102"
    page.evaluate("() => { document.querySelector('[name=counterparty_id]').value = 'V777'; }")
    report = click(gate, target)
    assert report.blocked
    assert "V102" in report.expected
    assert "V777" in report.found
    assert not site.posts


def test_a_field_that_changes_under_the_press_stops_the_click(
    gate: TargetGate, page: Page, site: Site
) -> None:
    page.goto(f"{site.url}/form.html")
    page.evaluate(
        """() => { const field = document.querySelector("[name=currency]"); field.focus();
        field.addEventListener("blur", () => { field.value = "USD"; }); }"""
    )
    fields = FieldMap(form={"currency": "currency", "amount": "amount"})
    target = observed(gate, page.locator("#approve"), fields)
    report = click(gate, target)
    assert report.blocked
    assert report.event in {"pointerup", "mouseup", "click"}
    assert not site.posts


def test_secrets_are_in_no_fingerprint_and_no_form_state(gate: TargetGate, page: Page, site: Site) -> None:
    site.answers["/login"] = Answer(
        body="""<form><input name=user value=me><input name=pw type=password value=hunter22>
        <input name=otp value=123456><input type=hidden name=csrf_token value=tok-9><button>Go</button></form>"""
    )
    page.goto(f"{site.url}/login?session=abc")
    page.evaluate("() => { document.querySelector('[name=pw]').focus(); }")
    page.keyboard.insert_text("more")
    page.evaluate("() => { document.querySelector('[name=pw]').type = 'text'; }")
    target = observed(gate, page.locator("button"))
    assert target.form == {"user": "me", "pw": "•", "otp": "•", "csrf_token": "•"}
    for secret in ("hunter22", "more", "123456", "tok-9", "abc"):
        assert secret not in target.fingerprint


def test_what_covers_a_target_is_named(gate: TargetGate, page: Page, site: Site) -> None:
    page.goto(f"{site.url}/swaps.html")
    button = arrange(page, "clear_overlay")
    assert observed(gate, button).covered_by == ""
    page.evaluate("() => { swap(); document.querySelector('.sheet').textContent = 'Loading'; }")
    assert observed(gate, button).covered_by == "div Loading"


def test_an_option_is_chosen_in_the_same_turn_in_which_the_list_is_compared(
    gate: TargetGate, page: Page, site: Site
) -> None:
    site.answers["/list"] = Answer(
        body="<select id=m onchange='window.seen = this.value'>"
        "<option value=10>October<option value=11>November</select>"
    )
    page.goto(f"{site.url}/list")
    target = observed(gate, page.locator("#m"))
    assert not gate.choose(target, "November").blocked
    assert page.evaluate("window.seen") == "11"
    stale = gate.choose(target, "October")
    assert stale.blocked
    assert page.locator("#m").input_value() == "11"
