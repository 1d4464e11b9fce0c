"""The only entry for a write, over a vendor whose truth can be read: every way in which an order ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain import commands as c
from domain import events as e
from domain.budgets import Budget
from domain.errors import CommandRefused, WorldError
from domain.idempotency import effect_key
from domain.ids import PrincipalId, TenantId, task_stream
from domain.policy import WritePolicy
from domain.values import Check
from executor.approvals import answer
from executor.takeover import DUE_S
from executor.tools.base import Performed
from tests.support.fakes import FakeVendor, Fault
from tests.support.records import ACME
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


def test_a_target_that_can_not_be_read_before_the_write_is_not_written_to(
    bench: Bench, vendor: FakeVendor
) -> None:
    vendor.unreadable.add("api")
    order = bench.order()
    with pytest.raises(WorldError):
        bench.run(order)
    assert bench.stream(order).state.status == "failed"
    assert vendor.posts == []


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
