"""The guard alone, around somebody else's Playwright page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from executor.guards.base import Purpose
from executor.guards.page import guarded_page
from executor.tools.base import Settle, SiteRules, StepReport
from tests.executor.guards.support import FIELDS, INTENT, RULE
from tests.support.chromium import FixedClock
from tests.support.site import Site

pytestmark = pytest.mark.browser
QUICK = Settle(quiet_ms=40)
PURPOSE = Purpose(intent=INTENT, fields=FIELDS)
SWAP = "() => { document.querySelector('#approve').textContent = 'Reject'; }"


def rules(site: Site) -> SiteRules:
    return SiteRules(origins=(site.url,))


def test_a_loop_of_ones_own_is_recorded_step_by_step(page: Page, site: Site) -> None:
    reports: list[StepReport] = []
    with guarded_page(
        page, rules=rules(site), sink=reports.append, clock=FixedClock(), settle=QUICK
    ) as guarded:
        guarded.goto("/form.html")
        guarded.fill("[name=amount]", "99.00")
        guarded.click("#approve", label="Approve", rule=RULE, purpose=PURPOSE)
    assert [r.step.kind for r in reports] == ["fill", "click"]
    last = reports[-1]
    assert not last.enforced
    assert last.performed.status == "executed"
    assert last.performed.requests == ("POST /bills/INV-4114/actions 200",)
    assert last.before.frame.sha256 != last.after.frame.sha256
    assert last.effect.verdict == "pass"


def test_record_only_says_what_it_would_have_stopped_and_stops_nothing(page: Page, site: Site) -> None:
    reports: list[StepReport] = []
    with guarded_page(page, rules=rules(site), sink=reports.append, settle=QUICK) as guarded:
        guarded.goto("/form.html")
        page.locator("[name=amount]").fill("143474")
        guarded.click("#approve", label="Approve", rule=RULE, purpose=PURPOSE)
    assert {c.guard: c.verdict for c in reports[0].checks}["intent"] == "intent_mismatch"
    assert reports[0].performed.check is not None
    assert reports[0].performed.check.verdict == "request_mismatch"
    assert len(site.posts) == 1


def test_guarded_stops_and_reports(page: Page, site: Site) -> None:
    reports: list[StepReport] = []
    with guarded_page(page, rules=rules(site), sink=reports.append, mode="guarded", settle=QUICK) as guarded:
        guarded.goto("/form.html")
        page.evaluate(SWAP)
        report = guarded.click("#approve", label="Approve", rule=RULE, purpose=Purpose())
    assert report.enforced
    assert report.performed.status == "blocked"
    assert report.performed.check is not None
    assert report.performed.check.verdict == "precondition_failed"
    assert reports == [report]
    assert site.posts == []


def test_a_point_of_the_screen_is_observed_like_a_selector(page: Page, site: Site) -> None:
    reports: list[StepReport] = []
    with guarded_page(page, rules=rules(site), sink=reports.append, settle=QUICK) as guarded:
        guarded.goto("/form.html")
        box = page.locator("#approve").bounding_box()
        assert box is not None
        guarded.click_at(round(box["x"] + 10), round(box["y"] + 10), rule=RULE, purpose=PURPOSE)
    assert reports[0].target is not None
    assert reports[0].target.label == "Approve"
    assert len(site.posts) == 1


def test_a_secret_is_filled_in_and_in_no_report(page: Page, site: Site) -> None:
    reports: list[StepReport] = []
    with guarded_page(page, rules=rules(site), sink=reports.append, settle=QUICK) as guarded:
        guarded.goto("/form.html")
        page.evaluate("() => { document.querySelector('[name=month]').type = 'password'; }")
        guarded.fill("[name=month]", "hunter22", secret=True)
        assert page.locator("[name=month]").input_value() == "hunter22"
    assert reports[0].step.text == ""
    assert "hunter22" not in repr(reports[0])


def test_an_element_the_guard_cannot_name_is_left_to_the_loops_own_click(page: Page, site: Site) -> None:
    reports: list[StepReport] = []
    with guarded_page(page, rules=rules(site), sink=reports.append, settle=QUICK) as guarded:
        guarded.goto("/form.html")
        page.set_default_timeout(500)
        report = guarded.click("#nowhere")
    assert report.target is None
    assert report.performed.status == "failed"


def test_the_page_is_free_again_after_the_block(page: Page, site: Site) -> None:
    with guarded_page(page, rules=rules(site), sink=lambda _: None, mode="guarded", settle=QUICK) as guarded:
        guarded.goto("/form.html")
    assert page.evaluate("() => fetch('/free', {method: 'POST'}).then(r => r.status)") == 200
    assert [path for path, _ in site.posts] == ["/free"]
