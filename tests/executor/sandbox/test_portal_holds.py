"""Holds: a colleague's word that a bill is not to be worked on, and how a vendor's saving loses it."""

from __future__ import annotations

import pytest

from executor.sandbox.portal.client import PortalClient, PortalRefusedError
from executor.sandbox.portal.server import PortalThread


def test_a_hold_is_shown_on_the_page_in_the_list_and_by_the_read_api(
    portal: PortalThread, person: PortalClient, service: PortalClient, bill: str
) -> None:
    page, row = f"/bills/{bill}", f"/bills?bill_id={bill}"
    assert 'data-field="hold"' not in service.get(page).text + service.get(row).text
    person.hold(bill, "check <the> account")
    assert 'data-field="hold">wang.li: check &lt;the&gt; account<' in service.get(page).text
    assert 'data-field="hold" title="wang.li: check &lt;the&gt; account"' in service.get(row).text
    shown = service.detail(bill)
    assert (shown["hold"]["account"], shown["hold"]["note"]) == ("wang.li", "check <the> account")
    assert service.bills(bill_id=bill)[0]["hold"] == shown["hold"]
    assert [(entry["done"], entry["account"]) for entry in shown["holds"]] == [("placed", "wang.li")]
    assert shown["history"] == []


def test_a_lifted_hold_is_gone_and_both_are_in_the_log(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    person.hold(bill, "wait")
    with portal.client("svc-acme") as other:
        other.lift_hold(bill)
    shown = person.detail(bill)
    assert shown["hold"] is None
    assert [(entry["done"], entry["account"]) for entry in shown["holds"]] == [
        ("placed", "wang.li"),
        ("lifted", "svc-acme"),
    ]
    assert "wang.li" in person.get(f"/bills/{bill}/hold").text


def test_the_server_books_a_held_bill_and_leaves_the_hold(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    person.hold(bill, "wait")
    person.process(bill)
    assert portal.truth.bill(bill).status.value == "processed"
    held = portal.truth.hold(bill)
    assert held is not None
    assert held.note == "wait"


@pytest.mark.parametrize("early", [True, False])
def test_a_lost_update_books_and_loses_the_hold_without_a_word(
    portal: PortalThread, person: PortalClient, service: PortalClient, bill: str, *, early: bool
) -> None:
    portal.control.switch_on("lost_update", bill)
    if early:
        person.hold(bill, "check the bank account first")
    service.process(bill)
    assert portal.truth.bill(bill).status.value == "processed"
    assert portal.truth.hold(bill) is None
    log = [(entry.done, entry.account, entry.note) for entry in portal.truth.hold_log(bill)]
    assert log == [("placed", "wang.li", "check the bank account first")]


def test_who_may_only_read_places_no_hold_and_neither_does_another_tenant(
    portal: PortalThread, bill: str
) -> None:
    for account in ("readback-acme", "svc-globex"):
        with portal.client(account) as stranger, pytest.raises(PortalRefusedError):
            stranger.hold(bill, "mine")
    with portal.client("svc-globex") as stranger:
        csrf = stranger.form(portal.bill_ids["globex"][0])[1]["csrf"]
        answer = stranger.post_form(f"/bills/{bill}/hold", {"csrf": csrf, "do": "place", "note": "mine"})
        assert answer.status_code == 404
    assert portal.truth.hold(bill) is None
