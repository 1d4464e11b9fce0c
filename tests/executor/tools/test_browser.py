"""The browser rung on small pages: looking, finding, acting, logging in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser

from domain.errors import ConfigError, WorldError
from executor.config import Secret
from executor.guards.base import check_effect
from executor.tools.base import FieldMap, LoginForm, Probe, SiteRules, Step
from executor.tools.browser import FRESH_US, BrowserTool
from executor.tools.browser_hands import BrowserHands
from tests.support.chromium import FixedClock
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser

FORM = LoginForm(
    url="/login",
    account_selector="[name=user]",
    secret_selector="[name=pw]",
    submit_selector="button",
    post_path="/session",
    done_selector="#account",
)
LOGIN = """<form method=post action=/session><input name=user><input name=pw type=password>
<button>Log in</button></form>"""
SECRET = "hunter22-never-told"


@pytest.fixture
def tool(browser: Browser, site: Site) -> Iterator[BrowserTool]:
    rules = SiteRules(
        origins=(site.url,),
        account_selector="#account",
        volatile_selectors=("#clock",),
        probe=Probe(url=f"{site.url}/api/me", account_field="account"),
    )
    with BrowserTool.open(browser, rules, clock=FixedClock()) as made:
        yield made


def page_of(site: Site, body: str, path: str = "/page") -> str:
    site.answers[path] = Answer(body=f"<!doctype html><meta charset=utf-8><title>T</title>{body}")
    return path


# -- looking -----------------------------------------------------------------------------------------------


def test_a_look_names_the_page_the_account_and_the_frame(tool: BrowserTool) -> None:
    tool.goto("/form.html?token=tell-nobody&bill=7")
    seen = tool.look()
    assert seen.title == "Bill"
    assert seen.account == "svc-acme"
    assert seen.url.endswith("/form.html?token=%E2%80%A2&bill=7")
    assert (seen.frame.width, seen.frame.height) == (1280, 800)
    assert seen.signals == ()


def test_the_document_state_changes_with_substance_and_not_with_a_clock(
    tool: BrowserTool, site: Site
) -> None:
    body = "<p id=clock>1</p><p id=s>pending 3 分钟前</p><input id=i value=1><button id=b>Go</button>"
    tool.goto(page_of(site, body))
    first = tool.look()
    tool.page.evaluate(
        "() => { clock.textContent = '2'; s.textContent = 'pending 5 分钟前'; b.className = 'hover'; }"
    )
    assert check_effect(first, tool.look()).verdict == "noop"
    for change in ("s.textContent = 'done'", "i.value = '2'", "b.disabled = true"):
        before = tool.look()
        tool.page.evaluate(f"() => {{ {change}; }}")
        assert check_effect(before, tool.look()).verdict == "pass", change


def test_the_structure_changes_with_a_redesign_and_not_with_data(tool: BrowserTool, site: Site) -> None:
    def table(rows: int, label: str = "Amount", cell: str = "td") -> str:
        return f"<table><tr><th>{label}<tbody>" + f"<tr><{cell}>7 <button>Go</button>" * rows + "</table>"

    found = {}
    for name, body in {
        "one": table(1),
        "three": table(3),
        "renamed": table(1, "Total"),
        "cards": "<div class=card>7 <button>Go</button></div>",
    }.items():
        tool.goto(page_of(site, body))
        found[name] = tool.look().structure_sha256
    assert found["one"] == found["three"]
    assert len(set(found.values())) == 3


def test_native_dialogs_are_dismissed_and_recorded_and_accepted_once_if_expected(
    tool: BrowserTool, site: Site
) -> None:
    tool.goto(page_of(site, "<button onclick=\"window.said = confirm('Delete SO-1?')\">X</button>"))
    step = Step(kind="click", selectors=("button",))

    def press() -> tuple[bool, bool]:
        target = tool.locate(step.selectors)
        assert target is not None
        performed = tool.perform(step, target)
        assert performed.dialogs[0].message == "Delete SO-1?"
        return performed.dialogs[0].accepted, tool.page.evaluate("window.said")

    assert press() == (False, False)
    tool.expect_native("Delete SO-1?")
    assert press() == (True, True)
    assert press() == (False, False)
    tool.expect_native("Delete SO-2?")
    assert press() == (False, False)


CONFIRMS = {
    "by role": (
        "<div role=dialog class=box>Refund SO-77? <button>确认</button><button>取消</button></div>",
        True,
    ),
    "without a role": (
        (
            "<div class=dim></div><div class=box>退款 SO-77 <div>确定吗</div>"
            "<a class=btn-ok>确 定</a><a class=btn-no>取 消</a></div>"
        ),
        True,
    ),
    "in the row": (
        "<script>cell.innerHTML = 'Sure? <button>Yes</button> <button>No</button>'</script>",
        True,
    ),
    "in an iframe": (
        "<div class=box><iframe srcdoc='削除 SO-77? <button>はい</button><button>いいえ</button>'></iframe></div>",
        True,
    ),
    "dialog element": (
        (
            "<dialog id=d>SO-77 삭제할까요? <button>확인</button><button>취소</button></dialog>"
            "<script>d.showModal()</script>"
        ),
        True,
    ),
    "toast": ("<div role=status class=box>SO-77 updated</div>", False),
    "hidden dialog": (
        "<div role=dialog style='display:none'>SO-77? <button>OK</button><button>Cancel</button></div>",
        False,
    ),
    "menu": ("<div role=menu class=box><div role=menuitem>Delete SO-77</div></div>", False),
    "cookies": ("<div class=box>Cookies <button>OK</button><button>No</button></div>", False),
}


@pytest.mark.parametrize("kind", CONFIRMS)
def test_confirmation_screens_about_the_bill_are_seen_and_others_are_not(
    tool: BrowserTool, kind: str
) -> None:
    html, expected = CONFIRMS[kind]
    tool.goto("/confirms.html")
    tool.page.evaluate("html => show(html)", html)
    tool.page.wait_for_timeout(150)
    screens = tool.look().confirm_screens
    assert any("SO-77" in screen.text and screen.verb for screen in screens) is expected, screens


def test_a_fresh_picture_of_the_same_document_stands_for_the_next_look(tool: BrowserTool, site: Site) -> None:
    tool.goto(page_of(site, "<i id=clock>1</i><p id=p>one"))
    first = tool.look()
    tool.page.evaluate("() => { document.querySelector('#clock').textContent = '2'; }")
    assert tool.look(again=first).frame is first.frame
    assert tool.look().frame.sha256 != first.frame.sha256

    old = replace(first.frame, captured_at_us=first.frame.captured_at_us - FRESH_US)
    assert tool.look(again=replace(first, frame=old)).frame is not old
    tool.page.evaluate("() => { document.querySelector('#p').textContent = 'two'; }")
    changed = tool.look(again=first)
    assert changed.frame.sha256 != first.frame.sha256
    assert changed.document_sha256 != first.document_sha256


@pytest.mark.parametrize(("body", "recaptured"), [("<button>x</button>", 0), ("<canvas></canvas>", 1)])
def test_right_before_the_act_the_picture_is_taken_again_where_only_pixels_can_tell(
    tool: BrowserTool, site: Site, body: str, recaptured: int
) -> None:
    tool.goto(page_of(site, body))
    hands = BrowserHands(tool, form=FORM, account="", secret=Secret(SECRET))
    planned, step = tool.look(), Step(kind="click", selectors=("button,canvas",))
    target = hands.locate(step, FieldMap())
    assert target is not None
    checks, frame = hands.judge(step, target, planned, intent=None, fields=FieldMap(), known={})
    measured = next(check for check in checks if check.guard == "frame")
    assert measured.measures["recaptured"] == recaptured
    assert (frame is planned.frame) is not bool(recaptured)


# -- finding -----------------------------------------------------------------------------------------------


def test_the_first_selector_that_finds_exactly_one_visible_element_wins(
    tool: BrowserTool, site: Site
) -> None:
    tool.goto(
        page_of(site, "<button>A</button><button>B</button><button id=h hidden>C</button><a href=#x>D</a>")
    )
    assert tool.locate(("#none", "button")) is None
    assert tool.locate(("#h",)) is None
    found = tool.locate(("button", "a"))
    assert found is not None
    assert (found.label, found.selector) == ("D", "a")
    labelled = tool.locate(("button",), "B")
    assert labelled is not None
    assert labelled.label == "B"


HIDDEN = (
    "<button class=x style='visibility:hidden'>no</button><button class=x style='display:none'>no</button>"
)
EMPTY = "<button class=x style='width:0;height:0;padding:0;border:0;overflow:hidden'></button>"
ONE = "<button class=x data-id=7>yes</button>"


@pytest.mark.parametrize(
    ("body", "selector"),
    [
        (HIDDEN + EMPTY + ONE, ".x"),
        (HIDDEN + ONE + ONE, ".x"),
        (ONE, "button[data-id='7']"),
        (ONE, "text=yes"),
        (ONE, "button:has-text('yes')"),
        (ONE, "xpath=//button"),
        (f"<div style='margin-top:3000px'>{ONE}</div>", ".x"),
        (f"<div style='opacity:0'>{ONE}</div>", ".x"),
        ("<span class=x style='display:contents'><b>in</b></span>" + ONE, ".x"),
        ("<details><summary>s</summary><button class=x>yes</button></details>", ".x"),
        (
            ONE
            + "<p id=h></p><script>h.attachShadow({mode:'open'}).innerHTML='<button class=x>in</button>'</script>",
            ".x",
        ),
        (
            "<p id=h></p><script>h.attachShadow({mode:'open'}).innerHTML='<button class=x>in</button>'</script>",
            "p .x",
        ),
    ],
)
def test_the_quick_way_of_finding_by_css_finds_what_the_locator_finds(
    tool: BrowserTool, site: Site, body: str, selector: str
) -> None:
    tool.goto(page_of(site, body))
    found = tool.page.locator(selector).locator("visible=true")
    quick = tool.gate.observe_only(found, css=selector)
    tool.page.evaluate("scrollTo(0, 0)")
    usual = tool.gate.observe_only(found)
    assert quick[0] == usual[0]
    if quick[1] is None or usual[1] is None:
        assert quick[1] is usual[1]
    else:
        assert replace(quick[1], context_id="") == replace(usual[1], context_id="")


def test_a_selector_that_is_not_valid_is_a_configuration_error(tool: BrowserTool, site: Site) -> None:
    tool.goto(page_of(site, "<p>x"))
    with pytest.raises(ConfigError, match="selector"):
        tool.locate(("button[[",))


# -- acting ------------------------------------------------------------------------------------------------


def test_fields_are_filled_options_chosen_and_keys_pressed_through_the_gate(
    tool: BrowserTool, site: Site
) -> None:
    body = """<form onsubmit="event.preventDefault(); document.title = 'sent'"><input name=q value=old>
    <select name=m><option value=10>Oct<option value=11>Nov</select></form>"""
    tool.goto(page_of(site, body))
    for step in (
        Step(kind="fill", selectors=("[name=q]",), text="new"),
        Step(kind="select", selectors=("[name=m]",), text="Nov"),
        Step(kind="key", selectors=("[name=q]",), text="Enter"),
    ):
        target = tool.locate(step.selectors)
        assert target is not None
        performed = tool.perform(step, target)
        assert performed.status == "executed", performed
        assert performed.delivered_events > 0
    assert tool.page.locator("[name=q]").input_value() == "new"
    assert tool.page.locator("[name=m]").input_value() == "11"
    assert tool.page.title() == "sent"


def test_a_field_that_does_not_keep_what_was_typed_failed(tool: BrowserTool, site: Site) -> None:
    tool.goto(page_of(site, '<input id=i oninput="this.value = this.value.slice(0, 3)">'))
    step = Step(kind="fill", selectors=("#i",), text="12345")
    target = tool.locate(step.selectors)
    assert target is not None
    performed = tool.perform(step, target)
    assert performed.status == "failed"
    assert "12345" not in performed.reason


# -- session -----------------------------------------------------------------------------------------------


def test_a_log_in_tells_the_secret_to_the_page_and_to_nothing_else(tool: BrowserTool, site: Site) -> None:
    page_of(site, LOGIN, "/login")
    site.answers["/session"] = Answer(body="<b id=account>svc-acme</b>")
    tool.login(FORM, "svc-acme", SECRET)
    assert site.posts == [("/session", f"user=svc-acme&pw={SECRET}")]
    assert tool.account == "svc-acme"
    assert SECRET not in repr(tool.look())


def test_a_refused_log_in_names_the_account_and_not_the_secret(tool: BrowserTool, site: Site) -> None:
    page_of(site, LOGIN, "/login")
    site.answers["/session"] = Answer(status=401, body=LOGIN)
    with pytest.raises(WorldError, match="svc-acme was not logged in") as caught:
        tool.login(FORM, "svc-acme", SECRET)
    assert SECRET not in str(caught.value)


def test_a_log_in_page_that_is_not_as_configured_is_an_error(tool: BrowserTool, site: Site) -> None:
    page_of(site, "<p>maintenance", "/login")
    with pytest.raises(WorldError, match="no single"):
        tool.login(FORM, "svc-acme", SECRET)


def test_a_log_in_that_posts_elsewhere_sends_nothing(tool: BrowserTool, site: Site) -> None:
    page_of(site, LOGIN.replace("/session", "/elsewhere"), "/login")
    with pytest.raises(WorldError):
        tool.login(FORM, "svc-acme", SECRET)
    assert site.posts == []


def test_the_probe_asks_with_the_session_of_the_page_and_follows_no_redirect(
    tool: BrowserTool, site: Site
) -> None:
    site.answers["/api/me"] = Answer(body='{"account": "svc-acme"}')
    assert tool.probe().account == "svc-acme"
    site.answers["/api/me"] = Answer(status=302, headers={"Location": "/login"})
    answer = tool.probe()
    assert (answer.status, answer.location) == (302, "/login")
    assert "/login" not in site.asked
    tool.rules = replace(tool.rules, probe=Probe(url="http://127.0.0.1:1/"))
    assert tool.probe().error


@pytest.mark.parametrize(
    ("body", "script", "signal"),
    [
        (LOGIN, "", "login_form"),
        (
            "<div role=alertdialog>权限已变更，请重新登录 <button>重新登录</button></div>",
            "",
            "permission_dialog",
        ),
        ("<p>x", "fetch('/api/expired')", "http_401"),
        ("<p>x", "fetch('/api/denied')", "http_403"),
        ("<p>x", "fetch('/api/broken')", "http_5xx"),
    ],
)
def test_signs_of_trouble_are_seen_once(
    tool: BrowserTool, site: Site, body: str, script: str, signal: str
) -> None:
    site.answers.update(
        {f"/api/{n}": Answer(status=s) for n, s in (("expired", 401), ("denied", 403), ("broken", 503))}
    )
    tool.goto(page_of(site, body))
    if script:
        tool.page.evaluate(f"() => {script}.then(r => r.status)")
    assert tool.look().signals == (signal,)
    if script:
        assert tool.look().signals == ()
