"""The browser rung on the vendor's back office: faults at every moment; the portal's own file is the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from playwright.sync_api import Browser

from domain.values import Check, Intent
from executor.guards.base import Purpose, first_stop, pre_checks
from executor.sandbox.portal.server import PortalThread
from executor.tools.base import (
    FieldMap,
    IntentField,
    LoginForm,
    Performed,
    Probe,
    RequestRule,
    SiteRules,
    Step,
)
from executor.tools.browser import BrowserTool
from tests.support.chromium import FixedClock

pytestmark = pytest.mark.browser

SHOWN: tuple[IntentField, ...] = ("bill_id", "counterparty", "amount", "currency", "month")
FIELDS = FieldMap(
    form={"bill_id": "bill_id", "amount": "amount", "currency": "currency", "month": "month"},
    form_selector="form.bill-form",
    drawn=("bill_id",),
    drawn_selectors={
        "bill_id": "[data-field=bill_id]",
        "counterparty": "[data-field=counterparty]",
        "amount": "[data-field=amount]",
        "currency": "[data-field=currency]",
        "month": "[data-field=month]",
    },
    action_codes={"mark_processed": "process"},
)
MARK = Step(
    kind="click", selectors=("section.bill button[data-action=process]",), label="标记处理", destructive=True
)
CONFIRM = Step(
    kind="click",
    selectors=("[role=dialog] button.primary",),
    label="确认",
    writes=True,
    needs_confirm=True,
)
LOGIN = LoginForm(
    url="/login",
    account_selector="[name=username]",
    secret_selector="[name=password]",
    submit_selector="#login-form button[type=submit]",
    done_selector="#account-name",
)
EFFECT_MS = 450
"""The page asks for news every 200 ms; by then it has shown what the control interface fired."""
Between = Callable[[], None]


def nothing() -> None:
    """No fault."""


@dataclass
class Clerk:
    """Does one bill as the orchestrator would, and stops where a guard stops."""

    tool: BrowserTool
    portal: PortalThread
    intent: Intent
    counterparty_id: str

    def rule(self) -> RequestRule:
        return RequestRule(
            path="/bills/{bill_id}/actions",
            fields=replace(FIELDS, form={**FIELDS.form, "action": "action"}),
            known={"counterparty_id": self.counterparty_id},
            ignored=("csrf",),
        )

    def step(self, step: Step, between: Between, fields: FieldMap = FIELDS) -> Check | Performed:
        planned = self.tool.look()
        target = self.tool.locate(step.selectors, step.label, fields=fields)
        purpose = Purpose(
            intent=self.intent,
            fields=fields,
            known={"counterparty_id": self.counterparty_id},
            account=self.tool.account,
            probe=self.tool.probe,
        )
        stop = first_stop(pre_checks(step, target, purpose, planned=planned, now=self.tool.look()))
        if stop is not None:
            return stop
        assert target is not None
        between()
        performed = self.tool.perform(step, target, self.rule() if step.writes else None, intent=self.intent)
        return performed if performed.check is None else performed.check

    def process(self, at_mark: Between = nothing, at_confirm: Between = nothing) -> Check | Performed:
        self.tool.goto(f"/bills/{self.intent.bill_id}")
        first = self.step(MARK, at_mark)
        if isinstance(first, Check):
            return first
        return self.step(CONFIRM, at_confirm, replace(FIELDS, drawn=SHOWN))


@pytest.fixture(scope="module")
def running_portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    with PortalThread(
        tmp_path_factory.mktemp("portal") / "portal.sqlite", counts={"acme": 60, "globex": 2}
    ) as p:
        yield p


@pytest.fixture(scope="module")
def logged_in(running_portal: PortalThread, browser: Browser) -> Iterator[BrowserTool]:
    rules = SiteRules(
        origins=(running_portal.url,),
        account_selector="#account-name",
        toast_selector="#toast",
        probe=Probe(url=f"{running_portal.url}/api/me", account_field="account"),
        volatile_selectors=("#clock",),
    )
    with BrowserTool.open(browser, rules, clock=FixedClock()) as tool:
        yield tool


@pytest.fixture(scope="module")
def untouched(running_portal: PortalThread) -> list[str]:
    return list(running_portal.bill_ids["acme"])


@pytest.fixture
def clerk(running_portal: PortalThread, logged_in: BrowserTool, untouched: list[str]) -> Clerk:
    running_portal.control.reset()
    if logged_in.probe().account != "svc-acme":
        logged_in.login(LOGIN, "svc-acme", running_portal.accounts["svc-acme"].password)
    bill = running_portal.truth.bill(untouched.pop())
    while bill.currency != "CNY":
        bill = running_portal.truth.bill(untouched.pop())
    intent = Intent(
        bill_id=bill.id,
        action="mark_processed",
        counterparty=bill.counterparty,
        amount_minor=bill.amount_minor,
        currency=bill.currency,
        month=bill.month,
        expected_status="processed",
    )
    return Clerk(logged_in, running_portal, intent, bill.counterparty_id)


def wrong_effects(clerk: Clerk, before: int) -> list[str]:
    """What the portal's ledger holds since ``before`` that the intent did not ask for."""
    intent, wrong = clerk.intent, []
    for line in clerk.portal.truth.ledger()[before:]:
        right = (intent.bill_id, intent.amount_minor, intent.currency, intent.month, clerk.counterparty_id)
        if (line.bill_id, line.amount_minor, line.currency, line.month, line.counterparty_id) != right:
            wrong.append(repr(line))
    return wrong


