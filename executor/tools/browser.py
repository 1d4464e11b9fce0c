"""The browser rung: performs one decided action on one page and reports; it never chooses (B1).

Rules: every input event goes through the target gate; every request that may write goes through the request hold; a
selector that finds nothing, or several elements, is passed over and never guessed at; native dialogs are dismissed
and recorded; a secret reaches the page and nothing else; what may have left without an answer is unknown, never failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser, Dialog, Page, Response
from playwright.sync_api import Error as PlaywrightError

from domain.errors import ConfigError, WorldError
from domain.ids import Sha256
from domain.ports import Clock
from domain.values import Intent
from executor.guards import texts
from executor.guards.auth import ProbeAnswer
from executor.guards.capture import Camera
from executor.guards.request import RequestHold
from executor.guards.target_gate import TargetGate
from executor.guards.world import IsolatedWorld, read_all
from executor.tools.base import (
    ConfirmScreen,
    FieldMap,
    Frame,
    LoginForm,
    Look,
    Mode,
    NativeDialog,
    Performed,
    RequestRule,
    Settle,
    SiteRules,
    Step,
    Target,
)
from executor.tools.inputs import Inputs
from executor.tools.outcome import Happened, conclude
from executor.tools.quiet import wait_until_quiet
from executor.traces.recorder import TraceRecorder

ACTION_LIMIT_MS = 10_000
NAVIGATION_LIMIT_MS = 30_000
PROBE_LIMIT_MS = 10_000
TROUBLE_STATUS = {401: "http_401", 403: "http_403"}
SERVER_ERROR = 500
MANY_MATCHES = 50
FRESH_US = 500_000
"""How old a picture may be that is not taken again."""


def first_line(error: PlaywrightError | WorldError) -> str:
    """What went wrong, without the browser's call log."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def digest(text: str) -> Sha256:
    """SHA-256 of a text."""
    return Sha256(hashlib.sha256(text.encode()).hexdigest())


def _document(parts: Sequence[Mapping[str, Any]]) -> Sha256:
    return digest("\f".join(part["state"] for part in parts))


