"""Faults of the server: what it answers, and what it really did."""

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from executor.sandbox.portal import registry
from executor.sandbox.portal.app import create_app
from executor.sandbox.portal.client import PortalClient, PortalRefusedError
from executor.sandbox.portal.faults import FaultBoard, Target, UnknownFaultError
from executor.sandbox.portal.model import Action, Kind, Role, Status
from executor.sandbox.portal.registry import AMBIENT, FAULTS
from executor.sandbox.portal.seed import seed
from executor.sandbox.portal.server import PortalThread
from executor.sandbox.portal.services import Portal, Settings
from tests.executor.sandbox.conftest import until


def test_fake_success_says_done_and_changes_nothing(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("fake_success", bill)

    assert person.process(bill) == {"ok": True, "error": "", "status": "pending"}
    assert portal.truth.bill(bill).status is Status.PENDING
    assert portal.truth.ledger(bill) == []


def test_optimistic_fake_success_claims_the_new_status(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("fake_success", bill, optimistic=True)

    assert person.process(bill)["status"] == "processed"
    assert person.detail(bill)["status"] == "pending"


def test_late_posting_books_later_under_the_same_account(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("late_posting", bill, delay_ms=300)

    assert person.process(bill)["ok"]
    assert portal.truth.history(bill) == []
    until(lambda: portal.truth.bill(bill).status is Status.PROCESSED)
    assert [(e.account, e.source) for e in portal.truth.history(bill)] == [("wang.li", "timer")]


def test_double_posting_makes_two_lines_and_two_entries_of_one_post(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("double_posting", bill)
    person.process(bill)

    first, second = portal.truth.ledger(bill)
    assert first.amount_minor == second.amount_minor == portal.truth.bill(bill).amount_minor
    assert [e.source for e in portal.truth.history(bill)] == ["web", "queue"]
    assert len(portal.truth.posts(bill)) == 1


def test_a_doubled_undo_takes_back_twice(portal: PortalThread, person: PortalClient, bill: str) -> None:
    person.process(bill)
    portal.control.switch_on("double_posting", bill)
    person.undo(bill)

    amount = portal.truth.bill(bill).amount_minor
    assert [line.amount_minor for line in portal.truth.ledger(bill)] == [amount, -amount, -amount]


@pytest.mark.parametrize(("fault", "booked"), [("commit_then_504", 1), ("drop_then_504", 0)])
def test_a_gateway_timeout_says_nothing_about_what_was_booked(
    portal: PortalThread, person: PortalClient, bill: str, fault: str, booked: int
) -> None:
    portal.control.switch_on(fault, bill)

    with pytest.raises(PortalRefusedError, match="504"):
        person.process(bill)
    assert portal.truth.effects(bill, Action.PROCESS) == booked


def test_partial_save_loses_the_counterparty(portal: PortalThread, person: PortalClient, bill: str) -> None:
    portal.control.switch_on("partial_save", bill)
    person.process(bill)

    detail = person.detail(bill)
    assert detail["status"] == "processed"
    assert detail["handled"]["counterparty_id"] == ""
    assert portal.truth.ledger(bill)[0].counterparty_id == ""


def test_late_reversal_undoes_a_booking_that_was_already_confirmed(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("late_reversal", bill, delay_ms=300)
    person.process(bill)

    assert portal.truth.bill(bill).status is Status.PROCESSED
    until(lambda: portal.truth.bill(bill).status is Status.PENDING)
    assert [(e.account, e.action) for e in portal.truth.history(bill)] == [
        ("wang.li", Action.PROCESS),
        ("system", Action.UNDO),
    ]


def test_late_duplicate_books_again_after_a_first_readback_was_right(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("late_duplicate", bill, delay_ms=300)
    person.process(bill)

    assert portal.truth.effects(bill, Action.PROCESS) == 1
    until(lambda: portal.truth.effects(bill, Action.PROCESS) == 2)
    assert len(portal.truth.posts(bill)) == 1


def test_collateral_fee_adds_a_line_that_nobody_asked_for(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("collateral_fee", bill)
    person.process(bill)

    lines = portal.truth.ledger(bill)
    assert [(line.kind, line.account) for line in lines] == [
        (Kind.PROCESS, "wang.li"),
        (Kind.FEE, "system"),
    ]
    assert lines[1].amount_minor == -2500


def test_an_expired_session_ends_before_the_write_and_only_for_that_account(
    portal: PortalThread, person: PortalClient, service: PortalClient, bill: str
) -> None:
    portal.control.switch_on("session_expired", bill)

    with pytest.raises(PortalRefusedError, match="401"):
        service.process(bill)
    assert portal.truth.history(bill) == []
    assert service.get("/api/me").status_code == 401
    assert service.get("/bills").headers["location"].startswith("/login?next=/bills&expired=1")
    assert person.me()["account"] == "wang.li"


def test_sessions_can_be_ended_at_once(
    portal: PortalThread, service: PortalClient, person: PortalClient
) -> None:
    assert portal.control.expire("svc-acme") >= 1
    assert service.get("/api/me").status_code == 401
    assert person.get("/api/me").status_code == 200


def test_withdrawn_rights_answer_403_everywhere_until_they_are_given_back(
    portal: PortalThread, service: PortalClient, bill: str
) -> None:
    portal.control.switch_on("permission_dialog", bill, on="post")

    with pytest.raises(PortalRefusedError, match="403 permission_changed"):
        service.process(bill)
    page = service.get(f"/bills/{bill}")
    assert (service.get("/api/me").status_code, page.status_code) == (403, 403)
    assert 'role="alertdialog"' in page.text
    assert "权限已变更，请重新登录" in page.text
    portal.control.reset()
    assert service.me()["account"] == "svc-acme"
    assert portal.truth.history(bill) == []


def test_the_redesigned_page_has_no_data_attributes_and_other_words(
    portal: PortalThread, service: PortalClient, bill: str
) -> None:
    before = service.get(f"/bills/{bill}").text
    portal.control.switch_on("page_redesigned", bill)
    after = service.get(f"/bills/{bill}").text

    assert f'data-bill-id="{bill}"' in before
    assert re.findall(r"\bdata-[a-z-]+=", after) == []
    assert "标记处理" in before
    assert "标记处理" not in after
    assert 'content="4.0.0"' in after
    assert service.me()["ui_version"] == "3.2.1"


def test_a_redesign_for_all_shows_in_the_list_and_in_the_version(
    portal: PortalThread, service: PortalClient
) -> None:
    portal.control.switch_on("page_redesigned")

    assert "data-bill-id" not in service.get("/bills").text
    assert service.me()["ui_version"] == "4.0.0"


def test_a_fault_of_one_bill_leaves_the_others_alone(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    other = next(found["id"] for found in person.bills(status="pending") if found["id"] != bill)
    portal.control.switch_on("fake_success", other)
    person.process(bill)

    assert portal.truth.bill(bill).status is Status.PROCESSED


def test_a_fault_for_all_strikes_as_often_as_it_was_told(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    portal.control.switch_on("fake_success", times=1, skip=1)
    person.process(bill)
    person.undo(bill)
    person.process(bill)

    assert [e.action for e in portal.truth.history(bill)] == [Action.PROCESS, Action.PROCESS]
    (fault,) = portal.control.state()["faults"]
    assert (fault["triggered"], fault["remaining"], fault["skip"]) == (1, 0, 0)


def test_a_fault_does_not_make_a_refused_action_succeed(
    portal: PortalThread, person: PortalClient, bill: str
) -> None:
    for fault in ("fake_success", "late_posting", "drop_then_504", "double_posting"):
        portal.control.reset()
        portal.control.switch_on(fault, bill)
        assert person.post(bill, "refund").status_code == 409

    assert portal.truth.ledger(bill) == []
    assert portal.truth.pending_jobs() == 0


def test_the_readback_account_does_not_use_up_a_fault_of_a_page(portal: PortalThread, bill: str) -> None:
    portal.control.switch_on("amount_shift", bill)
    with portal.client("readback-acme") as reader, portal.client("svc-acme") as service:
        read, seen = reader.get(f"/bills/{bill}").text, service.get(f"/bills/{bill}").text

    assert '"op": "set"' not in read
    assert '"op": "set"' in seen


def test_the_control_interface_needs_its_token(portal: PortalThread) -> None:
    for headers in ({}, {"X-Control-Token": "guessed"}):
        with httpx.Client(base_url=portal.url, headers=headers) as stranger:
            assert stranger.post("/_control/faults", json={"name": "fake_success"}).status_code == 403
            assert stranger.get("/_control/state").status_code == 403


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("fake_succes", {}, "no fault 'fake_succes'"),
        ("late_posting", {"delay": 5}, "no parameter 'delay'"),
        ("late_posting", {"delay_ms": "5"}, "delay_ms takes a value such as"),
        ("row_inserted", {"on": "post"}, "on takes one of page"),
    ],
)
def test_a_mistyped_fault_is_refused(
    portal: PortalThread, name: str, params: dict[str, Any], words: str
) -> None:
    with pytest.raises(PortalRefusedError, match="400") as refused:
        portal.control.switch_on(name, **params)

    assert words in refused.value.reason


def test_a_fault_of_a_post_cannot_be_fired(portal: PortalThread) -> None:
    with pytest.raises(PortalRefusedError, match="switch it on"):
        portal.control.fire("fake_success")


def test_every_fault_of_the_registry_can_be_switched_on_and_does_something(portal: PortalThread) -> None:
    for kind in FAULTS:
        portal.control.switch_on(kind.name, "CY202611-9999")
        assert kind.on in {"render", "rest"} or kind.post or kind.effect or kind.act

    assert {fault["name"] for fault in portal.control.state()["faults"]} == {kind.name for kind in FAULTS}
    assert len({kind.name for kind in FAULTS}) == len(FAULTS)
    assert {kind.name for kind in FAULTS if kind.benign} >= set(AMBIENT)


def test_what_the_vendor_does_later_survives_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("restart") / "portal.sqlite"
    with PortalThread(path, counts={"acme": 2}) as first:
        bill = first.bill_ids["acme"][0]
        first.control.switch_on("late_posting", bill, delay_ms=1_000)
        with first.client("wang.li") as client:
            client.process(bill)
    assert first.truth.bill(bill).status is Status.PENDING

    with PortalThread(path) as second:
        until(lambda: second.truth.bill(bill).status is Status.PROCESSED)
        assert second.bill_ids["acme"] == first.bill_ids["acme"]


def test_a_board_in_this_process_sees_what_the_control_interface_set(portal: PortalThread, bill: str) -> None:
    portal.control.switch_on("late_posting", bill, delay_ms=7)
    view = Portal(portal.db, Settings(control_token="here"), FAULTS)
    target = Target(tenant="acme", account="wang.li", role=Role.CLERK, bill_ids=(bill,))

    (strike,) = view.faults.take("post", target)
    assert (strike.kind.name, strike.params["delay_ms"]) == ("late_posting", 7)
    assert isinstance(view.faults, FaultBoard)
    with pytest.raises(UnknownFaultError):
        view.faults.switch_on("nothing")


def test_an_unknown_disturbance_or_language_is_refused(portal: PortalThread) -> None:
    with pytest.raises(ValueError, match="no ambient disturbance 'row_inserted'"):
        create_app(portal.db, Settings(control_token="t"), ambient=["row_inserted"])
    with pytest.raises(ValueError, match="no texts for language 'fr'"):
        create_app(portal.db, Settings(control_token="t", lang="fr"))


def test_the_clock_can_be_given_and_the_seed_decides_the_bills(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("seeds")
    moment = datetime(2026, 11, 30, 16, tzinfo=UTC)
    stores = [
        Portal(folder / name, Settings(control_token="t"), FAULTS, lambda: moment).database
        for name in ("a", "b", "c")
    ]
    for database, number in zip(stores, (1, 1, 2), strict=True):
        seed(database, {"acme": 5, "globex": 2}, number=number)

    def rows(path: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(folder / path)
        try:
            return connection.execute("SELECT * FROM bills ORDER BY id").fetchall()
        finally:
            connection.close()

    assert rows("a") == rows("b")
    assert rows("a") != rows("c")
    assert stores[0].now() == "2026-11-30T16:00:00.000Z"


def test_the_readme_names_every_fault_with_what_it_does() -> None:
    readme = (Path(registry.__file__).parent / "README.md").read_text(encoding="utf-8")

    assert [
        kind.name for kind in FAULTS if f"| `{kind.name}`" not in readme or kind.description not in readme
    ] == []


@pytest.mark.parametrize(
    ("name", "trigger"), [("fake_success", "press"), ("row_inserted", "pointer"), ("spinner", "soon")]
)
def test_only_what_the_page_itself_does_can_wait_for_the_pointer(
    portal: PortalThread, name: str, trigger: str
) -> None:
    with pytest.raises(PortalRefusedError, match="trigger takes pointer or press"):
        portal.control.switch_on(name, trigger=trigger)


def test_a_fired_fault_tells_the_page_when_to_strike(
    portal: PortalThread, service: PortalClient, bill: str
) -> None:
    before = service.get("/bills/changes", {"page": "detail", "bill": bill}).json()
    portal.control.fire("glass_pane", bill, trigger="press", delay_ms=40)
    news = service.get("/bills/changes", {"page": "detail", "bill": bill, "cursor": before["cursor"]}).json()

    assert news["effects"] == [{"op": "glass", "bill": bill, "delay_ms": 40, "trigger": "press"}]