def test_a_bill_is_processed_by_two_clicks_and_one_request(clerk: Clerk) -> None:
    done = clerk.process()
    assert isinstance(done, Performed), done
    assert done.status == "executed"
    assert done.requests == (f"POST /bills/{clerk.intent.bill_id}/actions 200",)
    assert clerk.intent.bill_id in done.toast
    assert [line.bill_id for line in clerk.portal.truth.ledger(clerk.intent.bill_id)] == [
        clerk.intent.bill_id
    ]


FAULTS = (
    "amount_shift",
    "currency_reset",
    "hidden_counterparty_changed",
    "month_rollover",
    "look_alike",
    "approve_all",
    "queue_advance",
    "button_swapped",
    "dialog_popup",
)


@pytest.mark.parametrize("when", ["all_along", "before_the_click", "before_the_confirmation"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_the_page_has_a_wrong_effect(clerk: Clerk, fault: str, when: str) -> None:
    portal, bill = clerk.portal, clerk.intent.bill_id
    booked, agreed = len(portal.truth.ledger()), len(portal.truth.consents())

    def strike() -> None:
        portal.control.fire(fault, bill, delay_ms=0)
        clerk.tool.page.wait_for_timeout(EFFECT_MS)

    if when == "all_along":
        clerk.tool.goto(f"/bills/{bill}")
        strike()
        end = clerk.step(MARK, nothing)
        if isinstance(end, Performed):
            end = clerk.step(CONFIRM, nothing, replace(FIELDS, drawn=SHOWN))
    elif when == "before_the_click":
        end = clerk.process(at_mark=strike)
    else:
        end = clerk.process(at_confirm=strike)
    clerk.tool.page.wait_for_timeout(100)
    assert wrong_effects(clerk, booked) == []
    assert len(portal.truth.consents()) == agreed
    if isinstance(end, Performed):
        assert len(portal.truth.ledger(bill)) == 1, end
    else:
        assert len(portal.truth.ledger()) == booked, end
        assert end.expected or end.found


@pytest.mark.parametrize(
    "fault", ["amount_shift", "hidden_counterparty_changed", "month_rollover", "currency_reset"]
)
def test_a_form_that_is_wrong_all_along_is_stopped_before_any_click(clerk: Clerk, fault: str) -> None:
    clerk.tool.goto(f"/bills/{clerk.intent.bill_id}")
    clerk.portal.control.fire(fault, clerk.intent.bill_id, delay_ms=0)
    clerk.tool.page.wait_for_timeout(EFFECT_MS)
    end = clerk.step(MARK, nothing)
    assert isinstance(end, Check)
    assert end.verdict == "intent_mismatch"


def test_a_row_that_arrives_between_look_and_click_blocks_and_the_next_try_succeeds(clerk: Clerk) -> None:
    portal, bill = clerk.portal, clerk.intent.bill_id
    row = Step(
        kind="click", selectors=(f"#rows tr[data-bill-id='{bill}'] button[data-action=detail]",), label="详情"
    )
    clerk.tool.goto(f"/bills?month={clerk.intent.month}&size=200")

    def strike() -> None:
        rows = clerk.tool.page.locator("#rows tr").count()
        portal.control.fire("row_inserted", bill, delay_ms=0)
        clerk.tool.page.wait_for_function(f"document.querySelectorAll('#rows tr').length > {rows}")

    end = clerk.step(row, strike, FieldMap())
    assert isinstance(end, Check)
    assert (end.guard, end.verdict) == ("gate", "target_changed")
    assert bill in end.expected
    again = clerk.step(row, nothing, FieldMap())
    assert isinstance(again, Performed), again
    assert clerk.tool.page.url.endswith(f"/bills/{bill}")


def test_a_fake_success_is_reported_as_executed_with_its_toast_and_nothing_more(clerk: Clerk) -> None:
    clerk.portal.control.switch_on("fake_success", clerk.intent.bill_id)
    done = clerk.process()
    assert isinstance(done, Performed)
    assert done.status == "executed"
    assert "操作成功" in done.toast
    assert clerk.portal.truth.ledger(clerk.intent.bill_id) == []


def test_a_session_that_ends_at_the_post_is_failed_and_the_probe_agrees(clerk: Clerk) -> None:
    clerk.portal.control.switch_on("session_expired", clerk.intent.bill_id)
    end = clerk.process()
    assert isinstance(end, Check)
    assert end.verdict == "session_expired"
    assert clerk.portal.truth.ledger(clerk.intent.bill_id) == []
    lost = clerk.step(CONFIRM, nothing)
    assert isinstance(lost, Check)
    assert (lost.guard, lost.verdict) == ("auth", "session_expired")


def test_withdrawn_rights_are_forbidden_and_a_redesign_is_a_changed_page(clerk: Clerk) -> None:
    clerk.tool.goto(f"/bills/{clerk.intent.bill_id}")
    clerk.portal.control.fire("permission_dialog", clerk.intent.bill_id, delay_ms=0)
    clerk.tool.page.locator("[role=alertdialog]").wait_for()
    end = clerk.step(MARK, nothing)
    assert isinstance(end, Check)
    assert end.verdict == "forbidden"
    clerk.portal.control.reset()
    clerk.tool.login(LOGIN, "svc-acme", clerk.portal.accounts["svc-acme"].password)
    clerk.portal.control.switch_on("page_redesigned", clerk.intent.bill_id)
    end = clerk.process()
    assert isinstance(end, Check)
    assert end.verdict == "page_changed"


@pytest.mark.parametrize("fault", ["spinner", "ad_banner", "dark_theme"])
def test_a_benign_disturbance_does_not_stop_a_bill(clerk: Clerk, fault: str) -> None:
    def strike() -> None:
        clerk.portal.control.fire(fault, clerk.intent.bill_id, delay_ms=0)
        clerk.tool.page.wait_for_timeout(EFFECT_MS)

    done = clerk.process(at_mark=strike)
    assert isinstance(done, Performed), done
    assert done.status == "executed"
