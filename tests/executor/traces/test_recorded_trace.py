"""A trace of a real browser on a page full of secrets: none is left in it, and Playwright's own viewer opens it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from playwright.sync_api import Browser, Page, expect

from domain.errors import ConfigError
from executor.tools.base import SiteRules, Step
from executor.tools.browser import BrowserTool
from executor.traces.scrub import Scrubbed, scrub
from tests.support.chromium import FixedClock, running_browser
from tests.support.site import Answer, Site, running_site
from tests.support.trace_viewer import viewing

pytestmark = pytest.mark.browser

PASSWORD = 's3cr3t "& p+w/ä'
PIN_OF_CARD = "4929-1182-0071"
IBAN = "DE44 5001 0517 5407 3249 31"
FLEETING = "fleeting-77-account"
SHADOWED = "shadowed-31-holder"
FRAMED = "framed-55-owner"
CSRF = "csrf-Zx81-not-yours"
SESSION = "sess-9f81aa02c1"
ANSWERED = "answered-by-api-5150"
SECRETS = (PASSWORD, PIN_OF_CARD, IBAN, FLEETING, SHADOWED, FRAMED, CSRF, SESSION, ANSWERED)

PAGE = f"""<!doctype html><meta charset="utf-8"><title>Payees</title>
<link rel="stylesheet" href="/look.css">
<main><h1>Payees</h1>
<form id="f"><input type="hidden" name="csrf_token" value="{CSRF}">
<label>User <input name="user"></label><label>Word <input type="password" id="word" name="word"></label>
<label>Card <input id="card" class="card" value="{PIN_OF_CARD}"></label>
<button type="button" id="show">Show</button><button type="button" id="go">Go</button></form>
<p class="iban" title="{IBAN}">{IBAN}</p><p id="plain">Borealis GmbH</p><p id="slot"></p><div id="host"></div>
<iframe src="/inner.html" width="300" height="60"></iframe></main>
<script>
const word = document.getElementById("word");
document.getElementById("host").attachShadow({{ mode: "open" }}).innerHTML = '<b class="iban">{SHADOWED}</b>';
document.getElementById("show").onclick = () => {{ word.type = "text"; }};
document.getElementById("go").onclick = async () => {{
  const text = word.value;
  console.log("sent", btoa(unescape(encodeURIComponent("user:" + text))), text, {{ text }});
  document.cookie = "theme_of_" + encodeURIComponent(text) + "=1";
  await fetch("/api?next=" + encodeURIComponent(text), {{ method: "POST", body: JSON.stringify({{ word: text }}),
    headers: {{ Authorization: "Basic " + btoa(unescape(encodeURIComponent(text))) }} }});
  await fetch("/api", {{ method: "POST", body: new URLSearchParams({{ note: text, iban: "{IBAN}" }}) }});
  document.getElementById("plain").textContent = await (await fetch("/answer.json")).text().then(() => "Done");
  const slot = document.getElementById("slot");
  slot.innerHTML = '<i class="iban">{FLEETING}</i>';
  setTimeout(() => slot.replaceChildren(), 60);
  history.replaceState(null, "", "?session_token={SESSION}");
}};
</script>"""


@dataclass(frozen=True)
class Traced:
    """One trace, and the screens that its recorder was given."""

    kept: Scrubbed
    screens: frozenset[str]

    @property
    def members(self) -> dict[str, bytes]:
        """Its files."""
        with zipfile.ZipFile(io.BytesIO(self.kept.data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    @property
    def text(self) -> str:
        """All of its lines."""
        return "".join(data.decode() for name, data in self.members.items() if not name.endswith(".png"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site() as running:
        running.answers |= {
            "/payees": Answer(body=PAGE, headers={"Set-Cookie": f"sid={SESSION}; HttpOnly"}),
            "/inner.html": Answer(body=f'<p>Owner: <span class="iban">{FRAMED}</span></p>'),
            "/look.css": Answer(body="h1 { color: rgb(1, 2, 3) }", headers={"Content-Type": "text/css"}),
            "/answer.json": Answer(body=json.dumps({"api_key": ANSWERED, "iban": IBAN})),
        }
        yield running


def tool_on(page: Page, site: Site) -> BrowserTool:
    rules = SiteRules(origins=(site.url,), mask_selectors=(".iban", ".card"))
    return BrowserTool(page, rules, clock=FixedClock(), mode="record_only")


def step(tool: BrowserTool, kind: str, selector: str, text: str = "", *, secret: bool = False) -> None:
    one = Step(kind=kind, selectors=(selector,), text=text, secret=secret)  # type: ignore[arg-type]  # one of them
    target = tool.locate((selector,))
    assert target is not None
    assert tool.perform(one, target).status in {"executed", "unknown"}
    tool.look()


@pytest.fixture(scope="module")
def traced(browser: Browser, site: Site) -> Iterator[Traced]:
    page = browser.new_page()
    tool = tool_on(page, site)
    tool.trace.begin()
    tool.goto("/payees")
    shown = {tool.look().frame.sha256}
    step(tool, "fill", "[name=user]", "anna")
    step(tool, "fill", "#word", PASSWORD, secret=True)
    step(tool, "click", "#show")
    step(tool, "click", "#go")
    shown.add(tool.look().frame.sha256)
    kept = tool.trace.end(keep=True)
    assert kept is not None
    yield Traced(kept, frozenset(shown))
    page.close()


def written(secret: str) -> set[bytes]:
    """How a secret may stand in a file; written down here once more, independent of what takes it out."""
    raw = secret.encode()
    forms = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {json.dumps(form)[1:-1] for form in set(forms)}
    forms |= {quote(secret, safe=""), quote_plus(secret), quote(secret, safe="!'()*"), raw.hex()}
    forms |= {secret.replace("&", "&amp;").replace('"', "&quot;")}
    forms |= {
        base64.b64encode(raw).decode().rstrip("=")[:-1],
        base64.urlsafe_b64encode(raw).decode().rstrip("=")[:-1],
    }
    forms |= {base64.b64encode(b"user:" + raw).decode()[8:-4], base64.b64encode(b"a:" + raw).decode()[4:-4]}
    return {form.encode() for form in forms}


@pytest.mark.parametrize("secret", SECRETS)
def test_no_byte_of_the_trace_tells_the_secret(secret: str, traced: Traced) -> None:
    for name, data in traced.members.items():
        found = [form for form in written(secret) if form in data or form in name.encode()]
        assert not found, name


def test_what_is_no_secret_is_still_told(traced: Traced) -> None:
    text = traced.text
    for shown in ("Borealis GmbH", "anna", "#go", "/payees", "Payees", "mouseClick"):
        assert shown in text, shown
    assert (traced.kept.left_out, traced.kept.calls > 5, traced.kept.masked > 10) == (
        ("bodies", "sources"),
        True,
        True,
    )
    assert "rgb(1, 2, 3)" in text  # the style sheet draws the page


def test_its_screens_are_our_own_masked_ones(traced: Traced) -> None:
    pictures = {
        hashlib.sha256(data).hexdigest() for name, data in traced.members.items() if name.endswith(".png")
    }
    assert traced.screens <= pictures
    assert not [name for name in traced.members if name.endswith((".jpeg", ".stacks"))]


def test_the_raw_trace_told_every_one_of_them(
    browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this file looks for is really there before: the search would find it."""
    raw: list[bytes] = []

    def overheard(data: bytes, **options: Any) -> Scrubbed:  # noqa: ANN401 - passed on
        raw.append(data)
        return scrub(data, **options)

    monkeypatch.setattr("executor.traces.recorder.scrub", overheard)
    page = browser.new_page()
    tool = tool_on(page, site)
    tool.trace.begin()
    tool.goto("/payees")
    tool.look()
    step(tool, "fill", "#word", PASSWORD, secret=True)
    step(tool, "click", "#show")
    step(tool, "click", "#go")
    tool.trace.end(keep=True)
    page.close()
    with zipfile.ZipFile(io.BytesIO(raw[0])) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    missed = [secret for secret in SECRETS if not any(form in everything for form in written(secret))]
    assert missed == []