class BrowserTool:
    """One page, observed and guarded."""

    def __init__(
        self,
        page: Page,
        rules: SiteRules,
        *,
        clock: Clock,
        account: str = "",
        mode: Mode = "guarded",
        owns_context: bool = False,
    ) -> None:
        self.page = page
        self.rules = rules
        self.clock = clock
        self.account = account
        self.mode = mode
        self.world = IsolatedWorld(page, rules, enforce=mode == "guarded")
        self.gate = TargetGate(self.world)
        self.camera = Camera(self.world, clock)
        self.trace = TraceRecorder(page, self.world, rules)
        self.inputs = Inputs(page, self.gate, enforce=mode == "guarded")
        # A context of our own is held as a whole, new windows included; somebody else's only on this page.
        self.hold = RequestHold(page.context if owns_context else page, rules, enforce=mode == "guarded")
        self._dialogs: list[NativeDialog] = []
        self._question: ConfirmScreen | None = None
        """The native question that may be answered with yes, once."""
        self._troubles: set[str] = set()
        self._shown = ""
        """What a toast said at the last look: it is no answer to the next action."""
        self._owns_context = owns_context
        page.on("dialog", self._on_dialog)
        page.on("response", self._on_response)

    @classmethod
    def open(
        cls,
        browser: Browser,
        rules: SiteRules,
        *,
        clock: Clock,
        viewport: tuple[int, int] = (1280, 800),
        locale: str = "zh-CN",
        mode: Mode = "guarded",
    ) -> BrowserTool:
        """A tool on a fresh context: no cookies, no service workers, no downloads."""
        context = browser.new_context(
            viewport={"width": viewport[0], "height": viewport[1]},
            device_scale_factor=1,
            locale=locale,
            service_workers="block",
            accept_downloads=False,
        )
        context.set_default_timeout(ACTION_LIMIT_MS)
        context.set_default_navigation_timeout(NAVIGATION_LIMIT_MS)
        return cls(context.new_page(), rules, clock=clock, mode=mode, owns_context=True)

    def release(self) -> None:
        """Let go of somebody else's page: gate off, nothing held, no dialog handled."""
        with contextlib.suppress(PlaywrightError, WorldError):  # the page may be closed already
            self.gate.disarm_quietly()
        self.world.release()
        self.hold.release()
        self.page.remove_listener("dialog", self._on_dialog)
        self.page.remove_listener("response", self._on_response)

    def close(self) -> None:
        """Close the context that the tool opened."""
        if self._owns_context:
            with contextlib.suppress(PlaywrightError):  # it may be gone with its browser
                self.page.context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- observing -----------------------------------------------------------------------------------------

    def look(self, *, early: Callable[[Frame], object] | None = None, again: Look | None = None) -> Look:
        """Observe the page.

        Args:
            early: handed the picture as soon as it is taken.
            again: a look whose picture is taken over while it is fresh and its document is still the same.

        Raises:
            WorldError: there is no page to observe.
        """
        began = time.perf_counter_ns()
        known = None if again is None else self._same_again(again)
        frame, parts = known or self.camera.capture_with(lambda: read_all(self.world, "look"), early=early)
        self.trace.saw(frame)
        main = parts[0]
        self._shown = main["toast"]
        signals = sorted({*self._troubles, *(s for part in parts for s in part["signals"])})
        dialogs, self._dialogs = tuple(self._dialogs), []
        asked = () if self._question is None else (self._question,)
        self._troubles = set()
        return Look(
            frame=frame,
            url=main["url"],
            title=main["title"],
            structure_sha256=digest("\f".join(part["skeleton"] for part in parts)),
            document_sha256=_document(parts),
            account=main["account"],
            signals=tuple(signals),
            confirm_screens=(*asked, *(ConfirmScreen(**s) for part in parts for s in part["screens"])),
            dialogs=dialogs,
            latency_us=(time.perf_counter_ns() - began) // 1000,
        )

    def _same_again(self, look: Look) -> tuple[Frame, list[dict[str, Any]]] | None:
        """A look's picture and what the page says now, if the one can stand for the other."""
        if self.clock.now_us() - look.frame.captured_at_us > FRESH_US:
            return None
        parts = read_all(self.world, "look")
        same = look.url == parts[0]["url"] and look.document_sha256 == _document(parts)
        return (look.frame, parts) if same else None

    def locate(
        self, selectors: Sequence[str], label: str = "", *, fields: FieldMap | None = None, iframe: str = ""
    ) -> Target | None:
        """The element of the first selector that finds exactly one visible element.

        Where a selector finds several, those with exactly ``label`` as their text count. Nothing else is tried.

        Raises:
            ConfigError: a selector is not valid.
        """
        base = self.page.frame_locator(iframe) if iframe else self.page
        for selector in selectors:
            found = base.locator(selector).locator("visible=true")
            try:
                count, target = self.gate.observe_only(found, fields=fields, css="" if iframe else selector)
                if count > 1 and label:
                    shown = [texts.same(t, label) for t in found.all_inner_texts()[:MANY_MATCHES]]
                    if shown.count(True) == 1:
                        target = self.gate.observe(found.nth(shown.index(True)), fields=fields)
            except PlaywrightError as error:
                raise ConfigError(
                    f"selector {selector!r}: {first_line(error)}", remedy="correct the selector"
                ) from error
            if target is not None:
                return replace(target, selector=selector)
        return None

    def probe(self) -> ProbeAnswer:
        """Ask the target system whose session this is: read-only, with the page's cookies, no redirects."""
        rule = self.rules.probe
        if rule is None:
            return ProbeAnswer(error="no probe is configured")
        try:
            answer = self.page.context.request.get(rule.url, max_redirects=0, timeout=PROBE_LIMIT_MS)
            account = ""
            if rule.account_field and answer.ok:
                body = answer.json()
                account = str(body.get(rule.account_field, "")) if isinstance(body, dict) else ""
            return ProbeAnswer(
                status=answer.status, location=answer.headers.get("location", ""), account=account
            )
        except (PlaywrightError, ValueError) as error:
            return ProbeAnswer(error=type(error).__name__)

    def expect_native(self, message: str, verb: str = "") -> None:
        """Accept the next native confirm dialog, once, if it says exactly this.

        Until then the question counts as a confirmation screen that ``verb`` answers (G5). An empty message takes the
        permission back.
        """
        asked = ConfirmScreen(role="native confirm", text=message, verb=verb)
        self._question = asked if message else None

    def _on_dialog(self, dialog: Dialog) -> None:
        asked, self._question = self._question, None
        accept = dialog.type == "confirm" and asked is not None and dialog.message == asked.text
        self._dialogs.append(NativeDialog(kind=dialog.type, message=dialog.message, accepted=accept))
        if accept or dialog.type == "beforeunload":
            dialog.accept()
        else:
            dialog.dismiss()

    def _on_response(self, response: Response) -> None:
        if response.request.resource_type in {"document", "xhr", "fetch"}:
            status = response.status
            if status in TROUBLE_STATUS:
                self._troubles.add(TROUBLE_STATUS[status])
            elif status >= SERVER_ERROR:
                self._troubles.add("http_5xx")

    # -- going places --------------------------------------------------------------------------------------

    def goto(self, url: str, *, settle: Settle | None = None) -> None:
        """Open an address of the target system (relative ones against the first origin) and wait for it.

        Raises:
            WorldError: it can't be opened, or led to a foreign origin.
        """
        full = urljoin(self.rules.origins[0] if self.rules.origins else self.page.url, url)
        self.hold.begin(None, None)
        try:
            self.page.goto(full, wait_until="load")
            self._settle(settle or Settle())
        except PlaywrightError as error:
            raise WorldError(
                f"{urlsplit(full).path} can't be opened: {first_line(error)}",
                remedy="see whether the target system answers",
            ) from error
        finally:
            finding = self.hold.end().finding
        if finding is not None and finding.verdict == "left_origin" and self.mode == "guarded":
            raise WorldError(f"the page left for {finding.found}", remedy="see who redirects there")

    def login(self, form: LoginForm, account: str, secret: str) -> None:
        """Log in; the secret goes to the page and nowhere else.

        Raises:
            WorldError: the log-in page is not as configured, or refuses.
        """
        self.trace.knows(secret)
        self.goto(form.url)
        self.hold.begin(None, None, login_path=form.post_path or urlsplit(form.url).path)
        try:
            self._login_fill(form.account_selector, account)
            self._login_fill(form.secret_selector, secret)
            report = self.inputs.click(self._login_part(form.submit_selector))
            if report.blocked or not report.delivered:
                raise WorldError("the log-in button could not be pressed")
            self._settle(Settle(), awaits_write=True)
        except PlaywrightError as error:
            raise WorldError(f"log-in failed: {type(error).__name__}") from None
        finally:
            self.hold.end()
        self._troubles = set()
        if not self._is_logged_in(form):
            raise WorldError(f"{account} was not logged in", remedy="check the account and its secret")
        self.account = account

    def _is_logged_in(self, form: LoginForm) -> bool:
        if form.done_selector:
            return self.page.locator(form.done_selector).first.is_visible()
        return urlsplit(self.page.url).path != urlsplit(form.url).path

    def _login_part(self, selector: str) -> Target:
        target = self.locate((selector,))
        if target is None:
            raise WorldError(
                f"the log-in page has no single {selector}", remedy="correct the log-in selectors"
            )
        return target

    def _login_fill(self, selector: str, text: str) -> None:
        if self.inputs.fill(self._login_part(selector), text).blocked:
            raise WorldError("the log-in page changed while it was filled in")

    # -- acting --------------------------------------------------------------------------------------------

    def perform(
        self,
        step: Step,
        target: Target,
        rule: RequestRule | None = None,
        *,
        intent: Intent | None = None,
        settle: Settle | None = None,
    ) -> Performed:
        """Do one decided action.

        Args:
            step: what to do.
            target: the element, as ``locate`` observed it on the page that is open.
            rule: the request that a writing step may send; other steps may send none.
            intent: what the request is compared with.
            settle: how long to wait afterwards.
        """
        began = time.perf_counter_ns()
        if step.secret:
            self.trace.knows(step.text)
        self.hold.begin(rule if step.writes else None, intent)
        known_dialogs = len(self._dialogs)
        shown = self._shown if step.writes else ""
        failure, toast, waited_ns = "", "", 0
        try:
            report = self.inputs.give(step, target, onto=self._onto(step))
        except (PlaywrightError, WorldError) as error:
            report, failure = self.gate.disarm(), first_line(error)
        if not (report.blocked and self.mode == "guarded"):
            settling = time.perf_counter_ns()
            try:
                toast = self._settle(settle or Settle(), awaits_write=step.writes, shown=shown)
            except (PlaywrightError, WorldError) as error:
                failure = failure or first_line(error)
            waited_ns = time.perf_counter_ns() - settling
        return conclude(
            step,
            Happened(
                gate=report,
                held=self.hold.end(),
                failure=failure,
                toast=toast,
                dialogs=tuple(self._dialogs[known_dialogs:]),
                latency_us=(time.perf_counter_ns() - began) // 1000,
                waited_us=waited_ns // 1000,
            ),
            rule=rule,
            enforce=self.mode == "guarded",
            login_path=self.rules.login_path,
        )

    def _onto(self, step: Step) -> Target | None:
        """Where a drag ends, observed right before it begins."""
        if step.kind != "drag":
            return None
        return self.locate(step.onto, step.onto_label, iframe=step.iframe)

    def _settle(self, settle: Settle, *, awaits_write: bool = False, shown: str = "") -> str:
        return wait_until_quiet(self.world, self.hold, settle, awaits_write=awaits_write, shown=shown)
