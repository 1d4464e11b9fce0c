"""Readback from the detail page in a real browser: another session, another account, and never a write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from domain.errors import WorldError
from executor.config import Secret
from executor.detail_readback import DetailReadback, PageMap
from executor.readback import Missing
from executor.recipe import load_recipe
from executor.sandbox.portal.server import PortalThread
from tests.support.chromium import running_browser

pytestmark = pytest.mark.browser
RECIPE = load_recipe("vendor-portal")
Reader = Callable[..., DetailReadback]


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    with PortalThread(tmp_path_factory.mktemp("portal") / "portal.db", counts={"acme": 8}) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture
def reader(portal: PortalThread, browser: Browser) -> Reader:
    def make(
        *,
        language: str = "zh",
        password: str = "",
        opened: Callable[[], BrowserContext] = browser.new_context,
        **changes: object,
    ) -> DetailReadback:
        where = PageMap(
            url=portal.url + RECIPE.read.detail_path,
            selectors=RECIPE.read.detail_selectors,
            statuses=RECIPE.statuses[language],
        )
        secret = Secret(password or portal.accounts["readback-acme"].password)
        return DetailReadback(
            opened,
            form=RECIPE.login_form(portal.url),
            account="readback-acme",
            secret=secret,
            where=replace(where, **changes),  # type: ignore[arg-type]
        )

    return make


def test_the_page_shows_what_the_vendor_holds(portal: PortalThread, reader: Reader) -> None:
    bill = portal.bill_ids["acme"][0]
    source = reader()
    before = source.read(bill)
    truth = portal.truth.bill(bill)
    assert (before.bill_id, before.amount_minor, before.currency) == (
        bill,
        truth.amount_minor,
        truth.currency,
    )
    assert (before.status, before.month) == (truth.status.value, truth.month)
    with portal.client("wang.li") as person:
        person.process(bill)
    after = source.read(bill)
    assert after.status == "processed"
    assert after.history_length == before.history_length + 1
    assert after.ledger_lines == before.ledger_lines + 1


def test_a_colleagues_hold_is_shown_while_it_stands(portal: PortalThread, reader: Reader) -> None:
    bill, source = portal.bill_ids["acme"][2], reader()
    with portal.client("wang.li") as person:
        assert source.read(bill).extra == {"hold": ""}
        person.hold(bill, "wait")
        assert source.read(bill).extra == {"hold": "wang.li: wait"}
        person.lift_hold(bill)
    assert source.read(bill).extra == {"hold": ""}


def test_an_ended_session_is_logged_in_again(portal: PortalThread, reader: Reader) -> None:
    source, bill = reader(), portal.bill_ids["acme"][1]
    first = source.read(bill)
    portal.control.expire("readback-acme")
    assert source.read(bill) == first


def test_a_bill_that_is_not_there_is_missing(reader: Reader) -> None:
    with pytest.raises(Missing):
        reader().read("CY202611-9999")


def test_a_refused_log_in_is_told_without_the_password_and_leaves_nothing_open(
    portal: PortalThread, browser: Browser, reader: Reader
) -> None:
    opened = len(browser.contexts)
    with pytest.raises(WorldError, match="refuses the log-in") as refusal:
        reader(password="correct horse battery staple").read(portal.bill_ids["acme"][1])
    assert "battery" not in f"{refusal.value} {refusal.value!r}"
    assert len(browser.contexts) == opened


def test_a_log_in_whose_page_comes_in_slowly_is_waited_for(
    portal: PortalThread, browser: Browser, reader: Reader
) -> None:
    def far_away() -> BrowserContext:
        context = browser.new_context()
        context.on("page", delay)
        return context

    def delay(page: Page) -> None:
        wire = {"offline": False, "latency": 200, "downloadThroughput": 30_000, "uploadThroughput": -1}
        page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", wire)

    bill = portal.bill_ids["acme"][3]
    assert reader(opened=far_away).read(bill).bill_id == bill


def test_a_status_that_the_recipe_does_not_know_is_no_state(portal: PortalThread, reader: Reader) -> None:
    with pytest.raises(WorldError, match="unknown status"):
        reader(statuses=RECIPE.statuses["en"]).read(portal.bill_ids["acme"][1])


def test_a_redesigned_page_can_not_be_read(portal: PortalThread, reader: Reader) -> None:
    portal.control.switch_on("page_redesigned")
    try:
        with pytest.raises(WorldError):
            reader().read(portal.bill_ids["acme"][1])
    finally:
        portal.control.reset()


def test_the_reading_session_can_not_write_even_if_its_account_could(
    portal: PortalThread, browser: Browser, reader: Reader
) -> None:
    source, bill = reader(), portal.bill_ids["acme"][2]
    source.read(bill)
    page = browser.contexts[-1].pages[0]
    answer = page.evaluate(
        "url => fetch(url, {method: 'POST', body: new URLSearchParams({action: 'process'})})"
        ".then(() => 'sent', () => 'held')",
        f"{portal.url}/bills/{bill}/actions",
    )
    assert answer == "held"
    assert portal.truth.posts(f"/bills/{bill}/actions") == []
