"""The only entry for a write, over a vendor whose truth can be read: how an order ends once it was sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain import events as e
from domain.errors import CommandRefused, WorldError
from domain.idempotency import effect_key
from domain.ids import RunId, TaskId
from executor.orchestrator import Orchestrator
from executor.runtime.kit import Hands
from executor.tools.base import Performed
from tests.support.records import ACME
from tests.support.vendor import FakeVendor, Fault
from tests.support.workbench import BILL, OTHER_BILL, Bench

Benches = Callable[..., Bench]


def truth(vendor: FakeVendor, bill: str = BILL, code: str = "process") -> tuple[str, int, int]:
    """Status of the bill, bookings of the action, posts that reached the vendor."""
    posts = [post for post in vendor.posts if post[1:] == (bill, code)]
    return vendor.bills[bill].status, vendor.booked(bill, code), len(posts)


# -- session and rights --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "verdict"), [("session_expired", "session_expired"), ("forbidden", "forbidden")]
)
def test_a_session_or_right_lost_at_the_write_fails_with_an_alert_and_no_retry(
    bench: Bench, vendor: FakeVendor, fault: Fault, verdict: str
) -> None:
    vendor.switch_on(BILL, fault)
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("failed", verdict)
    assert truth(vendor) == ("pending", 0, 1)
    (alert,) = bench.facts(order, e.AlertRaised)
    assert (alert.kind, alert.severity, alert.delivered["test"]) == (verdict, "high", "ok")
    assert bench.names(order)[-4:] == ["AlertRaised", "TaskClaimReleased", "TaskFailed", "TaskSealed"]
    assert bench.kit.log.claim_of(ACME, effect_key(ACME, order.intent)) is None
    assert len(vendor.log_ins) == 1
    assert bench.run(order).status == "failed"
    assert truth(vendor) == ("pending", 0, 1)


def test_after_a_lost_session_a_new_task_may_take_the_effect(make_bench: Benches, vendor: FakeVendor) -> None:
    bench = make_bench()
    vendor.switch_on(BILL, "session_expired")
    bench.run(bench.order(name="first"))
    assert bench.run(bench.order(name="second")).status == "succeeded"
    assert truth(vendor) == ("processed", 1, 2)


def test_a_session_that_ended_before_the_work_is_no_changed_page(bench: Bench, vendor: FakeVendor) -> None:
    order = bench.order()
    hands = bench.open_hands()
    bench.orchestrator()
    vendor.sessions.clear()
    bench.open_hands = lambda: hands  # type: ignore[method-assign]  # the session is not renewed
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("failed", "session_expired")
    assert [alert["kind"] for alert in bench.told] == ["session_expired"]
    assert vendor.posts == []


# -- what counts as success ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "booked", "difference"),
    [
        ("fake_success", 0, "status"),
        ("double_posting", 2, "ledger_lines"),
        ("collateral_fee", 1, "ledger_lines"),
        ("partial_save", 1, "handled.counterparty_id"),
    ],
)
def test_a_green_toast_with_another_state_behind_it_reaches_a_person(
    bench: Bench, vendor: FakeVendor, fault: Fault, booked: int, difference: str
) -> None:
    vendor.switch_on(BILL, fault)
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("taken_over", "noop")
    assert difference in outcome.reason
    assert "操作成功" in outcome.reason, "what the screen said is kept as evidence"
    wrong = bench.facts(order, e.ReadbackMismatched)
    assert any(difference in fact.differences for fact in wrong)
    assert vendor.booked(BILL, "process") == booked
    assert len(vendor.posts) == 1, "it is never sent a second time"
    assert bench.run(order).status == "taken_over"
    assert len(vendor.posts) == 1


def test_a_posting_that_is_not_there_in_time_reaches_a_person(bench: Bench, vendor: FakeVendor) -> None:
    vendor.late_after_reads = 99
    vendor.switch_on(BILL, "late_posting")
    assert bench.run(bench.order()).status == "taken_over"
    vendor.pass_time()
    assert truth(vendor) == ("processed", 1, 1)


@pytest.mark.parametrize(
    ("fault", "status"), [("commit_then_504", "succeeded"), ("drop_then_504", "taken_over")]
)
def test_a_write_without_an_answer_is_read_back_and_never_repeated(
    bench: Bench, vendor: FakeVendor, fault: Fault, status: str
) -> None:
    vendor.switch_on(BILL, fault)
    order = bench.order()
    assert bench.run(order).status == status
    assert len(bench.facts(order, e.ActionOutcomeUnknown)) == 1
    assert len(vendor.posts) == 1
    assert vendor.booked(BILL, "process") == (1 if status == "succeeded" else 0)


def test_one_unreadable_source_is_enough_not_to_succeed(bench: Bench, vendor: FakeVendor) -> None:
    vendor.hook = lambda when: vendor.unreadable.add("detail") if when == "after the effect" else None
    order = bench.order()
    outcome = bench.run(order)
    assert outcome.status == "taken_over"
    assert "detail impossible" in outcome.reason
    assert len(bench.facts(order, e.ReadbackInconclusive)) == 1


def test_a_target_that_is_down_puts_the_task_off_and_the_same_order_goes_on_later(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    one, later = make_bench(), make_bench()
    order = one.order()
    vendor.unreadable.add("api")
    for _ in range(2):
        with pytest.raises(WorldError):
            one.run(order)
    assert one.stream(order).state.status == "opened"
    assert vendor.posts == []
    vendor.unreadable.clear()
    assert later.run(order).status == "succeeded"
    assert truth(vendor) == ("processed", 1, 1)
    put_off = later.facts(order, e.TaskClaimReleased)
    assert [fact.reason.startswith("put off before any write: ") for fact in put_off] == [True, True]
    assert len(later.facts(order, e.TaskClaimed)) == 3


def test_a_task_that_was_put_off_stands_in_nobodys_way(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench()
    order = one.order()
    vendor.unreadable.add("api")
    with pytest.raises(WorldError):
        one.run(order)
    vendor.unreadable.clear()
    second = replace(order, task_id=TaskId("another-batch"))
    assert other.run(second).status == "succeeded"
    assert one.run(order).status == "already_in_progress"
    assert truth(vendor) == ("processed", 1, 1)


def test_a_log_in_that_can_not_be_had_puts_the_task_off(bench: Bench, vendor: FakeVendor) -> None:
    order = bench.order()

    def refused() -> Hands:
        raise WorldError("svc-acme was not logged in", remedy="check the account and its secret")

    executor = Orchestrator(bench.kit, run_id=RunId("run-1"), hands=refused)
    with pytest.raises(WorldError, match="check the account and its secret"):
        executor.run(order)
    assert bench.stream(order).state.status == "opened"
    assert bench.run(order).status == "succeeded"
    assert len(vendor.posts) == 1


def test_an_attempt_that_a_stop_left_open_is_read_back_first(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench()
    order = one.order()
    vendor.hook = one.hands.die
    with pytest.raises(WorldError):
        one.run(order)
    assert one.stream(order).state.open_attempt is not None
    outcome = other.run(order)
    assert outcome.status == "succeeded"
    assert {fact.phase for fact in other.facts(order, e.ReadbackConfirmed)} == {"recovery"}
    assert truth(vendor) == ("processed", 1, 1)


# -- the second look -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["late_reversal", "late_duplicate"])
def test_what_the_vendor_changes_later_reopens_the_task(
    bench: Bench, vendor: FakeVendor, fault: Fault
) -> None:
    vendor.switch_on(BILL, fault)
    order = bench.order()
    assert bench.run(order).status == "succeeded"
    vendor.pass_time()
    outcome = bench.orchestrator().second_look(order)
    assert outcome.status == "taken_over"
    assert len(bench.facts(order, e.TaskReopened)) == 1
    assert bench.facts(order, e.TakeoverRequested)[0].severity == "critical"
    assert len(vendor.posts) == 1


def test_a_second_look_that_agrees_seals_the_task(bench: Bench) -> None:
    order = bench.order()
    bench.run(order)
    assert bench.orchestrator().second_look(order).status == "succeeded"
    names = bench.names(order)
    assert names[-3:] == ["ReadbackConfirmed", "ReadbackConfirmed", "TaskSealed"]
    (sealed,) = bench.facts(order, e.TaskSealed)
    assert sealed.events == len(names)
    bench.orchestrator().second_look(order)
    assert bench.names(order) == names, "a sealed task isn't looked at again"


def test_success_stays_provisional_while_the_second_look_sees_nothing(
    bench: Bench, vendor: FakeVendor
) -> None:
    vendor.switch_on(BILL, "late_reversal")
    order = bench.order()
    bench.run(order)
    vendor.unreadable |= {"api", "detail"}
    bench.orchestrator().second_look(order)
    assert not bench.stream(order).state.sealed
    vendor.unreadable.clear()
    vendor.pass_time()
    assert bench.orchestrator().second_look(order).status == "taken_over"


# -- what the domain forbids stays forbidden ------------------------------------------------------------------


def test_who_wrote_does_not_judge(make_bench: Benches, vendor: FakeVendor) -> None:
    bench = make_bench()
    for source in bench.kit.readbacks:
        source.account = bench.hands.account
    with pytest.raises(CommandRefused, match="who wrote does not judge"):
        bench.run(bench.order())
    assert truth(vendor) == ("processed", 1, 1)
    assert bench.stream(bench.order()).state.status == "executed"


# -- a rung that performs a write and hears that it was refused ------------------------------------------------


@pytest.mark.parametrize(("status", "verdict"), [(401, "session_expired"), (403, "forbidden")])
def test_a_write_that_was_performed_and_refused_fails_only_if_every_source_shows_the_state_before(
    make_bench: Benches, vendor: FakeVendor, status: int, verdict: str
) -> None:
    bench = make_bench()
    bench.hands.reports = Performed(status="executed", requests=(f"POST /bills/{BILL}/actions {status}",))
    vendor.switch_on(BILL, "fake_success")
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("failed", verdict)
    assert [alert["kind"] for alert in bench.told] == [verdict]
    vendor.switch_on(OTHER_BILL, "double_posting")
    assert bench.run(bench.order(OTHER_BILL)).status == "taken_over", "there it was booked all the same"
