"""What leaves the browser, in a real Chromium against a real server: the server's own log is the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser

from domain.errors import ConfigError, WorldError
from executor.tools.base import Mode, Performed, SiteRules
from executor.tools.browser import BrowserTool
from tests.executor.guards.support import APPROVE, FIELDS, INTENT, RULE
from tests.support.chromium import FixedClock
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser
PATH = "/bills/INV-4114/actions"
FORM_FIELDS = replace(FIELDS, form_selector="#bill", drawn=())


def opened(browser: Browser, site: Site, mode: Mode = "guarded", **rules: Any) -> BrowserTool:  # noqa: ANN401
    tool = BrowserTool.open(browser, SiteRules(origins=(site.url,), **rules), clock=FixedClock(), mode=mode)
    tool.goto("/form.html")
    return tool


@pytest.fixture
def tool(browser: Browser, site: Site) -> Iterator[BrowserTool]:
    with opened(browser, site) as made:
        yield made


def approve(tool: BrowserTool, change: str = "") -> Performed:
    target = tool.locate(APPROVE.selectors, APPROVE.label)
    assert target is not None
    if change:
        tool.page.evaluate(f"() => {{ {change} }}")
    return tool.perform(APPROVE, target, RULE, intent=INTENT)


def test_the_intended_request_leaves_and_is_listed_without_its_content(tool: BrowserTool, site: Site) -> None:
    performed = approve(tool)
    assert performed.status == "executed"
    assert performed.check is None
    assert performed.requests == (f"POST {PATH} 200",)
    assert performed.toast == "Approved"
    assert performed.delivered_events == 5
    assert [path for path, _ in site.posts] == [PATH]
    assert "do-not-tell" in site.posts[0][1]
    assert "do-not-tell" not in repr(performed)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("path = '/bills/all/actions'", "POST /bills/all/actions"),
        ("path = '/bills/INV-4115/actions'", "POST /bills/INV-4115/actions"),
        ("extra = {amount: '143474'}", "amount=143474"),
        ("extra = {currency: 'USD'}", "currency=USD"),
        ("extra = {month: '2026-12'}", "month=2026-12"),
        ("extra = {counterparty_id: 'V777'}", "counterparty_id=V777"),
        ("extra = {action: 'refund'}", "action=refund"),
        ("extra = {all: '1'}", "all=given"),
    ],
)
def test_a_request_that_does_not_agree_is_aborted_before_anything_is_sent(
    tool: BrowserTool, site: Site, change: str, found: str
) -> None:
    performed = approve(tool, change)
    assert performed.status == "blocked"
    assert performed.check is not None
    assert performed.check.verdict == "request_mismatch"
    assert found in performed.check.found
    assert performed.requests[0].endswith(" aborted")
    assert site.posts == []


def test_a_second_request_of_one_click_is_aborted_and_the_first_has_to_be_read_back(
    tool: BrowserTool, site: Site
) -> None:
    performed = approve(tool, "times = 2")
    assert performed.status == "unknown"
    assert performed.check is not None
    assert "requests=2" in performed.check.found
    assert len(site.posts) == 1


def test_a_write_outside_of_a_writing_step_is_aborted(tool: BrowserTool, site: Site) -> None:
    step = replace(APPROVE, writes=False)
    target = tool.locate(step.selectors)
    assert target is not None
    performed = tool.perform(step, target, RULE, intent=INTENT)
    assert performed.status == "blocked"
    assert performed.check is not None
    assert performed.check.expected == "no request that may write"
    tool.page.evaluate("() => { fetch('/later', {method: 'POST'}).catch(() => {}); }")
    tool.page.wait_for_timeout(100)
    assert tool.hold.strays == ["POST /later"]
    assert site.posts == []


def test_posts_that_the_page_is_configured_to_send_by_itself_pass(browser: Browser, site: Site) -> None:
    with opened(browser, site, free_posts=("/heartbeat",)) as tool:
        tool.page.evaluate("() => fetch('/heartbeat', {method: 'POST'})")
        assert [path for path, _ in site.posts] == ["/heartbeat"]
        assert tool.hold.strays == []


def test_an_answer_that_does_not_come_is_unknown(tool: BrowserTool, site: Site) -> None:
    site.answers[PATH] = Answer(status=504)
    performed = approve(tool)
    assert performed.status == "unknown"
    assert performed.requests == (f"POST {PATH} 504",)
    assert len(site.posts) == 1


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer(status=401), "session_expired"),
        (Answer(status=403), "forbidden"),
        (Answer(status=302, headers={"Location": "/login"}), "session_expired"),
    ],
)
def test_a_refused_session_is_failed_and_says_which(
    tool: BrowserTool, site: Site, answer: Answer, verdict: str
) -> None:
    site.answers[PATH] = answer
    site.answers["/login"] = Answer(body="log in")
    performed = approve(tool)
    assert performed.status == "failed"
    assert performed.check is not None
    assert performed.check.verdict == verdict
    assert len(site.posts) == 1


def test_a_write_that_is_sent_on_to_another_path_is_found(tool: BrowserTool, site: Site) -> None:
    site.answers[PATH] = Answer(status=307, headers={"Location": "/bills/all/actions"})
    performed = approve(tool)
    assert performed.status == "unknown"
    assert performed.check is not None
    assert performed.check.verdict == "request_mismatch"


def test_a_click_without_a_request_has_certainly_no_effect(tool: BrowserTool, site: Site) -> None:
    performed = approve(tool, "times = 0")
    assert performed.status == "failed"
    assert performed.check is not None
    assert (performed.check.guard, performed.check.verdict) == ("request", "noop")
    assert site.posts == []


def test_a_record_only_run_holds_nothing_and_says_what_it_would_have_held(
    browser: Browser, site: Site
) -> None:
    with opened(browser, site, "record_only") as tool:
        performed = approve(tool, "extra = {amount: '143474'}")
    assert performed.status == "executed"
    assert performed.check is not None
    assert performed.check.verdict == "request_mismatch"
    assert performed.requests == (f"POST {PATH} 200",)
    assert len(site.posts) == 1


def test_another_origin_is_not_asked_and_leaving_is_found(tool: BrowserTool, site: Site) -> None:
    foreign = site.url.replace("127.0.0.1", "localhost")
    target = tool.locate(APPROVE.selectors)
    assert target is not None
    tool.page.evaluate(
        "url => { document.querySelector('#approve').onclick = () => { location.href = url; }; times = 0; }",
        f"{foreign}/stolen",
    )
    performed = tool.perform(APPROVE, target, RULE, intent=INTENT)
    assert performed.check is not None
    assert (performed.status, performed.check.verdict) == ("blocked", "left_origin")
    tool.page.evaluate("url => { new Image().src = url; fetch(url).catch(() => {}); }", f"{foreign}/pixel")
    tool.page.wait_for_timeout(100)
    assert not {"/stolen", "/pixel"} & set(site.asked)


def test_a_new_window_is_closed_and_found(tool: BrowserTool, site: Site) -> None:
    target = tool.locate(APPROVE.selectors)
    assert target is not None
    tool.page.evaluate(
        "() => { times = 0; document.querySelector('#approve').onclick = () => { open('/popup'); }; }"
    )
    performed = tool.perform(APPROVE, target, RULE, intent=INTENT)
    assert performed.check is not None
    assert performed.check.verdict == "left_origin"
    tool.page.wait_for_timeout(100)
    assert len(tool.page.context.pages) == 1
    assert "/popup" not in site.asked


def test_an_address_that_redirects_to_another_origin_is_an_error(tool: BrowserTool, site: Site) -> None:
    foreign = site.url.replace("127.0.0.1", "localhost")
    site.answers["/away"] = Answer(status=302, headers={"Location": f"{foreign}/form.html"})
    with pytest.raises(WorldError):
        tool.goto("/away")


def test_a_guarded_run_needs_a_configured_origin(browser: Browser) -> None:
    with pytest.raises(ConfigError, match="origin"):
        BrowserTool.open(browser, SiteRules(origins=()), clock=FixedClock())


def test_a_form_that_was_wrong_all_along_is_seen_with_its_hidden_fields(
    tool: BrowserTool, site: Site
) -> None:
    tool.page.evaluate("() => { document.querySelector('[name=counterparty_id]').value = 'V777'; }")
    target = tool.locate(APPROVE.selectors, fields=FORM_FIELDS)
    assert target is not None
    assert target.form["counterparty_id"] == "V777"
    assert target.form["csrf"] == "•"
