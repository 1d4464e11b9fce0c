"""The only entry for a write, over a vendor whose truth can be read: what lets an order run, and what stops it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain import commands as c
from domain import events as e
from domain.budgets import Budget
from domain.idempotency import effect_key
from domain.ids import PrincipalId, TenantId, task_stream
from domain.policy import WritePolicy
from domain.values import Check
from executor.approvals import answer
from executor.takeover import DUE_S
from tests.support.records import ACME
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, OTHER_BILL, PERSON, Bench, make_intent, make_order

Benches = Callable[..., Bench]


def truth(vendor: FakeVendor, bill: str = BILL, code: str = "process") -> tuple[str, int, int]:
    """Status of the bill, bookings of the action, posts that reached the vendor."""
    posts = [post for post in vendor.posts if post[1:] == (bill, code)]
    return vendor.bills[bill].status, vendor.booked(bill, code), len(posts)


# -- it succeeds ---------------------------------------------------------------------------------------------


def test_a_write_that_every_source_confirms_succeeds(bench: Bench, vendor: FakeVendor) -> None:
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict, outcome.reason) == (
        "succeeded",
        "pass",
        "confirmed by api,detail",
    )
    assert truth(vendor) == ("processed", 1, 1)
    confirmed = bench.facts(order, e.ReadbackConfirmed)
    assert [fact.source for fact in confirmed] == ["api", "detail"]
    assert {fact.account for fact in confirmed} == {"readback-acme"}


def test_the_attempt_is_durable_before_the_world_is_touched(bench: Bench, vendor: FakeVendor) -> None:
    order = bench.order()
    seen: list[list[str]] = []
    vendor.hook = lambda when: seen.append(bench.names(order)) if when == "before the effect" else None
    bench.run(order)
    (stored,) = seen
    assert stored[-1] == "ActionAttempted"
    assert "CompensationRegistered" in stored, "the way back stands before the write"


def test_every_event_says_who_for_whom_with_which_key_and_screens(bench: Bench) -> None:
    order = bench.order()
    bench.run(order)
    recorded = list(bench.kit.log.stream(ACME, task_stream(order.task_id)))
    key = effect_key(ACME, order.intent)
    for item in recorded:
        envelope = item.envelope
        assert (envelope.tenant, envelope.principal, envelope.task_id, envelope.run_id) == (
            ACME,
            "svc:acme-batch",
            order.task_id,
            "run-1",
        )
        assert envelope.idempotency_key == key
        assert envelope.correlation_id == f"bill:{BILL}"
        for frame in envelope.frames:
            assert bench.kit.blobs.has(frame.sha256)
    looks = [item for item in recorded if isinstance(item.event, e.ObservationRecorded)]
    assert looks
    assert all(item.envelope.frames for item in looks)


def test_an_order_that_is_submitted_again_gets_its_outcome_and_does_nothing(
    bench: Bench, vendor: FakeVendor
) -> None:
    order = bench.order()
    first = bench.run(order)
    before = bench.names(order)
    assert bench.run(order) == first
    assert bench.names(order) == before
    assert truth(vendor) == ("processed", 1, 1)


def test_a_late_posting_is_waited_for(make_bench: Benches, vendor: FakeVendor) -> None:
    bench = make_bench(deadline_s=30.0)
    vendor.switch_on(BILL, "late_posting")
    order = bench.order()
    assert bench.run(order).status == "succeeded"
    (api, _) = bench.facts(order, e.ReadbackConfirmed)
    assert api.tries > 1
    assert truth(vendor) == ("processed", 1, 1)


# -- it is turned down before anything runs ------------------------------------------------------------------


def test_a_bill_of_another_tenant_is_refused_by_the_router(bench: Bench, vendor: FakeVendor) -> None:
    order = replace(bench.order(), bill_tenant=TenantId("globex"))
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("refused", "out_of_scope")
    assert bench.names(order) == ["TaskRefused", "TaskSealed"]
    (refused,) = bench.facts(order, e.TaskRefused)
    assert (refused.rule, refused.bill_tenant) == ("scope.bill", "globex")
    assert (bench.opened, vendor.posts, vendor.log_ins) == (0, [], [])


def test_an_action_off_the_allow_list_is_refused_by_the_router(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench = make_bench(actions=["refund"])
    order = bench.order()
    assert bench.run(order).status == "refused"
    assert bench.facts(order, e.TaskRefused)[0].rule == "scope.action"
    assert vendor.posts == []


def test_an_irreversible_write_without_independent_readback_is_refused_as_policy(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench = make_bench(policy=WritePolicy(require_readback=False))
    vendor.book("wang.li", BILL, "process")
    order = bench.order(action="refund")
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("refused", "denied_by_policy")
    assert vendor.posts == []


def test_two_tasks_about_one_bill_act_once(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench(principal=PrincipalId("svc:acme-batch-2"))
    first = one.order(name="morning")
    assert one.run(first).status == "succeeded"
    second = other.order(name="evening")
    outcome = other.run(second)
    assert (outcome.status, outcome.verdict) == ("already_in_progress", "already_in_progress")
    (denied,) = other.facts(second, e.TaskClaimDenied)
    assert denied.holder_stream == f"task:{first.task_id}"
    assert denied.holder_principal == "svc:acme-batch"
    assert truth(vendor) == ("processed", 1, 1)
    assert other.opened == 0


def test_a_claim_that_was_lost_to_a_crash_is_asked_for_again(make_bench: Benches, vendor: FakeVendor) -> None:
    one, other = make_bench(), make_bench()
    order = one.order()
    key = effect_key(ACME, order.intent)
    stream = one.orchestrator().stream_of(order)
    stream.submit(c.Open(e.TaskOpened(intent=order.intent, effect_key=key, requested_by=stream.principal)))
    assert other.run(order).status == "succeeded"
    assert truth(vendor) == ("processed", 1, 1)


def test_a_bill_that_somebody_else_processed_is_left_alone(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("failed", "already_in_progress")
    assert "wang.li" in outcome.reason
    assert truth(vendor) == ("processed", 1, 0)
    assert bench.kit.log.claim_of(ACME, effect_key(ACME, order.intent)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("amount_minor", 999), ("currency", "USD"), ("counterparty", "南风贸易"), ("month", "2026-10")],
)
def test_an_order_that_disagrees_with_the_bill_reaches_a_person_and_not_the_vendor(
    bench: Bench, vendor: FakeVendor, field: str, value: object
) -> None:
    intent = replace(make_intent(vendor.bills[BILL]), **{field: value})  # type: ignore[arg-type]
    order = make_order(intent)
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("taken_over", "intent_mismatch")
    assert field in outcome.reason
    assert vendor.posts == []


# -- a person's word -----------------------------------------------------------------------------------------


def test_a_refund_waits_for_another_person_and_then_runs(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order(action="refund")
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("awaiting_approval", "approval_required")
    assert bench.run(order).status == "awaiting_approval"
    assert vendor.posts == []
    (request,) = bench.facts(order, e.ApprovalRequested)
    assert request.frame is not None
    assert bench.kit.blobs.has(request.frame)
    answer(bench.stream(order), PERSON, "grant", note="checked", now_us=bench.clock.now_us())
    assert bench.run(order).status == "succeeded"
    assert truth(vendor, code="refund") == ("refunded", 1, 1)
    names = bench.names(order)
    writes = [index for index, name in enumerate(names) if name == "ActionAttempted"][-1]
    assert names.index("ApprovalRequested") < names.index("ApprovalGranted") < writes


def test_a_denied_refund_fails_and_is_never_sent(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order(action="refund")
    bench.run(order)
    answer(bench.stream(order), PERSON, "deny", note="wrong bill", now_us=bench.clock.now_us())
    outcome = bench.run(order)
    assert (outcome.status, outcome.reason) == ("failed", "a person refused it")
    assert vendor.posts == []
    assert bench.kit.log.claim_of(ACME, effect_key(ACME, order.intent)) is None


def test_a_request_that_nobody_answers_lapses_and_fails(bench: Bench, vendor: FakeVendor) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order(action="refund")
    bench.run(order)
    bench.clock.value_us += 3600 * 1_000_000
    outcome = bench.run(order)
    assert (outcome.status, outcome.reason) == ("failed", "nobody answered in time")
    assert len(bench.facts(order, e.ApprovalLapsed)) == 1
    assert vendor.posts == []


def test_an_approval_that_expired_before_it_was_used_is_asked_for_again(
    bench: Bench, vendor: FakeVendor
) -> None:
    vendor.book("wang.li", BILL, "process")
    order = bench.order(action="refund")
    bench.run(order)
    answer(bench.stream(order), PERSON, "grant", note="checked", now_us=bench.clock.now_us())
    bench.clock.value_us += 3600 * 1_000_000
    assert bench.run(order).status == "awaiting_approval"
    assert vendor.posts == []
    assert len(bench.facts(order, e.ApprovalRequested)) == 2


def test_an_amount_above_the_limit_waits_for_a_person(make_bench: Benches, vendor: FakeVendor) -> None:
    bench = make_bench(policy=WritePolicy(readback_sources=("api",), approval_above_minor={"CNY": 100_000}))
    assert bench.run(bench.order(BILL)).status == "awaiting_approval"
    assert bench.run(bench.order(OTHER_BILL)).status == "succeeded"
    assert [post[1] for post in vendor.posts] == [OTHER_BILL]


# -- guards --------------------------------------------------------------------------------------------------


def test_a_blocked_step_starts_again_from_a_fresh_observation(bench: Bench, vendor: FakeVendor) -> None:
    bench.hands.objections["详情"] = [
        Check(guard="target", verdict="target_changed", expected=BILL, found="another row")
    ]
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.blocks) == ("succeeded", 1)
    (blocked,) = bench.facts(order, e.ActionBlocked)
    assert (blocked.verdict, blocked.expected, blocked.found) == ("target_changed", BILL, "another row")
    names = bench.names(order)
    after = names[names.index("ActionBlocked") + 1 :]
    assert after[:2] == ["ObservationRecorded", "ActionProposed"]
    assert bench.hands.performed.count("详情") == 1
    assert truth(vendor) == ("processed", 1, 1)


def test_a_step_that_is_blocked_again_and_again_reaches_a_person(bench: Bench, vendor: FakeVendor) -> None:
    objection = Check(guard="frame", verdict="stale_local", expected="the same row", found="another row")
    bench.hands.objections["标记处理"] = [objection] * 20
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("taken_over", "stale_local")
    assert vendor.posts == []
    assert bench.told


def test_a_redesigned_page_reaches_a_person_and_is_never_guessed_at(bench: Bench, vendor: FakeVendor) -> None:
    bench.hands.lost.add("标记处理")
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("taken_over", "page_changed")
    (asked,) = bench.facts(order, e.TakeoverRequested)
    assert asked.severity == "medium"
    assert asked.due_at_us - bench.clock.value_us < DUE_S["medium"] * 1_000_000
    assert vendor.posts == []


@pytest.mark.parametrize(
    ("budget", "verdict"),
    [
        (Budget(max_steps=3), "budget_exhausted"),
        (Budget(stuck_frames=1), "stuck"),
        (Budget(max_seconds=0), "budget_exhausted"),
    ],
)
def test_a_budget_stops_the_task_for_a_person(
    make_bench: Benches, vendor: FakeVendor, budget: Budget, verdict: str
) -> None:
    bench = make_bench(budget=budget)
    outcome = bench.run(bench.order())
    assert (outcome.status, outcome.verdict) == ("taken_over", verdict)
    assert vendor.posts == []
    assert [alert["kind"] for alert in bench.told] == ["takeover"]
    assert "; last steps: " in outcome.reason
