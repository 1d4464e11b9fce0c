"""Work orders: what the business wants done, one line each, and the batch file that holds them.

Task and run ids are derived from the batch's name and the order, so that a batch which is started again after a crash
goes on with the same tasks instead of opening new ones.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec

from domain.errors import ConfigError
from domain.ids import RunId, TaskId, TenantId
from domain.policy import ActionRule
from domain.values import Intent, to_minor
from executor.filling import wrong_with_id
from executor.yaml_source import load_yaml

_NAMESPACE = uuid.UUID("6f1d7c0e-52a5-5c4e-9d0a-2b1f6f6a7c11")
"""Fixed namespace of derived ids (RFC 9562, version 5)."""
MAX_ORDERS = 10_000
MAX_AMOUNT_MINOR = 2**53
"""Whole numbers up to here are the same in every reader of the record (RFC 8259 section 6)."""
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """One bill to be acted on."""

    task_id: TaskId
    intent: Intent
    bill_tenant: TenantId
    reference: str


class _Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bill: str
    action: str
    counterparty: str
    amount: str
    currency: str
    month: str
    occurrence: str = "1"
    tenant: str = ""
    """Tenant that the bill belongs to, where it isn't the batch's."""


class _Batch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    batch: str
    tenant: str
    orders: list[_Order]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A named list of work orders of one tenant."""

    name: str
    tenant: TenantId
    run_id: RunId
    orders: tuple[WorkOrder, ...]


def derived_id(*parts: str) -> str:
    """A UUID that the same parts always give (version 5)."""
    return str(uuid.uuid5(_NAMESPACE, "\x00".join(parts)))


def load_batch(path: Path, rules: dict[str, ActionRule]) -> Batch:
    """Read a batch file; ``ConfigError`` names the file and the order that is wrong."""
    raw = load_yaml(path, _Batch)
    if not raw.orders or len(raw.orders) > MAX_ORDERS:
        raise ConfigError(
            f"has {len(raw.orders)} orders", file=str(path), remedy=f"give it 1 to {MAX_ORDERS} of them"
        )
    orders = tuple(_order(raw, number, item, rules, str(path)) for number, item in enumerate(raw.orders, 1))
    return Batch(
        name=raw.batch,
        tenant=TenantId(raw.tenant),
        run_id=RunId(derived_id("run", raw.tenant, raw.batch)),
        orders=orders,
    )


def _order(raw: _Batch, number: int, item: _Order, rules: dict[str, ActionRule], file: str) -> WorkOrder:
    rule = rules.get(item.action)
    if rule is None:
        raise ConfigError(
            f"order {number} ({item.bill}) has unknown action {item.action!r}",
            file=file,
            remedy=f"known actions: {', '.join(sorted(rules))}",
        )
    try:
        amount_minor = to_minor(item.amount, item.currency)
    except ValueError as error:
        raise ConfigError(
            f"order {number} ({item.bill}): {error}", file=file, remedy="write it as 1434.74, quoted"
        ) from error
    if abs(amount_minor) > MAX_AMOUNT_MINOR:
        raise ConfigError(
            f"order {number} ({item.bill}): {item.amount} is beyond any amount",
            file=file,
            remedy="correct it",
        )
    unusable = wrong_with_id(item.bill)
    if unusable:
        raise ConfigError(
            f"order {number} ({ascii(item.bill[:40])[1:-1]}) names a bill whose id {unusable}",
            file=file,
            remedy="correct it",
        )
    if not _MONTH.fullmatch(item.month):
        raise ConfigError(
            f"order {number} ({item.bill}) has month {item.month!r}",
            file=file,
            remedy="write the month as 2026-11",
        )
    intent = Intent(
        bill_id=item.bill,
        action=item.action,
        counterparty=item.counterparty,
        amount_minor=amount_minor,
        currency=item.currency,
        month=item.month,
        expected_status=rule.target_status,
        occurrence=item.occurrence,
    )
    reference = f"{raw.batch}#{number}"
    task = derived_id("task", raw.tenant, raw.batch, str(number), item.bill, item.action, item.occurrence)
    return WorkOrder(
        task_id=TaskId(task),
        intent=intent,
        bill_tenant=TenantId(item.tenant or raw.tenant),
        reference=reference,
    )
