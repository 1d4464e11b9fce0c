"""The portal in a real Chromium: its own page script, with and without faults."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from executor.sandbox.portal.model import Action, Status
from executor.sandbox.portal.server import PortalThread
from tests.executor.sandbox.conftest import until

pytestmark = pytest.mark.browser

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 20_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("PROOFREEL_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, portal: PortalThread) -> Iterator[Page]:
    expect.set_options(timeout=WAIT_MS)
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto(f"{portal.url}/login")
    page.fill("[name=username]", "svc-acme")
    page.fill("[name=password]", portal.accounts["svc-acme"].password)
    page.click("#login-form button[type=submit]")
    page.wait_for_url(f"{portal.url}/")
    yield page
    context.close()


def open_bill(page: Page, portal: PortalThread, bill: str) -> None:
    page.goto(f"{portal.url}/bills/{bill}")
    expect(page.locator("section.bill")).to_have_attribute("data-bill-id", bill)


def test_a_bill_is_processed_through_search_detail_dialog_and_toast(
    page: Page, portal: PortalThread, bill: str
) -> None:
    page.click("nav >> text=差异单管理")
    page.fill("[name=bill_id]", bill)
    page.click("text=查询")
    page.click(f"tr[data-bill-id='{bill}'] >> text=详情")
    page.click(".bill-form [data-action=process]")
    dialog = page.get_by_role("dialog")
    stored = portal.truth.bill(bill)
    expect(dialog).to_contain_text(f"确认对差异单 {bill} 执行「标记处理」？")
    expect(dialog).to_contain_text(stored.counterparty)
    expect(dialog).to_contain_text(f"CNY {stored.amount_shown}")
    dialog.get_by_role("button", name="确认").click()

    expect(page.locator("#toast")).to_have_text(f"操作成功：差异单 {bill} 已提交「标记处理」")
    expect(page.locator("section.bill")).to_have_attribute("data-status", "processed")
    expect(page.locator("#history tbody tr")).to_have_count(1)
    expect(page.locator("#history tbody")).to_contain_text("待处理 → 已处理")
    assert portal.truth.effects(bill, Action.PROCESS) == 1


def test_a_cancelled_dialog_posts_nothing(page: Page, portal: PortalThread, bill: str) -> None:
    open_bill(page, portal, bill)
    page.click(".bill-form [data-action=process]")
    page.get_by_role("dialog").get_by_role("button", name="取消").click()

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert portal.truth.posts(bill) == []


def test_a_row_that_arrives_moves_the_others_down_on_an_open_list(
    page: Page, portal: PortalThread, bill: str
) -> None:
    portal.control.switch_on("row_inserted", delay_ms=300)
    page.goto(f"{portal.url}/bills?month={portal.truth.bill(bill).month}")
    first = page.locator("#rows tr").first
    before, place = first.get_attribute("data-bill-id"), first.bounding_box()

    until(lambda: page.locator("#rows tr").first.get_attribute("data-bill-id") != before)
    newcomer = portal.truth.bills("acme")[0]
    moved = page.locator(f"tr[data-bill-id='{before}']").bounding_box()
    assert page.locator("#rows tr").first.get_attribute("data-bill-id") == newcomer.id
    assert newcomer.counterparty_id == "V90001"
    assert place is not None
    assert moved is not None
    assert moved["y"] > place["y"]


def test_a_pushed_row_waits_for_the_pointer(page: Page, portal: PortalThread, bill: str) -> None:
    portal.control.switch_on("row_pushed", bill)
    with page.expect_response("**/bills/rows**"):
        page.goto(f"{portal.url}/bills?month={portal.truth.bill(bill).month}")
    newcomer = portal.truth.bills("acme")[0].id
    row = page.locator(f"tr[data-bill-id='{bill}']")
    place = row.bounding_box()
    page.wait_for_timeout(600)
    assert page.locator(f"tr[data-bill-id='{newcomer}']").count() == 0

    row.hover()

    moved = row.bounding_box()
    assert page.locator(f"tr[data-bill-id='{newcomer}']").count() == 1
    assert place is not None
    assert moved is not None
    assert moved["y"] > place["y"]


def test_a_fired_swap_exchanges_the_buttons_of_an_open_page(
    page: Page, portal: PortalThread, bill: str
) -> None:
    def actions() -> list[str]:
        found: list[str] = page.eval_on_selector_all(
            ".actions [data-action]", "all => all.map(button => button.dataset.action)"
        )
        return found

    open_bill(page, portal, bill)
    assert actions() == ["process", "refund", "undo"]
    portal.control.fire("button_swapped", bill)
    until(lambda: actions() == ["refund", "process", "undo"])


def test_a_popup_puts_its_button_under_the_pointer_and_a_blind_click_accepts_it(
    page: Page, portal: PortalThread, bill: str
) -> None:
    portal.control.switch_on("dialog_popup", bill, delay_ms=200)
    open_bill(page, portal, bill)
    box = page.locator(".actions [data-action=process]").bounding_box()
    assert box is not None
    point = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*point)
    expect(page.get_by_role("dialog")).to_be_visible()
    given = len(portal.truth.consents())
    page.mouse.click(*point)

    until(lambda: len(portal.truth.consents()) == given + 1)
    assert portal.truth.posts(bill) == []


@pytest.mark.parametrize(
    ("fault", "field", "expected"),
    [
        ("hidden_counterparty_changed", "counterparty_id", "V97777"),
        ("look_alike", "counterparty_id", "V97001"),
        ("currency_reset", "currency", "USD"),
    ],
)
def test_a_poisoned_form_is_booked_as_it_was_posted(
    page: Page, portal: PortalThread, bill: str, fault: str, field: str, expected: str
) -> None:
    portal.control.switch_on(fault, bill, delay_ms=0)
    open_bill(page, portal, bill)
    expect(page.locator(f".bill-form [name={field}]")).to_have_value(expected)
    page.click(".bill-form [data-action=process]")
    page.get_by_role("dialog").get_by_role("button", name="确认").click()

    expect(page.locator("#history tbody")).to_contain_text("待处理 → 已处理")
    (line,) = portal.truth.ledger(bill)
    assert getattr(line, field) == expected
    assert portal.truth.posts(bill)[0].fields[field] == expected


def test_an_amount_can_shift_in_the_form_while_the_screen_stays_the_same(
    page: Page, portal: PortalThread, bill: str
) -> None:
    portal.control.switch_on("amount_shift", bill, delay_ms=0)
    open_bill(page, portal, bill)
    stored = portal.truth.bill(bill)
    wrong = f"{stored.amount_minor * 100 / 100:.2f}"

    expect(page.locator(".bill-form [name=amount]")).to_have_value(wrong)
    assert page.locator("[data-field=amount]").text_content() == stored.amount_shown


def test_the_queue_moves_on_under_a_waiting_hand(page: Page, portal: PortalThread, bill: str) -> None:
    open_bill(page, portal, bill)
    portal.control.fire("queue_advance", bill)

    expect(page.locator("section.bill")).not_to_have_attribute("data-bill-id", bill)


def test_a_session_that_ends_before_the_write_sends_the_page_to_the_login(
    page: Page, portal: PortalThread, bill: str
) -> None:
    portal.control.switch_on("session_expired", bill)
    open_bill(page, portal, bill)
    page.click(".bill-form [data-action=process]")
    page.get_by_role("dialog").get_by_role("button", name="确认").click()

    page.wait_for_url("**/login?expired=1*")
    expect(page.locator(".login-error")).to_have_text("登录已失效，请重新登录")
    assert portal.truth.bill(bill).status is Status.PENDING


def test_withdrawn_rights_open_an_alert_on_the_open_page(page: Page, portal: PortalThread, bill: str) -> None:
    open_bill(page, portal, bill)
    portal.control.fire("permission_dialog", account="svc-acme")

    expect(page.get_by_role("alertdialog")).to_contain_text("权限已变更，请重新登录")


def test_an_optimistic_fake_shows_the_new_status_until_the_page_is_loaded_again(
    page: Page, portal: PortalThread, bill: str
) -> None:
    portal.control.switch_on("fake_success", bill, optimistic=True)
    open_bill(page, portal, bill)
    page.click(".bill-form [data-action=process]")
    page.get_by_role("dialog").get_by_role("button", name="确认").click()

    expect(page.locator("#toast.ok")).to_be_visible()
    expect(page.locator("[data-field=status]")).to_have_text("已处理")
    page.reload()
    expect(page.locator("[data-field=status]")).to_have_text("待处理")
    assert portal.truth.ledger(bill) == []


def test_the_redesigned_page_still_works_for_a_person(page: Page, portal: PortalThread, bill: str) -> None:
    portal.control.switch_on("page_redesigned")
    page.goto(f"{portal.url}/bills/{bill}")
    page.click("text=办结工单")
    page.get_by_role("dialog").get_by_role("button", name="确定提交").click()

    until(lambda: portal.truth.effects(bill, Action.PROCESS) == 1)


@pytest.mark.parametrize(
    ("fault", "selector"),
    [
        ("late_banner", ".late-banner"),
        ("toast_over_target", ".cover"),
        ("button_disabled", ".bill-form [data-action=process]:disabled"),
        ("dark_theme", "body.dark"),
        ("spinner", ".spinner"),
        ("ad_banner", ".ad"),
        ("approve_all", "form.bill-form[action='/bills/all/actions']"),
    ],
)
def test_a_fired_fault_reaches_the_open_page(
    page: Page, portal: PortalThread, bill: str, fault: str, selector: str
) -> None:
    open_bill(page, portal, bill)
    expect(page.locator(selector)).to_have_count(0)
    portal.control.fire(fault, bill)

    expect(page.locator(selector)).to_be_attached()


def test_the_list_can_sort_itself_by_amount(page: Page, portal: PortalThread, bill: str) -> None:
    portal.control.switch_on("list_resorted", delay_ms=0)
    page.goto(f"{portal.url}/bills?month={portal.truth.bill(bill).month}")

    def amounts() -> list[int]:
        shown = page.locator("#rows .f-amount").all_text_contents()
        return [round(float(text.replace(",", "")) * 100) for text in shown]

    until(lambda: amounts() == sorted(amounts(), reverse=True))
