"""The settlement file: what a vendor would send at the month's end."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from executor.sandbox.portal.client import PortalClient, PortalRefusedError
from executor.sandbox.portal.model import money
from executor.sandbox.portal.server import PortalServer, PortalThread


def _rows(content: bytes, encoding: str = "utf-8-sig") -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(encoding), newline="")))


def test_every_booking_is_one_line_and_the_closing_line_adds_up(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("settlement") / "portal.sqlite"
    with PortalThread(path) as portal, portal.client("wang.li") as person:
        bills = {currency: _bill(person, currency) for currency in ("CNY", "JPY")}
        for action in ("process", "refund", "undo", "undo"):
            person.act(bills["CNY"]["id"], action)
        portal.control.switch_on("double_posting", bills["JPY"]["id"])
        person.process(bills["JPY"]["id"])
        content = person.settlement("2026-11")

    rows = _rows(content)
    assert content.startswith(b"\xef\xbb\xbf")
    assert rows[1:3] == [["账单月份", "2026-11"], ["商户", "acme"]]
    cny, jpy = bills["CNY"], bills["JPY"]
    assert [(row[1], row[4], row[5], row[6], row[8]) for row in rows[6:-1]] == [
        (cny["id"], "处理", cny["amount"], "CNY", "wang.li"),
        (cny["id"], "退款", f"-{cny['amount']}", "CNY", "wang.li"),
        (cny["id"], "撤销", cny["amount"], "CNY", "wang.li"),
        (cny["id"], "撤销", f"-{cny['amount']}", "CNY", "wang.li"),
        (jpy["id"], "处理", jpy["amount"], "JPY", "wang.li"),
        (jpy["id"], "处理", jpy["amount"], "JPY", "wang.li"),
    ]
    assert rows[-1] == ["合计", "6", "CNY 0.00", f"JPY {money(2 * jpy['amount_minor'], 'JPY')}"]
    assert all(len(row) == len(rows[5]) for row in rows[6:-1])


def _bill(person: PortalClient, currency: str) -> dict[str, Any]:
    return next(found for found in person.bills(month="2026-11") if found["currency"] == currency)


def test_the_file_holds_only_the_tenant_s_own_lines(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    person.process(bill)
    month = portal.truth.bill(bill).month
    with portal.client("svc-globex") as other:
        assert bill.encode() not in other.settlement(month)
    assert bill.encode() in person.settlement(month)


def test_the_file_comes_in_gbk_with_backticks_on_request(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    person.process(bill)
    rows = _rows(person.settlement(portal.truth.bill(bill).month, encoding="gbk", backtick=True), "gb18030")

    line = next(row for row in rows if len(row) > 1 and row[1] == f"`{bill}")
    assert line[0].startswith("`JS")
    assert line[3] == portal.truth.bill(bill).counterparty


def test_the_heading_follows_the_language(portal: PortalThread) -> None:
    with portal.client("wang.li", lang="ja") as client:
        assert _rows(client.settlement("2026-11"))[5][1] == "差異伝票番号"


@pytest.mark.parametrize("month", ["2026-13", "2026-1", "..%2F2026-11"])
def test_a_month_that_is_none_is_not_found(portal: PortalThread, person: PortalClient, month: str) -> None:
    with pytest.raises(PortalRefusedError, match="404"):
        person.settlement(month)


def test_the_file_needs_a_session(portal: PortalThread) -> None:
    with portal.client("wang.li") as client:
        client.post_form("/logout", {})
        answer = client.get("/settlement/2026-11.csv")
    assert answer.status_code == 303


def test_a_process_of_its_own_serves_and_ends_with_its_database_left(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("process") / "portal.sqlite"
    with PortalServer(path, counts={"acme": 2}, lang="en", ambient=["spinner"]) as portal:
        bill = portal.bill_ids["acme"][0]
        with portal.client("svc-acme") as client:
            client.process(bill)
            assert "Mark processed" in client.get(f"/bills/{bill}").text
        assert [fault["name"] for fault in portal.control.state()["faults"]] == ["spinner"]
        serving = portal.pid is not None
    assert (serving, portal.pid) == (True, None)
    assert len(portal.truth.ledger(bill)) == 1
