"""A batch as one recorded run: started again, side by side with another, and with trouble in the middle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain import events as e
from domain.budgets import Budget
from domain.errors import WorldError
from domain.ids import run_stream
from domain.policy import WritePolicy
from executor.orders import WorkOrder
from executor.runtime.batch import BatchResult
from executor.runtime.recovery import open_orders
from executor.runtime.streams import RunStream
from tests.support.records import ACME
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, OTHER_BILL, THIRD_BILL, Bench, kinds

Benches = Callable[..., Bench]


def run_facts(bench: Bench, result: BatchResult) -> list[e.Event]:
    return [item.event for item in bench.kit.log.stream(ACME, run_stream(result.run_id))]


def test_a_run_says_when_it_began_and_how_it_ended(bench: Bench) -> None:
    result = bench.runner([bench.order(BILL), bench.order(OTHER_BILL)]).run()
    facts = run_facts(bench, result)
    assert kinds(facts) == ["RunStarted", "RunFinished"]
    started, finished = facts
    assert isinstance(started, e.RunStarted)
    assert isinstance(finished, e.RunFinished)
    assert (started.tasks_planned, started.mode) == (2, "guarded")
    assert finished.outcomes == {"succeeded": 2}
    assert finished.verdicts == {"pass": finished.steps}
    assert finished.steps == finished.steps_ok == 10


def test_one_order_s_trouble_does_not_stop_the_others(bench: Bench, vendor: FakeVendor) -> None:
    vendor.switch_on(BILL, "fake_success")
    orders = [bench.order(BILL), bench.order(OTHER_BILL), bench.order(THIRD_BILL)]
    result = bench.runner(orders).run()
    assert [outcome.status for outcome in result.outcomes] == ["taken_over", "succeeded", "succeeded"]


def test_an_order_about_a_bill_that_does_not_exist_does_not_stop_the_others(
    bench: Bench, vendor: FakeVendor
) -> None:
    known = bench.order(BILL)
    missing = replace(bench.order(OTHER_BILL), intent=replace(known.intent, bill_id="CY202611-9999"))
    result = bench.runner([missing, known]).run()
    assert [outcome.status for outcome in result.outcomes] == ["failed", "succeeded"]
    assert "CY202611-9999" in result.outcomes[0].reason
    assert len(vendor.posts) == 1


def test_a_batch_ends_when_the_world_is_gone_and_goes_on_when_it_is_back(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench, later = make_bench(), make_bench()
    vendor.unreadable |= {"api", "detail"}
    with pytest.raises(WorldError, match="nothing was written, run the same batch again to go on"):
        bench.runner([bench.order(BILL), bench.order(OTHER_BILL)]).run()
    assert vendor.posts == []
    assert bench.stream(bench.order(OTHER_BILL)).state.status == "new"
    vendor.unreadable.clear()
    result = later.runner([later.order(BILL), later.order(OTHER_BILL)]).run()
    assert [outcome.status for outcome in result.outcomes] == ["succeeded", "succeeded"]
    assert len(vendor.posts) == 2


def test_a_batch_that_is_started_again_does_nothing_twice(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench()
    first = one.runner([one.order(BILL), one.order(OTHER_BILL)]).run()
    again = other.runner([other.order(BILL), other.order(OTHER_BILL)]).run()
    assert again == first
    assert len(vendor.posts) == 2
    assert kinds(run_facts(one, first)) == ["RunStarted", "RunFinished", "RunResumed", "RunFinished"]


def test_a_browser_that_dies_at_the_write_leaves_a_task_that_is_read_back_at_once(
    bench: Bench, vendor: FakeVendor
) -> None:
    vendor.hook = bench.hands.die
    result = bench.runner([bench.order(BILL)]).run()
    assert [outcome.status for outcome in result.outcomes] == ["succeeded"]
    assert len(vendor.posts) == 1


def test_a_browser_that_dies_between_two_steps_leaves_a_task_that_goes_on(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    one, other = make_bench(), make_bench()
    order = one.order(BILL)
    perform = one.hands.perform

    def die(*args: object, **options: object) -> object:
        one.hands.dead = len(one.hands.performed) >= 2
        return perform(*args, **options)  # type: ignore[arg-type]

    one.hands.perform = die  # type: ignore[method-assign, assignment]
    with pytest.raises(WorldError):
        one.runner([order]).run()
    assert one.stream(order).state.open_attempt is not None, "a step without effect was left open"
    result = other.runner([order]).run()
    assert [outcome.status for outcome in result.outcomes] == ["succeeded"]
    assert len(vendor.posts) == 1


def test_an_order_that_changes_a_bill_further_is_no_late_reversal_of_the_one_before(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench = make_bench(policy=WritePolicy(readback_sources=("api", "detail")))
    orders = [bench.order(BILL), bench.order(BILL, "refund")]
    result = bench.runner(orders).run()
    assert [outcome.status for outcome in result.outcomes] == ["succeeded", "succeeded"]
    assert vendor.bills[BILL].status == "refunded"
    assert all(bench.stream(order).state.sealed for order in orders)


def test_two_processes_with_one_batch_act_once_and_both_end(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench()
    results: list[BatchResult] = []

    def meanwhile(number: int, total: int, outcome: object, order: WorkOrder) -> None:
        if outcome is None and not results:
            results.append(other.runner([other.order(BILL), other.order(OTHER_BILL)]).run())

    first = one.runner([one.order(BILL), one.order(OTHER_BILL)]).run(progress=meanwhile)
    assert [outcome.status for outcome in first.outcomes] == ["succeeded", "succeeded"]
    assert [outcome.status for outcome in results[0].outcomes] == ["succeeded", "succeeded"]
    assert sorted(post[1] for post in vendor.posts) == [BILL, OTHER_BILL]
    assert kinds(run_facts(one, first)).count("RunFinished") == 2


def test_a_task_that_another_process_is_working_on_is_told_as_a_conflict(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    one, other = make_bench(), make_bench()
    done: list[BatchResult] = []
    perform = one.hands.perform

    def overtaken(*args: object, **options: object) -> object:
        if not done:
            done.append(other.runner([other.order(BILL)], name="other").run())
        return perform(*args, **options)  # type: ignore[arg-type]

    one.hands.perform = overtaken  # type: ignore[method-assign, assignment]
    result = one.runner([one.order(BILL)]).run()
    assert [outcome.status for outcome in result.outcomes] == ["conflict"]
    assert len(vendor.posts) == 1


def test_recovery_works_from_the_record_alone(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench()
    order = one.order(BILL)
    vendor.hook = one.hands.die
    with pytest.raises(WorldError):
        one.run(order)
    (outcome,) = open_orders(other.kit, [order.task_id], hands=other.open_hands)
    assert outcome.status == "succeeded"
    assert open_orders(other.kit, [order.task_id], hands=other.open_hands) == []
    assert len(vendor.posts) == 1


def test_a_run_s_facts_from_two_writers_stand_one_after_the_other(make_bench: Benches) -> None:
    one, other = make_bench(), make_bench()
    streams = [
        RunStream(
            bench.kit.log,
            ids=bench.kit.ids,
            clock=bench.kit.clock,
            tenant=ACME,
            run_id=one.orchestrator()._run_id,  # noqa: SLF001 - the name alone
            principal=bench.kit.identity.principal,
        )
        for bench in (one, other)
    ]
    for stream in streams:
        stream.load()
    for stream in streams:
        stream.append(e.RunResumed(unsettled=0))
    assert len(streams[0].load()) == 2


def test_a_budget_ends_the_run_as_an_escalation_and_hands_its_task_over(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench = make_bench(budget=Budget(max_steps=3))
    result = bench.runner([bench.order(BILL), bench.order(OTHER_BILL)]).run()
    assert [outcome.status for outcome in result.outcomes] == ["taken_over", "new"]
    facts = run_facts(bench, result)
    assert kinds(facts)[-1] == "RunEscalated"
    (escalated,) = [fact for fact in facts if isinstance(fact, e.RunEscalated)]
    assert escalated.verdict == "budget_exhausted"
    assert BILL in escalated.reason
    assert "last steps: select" in escalated.reason
    assert escalated.steps == 3
    assert vendor.posts == []
    assert [alert["kind"] for alert in bench.told] == ["takeover"]


def test_a_run_that_was_escalated_goes_on_with_the_other_orders_when_it_is_started_again(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    one, other = make_bench(budget=Budget(max_steps=3)), make_bench()
    one.runner([one.order(BILL), one.order(OTHER_BILL)]).run()
    result = other.runner([other.order(BILL), other.order(OTHER_BILL)]).run()
    assert [outcome.status for outcome in result.outcomes] == ["taken_over", "succeeded"]
    assert [post[1] for post in vendor.posts] == [OTHER_BILL]
    assert kinds(run_facts(other, result)).count("RunEscalated") == 1
