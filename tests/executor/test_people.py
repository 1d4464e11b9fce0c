"""What people decide: approvals and takeovers, and whose decision counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_changes

from domain import events as e
from domain.errors import CommandRefused
from domain.events.recovery import Severity
from domain.ids import PrincipalId, TenantId, task_stream
from domain.policy import Identity
from executor.approvals import answer, lapse_if_expired, waiting_for
from executor.orders import WorkOrder
from executor.runtime.streams import TaskStream
from executor.takeover import DUE_S, hand_over, resolve, take
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, PERSON, Bench

OTHER_PERSON = replace(PERSON, principal=PrincipalId("person:wang.li"))


@pytest.fixture
def order(bench: Bench, vendor: FakeVendor) -> WorkOrder:
    """A refund that waits for a person."""
    vendor.book("wang.li", BILL, "process")
    made = bench.order(action="refund")
    assert bench.run(made).status == "awaiting_approval"
    return made


@pytest.fixture
def waiting(bench: Bench, order: WorkOrder) -> TaskStream:
    return bench.stream(order)


def refused(bench: Bench, stream: TaskStream, person: Identity, rule: str, *, after_s: int = 0) -> None:
    before = with_changes(stream.state, version=0)
    known = len(stream.history())
    with pytest.raises(CommandRefused) as refusal:
        answer(stream, person, "grant", note="", now_us=bench.clock.now_us() + after_s * 1_000_000)
    assert refusal.value.rule == rule
    said, *seal = stream.history()[known:]
    assert isinstance(said, e.AlertRaised)
    assert (said.kind, rule in said.message) == ("approval_refused", True)
    stored = list(bench.kit.log.stream(stream.tenant, task_stream(stream.task_id)))
    assert stored[known].envelope.principal == person.principal, "the try is theirs"
    assert [type(fact) for fact in seal] == ([e.TaskSealed] if before.sealed else [])
    assert with_changes(stream.load(), version=0) == before, "a refused answer changes nothing"


def test_a_grant_is_recorded_as_the_person_s_with_their_note(bench: Bench, waiting: TaskStream) -> None:
    assert waiting_for(waiting) == waiting.state.effect_key
    answer(waiting, PERSON, "grant", note="amount checked", now_us=bench.clock.now_us())
    (granted,) = [fact for fact in waiting.history() if isinstance(fact, e.ApprovalGranted)]
    assert (granted.approver, granted.note) == (PERSON.principal, "amount checked")
    assert granted.digest == waiting.state.approved_digest
    assert waiting_for(waiting) is None


def test_a_person_of_another_tenant_may_not_approve(bench: Bench, waiting: TaskStream) -> None:
    refused(bench, waiting, replace(PERSON, tenants=(TenantId("globex"),)), "approval.tenant")


@pytest.mark.parametrize("actions", [(), ("refund",), ("approve:mark_processed",)])
def test_a_person_without_the_right_may_not_approve(
    bench: Bench, waiting: TaskStream, actions: tuple[str, ...]
) -> None:
    refused(bench, waiting, replace(PERSON, actions=actions), "approval.right")


def test_who_asked_may_not_approve(bench: Bench, waiting: TaskStream) -> None:
    refused(bench, waiting, replace(PERSON, principal=bench.kit.identity.principal), "approval.self")


def test_an_answer_after_the_expiry_is_refused(bench: Bench, waiting: TaskStream) -> None:
    refused(bench, waiting, PERSON, "approval.expired", after_s=3600)


def test_an_answer_can_not_be_given_again(bench: Bench, waiting: TaskStream, order: WorkOrder) -> None:
    answer(waiting, PERSON, "grant", note="", now_us=bench.clock.now_us())
    refused(bench, bench.stream(order), OTHER_PERSON, "approval.none")


def test_an_answer_that_was_decided_on_an_older_state_is_refused(
    bench: Bench, waiting: TaskStream, order: WorkOrder
) -> None:
    other = bench.stream(order)
    answer(waiting, PERSON, "deny", note="", now_us=bench.clock.now_us())
    with pytest.raises(CommandRefused) as refusal:
        answer(other, OTHER_PERSON, "grant", note="", now_us=bench.clock.now_us())
    assert refusal.value.rule == "version_conflict"


def test_nothing_is_approved_that_was_not_asked_for(bench: Bench) -> None:
    plain = bench.order()
    bench.run(plain)
    refused(bench, bench.stream(plain), PERSON, "approval.none")


def test_a_request_lapses_at_its_expiry_and_not_before(bench: Bench, waiting: TaskStream) -> None:
    request = waiting.state.request
    assert request is not None
    assert not lapse_if_expired(waiting, now_us=request.expires_at_us - 1)
    assert lapse_if_expired(waiting, now_us=request.expires_at_us)
    assert not lapse_if_expired(waiting, now_us=request.expires_at_us + 1)


# -- takeover ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("severity", "hours"), [("critical", 1), ("high", 4), ("medium", 24), ("low", 72)])
def test_the_due_time_follows_the_severity(bench: Bench, severity: Severity, hours: int) -> None:
    order = bench.order()
    bench.run(order)
    stream = bench.stream(order)
    hand_over(
        stream, bench.kit.notifier, verdict="noop", reason="look", severity=severity, now_us=1_000_000_000
    )
    (asked,) = bench.facts(order, e.TakeoverRequested)
    assert asked.due_at_us == 1_000_000_000 + hours * 3_600_000_000
    assert DUE_S[severity] == hours * 3600
    (alert,) = bench.told
    assert (alert["kind"], alert["severity"], alert["bill"], alert["task"]) == (
        "takeover",
        severity,
        BILL,
        order.task_id,
    )


@pytest.fixture
def handed_over(bench: Bench, vendor: FakeVendor) -> WorkOrder:
    vendor.switch_on(BILL, "fake_success")
    order = bench.order()
    assert bench.run(order).status == "taken_over"
    return order


RESOLVED = e.TakeoverResolved(owner=PERSON.principal, resolution="done_by_hand", note="posted it myself")


def test_taking_and_resolving_are_recorded_as_the_person_s_and_the_task_is_sealed(
    bench: Bench, handed_over: WorkOrder
) -> None:
    bench.orchestrator().second_look(handed_over)
    take(bench.stream(handed_over), PERSON.principal)
    resolve(bench.stream(handed_over), RESOLVED)
    recorded = list(bench.kit.log.stream(bench.kit.tenant, f"task:{handed_over.task_id}"))[-3:]  # type: ignore[arg-type]
    assert [type(item.event).__name__ for item in recorded] == [
        "TakeoverClaimed",
        "TakeoverResolved",
        "TaskSealed",
    ]
    assert {item.envelope.principal for item in recorded} == {PERSON.principal}
    assert bench.stream(handed_over).state.status == "resolved"


def test_a_task_has_one_owner_and_only_they_resolve_it(bench: Bench, handed_over: WorkOrder) -> None:
    with pytest.raises(CommandRefused, match=r"takeover\.owner"):
        resolve(bench.stream(handed_over), RESOLVED)
    take(bench.stream(handed_over), PERSON.principal)
    with pytest.raises(CommandRefused, match=r"takeover\.owned"):
        take(bench.stream(handed_over), OTHER_PERSON.principal)
    with pytest.raises(CommandRefused, match=r"takeover\.owner"):
        resolve(bench.stream(handed_over), replace(RESOLVED, owner=OTHER_PERSON.principal))


def test_a_task_that_waits_for_nobody_can_not_be_taken(bench: Bench) -> None:
    order = bench.order()
    bench.run(order)
    with pytest.raises(CommandRefused, match=r"takeover\.none"):
        take(bench.stream(order), PERSON.principal)


def test_a_task_in_a_person_s_hands_is_left_alone_by_the_executor(
    bench: Bench, handed_over: WorkOrder, vendor: FakeVendor
) -> None:
    take(bench.stream(handed_over), PERSON.principal)
    before = bench.names(handed_over)
    assert bench.run(handed_over).status == "taken_over"
    assert bench.names(handed_over) == before
    assert len(vendor.posts) == 1
