"""Keys are on the business effect, and no two effects share one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from domain.idempotency import action_digest, compensation_key, effect_key
from domain.ids import EffectKey, TaskId, TenantId
from domain.values import Intent

WANTED = Intent(
    bill_id="CY202611-0007",
    action="mark_processed",
    counterparty="Northwind",
    amount_minor=143_474,
    currency="CNY",
    month="2026-11",
    expected_status="processed",
)
ACME = TenantId("acme")
NAMES = st.text(min_size=1, max_size=12)


def test_a_key_is_readable() -> None:
    assert effect_key(ACME, WANTED) == "acme:CY202611-0007:mark_processed:1"


def test_two_tasks_for_one_bill_have_one_key() -> None:
    assert effect_key(ACME, WANTED) == effect_key(
        ACME, replace(WANTED, counterparty="elsewhere", amount_minor=1)
    )


def test_a_named_occurrence_is_another_effect() -> None:
    assert effect_key(ACME, replace(WANTED, occurrence="2")) != effect_key(ACME, WANTED)


@given(st.tuples(NAMES, NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES, NAMES))
def test_different_effects_never_share_a_key(
    first: tuple[str, str, str, str], second: tuple[str, str, str, str]
) -> None:
    keys = [
        effect_key(TenantId(tenant), replace(WANTED, bill_id=bill, action=action, occurrence=occurrence))
        for tenant, bill, action, occurrence in (first, second)
    ]
    assert (keys[0] == keys[1]) == (first == second)


def test_a_colon_in_a_name_forges_no_other_key() -> None:
    forged = replace(WANTED, bill_id="CY202611-0007:mark_processed", action="1")
    assert effect_key(ACME, forged) != effect_key(ACME, replace(WANTED, occurrence="1:1"))
    assert effect_key(ACME, forged).count(":") == 3


def test_each_task_is_undone_under_a_key_of_its_own() -> None:
    first = compensation_key(ACME, WANTED, "undo", TaskId("t1"))
    assert first != compensation_key(ACME, WANTED, "undo", TaskId("t2"))
    assert first != effect_key(ACME, replace(WANTED, action="undo"))
    assert first == "acme:CY202611-0007:undo:compensates-t1"


def test_an_approval_is_bound_to_everything_that_the_business_means() -> None:
    key = effect_key(ACME, WANTED)
    original = action_digest(key, WANTED, kind="click", label="确认")
    others = [
        action_digest(EffectKey("x"), WANTED, kind="click", label="确认"),
        action_digest(key, replace(WANTED, amount_minor=143_475), kind="click", label="确认"),
        action_digest(key, replace(WANTED, currency="JPY"), kind="click", label="确认"),
        action_digest(key, replace(WANTED, counterparty="Southwind"), kind="click", label="确认"),
        action_digest(key, replace(WANTED, bill_id="CY202611-0008"), kind="click", label="确认"),
        action_digest(key, replace(WANTED, month="2026-12"), kind="click", label="确认"),
        action_digest(key, WANTED, kind="type", label="确认"),
        action_digest(key, WANTED, kind="click", label="退款"),
    ]
    assert len({original, *others}) == len(others) + 1
    assert action_digest(key, replace(WANTED), kind="click", label="确认") == original
