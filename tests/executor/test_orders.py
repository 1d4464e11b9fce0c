"""Batch files: ids that come back after a restart, and orders that are refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from domain.errors import ConfigError
from executor import orders
from executor.orders import Batch, load_batch
from executor.recipe import load_recipe

RULES = dict(load_recipe("vendor-portal").rules())
ORDER = {
    "bill": "CY202611-0007",
    "action": "mark_processed",
    "counterparty": "北风贸易",
    "amount": "1434.74",
    "currency": "CNY",
    "month": "2026-11",
}


def batch(folder: Path, *changes: dict[str, Any], name: str = "november", tenant: str = "acme") -> Batch:
    path = folder / "batch.yaml"
    content = {"batch": name, "tenant": tenant, "orders": [{**ORDER, **change} for change in changes]}
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return load_batch(path, RULES)


def test_an_order_says_what_the_business_wants(tmp_path: Path) -> None:
    (order,) = batch(tmp_path, {}).orders
    intent = order.intent
    assert (intent.bill_id, intent.amount_minor, intent.expected_status) == (
        "CY202611-0007",
        143_474,
        "processed",
    )
    assert (order.bill_tenant, order.reference) == ("acme", "november#1")


def test_a_bill_of_another_tenant_keeps_its_tenant_for_the_router(tmp_path: Path) -> None:
    assert batch(tmp_path, {"tenant": "globex"}).orders[0].bill_tenant == "globex"


def test_ids_are_the_same_after_a_restart(tmp_path: Path) -> None:
    first, second = batch(tmp_path, {}, {"bill": "B2"}), batch(tmp_path, {}, {"bill": "B2"})
    assert first == second
    assert first.run_id == "c68e4d83-cf17-5c6b-b4a4-5a9b8211b867", (
        "a restart by a newer release finds its run too"
    )


@pytest.mark.parametrize(
    "change",
    [{"bill": "B2"}, {"action": "refund"}, {"occurrence": "2"}],
)
def test_another_effect_is_another_task(tmp_path: Path, change: dict[str, str]) -> None:
    (usual,) = batch(tmp_path, {}).orders
    (other,) = batch(tmp_path, change).orders
    assert usual.task_id != other.task_id


def test_another_batch_and_another_place_are_other_tasks(tmp_path: Path) -> None:
    one = batch(tmp_path, {}, {})
    other = batch(tmp_path, {}, name="december")
    foreign = batch(tmp_path, {}, tenant="globex")
    ids = [order.task_id for each in (one, other, foreign) for order in each.orders]
    assert len(set(ids)) == len(ids) == 4
    assert len({one.run_id, other.run_id, foreign.run_id}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"amount": "1434.745"},
        {"amount": "1,434.74"},
        {"amount": ""},
        {"amount": "NaN"},
        {"amount": "Infinity"},
        {"amount": "99999999999999999999"},
        {"amount": "0.5", "currency": "JPY"},
        {"month": "2026-13"},
        {"month": "November"},
        {"bill": ""},
        {"action": "purchase"},
    ],
)
def test_a_bad_order_is_refused_with_its_number_and_bill(tmp_path: Path, change: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        batch(tmp_path, {}, change)
    assert f"order 2 ({change.get('bill', ORDER['bill'])})" in str(refusal.value)
    assert refusal.value.remedy


@pytest.mark.parametrize("amount", [1434.74, 1434, True, None])
def test_an_amount_that_is_no_text_is_refused_with_its_line(tmp_path: Path, amount: object) -> None:
    with pytest.raises(ConfigError) as refusal:
        batch(tmp_path, {"amount": amount})
    assert refusal.value.line > 0


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("1434.74", "CNY", 143_474), ("1434", "JPY", 1434), ("1.5", "KWD", 1500)],
)
def test_amounts_follow_their_currency(tmp_path: Path, amount: str, currency: str, minor: int) -> None:
    (order,) = batch(tmp_path, {"amount": amount, "currency": currency}).orders
    assert order.intent.amount_minor == minor


def test_an_empty_batch_and_one_that_is_too_long_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="has 0 orders"):
        batch(tmp_path)
    monkeypatch.setattr(orders, "MAX_ORDERS", 2)
    assert len(batch(tmp_path, {}, {}).orders) == 2
    with pytest.raises(ConfigError, match="has 3 orders"):
        batch(tmp_path, {}, {}, {})
