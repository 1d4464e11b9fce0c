"""Every way by which a page can send something beside its step, on our page and on somebody else's: all are held."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page

from executor.guards.page import guarded_page
from executor.tools.base import Performed, SiteRules, Step
from executor.tools.browser import BrowserTool
from tests.support.chromium import FixedClock
from tests.support.site import Answer, Site

pytestmark = pytest.mark.browser

POST = "{method: 'POST', body: 'x'}"
FORM = (
    "const f = document.createElement('form'); f.method = 'post'; f.action = '/out'; document.body.append(f);"
)
WAYS = {
    "beacon": "navigator.sendBeacon('/out', 'x');",
    "ping": "const a = document.createElement('a'); a.href = '#x'; a.ping = '/out';"
    " document.body.append(a); a.click();",
    "form into a new window": f"{FORM} f.target = '_blank'; f.submit();",
    "form into a frame": f"const i = document.createElement('iframe'); i.name = 'q'; document.body.append(i); {FORM}"
    " f.target = 'q'; f.submit();",
    "frame without an address": "const i = document.createElement('iframe');"
    f" i.srcdoc = `<script>fetch('/out', {POST})</` + `script>`; document.body.append(i);",
    "worker": f"new Worker(URL.createObjectURL(new Blob([`fetch('${{location.origin}}/out', {POST})`])));",
    "shared worker": "new SharedWorker('/shared.js');",
    "window": "const w = window.open('/blank.html'); setTimeout(() => { try { w.fetch('/out', "
    + POST
    + "); } catch {} }, 60);",
    "window without an opener": "window.open('/sends.html', '_blank', 'noopener');",
    "service worker, passing on": f"fetch('/out', {POST});",
    "service worker, by itself": "const s = navigator.serviceWorker;"
    " if (s && s.controller) s.controller.postMessage('go');",
}
SERVICE = f"""self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(clients.claim()));
self.addEventListener('fetch', (e) => e.respondWith(fetch(e.request)));
self.addEventListener('message', () => fetch('/out', {POST}));"""
PAGE = """<button id="go">Go</button><script>
if (REGISTER && navigator.serviceWorker)
  navigator.serviceWorker.register('/service.js');
document.getElementById('go').onclick = () => { document.body.append('clicked'); WAY };
</script>"""
GO = Step(kind="click", selectors=("#go",), label="Go")


def prepare(site: Site, way: str) -> None:
    script = {"Content-Type": "text/javascript"}
    page = PAGE.replace("REGISTER", str(way.startswith("service")).lower()).replace("WAY", WAYS.get(way, way))
    site.answers |= {
        "/p.html": Answer(body=page),
        "/blank.html": Answer(body="blank"),
        "/sends.html": Answer(body=f"<script>fetch('/out', {POST})</script>"),
        "/shared.js": Answer(body=f"fetch('/out', {POST})", headers=script),
        "/service.js": Answer(body=SERVICE, headers=script),
    }


def opened(tool: BrowserTool, way: str) -> None:
    tool.goto("/p.html")
    if way.startswith("service") and tool.page.evaluate("() => Boolean(navigator.serviceWorker)"):
        tool.page.evaluate(
            "() => Promise.race([navigator.serviceWorker.ready, new Promise((r) => setTimeout(r, 800))])"
        )
        tool.goto("/p.html")


def performed(tool: BrowserTool) -> Performed:
    target = tool.locate(("#go",))
    assert target is not None
    made = tool.perform(GO, target)
    tool.page.goto(f"{tool.rules.origins[0]}/blank.html")  # whatever was under way has been asked for by now
    return made


@contextmanager
def ours(browser: Browser, site: Site) -> Iterator[BrowserTool]:
    with BrowserTool.open(browser, SiteRules(origins=(site.url,)), clock=FixedClock()) as tool:
        yield tool


@contextmanager
def somebody_elses(browser: Browser, site: Site) -> Iterator[BrowserTool]:
    page = browser.new_page()
    rules = SiteRules(origins=(site.url,))
    with guarded_page(page, rules=rules, sink=lambda _: None, mode="guarded", clock=FixedClock()) as guarded:
        yield guarded.tool
    page.context.close()


@pytest.mark.parametrize("whose", [ours, somebody_elses], ids=["ours", "somebody else's"])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_leaves_by(way: str, whose: type, browser: Browser, site: Site) -> None:
    prepare(site, way)
    with whose(browser, site) as tool:
        opened(tool, way)
        made = performed(tool)
    assert site.posts == []
    assert made.status == "blocked" or "worker" in way, (
        "where there is no such worker, there is nothing to block"
    )


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)  # noqa: FBT003 - the only argument
        yield server


@pytest.mark.parametrize("whose", [ours, somebody_elses], ids=["ours", "somebody else's"])
def test_no_web_socket_reaches_another_origin(
    whose: type, browser: Browser, site: Site, listener: socket.socket
) -> None:
    address = f"ws://127.0.0.1:{listener.getsockname()[1]}/"
    prepare(site, f"const s = new WebSocket('{address}'); s.onopen = () => s.send('x');")
    with whose(browser, site) as tool:
        tool.goto("/p.html")
        made = performed(tool)
    assert made.check is not None
    assert (made.status, made.check.verdict) == ("blocked", "left_origin")
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_page_that_is_let_go_of_has_everything_again(browser: Browser, site: Site, page: Page) -> None:
    prepare(site, "shared worker")
    with guarded_page(
        page, rules=SiteRules(origins=(site.url,)), sink=lambda _: None, mode="guarded"
    ) as guarded:
        guarded.goto("/p.html")
        assert page.evaluate("() => typeof SharedWorker") == "undefined"
    page.goto(f"{site.url}/p.html")
    assert page.evaluate("() => typeof SharedWorker") == "function"
    page.click("#go")
    with page.context.expect_page() as popped:
        page.evaluate("() => { window.open('/blank.html'); }")
    assert popped.value.url.endswith("/blank.html")


def test_another_page_of_somebody_elses_context_is_left_alone(
    browser: Browser, site: Site, page: Page
) -> None:
    prepare(site, "beacon")
    other = page.context.new_page()
    with guarded_page(
        page, rules=SiteRules(origins=(site.url,)), sink=lambda _: None, mode="guarded"
    ) as guarded:
        guarded.goto("/p.html")
        other.goto(f"{site.url}/p.html")
        with other.expect_request("**/out"):
            other.click("#go")
        other.goto(f"{site.url}/blank.html")
    assert [path for path, _ in site.posts] == ["/out"]
