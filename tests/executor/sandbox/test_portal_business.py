"""The portal as a business system: statuses, tenants, accounts, sessions, pages."""

from __future__ import annotations

import re
import string

import httpx
import pytest

from executor.sandbox.portal.client import PortalClient, PortalRefusedError
from executor.sandbox.portal.i18n import LANGUAGES, texts
from executor.sandbox.portal.model import Action, Status, minor_units, money
from executor.sandbox.portal.server import PortalThread


def test_a_bill_goes_from_pending_to_processed_to_refunded_and_back_step_by_step(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    seen = [portal.truth.bill(bill).status]
    for step in (person.process, person.refund, person.undo, person.undo):
        step(bill)
        seen.append(portal.truth.bill(bill).status)

    assert seen == [Status.PENDING, Status.PROCESSED, Status.REFUNDED, Status.PROCESSED, Status.PENDING]


def test_the_history_says_who_did_what(portal: PortalThread, person: PortalClient, bill: str) -> None:
    person.process(bill)
    with portal.client("svc-acme") as service:
        service.refund(bill)

    assert [(e["account"], e["action"], e["from"], e["to"]) for e in person.detail(bill)["history"]] == [
        ("wang.li", "process", "pending", "processed"),
        ("svc-acme", "refund", "processed", "refunded"),
    ]


def test_an_action_that_the_status_does_not_allow_is_refused_and_books_nothing(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    with pytest.raises(PortalRefusedError, match="409 bad_status"):
        person.refund(bill)

    assert portal.truth.history(bill) == []
    assert portal.truth.ledger(bill) == []


def test_a_lenient_vendor_books_a_second_processing_from_a_stale_page(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    person.process(bill)
    person.process(bill)

    assert portal.truth.effects(bill, Action.PROCESS) == 2


def test_the_ledger_books_what_the_form_says_not_what_the_bill_says(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    person.act(bill, "process", counterparty_id="V97777", amount="1.00", month="2026-12")

    (line,) = portal.truth.ledger(bill)
    assert (line.counterparty_id, line.amount_minor, line.month) == ("V97777", 100, "2026-12")
    assert person.detail(bill)["handled"] == {
        "counterparty_id": "V97777",
        "amount_minor": 100,
        "amount": "1.00",
        "currency": "CNY",
        "month": "2026-12",
    }


def test_accounts_of_one_tenant_see_the_same_bills_and_no_bill_of_another(portal: PortalThread) -> None:
    seen = {}
    for account in ("svc-acme", "wang.li", "svc-globex"):
        with portal.client(account) as client:
            seen[account] = {found["id"] for found in client.bills()}

    assert seen["svc-acme"] == seen["wang.li"]
    assert len(seen["svc-globex"]) == 8
    assert not seen["svc-acme"] & seen["svc-globex"]


@pytest.mark.parametrize("path", ["/bills/{}", "/bills/{}/fragment", "/api/bills/{}"])
def test_a_bill_of_another_tenant_is_answered_like_one_that_does_not_exist(
    portal: PortalThread, person: PortalClient, path: str
) -> None:
    other = portal.bill_ids["globex"][0]

    def answer(bill_id: str) -> tuple[int, str]:
        got = person.get(path.format(bill_id))
        without_clock = re.sub(r"\d\d:\d\d:\d\d", "", got.text)
        return got.status_code, without_clock.replace(bill_id, "")

    assert answer(other) == answer("CY202611-9999")
    assert answer(other)[0] == 404


def test_a_bill_of_another_tenant_cannot_be_posted_to(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    other = portal.bill_ids["globex"][1]
    _, fields = person.form(bill)
    answer = person.post_form(f"/bills/{other}/actions", {**fields, "bill_id": other, "action": "process"})

    assert answer.status_code == 404
    assert portal.truth.history(other) == []


def test_a_readback_account_reads_and_cannot_write(portal: PortalThread, bill: str) -> None:
    with portal.client("readback-acme") as reader:
        assert reader.detail(bill)["status"] == "pending"
        assert reader.me()["role"] == "readback"
        with pytest.raises(PortalRefusedError, match="403 read_only"):
            reader.process(bill)

    assert portal.truth.bill(bill).status is Status.PENDING


def test_a_post_without_the_right_token_is_refused(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    assert person.post(bill, "process", csrf="guessed").status_code == 403
    assert portal.truth.bill(bill).status is Status.PENDING


@pytest.mark.parametrize(
    "wrong",
    [{"amount": "ten"}, {"amount": "1.005"}, {"currency": "XXX"}, {"action": "delete"}, {"bill_id": "x"}],
)
def test_a_form_with_nonsense_is_refused(
    portal: PortalThread, person: PortalClient, bill: str, wrong: dict[str, str]
) -> None:
    path, fields = person.form(bill)
    assert person.post_form(path, {**fields, "action": "process", **wrong}).status_code == 400
    assert portal.truth.history(bill) == []


def test_a_wrong_password_opens_no_session(portal: PortalThread) -> None:
    with pytest.raises(PortalRefusedError, match="401"):
        PortalClient(portal.url, "svc-acme", "wrong")


def test_without_a_session_pages_lead_to_the_login_and_scripts_get_401(portal: PortalThread) -> None:
    with httpx.Client(base_url=portal.url) as nobody:
        page = nobody.get("/bills?status=pending")
        answers = [nobody.get(path).status_code for path in ("/api/me", "/api/bills", "/bills/changes")]

    assert page.status_code == 303
    assert page.headers["location"] == "/login?next=/bills%3Fstatus%3Dpending"
    assert answers == [401, 401, 401]


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_the_login_leads_to_no_foreign_site(portal: PortalThread, wanted: str) -> None:
    with httpx.Client(base_url=portal.url) as somebody:
        answer = somebody.post(
            "/login",
            data={"username": "wang.li", "password": portal.accounts["wang.li"].password, "next": wanted},
        )

    assert answer.headers["location"] == "/"


def test_the_list_is_newest_first_and_the_filter_narrows_it(
    portal: PortalThread, person: PortalClient
) -> None:
    listed = person.bills()
    october = person.bills(month="2026-10", status="pending")

    assert [found["created_at"] for found in listed] == sorted(
        (found["created_at"] for found in listed), reverse=True
    )
    assert october
    assert {(found["month"], found["status"]) for found in october} == {("2026-10", "pending")}
    assert [found["id"] for found in person.bills(bill_id=listed[0]["id"])] == [listed[0]["id"]]


def test_a_row_carries_the_markup_that_drivers_rely_on(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    page = person.get("/bills", {"bill_id": bill}).text

    assert f'<tr data-bill-id="{bill}" data-status="pending"' in page
    assert 'data-action="detail">详情</button>' in page
    assert 'data-action="process" >标记处理</button>' in page


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("zh", ("标记处理", "退款", "撤销", "待处理")),
        ("en", ("Mark processed", "Refund", "Undo", "Pending")),
        ("ja", ("処理済みにする", "返金", "取り消し", "未処理")),
        ("ko", ("처리 완료로 표시", "환불", "취소 처리", "미처리")),
    ],
)
def test_pages_speak_four_languages(
    portal: PortalThread, bill: str, lang: str, words: tuple[str, ...]
) -> None:
    with portal.client("wang.li", lang=lang) as client:
        page = client.get(f"/bills/{bill}").text

    assert [word for word in words if word not in page] == []


def test_all_languages_have_the_same_texts_with_the_same_placeholders() -> None:
    def shape(lang: str) -> dict[str, list[str]]:
        flat = {**texts(lang)}
        redesign = flat.pop("redesign")
        assert isinstance(redesign, dict)
        flat.update({f"redesign.{key}": value for key, value in redesign.items()})
        return {
            key: sorted(name or "" for _, name, _, _ in string.Formatter().parse(str(value)))
            for key, value in flat.items()
        }

    names = {lang: {key: [n for n in found if n] for key, found in shape(lang).items()} for lang in LANGUAGES}
    assert all(names[lang] == names["zh"] for lang in LANGUAGES)


def test_yaml_keeps_every_text_a_text() -> None:
    """A bare `no` or `1` in YAML is not a text; the loader must never have to guess."""
    for lang in LANGUAGES:
        flat = {**texts(lang)}
        redesign = flat.pop("redesign")
        assert isinstance(redesign, dict)
        assert {type(value) for value in [*flat.values(), *redesign.values()]} == {str}


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [(143474, "CNY", "1434.74"), (5, "CNY", "0.05"), (-120000, "JPY", "-120000")],
)
def test_money_is_integers_with_text_at_the_edge(minor: int, currency: str, text: str) -> None:
    assert money(minor, currency) == text
    assert minor_units(text, currency) == minor


def test_passwords_and_tokens_do_not_show_in_a_repr(portal: PortalThread) -> None:
    account = portal.accounts["svc-acme"]

    assert account.password not in repr(account)
    assert account.password not in portal.db.read_bytes().decode("latin-1")
