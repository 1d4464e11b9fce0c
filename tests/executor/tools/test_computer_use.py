"""The vision rung on real pages: points, carets, secrets, windows, and what looking may not send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from domain.actions import Action, Kind
from domain.values import Point
from executor.config import Secret
from executor.tools.base import FieldMap, LoginForm, Performed, SiteRules, Step, Target
from executor.tools.browser import BrowserTool
from executor.tools.computer_use import VisionHands
from tests.support.chromium import FixedClock
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser
FORM = LoginForm(url="/login", account_selector="#u", secret_selector="#p", submit_selector="#b")
NONE = FieldMap()
AT = {"a": Point(x=60, y=20), "b": Point(x=60, y=70), "c": Point(x=60, y=120)}
STYLE = "<style>*{box-sizing:border-box}#a,#b,#c{position:absolute;left:10px;width:200px;height:30px}"
PLACES = "#a{top:5px}#b{top:55px}#c{top:105px}</style>"


@pytest.fixture
def hands(browser: Browser, site: Site) -> Iterator[VisionHands]:
    rules = SiteRules(origins=(site.url,))
    with BrowserTool.open(browser, rules, clock=FixedClock()) as tool:
        yield VisionHands(tool, form=FORM, account="svc", secret=Secret("pw"))


def show(hands: VisionHands, site: Site, body: str) -> None:
    site.answers["/page"] = Answer(body=f"<!doctype html><meta charset=utf-8>{STYLE}{PLACES}{body}")
    hands.goto("/page")


def action(kind: Kind, text: str = "", at: Point | None = None, dy: int = 0) -> Action:
    return Action(kind=kind, provider="p", native=kind, arguments="{}", text=text, point=at, dy=dy)


def click(hands: VisionHands, at: str) -> Performed:
    target = hands.target_at(AT[at], NONE)
    assert target is not None
    return hands.act(action("click"), step("click"), target, rule=None, intent=None)


def step(kind: str, text: str = "") -> Step:
    return Step(kind=kind, selectors=("a point",), text=text)  # type: ignore[arg-type]


def typed(hands: VisionHands, text: str, target: Target | None = None) -> Performed:
    found = target or hands.focused(NONE)
    assert found is not None
    return hands.act(action("type", text), step("fill", text), found, rule=None, intent=None)


def value(hands: VisionHands, selector: str) -> str:
    return hands.tool.page.locator(selector).input_value()


def test_text_goes_where_the_caret_is_and_replaces_nothing(hands: VisionHands, site: Site) -> None:
    show(hands, site, "<input id=a value=12><input id=b>")
    assert click(hands, "a").status == "executed"
    press = Step(kind="key", selectors=("a point",), text="End")
    found = hands.focused(NONE)
    assert found is not None
    hands.act(action("key"), press, found, rule=None, intent=None)
    assert typed(hands, "34").status == "executed"
    assert (value(hands, "#a"), value(hands, "#b")) == ("1234", "")


def test_selecting_all_and_typing_replaces(hands: VisionHands, site: Site) -> None:
    show(hands, site, "<input id=a value=old>")
    click(hands, "a")
    found = hands.focused(NONE)
    assert found is not None
    hands.act(
        action("key"), Step(kind="key", selectors=("p",), text="Control+a"), found, rule=None, intent=None
    )
    typed(hands, "new")
    assert value(hands, "#a") == "new"


def test_a_point_is_the_element_that_lies_there_and_nothing_lies_outside(
    hands: VisionHands, site: Site
) -> None:
    show(hands, site, "<button id=a><b>Go</b> on</button>")
    found = hands.target_at(Point(x=60, y=20), NONE)
    assert found is not None
    assert (found.label, found.role) == ("Go on", "button")
    assert hands.target_at(Point(x=5_000, y=5_000), NONE) is None


def test_the_keyboard_on_a_field_for_secrets_is_known(hands: VisionHands, site: Site) -> None:
    show(hands, site, "<input id=a><input id=b type=password>")
    assert not hands.takes_secret()
    click(hands, "a")
    assert not hands.takes_secret()
    click(hands, "b")
    assert hands.takes_secret()


def test_the_focus_that_moves_on_its_own_swallows_the_text(hands: VisionHands, site: Site) -> None:
    show(hands, site, "<input id=a><input id=b>")
    click(hands, "a")
    target = hands.focused(NONE)
    hands.tool.page.evaluate(
        "() => { a.id = 'x'; a_ = document.querySelector('#x'); a_.disabled = true; b.focus(); }"
    )
    assert typed(hands, "secret plan", target).status == "blocked"
    assert value(hands, "#b") == ""


def test_a_new_window_is_closed_and_found(hands: VisionHands, site: Site) -> None:
    site.answers["/other"] = Answer(body="other")
    show(hands, site, "<a id=a href=/other target=_blank>open</a>")
    done = click(hands, "a")
    assert (done.status, done.check and done.check.verdict) == ("blocked", "left_origin")
    assert len(hands.tool.page.context.pages) == 1


def test_another_origin_is_not_opened(hands: VisionHands, site: Site) -> None:
    show(hands, site, "<a id=a href='http://127.0.0.1:9/away'>away</a>")
    done = click(hands, "a")
    assert done.check is not None
    assert done.check.verdict == "left_origin"
    assert hands.tool.page.url.endswith("/page") or "chrome-error" in hands.tool.page.url


def test_pointing_scrolling_and_waiting_send_nothing_that_writes(hands: VisionHands, site: Site) -> None:
    send = "fetch('/steal',{method:'POST',body:'x'})"
    show(hands, site, f"<div id=a onpointerover=\"{send}\">hover</div><div style='height:3000px'></div>")
    moved = hands.act(action("move", at=AT["a"]), step("click"), None, rule=None, intent=None)
    assert (moved.status, moved.check and moved.check.verdict) == ("blocked", "request_mismatch")
    scrolled = hands.act(action("scroll", at=AT["c"], dy=400), step("click"), None, rule=None, intent=None)
    assert scrolled.status == "executed"
    assert hands.tool.page.evaluate("scrollY") == 400
    waited = hands.act(action("wait"), step("click"), None, rule=None, intent=None)
    assert waited.status == "executed"
    assert site.posts == []


def test_the_text_that_a_person_can_read_is_evidence(hands: VisionHands, site: Site) -> None:
    show(hands, site, "<p>shown</p><p style='display:none'>hidden</p>")
    assert hands.page_text().split() == ["shown"]
