"""Readback from the target's own detail page, in a browser context with a log-in of its own.

For targets without a read API, and as a second surface beside one: the page shows history and postings that a list
hides. The reading session never writes; every non-GET request but its own log-in is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from playwright.sync_api import BrowserContext, Page, Route
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from domain.errors import WorldError
from domain.policy import ReadbackSource
from domain.values import BusinessState, to_minor
from executor.config import Secret
from executor.filling import in_path
from executor.holds import HOLD
from executor.readback import Missing
from executor.tools.base import LoginForm

TIMEOUT_MS = 5_000
ANSWER_MS = 2_000
"""How long a log-in may take to answer, and then to show who is logged in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMap:
    """Where the detail page shows what."""

    url: str
    """With ``{bill_id}``."""
    selectors: Mapping[str, str]
    """``bill_id``, ``status``, ``counterparty``, ``amount``, ``currency``, ``month``; ``history``, ``ledger``: rows;
    ``hold``: drawn only while somebody holds the bill."""
    statuses: Mapping[str, str]
    """Drawn status text → status code."""


class DetailReadback:
    """See ``executor.readback.Readback``."""

    source: ReadbackSource = "detail"

    def __init__(
        self,
        context: Callable[[], BrowserContext],
        *,
        form: LoginForm,
        account: str,
        secret: Secret,
        where: PageMap,
    ) -> None:
        self.account = account
        self._open_context = context
        self._form = form
        self._secret = secret
        self._where = where
        self._page: Page | None = None

    def read(self, bill_id: str) -> BusinessState:
        """The bill as the page shows it now; ``Missing`` when there is none, ``WorldError`` when unreadable."""
        try:
            page = self._opened()
            response = page.goto(in_path(self._where.url, bill_id=bill_id))
            if response is not None and response.status == HTTPStatus.NOT_FOUND:
                raise Missing(f"{self.account} finds no detail page of {bill_id}")
            if response is not None and response.status >= HTTPStatus.BAD_REQUEST:
                raise WorldError(f"the detail page of {bill_id} answers {response.status} to {self.account}")
            if self._form.url.rstrip("/") in page.url:
                self._log_in(page)
                page.goto(in_path(self._where.url, bill_id=bill_id))
            return self._state(page)
        except PlaywrightError as error:
            raise WorldError(f"the detail page of {bill_id} can't be read: {_first_line(error)}") from None
        except ValueError as error:
            raise WorldError(f"the detail page of {bill_id} shows another form: {error}") from error

    def _opened(self) -> Page:
        if self._page is None or self._page.is_closed():
            page = self._open_context().new_page()
            page.set_default_timeout(TIMEOUT_MS)
            page.route("**/*", self._only_read)
            try:
                self._log_in(page)
            except (PlaywrightError, WorldError):
                page.context.close()  # a source is asked again and again until the deadline
                raise
            self._page = page
        return self._page

    def _only_read(self, route: Route) -> None:
        request = route.request
        if request.method == "GET" or request.url.split("?")[0] == self._form.url:
            route.continue_()
        else:
            route.abort()

    def _log_in(self, page: Page) -> None:
        page.goto(self._form.url)
        page.fill(self._form.account_selector, self.account)
        page.fill(self._form.secret_selector, self._secret[:])
        with (
            contextlib.suppress(PlaywrightTimeout),
            page.expect_navigation(wait_until="domcontentloaded", timeout=ANSWER_MS),
        ):  # a click comes back before the answer does; a log-in by script may not navigate at all
            page.click(self._form.submit_selector)
        if not self._is_logged_in(page):
            raise WorldError(
                f"the target refuses the log-in of readback account {self.account}",
                remedy="check its password",
            )

    def _is_logged_in(self, page: Page) -> bool:
        if not self._form.done_selector:
            return True
        try:
            page.locator(self._form.done_selector).first.wait_for(state="attached", timeout=ANSWER_MS)
        except PlaywrightTimeout:
            return False
        return True

    def _state(self, page: Page) -> BusinessState:
        def text(name: str) -> str:
            return page.locator(self._where.selectors[name]).first.inner_text().strip()

        def rows(name: str) -> int:
            selector = self._where.selectors.get(name)
            return -1 if selector is None else page.locator(selector).count()

        drawn, currency = text("status"), text("currency")
        status = self._where.statuses.get(drawn)
        if status is None:
            message = f"unknown status {drawn!r}"
            raise ValueError(message)
        return BusinessState(
            bill_id=text("bill_id"),
            status=status,
            amount_minor=to_minor(text("amount").replace(",", ""), currency),
            currency=currency,
            counterparty=text("counterparty"),
            month=text("month"),
            history_length=rows("history"),
            ledger_lines=rows("ledger"),
            extra={HOLD: text("hold") if rows("hold") else ""} if "hold" in self._where.selectors else {},
        )


def _first_line(error: PlaywrightError) -> str:
    return (error.message or "").splitlines()[0] if error.message else type(error).__name__
