"""A way back takes back one booking: where the book holds more, nothing is undone by half (B11)."""

from __future__ import annotations

import pytest

from domain import events as e
from executor.compensation import compensate
from tests.support.vendor import FakeVendor, Fault
from tests.support.workbench import BILL, PERSON, Bench


@pytest.mark.parametrize("fault", ["double_posting", "collateral_fee"])
def test_a_booking_beyond_the_tasks_own_is_never_undone_by_half(
    bench: Bench, vendor: FakeVendor, fault: Fault
) -> None:
    vendor.switch_on(BILL, fault)
    order = bench.order()
    assert bench.run(order).status == "taken_over"

    done = compensate(
        bench.kit, bench.stream(order), bench.open_hands, requested_by=PERSON.principal, reason="doubled"
    )

    assert not done.restored
    assert "2 ledger lines, not 1" in done.reason
    assert vendor.booked(BILL, "undo") == 0
    assert bench.facts(order, e.CompensationConfirmed) == []
    assert len(bench.facts(order, e.CompensationFailed)) == 1


def test_a_colleagues_change_and_its_taking_back_are_beyond_the_task_too(
    bench: Bench, vendor: FakeVendor
) -> None:
    order = bench.order()
    bench.run(order)
    vendor.book("wang.li", BILL, "undo")
    vendor.book("wang.li", BILL, "process")

    done = compensate(
        bench.kit, bench.stream(order), bench.open_hands, requested_by=PERSON.principal, reason="a mistake"
    )

    assert not done.restored
    assert "3 ledger lines, not 1" in done.reason
    assert vendor.booked(BILL, "undo") == 1
