"""What must hold after any number of stops, from the vendor's truth and the record alone.

No effect unattempted, unpermitted or doubled; every open attempt settled; no ending that contradicts the vendor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from domain import events as e
from domain.envelope import Recorded
from domain.idempotency import effect_key
from domain.ids import task_stream
from domain.task import TERMINAL, fold
from executor.orders import WorkOrder
from tests.support.vendor import FakeVendor
from tests.support.workbench import Bench

OURS = "svc-acme"


def check_all(bench: Bench, orders: Sequence[WorkOrder], vendor: FakeVendor, *, own_doubles: int) -> None:
    """``AssertionError`` names the bill and what is wrong with it.

    ``own_doubles``: bookings that the vendor itself made twice out of one post.
    """
    attempts: Counter[tuple[str, str]] = Counter()
    for order in orders:
        facts = list(bench.kit.log.stream(bench.kit.tenant, task_stream(order.task_id)))
        _check_task(bench, order, facts, vendor)
        for item in facts:
            if isinstance(item.event, e.ActionAttempted) and item.event.writes:
                attempts[order.intent.bill_id, bench.recipe.actions[order.intent.action].code] += 1
    posts = Counter((bill, code) for account, bill, code in vendor.posts if account == OURS)
    for key, count in posts.items():
        assert count <= attempts[key], f"{key}: {count} posts of {attempts[key]} attempts"
    doubled = sum(max(0, count - 1) for count in posts.values())
    refused = sum(bool(vendor.refused[key]) for key in posts)
    assert doubled <= refused, f"a write was sent again although it may have counted: {posts}"
    booked = Counter(
        (bill.bill_id, code) for bill in vendor.bills.values() for who, code in bill.history if who == OURS
    )
    assert sum(max(0, count - 1) for count in booked.values()) <= own_doubles, f"doubled: {booked}"


def _check_task(bench: Bench, order: WorkOrder, facts: Sequence[Recorded], vendor: FakeVendor) -> None:
    bill, intent = vendor.bills[order.intent.bill_id], order.intent
    events = [item.event for item in facts]
    state = fold(events)
    name = f"{intent.bill_id} {intent.action} is {state.status}"
    assert state.status in TERMINAL | {"awaiting_approval"}, f"{name}: it was left in the middle"
    assert state.open_attempt is None, f"{name}: an attempt was never settled"
    code = bench.recipe.actions[intent.action].code
    posted = sum(post == (OURS, intent.bill_id, code) for post in vendor.posts)
    _check_permission(events, order, bench, name)
    if state.status == "succeeded":
        assert (OURS, code) in bill.history, f"{name}: the effect is not there"
        later = bill.history[bill.history.index((OURS, code)) + 1 :]
        assert later in ([], [(OURS, "refund")]), f"{name}: the vendor changed it later: {later}"
    if state.status in {"refused", "already_in_progress", "awaiting_approval"}:
        assert posted == 0 or state.status == "already_in_progress", f"{name}: it was sent"
    if state.status == "failed":
        assert (OURS, code) not in bill.history, f"{name}: the effect is there"
    if state.status in TERMINAL:
        assert state.sealed or state.status == "succeeded", f"{name}: not sealed"


def _check_permission(events: Sequence[e.Event], order: WorkOrder, bench: Bench, name: str) -> None:
    key = effect_key(bench.kit.tenant, order.intent)
    for place, fact in enumerate(events):
        if not (isinstance(fact, e.ActionAttempted) and fact.writes):
            continue
        before = events[:place]
        assert fact.effect_key == key, f"{name}: attempted under {fact.effect_key}"
        assert any(isinstance(past, e.TaskClaimed) for past in before), f"{name}: the effect was not claimed"
        assert any(isinstance(past, e.CompensationRegistered) for past in before), f"{name}: no way back"
        judged = [
            past for past in before if isinstance(past, e.GuardJudged) and past.action_id == fact.action_id
        ]
        assert [past.verdict for past in judged] == ["pass"], f"{name}: the guards did not let it pass"
        if order.intent.action in bench.kit.policy.approval_required:
            proposed = next(
                past
                for past in before
                if isinstance(past, e.ActionProposed) and past.action_id == fact.action_id
            )
            granted = [past for past in before if isinstance(past, e.ApprovalGranted)]
            assert [past.digest for past in granted] == [proposed.digest], f"{name}: nobody allowed it"
