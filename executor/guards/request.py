"""Holds what leaves the browser until it agrees with the intent (X8), and keeps the page on its origins.

Rules: outside a writing step no request that may write leaves; within one, exactly the one that the rule describes;
a request that does not agree is aborted before a byte of it is sent; other origins are not asked, whatever the
page does; new windows are closed; everything that left is listed by method, path and status, never by its content.
In a record-only run nothing is held: the same is judged and listed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Request, Response, Route, WebSocketRoute
from playwright.sync_api import Error as PlaywrightError

from domain.errors import ConfigError
from domain.values import Check, Intent
from executor.guards.request_rules import SAFE_METHODS, judge_request, origin_of, read_request
from executor.tools.base import RequestRule, SiteRules

HTTP: Final = ("http://", "https://")
POLICY_VIOLATION: Final = 1008
BACKGROUND: Final = frozenset({"eventsource", "websocket", "media", "ping"})


@dataclass(slots=True)
class Sent:
    """A request that may write and that left, or would have left."""

    name: str
    status: int = 0
    """HTTP status; 0 while there is none."""
    location: str = ""
    failed: str = ""
    """Why no answer came."""
    aborted: bool = False

    def text(self) -> str:
        """How an event lists it: ``POST /bills/7/actions 200``."""
        if self.aborted:
            return f"{self.name} aborted"
        return f"{self.name} {self.status or self.failed or 'no answer'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldReport:
    """What one step sent, and the first thing that was wrong with it."""

    sent: tuple[Sent, ...] = ()
    """Only what really left."""
    listed: tuple[str, ...] = ()
    finding: Check | None = None


class RequestHold:
    """Stands between one page (or all pages of a context) and the network."""

    def __init__(self, owner: Page | BrowserContext, rules: SiteRules, *, enforce: bool) -> None:
        if enforce and not rules.origins:
            raise ConfigError(
                "no allowed origin is configured", remedy="list the target system's origins in its site rules"
            )
        self.rules = rules
        self.enforce = enforce
        self.strays: list[str] = []
        """Requests that may write and came outside of any step; aborted when enforced."""
        self._origins = {origin_of(origin) for origin in rules.origins}
        self._rule: RequestRule | None = None
        self._intent: Intent | None = None
        self._login_path = ""
        self._open = False
        self._finding: Check | None = None
        self._sent: dict[Request, Sent] = {}
        self._flying: set[Request] = set()
        self._owner = owner
        self._born: list[Page] = []
        """Windows that came up while a step on somebody else's page was under way."""
        self._closing: list[Page] = []
        owner.on("request", self._on_request)
        owner.on("response", self._on_response)
        owner.on("requestfinished", self._on_finished)
        owner.on("requestfailed", self._on_failed)
        if not enforce:
            return
        owner.route("**/*", self._on_route)
        owner.route_web_socket("**/*", self._on_web_socket)
        if isinstance(owner, BrowserContext):
            owner.on("page", self._on_window)
        else:
            owner.on("popup", self._on_window)
            owner.context.on("page", self._on_born)
            owner.context.route("**/*", self._on_beside)

    def release(self) -> None:
        """Let go of a page that stays open: nothing is held or listed any more."""
        owner = self._owner
        owner.remove_listener("request", self._on_request)
        owner.remove_listener("response", self._on_response)
        owner.remove_listener("requestfinished", self._on_finished)
        owner.remove_listener("requestfailed", self._on_failed)
        if not self.enforce:
            return
        self.enforce = False  # a routed web socket can't be let go of; from now on it passes
        owner.unroute("**/*", self._on_route)
        if isinstance(owner, BrowserContext):
            owner.remove_listener("page", self._on_window)
        else:
            owner.remove_listener("popup", self._on_window)
            owner.context.remove_listener("page", self._on_born)
            owner.context.unroute("**/*", self._on_beside)

    def begin(self, rule: RequestRule | None, intent: Intent | None, *, login_path: str = "") -> None:
        """A step begins; without a rule it may send nothing that writes."""
        self._rule, self._intent, self._login_path = rule, intent, login_path
        self._open, self._finding = True, None
        self._sent.clear()

    def end(self) -> HoldReport:
        """The step is over; from now on nothing that may write leaves."""
        self._rule = self._intent = None
        self._open, self._login_path = False, ""
        finding, self._finding = self._finding, None
        sent = tuple(self._sent.values())
        self._sent.clear()
        return HoldReport(
            sent=tuple(s for s in sent if not s.aborted),
            listed=tuple(s.text() for s in sent),
            finding=finding,
        )

    def has_sent(self) -> bool:
        """True if the step has tried to send something that may write."""
        return bool(self._sent)

    def is_busy(self) -> bool:
        """True while an answer is outstanding or a new window has not gone yet."""
        waiting = any(not (s.status or s.failed or s.aborted) for s in self._sent.values())
        self._closing = [window for window in self._closing if not window.is_closed()]
        return waiting or bool(self._flying) or bool(self._closing)

    def _is_allowed(self, url: str) -> bool:
        return not self._origins or not url.startswith(HTTP) or origin_of(url) in self._origins

    def _note(self, check: Check) -> None:
        if self._finding is None and check.verdict != "pass":
            self._finding = check

    def _judge(self, request: Request) -> bool:
        """List a request that may write; False if it must not leave."""
        path = urlsplit(request.url).path
        if request.method in SAFE_METHODS or path in self.rules.free_posts:
            return True
        name = f"{request.method} {path}"
        if not self._open:
            self.strays.append(name)
            return False
        if self._login_path and path == self._login_path:
            self._sent[request] = Sent(name)
            return True
        before = sum(not sent.aborted for sent in self._sent.values())
        seen = read_request(
            request.method,
            request.url,
            request.headers.get("content-type", ""),
            request.post_data_buffer,
        )
        check = judge_request(seen, self._rule, self._intent, before=before)
        self._note(check)
        sound = check.verdict == "pass"
        self._sent[request] = Sent(name, aborted=self.enforce and not sound)
        return sound

    def _leaves(self, url: str) -> bool:
        if self._is_allowed(url):
            return False
        self._note(
            Check(
                guard="request",
                verdict="left_origin",
                expected=", ".join(sorted(self._origins)),
                found=origin_of(url),
            )
        )
        return True

    def _on_route(self, route: Route) -> None:
        request = route.request
        try:
            top = request.is_navigation_request() and request.frame.parent_frame is None
            refused = False
        except PlaywrightError:  # asked for before its window exists: it comes from a new one
            top, refused = True, True
            self._note_window(request.url)
        outside = not self._is_allowed(request.url)
        if outside and (top or request.method not in SAFE_METHODS):
            self._leaves(request.url)
        with contextlib.suppress(PlaywrightError):  # the page is gone, and the request with it
            if refused or outside or not self._judge(request):
                self._flying.discard(request)
                route.abort("blockedbyclient")
            else:
                route.fallback()

    def _on_beside(self, route: Route) -> None:
        """Requests in somebody else's context that are none of the page's: of a worker, of a window it opened."""
        request = route.request
        try:
            page = request.frame.page
        except PlaywrightError:  # of a service worker, or of a window that isn't there yet
            page = None
        of_worker = page is None and request.service_worker is not None
        ours = self._open and (page is None or page in self._born)
        with contextlib.suppress(PlaywrightError):  # the page is gone, and the request with it
            if not ours or (of_worker and self._is_allowed(request.url) and self._judge(request)):
                route.fallback()
                return
            if not of_worker:
                self._note_window(request.url)
            route.abort("blockedbyclient")

    def _on_web_socket(self, socket: WebSocketRoute) -> None:
        """A web socket is let through to an allowed origin and to no other; what it says is not compared."""
        scheme, _, rest = socket.url.partition("://")
        address = f"{'https' if scheme == 'wss' else 'http'}://{rest}"
        if self.enforce and self._leaves(address):
            socket.close(code=POLICY_VIOLATION, reason="not an allowed origin")
        else:
            socket.connect_to_server()

    def _on_request(self, request: Request) -> None:
        if request.resource_type not in BACKGROUND:
            self._flying.add(request)
        if self.enforce and request.redirected_from is None:
            return  # judged where it is held
        self._leaves(request.url)
        self._judge(request)

    def _on_response(self, response: Response) -> None:
        sent = self._sent.get(response.request)
        if sent is not None:
            sent.status = response.status
            sent.location = response.headers.get("location", "")

    def _on_finished(self, request: Request) -> None:
        self._flying.discard(request)

    def _on_failed(self, request: Request) -> None:
        self._flying.discard(request)
        sent = self._sent.get(request)
        if sent is not None and not sent.status:
            sent.failed = request.failure or "failed"

    def _on_born(self, window: Page) -> None:
        if self._open:
            self._born.append(window)
            self._on_window(window)

    def _on_window(self, window: Page) -> None:
        self._note_window(window.url)
        self._closing.append(window)
        with contextlib.suppress(PlaywrightError):
            window.close()

    def _note_window(self, url: str) -> None:
        found = f"a new window: {origin_of(url) or 'empty'}"
        self._note(Check(guard="request", verdict="left_origin", expected="one window", found=found))