def test_playwright_s_own_viewer_opens_it_and_shows_the_masked_page(traced: Traced, browser: Browser) -> None:
    with viewing(traced.kept.data) as address:
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page = context.new_page()
        page.goto(address)
        calls = page.locator(".action-title, [data-testid=actions-tree] .tree-view-entry")
        calls.filter(has_text="Click").last.click()
        shown = page.locator("iframe[name=snapshot]:visible").content_frame
        shown.locator("#plain").wait_for(timeout=20_000)
        assert shown.locator("p.iban").inner_text() == "•"
        assert shown.locator("#plain").inner_text() in {"Borealis GmbH", "Done"}
        expect(shown.locator("#word")).to_have_value("•")
        assert shown.locator("h1").evaluate("e => getComputedStyle(e).color") == "rgb(1, 2, 3)"
        page.locator(".film-strip-lane img, .film-strip-frame").first.wait_for(timeout=20_000)
        context.close()


def test_a_trace_that_is_not_kept_leaves_nothing(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    tool = tool_on(page, site)
    tool.trace.begin()
    tool.goto("/payees")
    assert tool.trace.end(keep=False) is None
    assert tool.trace.end(keep=True) is None
    tool.trace.begin()
    tool.goto("/payees")
    kept = tool.trace.end(keep=True)
    assert kept is not None
    assert kept.calls
    page.close()


def test_a_context_that_somebody_else_traces_is_left_alone(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    page.context.tracing.start()
    with pytest.raises(ConfigError, match="traced already"):
        tool_on(page, site).trace.begin()
    page.context.tracing.stop()
    page.close()
