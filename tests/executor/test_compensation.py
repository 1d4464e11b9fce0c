"""Undoing by the registered way back, over a vendor whose truth can be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain import events as e
from domain.errors import CommandRefused
from domain.idempotency import compensation_key, effect_key
from domain.ids import task_stream
from executor.approvals import answer
from executor.compensation import Undone, compensate
from executor.orders import WorkOrder
from executor.runtime.recovery import open_orders
from tests.support.records import ACME
from tests.support.vendor import FakeVendor, Fault
from tests.support.workbench import BILL, PERSON, Bench

Benches = Callable[..., Bench]


def undo(bench: Bench, order: WorkOrder) -> Undone:
    return compensate(
        bench.kit, bench.stream(order), bench.open_hands, requested_by=PERSON.principal, reason="a mistake"
    )


def test_undoing_brings_the_state_of_the_snapshot_back(bench: Bench, vendor: FakeVendor) -> None:
    order = bench.order()
    bench.run(order)
    done = undo(bench, order)
    assert done.restored
    assert vendor.bills[BILL].status == "pending"
    assert [code for _, code in vendor.bills[BILL].history] == ["process", "undo"]
    assert bench.stream(order).state.status == "compensated"
    confirmed = [fact for fact in bench.facts(order, e.ReadbackConfirmed) if fact.phase == "compensation"]
    assert [fact.source for fact in confirmed] == ["api", "detail"]
    (started,) = bench.facts(order, e.CompensationStarted)
    assert (started.requested_by, started.reason) == (PERSON.principal, "a mistake")


def test_undoing_is_attempted_under_a_key_of_its_own(bench: Bench) -> None:
    order = bench.order()
    bench.run(order)
    undo(bench, order)
    keys = [fact.effect_key for fact in bench.facts(order, e.ActionAttempted) if fact.writes]
    assert keys == [
        effect_key(ACME, order.intent),
        compensation_key(ACME, order.intent, "undo", order.task_id),
    ]


def test_what_stays_after_undoing_a_refund_is_listed(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order(action="refund")
    bench.run(order)
    answer(bench.stream(order), PERSON, "grant", note="", now_us=bench.clock.now_us())
    bench.run(order)
    done = undo(bench, order)
    assert (done.restored, vendor.bills[BILL].status) == (True, "processed")
    assert done.residual_effects == ("the counterparty may have been notified of the refund",)


def test_a_task_is_undone_once(bench: Bench, vendor: FakeVendor) -> None:
    order = bench.order()
    bench.run(order)
    undo(bench, order)
    with pytest.raises(CommandRefused) as refusal:
        undo(bench, order)
    assert refusal.value.rule == "compensate.once"
    assert vendor.booked(BILL, "undo") == 1


def test_a_task_without_an_effect_can_not_be_undone(bench: Bench, vendor: FakeVendor) -> None:
    vendor.switch_on(BILL, "session_expired")
    order = bench.order()
    bench.run(order)
    with pytest.raises(CommandRefused) as refusal:
        undo(bench, order)
    assert refusal.value.rule == "compensate.order"


def test_a_task_without_a_registered_way_back_can_not_be_undone(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order()
    bench.run(order)
    with pytest.raises(CommandRefused) as refusal:
        undo(bench, order)
    assert refusal.value.rule == "compensate.unregistered"


def test_a_bill_that_somebody_changed_since_is_not_undone_over_their_heads(
    bench: Bench, vendor: FakeVendor
) -> None:
    order = bench.order()
    bench.run(order)
    vendor.book("wang.li", BILL, "refund")
    done = undo(bench, order)
    assert not done.restored
    assert "somebody changed it since" in done.reason
    assert vendor.bills[BILL].status == "refunded"
    assert bench.stream(order).state.status == "taken_over"
    assert bench.facts(order, e.TakeoverRequested)[-1].severity == "critical"


@pytest.mark.parametrize("fault", ["fake_success", "drop_then_504", "collateral_fee", "session_expired"])
def test_an_undoing_that_readback_does_not_confirm_fails_to_a_person(
    bench: Bench, vendor: FakeVendor, fault: Fault
) -> None:
    order = bench.order()
    bench.run(order)
    vendor.switch_on(BILL, fault)
    done = undo(bench, order)
    assert not done.restored
    assert len(bench.facts(order, e.CompensationFailed)) == 1
    assert bench.stream(order).state.status == "taken_over"
    assert [alert["kind"] for alert in bench.told][-1] == "takeover"
    assert sum(post[2] == "undo" for post in vendor.posts) == 1


def test_undoing_interrupted_after_the_write_is_read_back_by_the_next_process(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    one, other = make_bench(), make_bench()
    order = one.order()
    one.run(order)
    vendor.hook = one.hands.die
    with pytest.raises(Exception, match="the browser is gone"):
        undo(one, order)
    (outcome,) = open_orders(other.kit, [order.task_id], hands=other.open_hands)
    assert outcome.status == "compensated"
    assert vendor.booked(BILL, "undo") == 1


def test_undoing_interrupted_before_the_write_is_carried_out_by_the_next_process(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    one, other = make_bench(), make_bench()
    order = one.order()
    one.run(order)
    one.hands.dead = True
    with pytest.raises(Exception, match="the browser is gone"):
        undo(one, order)
    (outcome,) = open_orders(other.kit, [order.task_id], hands=other.open_hands)
    assert outcome.status == "compensated"
    assert vendor.booked(BILL, "undo") == 1


def test_the_undoing_is_on_the_task_s_own_stream(bench: Bench) -> None:
    order = bench.order()
    bench.run(order)
    undo(bench, order)
    last = list(bench.kit.log.stream(ACME, task_stream(order.task_id)))[-1]
    assert isinstance(last.event, e.TaskSealed)
    assert last.event.events == last.envelope.version
