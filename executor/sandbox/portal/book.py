"""The vendor's book: bills, their history and the ledger.

Rules of this module:

* The ledger books what the form carried (counterparty, amount, currency, month), not what the bill says:
  the vendor trusts its own page, and that is how a poisoned hidden field becomes a wrong payment.
* Every change of a tenant's bills raises the tenant's version; open list pages watch it.
* A tenant's queries never see another tenant's rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from executor.sandbox.portal.db import Database
from executor.sandbox.portal.model import (
    Action,
    Bill,
    Handled,
    HistoryEntry,
    Kind,
    LedgerLine,
    Status,
    next_status,
    sign,
)

SYSTEM_ACCOUNT: Final = "system"
"""The name under which the vendor's own timers and rules book."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillFilter:
    """What the filter form asks for; an empty text means anything."""

    bill_id: str = ""
    counterparty: str = ""
    month: str = ""
    status: str = ""
    page: int = 1
    size: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPage:
    """One page of the list."""

    bills: tuple[Bill, ...]
    total: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One change to book: the fields as the form carried them. `source` says what booked it."""

    bill_id: str
    tenant: str
    action: Action
    account: str
    counterparty_id: str
    amount_minor: int
    currency: str
    month: str
    source: str = "web"


class StatusRefusedError(Exception):
    """The bill's status does not allow the action."""


def bill_of(row: sqlite3.Row) -> Bill:
    """Return the bill of a row of `bills`."""
    handled = None
    if row["handled_currency"] is not None:
        handled = Handled(
            counterparty_id=row["handled_counterparty_id"],
            amount_minor=row["handled_amount_minor"],
            currency=row["handled_currency"],
            month=row["handled_month"],
        )
    return Bill(
        id=row["id"],
        tenant=row["tenant"],
        counterparty_id=row["counterparty_id"],
        counterparty=row["counterparty"],
        month=row["month"],
        amount_minor=row["amount_minor"],
        currency=row["currency"],
        status=Status(row["status"]),
        created_at=row["created_at"],
        updated_by=row["updated_by"],
        updated_at=row["updated_at"],
        handled=handled,
    )


def history_of(row: sqlite3.Row) -> HistoryEntry:
    """Return the entry of a row of `history`."""
    return HistoryEntry(
        seq=row["seq"],
        bill_id=row["bill_id"],
        at=row["at"],
        account=row["account"],
        action=Action(row["action"]),
        from_status=Status(row["from_status"]),
        to_status=Status(row["to_status"]),
        source=row["source"],
    )


def ledger_of(row: sqlite3.Row) -> LedgerLine:
    """Return the line of a row of `ledger`."""
    return LedgerLine(
        line=row["line"],
        bill_id=row["bill_id"],
        tenant=row["tenant"],
        counterparty_id=row["counterparty_id"],
        counterparty=row["counterparty"],
        month=row["month"],
        kind=Kind(row["kind"]),
        amount_minor=row["amount_minor"],
        currency=row["currency"],
        at=row["at"],
        account=row["account"],
        source=row["source"],
    )


