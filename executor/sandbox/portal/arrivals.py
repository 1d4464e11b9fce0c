"""New bills that come in while people work, and their numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta

from executor.sandbox.portal.book import SYSTEM_ACCOUNT, Book, bill_of
from executor.sandbox.portal.db import Database, iso
from executor.sandbox.portal.model import Bill, Status


def insert_new(
    database: Database,
    connection: sqlite3.Connection,
    tenant: str,
    params: Mapping[str, str | int | bool],
    *,
    below: str = "",
) -> str:
    """Let a new pending bill arrive for a tenant: on top of its list, or right below a given bill.

    The parameters `counterparty`, `counterparty_id`, `amount_minor`, `currency` and `month` describe it; an
    empty month means that of the tenant's newest bill. Returns the new bill's id.
    """
    newest = bill_of(
        connection.execute(
            "SELECT * FROM bills WHERE tenant = ? ORDER BY created_at DESC, id DESC LIMIT 1", (tenant,)
        ).fetchone()
    )
    anchor = connection.execute("SELECT created_at FROM bills WHERE id = ?", (below,)).fetchone()
    base = datetime.fromisoformat(anchor["created_at"] if anchor else newest.created_at)
    month = str(params["month"] or newest.month)
    bill = Bill(
        id=next_bill_id(connection, month),
        tenant=tenant,
        counterparty_id=str(params["counterparty_id"]),
        counterparty=str(params["counterparty"]),
        month=month,
        amount_minor=int(params["amount_minor"]),
        currency=str(params["currency"]),
        status=Status.PENDING,
        created_at=iso(base + (timedelta(milliseconds=-1) if anchor else timedelta(seconds=1))),
        updated_by=SYSTEM_ACCOUNT,
        updated_at=database.now(),
        handled=None,
    )
    Book(database).insert(connection, [bill])
    return bill.id


def next_bill_id(connection: sqlite3.Connection, month: str) -> str:
    """Return the next free number of a month, such as `CY202611-0031`. Numbers are shared by all tenants."""
    prefix = f"CY{month.replace('-', '')}-"
    taken = connection.execute(
        "SELECT coalesce(max(CAST(substr(id, 10) AS INTEGER)), 0) FROM bills WHERE id LIKE ?", (prefix + "%",)
    ).fetchone()[0]
    return f"{prefix}{taken + 1:04d}"
