"""The demo's cast: which bill meets which trouble, and the files that a business would have written.

The orders come from the business's own book (here: the sandbox's seeded bills, read before anything happens), never
from the page that is about to be written to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from domain.values import Intent
from executor.sandbox.portal.server import PortalServer

TENANT = "acme"
MONTH = "2026-11"
APPROVER = "person:li.na"
COUNTS = {"acme": 20, "globex": 4}
SECRETS = {
    "svc-acme": "PROOFREEL_DEMO_SERVICE",
    "svc-acme-2": "PROOFREEL_DEMO_SERVICE_2",
    "readback-acme": "PROOFREEL_DEMO_READBACK",
}
"""Portal account → environment variable that holds its password."""
NORMAL = 8
BILLS_NEEDED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Bills by role, each as the read API gave it before the story began."""

    normal: tuple[dict[str, Any], ...]
    fake: dict[str, Any]
    inserted: dict[str, Any]
    late: dict[str, Any]
    expired: dict[str, Any]
    shared: dict[str, Any]
    foreign: dict[str, Any]
    legacy: dict[str, Any]
    doubled: dict[str, Any]
    by_hand: dict[str, Any]


def choose(portal: PortalServer) -> Cast:
    """Cast the month's bills; ``ValueError`` when the seed has too few of them."""
    with portal.client("wang.li") as person:
        bills = [bill for bill in person.bills(month=MONTH, size=100) if bill["currency"] == "CNY"]
    with portal.client("zhao.min") as other:
        foreign = other.bills(size=10)[0]
    pending = iter([bill for bill in bills if bill["status"] == "pending"])
    if len(bills) < BILLS_NEEDED:
        message = f"the sandbox has {len(bills)} bills of {MONTH}, too few for the story"
        raise ValueError(message)
    return Cast(
        normal=tuple(next(pending) for _ in range(NORMAL)),
        fake=next(pending),
        inserted=next(pending),
        late=next(pending),
        expired=next(pending),
        shared=next(pending),
        legacy=next(pending),
        doubled=next(pending),
        by_hand=next(pending),
        foreign=foreign,
    )


def set_faults(portal: PortalServer, cast: Cast) -> None:
    """Switch the troubles on."""
    portal.control.switch_on("fake_success", cast.fake["id"])
    portal.control.switch_on("late_posting", cast.late["id"])
    portal.control.switch_on("session_expired", cast.expired["id"], times=1)


def before_order(portal: PortalServer, cast: Cast, bill_id: str) -> None:
    """Troubles that must not be used up by an earlier order's visit to the list."""
    if bill_id == cast.inserted["id"]:
        portal.control.switch_on("row_pushed", bill_id, times=1, skip=1)


def order(bill: Mapping[str, Any], action: str, **more: str) -> dict[str, str]:
    """One line of a batch file."""
    return {
        "bill": bill["id"],
        "action": action,
        "counterparty": bill["counterparty"],
        "amount": bill["amount"],
        "currency": bill["currency"],
        "month": bill["month"],
        **more,
    }


def main_orders(cast: Cast) -> list[dict[str, str]]:
    """The guarded batch, in the order it is worked through."""
    normal = [order(bill, "mark_processed") for bill in cast.normal]
    return [
        *normal[:3],
        order(cast.fake, "mark_processed"),
        order(cast.inserted, "mark_processed"),
        order(cast.late, "mark_processed"),
        order(cast.foreign, "mark_processed", tenant="globex"),
        order(cast.normal[0], "refund"),
        *normal[3:6],
        order(cast.expired, "mark_processed"),
        *normal[6:],
    ]


def write_batch(path: Path, name: str, orders: Sequence[Mapping[str, str]]) -> Path:
    """Write a batch file."""
    content = {"batch": name, "tenant": TENANT, "orders": [dict(item) for item in orders]}
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def write_config(path: Path, *, origin: str, language: str, second: bool = False) -> Path:
    """Write ``proofreel.yaml`` for the sandbox; ``second`` is the other executor process's identity."""
    account = "svc-acme-2" if second else "svc-acme"
    actions = ["mark_processed", "refund", "undo"]
    content = {
        "version": 1,
        "tenant": TENANT,
        "identity": {
            "principal": "svc:acme-batch-2" if second else "svc:acme-batch",
            "tenants": [TENANT],
            "actions": actions,
        },
        "people": [
            {
                "principal": APPROVER,
                "tenants": [TENANT],
                "actions": ["approve:refund", "approve:mark_processed"],
            }
        ],
        "target": {
            "name": "vendor portal (sandbox)",
            "origin": origin,
            "recipe": "vendor-portal",
            "language": language,
            "service": {"account": account, "secret_env": SECRETS[account]},
            "readback": {"account": "readback-acme", "secret_env": SECRETS["readback-acme"]},
        },
        "record": {"store": "sqlite:///record.db", "blobs": "blobs"},
        "write_policy": {
            "require_readback": True,
            "readback_sources": ["api", "detail"],
            "forbid_visual_verdict": True,
            "approval_required": ["refund"],
        },
        "budgets": {"max_steps": 40, "stuck_frames": 3},
    }
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def intent_of(bill: Mapping[str, Any], action: str, expected_status: str) -> Intent:
    """The business intent about a bill."""
    return Intent(
        bill_id=bill["id"],
        action=action,
        counterparty=bill["counterparty"],
        amount_minor=bill["amount_minor"],
        currency=bill["currency"],
        month=bill["month"],
        expected_status=expected_status,
    )