class Book:
    """Reads and changes the bills."""

    def __init__(self, database: Database, *, strict: bool = False) -> None:
        """Keep them in the given database; `strict` refuses to book an action a second time."""
        self._database = database
        self._strict = strict

    # -- reading ---------------------------------------------------------------------------------

    def bill(self, tenant: str, bill_id: str) -> Bill | None:
        """Return one bill of the tenant, or None."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT * FROM bills WHERE tenant = ? AND id = ?", (tenant, bill_id)
            ).fetchone()
        return bill_of(row) if row else None

    def page(self, tenant: str, wanted: BillFilter) -> BillPage:
        """Return the tenant's bills that match, newest first."""
        where = (
            "tenant = :tenant AND instr(id, :bill_id) > 0 AND instr(counterparty, :counterparty) > 0 "
            "AND (:month = '' OR month = :month) AND (:status = '' OR status = :status)"
        )
        named: dict[str, str | int] = {
            "tenant": tenant,
            "bill_id": wanted.bill_id,
            "counterparty": wanted.counterparty,
            "month": wanted.month,
            "status": wanted.status,
            "limit": wanted.size,
            "offset": (wanted.page - 1) * wanted.size,
        }
        with self._database.reading() as connection:
            total: int = connection.execute(f"SELECT count(*) FROM bills WHERE {where}", named).fetchone()[0]  # noqa: S608 - a constant
            rows = connection.execute(
                f"SELECT * FROM bills WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset",  # noqa: S608 - a constant
                named,
            ).fetchall()
        pages = max(1, -(-total // wanted.size))
        return BillPage(bills=tuple(map(bill_of, rows)), total=total, page=wanted.page, pages=pages)

    def months(self, tenant: str) -> tuple[str, ...]:
        """Return the months that the tenant has bills or bookings in, newest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT month FROM bills WHERE tenant = :t UNION SELECT month FROM ledger WHERE tenant = :t "
                "ORDER BY month DESC",
                {"t": tenant},
            ).fetchall()
        return tuple(row["month"] for row in rows)

    def counts(self, tenant: str) -> dict[Status, int]:
        """Return how many bills of the tenant have each status."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT status, count(*) AS n FROM bills WHERE tenant = ? GROUP BY status", (tenant,)
            ).fetchall()
        found = {Status(row["status"]): int(row["n"]) for row in rows}
        return {status: found.get(status, 0) for status in Status}

    def history(self, bill_id: str) -> tuple[HistoryEntry, ...]:
        """Return what was done to a bill, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM history WHERE bill_id = ? ORDER BY seq", (bill_id,)
            ).fetchall()
        return tuple(map(history_of, rows))

    def ledger(self, tenant: str, *, month: str = "", bill_id: str = "") -> tuple[LedgerLine, ...]:
        """Return the tenant's bookings, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM ledger WHERE tenant = :t AND (:m = '' OR month = :m) "
                "AND (:b = '' OR bill_id = :b) ORDER BY line",
                {"t": tenant, "m": month, "b": bill_id},
            ).fetchall()
        return tuple(map(ledger_of, rows))

    def version(self, tenant: str) -> int:
        """Return the number that every change of the tenant's bills raises."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT version FROM versions WHERE tenant = ?", (tenant,)).fetchone()
        return int(row["version"]) if row else 0

    def tenants(self) -> tuple[str, ...]:
        """Return the tenants that have bills."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT DISTINCT tenant FROM bills ORDER BY tenant").fetchall()
        return tuple(row["tenant"] for row in rows)

    # -- changing --------------------------------------------------------------------------------

    def book(self, connection: sqlite3.Connection, order: Order) -> Bill:
        """Apply one order inside the caller's transaction: status, history and one ledger line.

        Raises:
            StatusRefusedError: the bill is not there, or its status does not allow the action.
        """
        row = connection.execute(
            "SELECT * FROM bills WHERE tenant = ? AND id = ?", (order.tenant, order.bill_id)
        ).fetchone()
        if row is None:
            raise StatusRefusedError(order.bill_id)
        bill = bill_of(row)
        target = next_status(bill.status, order.action, strict=self._strict)
        if target is None:
            raise StatusRefusedError(order.bill_id)
        now = self._database.now()
        connection.execute(
            "INSERT INTO history (bill_id, at, account, action, from_status, to_status, source) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (bill.id, now, order.account, order.action, bill.status, target, order.source),
        )
        self._ledger_line(
            connection, order, Kind(order.action), sign(bill.status, order.action) * order.amount_minor
        )
        undone = target is Status.PENDING
        connection.execute(
            "UPDATE bills SET status = ?, updated_by = ?, updated_at = ?, handled_counterparty_id = ?, "
            "handled_amount_minor = ?, handled_currency = ?, handled_month = ? WHERE id = ?",
            (
                target,
                order.account,
                now,
                None if undone else order.counterparty_id,
                None if undone else order.amount_minor,
                None if undone else order.currency,
                None if undone else order.month,
                bill.id,
            ),
        )
        bump(connection, bill.tenant)
        return bill_of(connection.execute("SELECT * FROM bills WHERE id = ?", (bill.id,)).fetchone())

    def again(self, connection: sqlite3.Connection, order: Order) -> None:
        """Book the order's last effect a second time, as a queue that delivers twice does.

        The status stays what it is; history and ledger get the same line once more.
        """
        line = connection.execute(
            "SELECT amount_minor FROM ledger WHERE bill_id = ? AND kind = ? ORDER BY line DESC LIMIT 1",
            (order.bill_id, order.action),
        ).fetchone()
        if line is None:
            raise StatusRefusedError(order.bill_id)
        status = connection.execute("SELECT status FROM bills WHERE id = ?", (order.bill_id,)).fetchone()[
            "status"
        ]
        connection.execute(
            "INSERT INTO history (bill_id, at, account, action, from_status, to_status, source) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (order.bill_id, self._database.now(), order.account, order.action, status, status, order.source),
        )
        self._ledger_line(connection, order, Kind(order.action), line["amount_minor"])
        bump(connection, order.tenant)

    def fee(self, connection: sqlite3.Connection, order: Order, amount_minor: int) -> None:
        """Book a fee of the vendor's own beside an order: a ledger line, no history, no status."""
        self._ledger_line(connection, order, Kind.FEE, -amount_minor)
        bump(connection, order.tenant)

    def _ledger_line(
        self, connection: sqlite3.Connection, order: Order, kind: Kind, amount_minor: int
    ) -> None:
        named = connection.execute(
            "SELECT coalesce((SELECT name FROM counterparties WHERE id = ?), '') AS name",
            (order.counterparty_id,),
        ).fetchone()
        connection.execute(
            "INSERT INTO ledger (bill_id, tenant, counterparty_id, counterparty, month, kind, amount_minor, "
            "currency, at, account, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                order.bill_id,
                order.tenant,
                order.counterparty_id,
                named["name"],
                order.month,
                kind,
                amount_minor,
                order.currency,
                self._database.now(),
                order.account,
                order.source,
            ),
        )

    def insert(self, connection: sqlite3.Connection, bills: Iterable[Bill]) -> None:
        """Add new bills and the names of their counterparties."""
        for bill in bills:
            connection.execute(
                "INSERT OR IGNORE INTO counterparties (id, name) VALUES (?, ?)",
                (bill.counterparty_id, bill.counterparty),
            )
            connection.execute(
                "INSERT INTO bills (id, tenant, counterparty_id, counterparty, month, amount_minor, currency, "
                "status, created_at, updated_by, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    bill.id,
                    bill.tenant,
                    bill.counterparty_id,
                    bill.counterparty,
                    bill.month,
                    bill.amount_minor,
                    bill.currency,
                    bill.status,
                    bill.created_at,
                    bill.updated_by,
                    bill.updated_at,
                ),
            )
            bump(connection, bill.tenant)


def bump(connection: sqlite3.Connection, tenant: str) -> None:
    """Raise the tenant's version inside the caller's transaction."""
    connection.execute(
        "INSERT INTO versions (tenant, version) VALUES (?, 1) "
        "ON CONFLICT (tenant) DO UPDATE SET version = version + 1",
        (tenant,),
    )
