"""What changes a page after it was loaded, and what the server does meanwhile.

Rules of this module:

* An effect is data; the portal's own script (`static/portal.js`) carries it out. Nothing is injected.
* Most effects are `set`: new values for fields of a bill's form and new texts beside it. A new fault of that
  sort needs no line of script.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from executor.sandbox.portal.accounts import end_sessions
from executor.sandbox.portal.arrivals import insert_new
from executor.sandbox.portal.book import BillFilter
from executor.sandbox.portal.faults import Params
from executor.sandbox.portal.model import Bill, Status, money, next_month
from executor.sandbox.portal.services import Portal

Effect = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A bill that is on an open page, and the parameters of the fault that strikes it."""

    portal: Portal
    bill: Bill
    params: Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Strikeable:
    """Whom a fault on the server strikes: one tenant, one account (all when empty), perhaps one bill."""

    portal: Portal
    connection: sqlite3.Connection
    tenant: str
    account: str
    bill_id: str
    params: Params
    delay_ms: int


def _set(sight: Sight, fields: dict[str, str], texts: dict[str, str] | None = None) -> Effect:
    return {"op": "set", "bill": sight.bill.id, "fields": fields, "texts": texts or {}}


def amount_shift(sight: Sight) -> Effect:
    """Multiply the form's amount; `shown` says whether the screen shows it too."""
    bill = sight.bill
    wrong = bill.amount_minor * int(sight.params["factor"])
    shown = {"amount": money(wrong, bill.currency, grouped=True)} if sight.params["shown"] else {}
    return _set(sight, {"amount": money(wrong, bill.currency)}, shown)


def currency_reset(sight: Sight) -> Effect:
    """Set the form's currency to another one."""
    currency = str(sight.params["currency"])
    fields = {"currency": currency, "amount": money(sight.bill.amount_minor, currency)}
    return _set(sight, fields, {"currency": currency} if sight.params["shown"] else {})


def look_alike(sight: Sight) -> Effect:
    """Replace the counterparty by another one whose name looks the same."""
    name = sight.bill.counterparty.replace("公司", "公可").replace("有限", "冇限")
    if name == sight.bill.counterparty:
        name = f"{name}."
    other = str(sight.params["counterparty_id"])
    with sight.portal.database.writing() as connection:
        connection.execute("INSERT OR REPLACE INTO counterparties (id, name) VALUES (?, ?)", (other, name))
    return _set(sight, {"counterparty_id": other}, {"counterparty": name, "counterparty_id": other})


def hidden_counterparty_changed(sight: Sight) -> Effect:
    """Change the hidden counterparty id; not one pixel changes."""
    return _set(sight, {"counterparty_id": str(sight.params["counterparty_id"])})


def month_rollover(sight: Sight) -> Effect:
    """Move the form to the next month, as at midnight of the last day."""
    month = next_month(sight.bill.month)
    return _set(sight, {"month": month}, {"month": month} if sight.params["shown"] else {})


def approve_all(sight: Sight) -> Effect:
    """Let the form post to the endpoint that handles all pending bills."""
    return {"op": "endpoint", "bill": sight.bill.id, "action": "/bills/all/actions"}


def to_next_bill(op: str) -> Callable[[Sight], Effect]:
    """Return an effect that moves on to the tenant's next pending bill."""

    def effect(sight: Sight) -> Effect:
        wanted = BillFilter(status=Status.PENDING.value, size=200)
        pending = sight.portal.book.page(sight.bill.tenant, wanted).bills
        others = [bill.id for bill in pending if bill.id != sight.bill.id]
        return {"op": op, "bill": sight.bill.id, "to": others[0] if others else sight.bill.id}

    return effect


def script_only(op: str) -> Any:  # noqa: ANN401 - a function of Sight, as the registry wants it
    """Return an effect that the script knows by its name alone."""

    def effect(sight: Sight) -> Effect:
        return {"op": op, "bill": sight.bill.id}

    return effect


def push_row(sight: Sight) -> Effect:
    """Let a new bill arrive, and let the open list show it in the moment the pointer comes to its rows."""
    with sight.portal.database.writing() as connection:
        insert_new(sight.portal.database, connection, sight.bill.tenant, sight.params)
    return {"op": "push", "bill": sight.bill.id}


def insert_on_top(strike: Strikeable) -> None:
    """Let a new bill arrive on top of the tenant's list; open list pages notice by themselves."""
    _insert(strike, below="")


def insert_below(strike: Strikeable) -> None:
    """Let a bill appear right below the one at hand: the table is drawn again, the bill stays in its place."""
    _insert(strike, below=strike.bill_id)


def _insert(strike: Strikeable, *, below: str) -> None:
    payload = {"tenant": strike.tenant, "below": below, "params": strike.params}
    strike.portal.jobs.schedule(strike.connection, "insert", payload, strike.delay_ms)


def end_sessions_now(strike: Strikeable) -> None:
    """End the sessions of the account, or of everybody."""
    end_sessions(strike.connection, strike.account or None)


def withdraw(strike: Strikeable) -> None:
    """Withdraw the rights of the account, or of everybody; open pages notice by themselves."""
    payload = {"account": strike.account or None}
    strike.portal.jobs.schedule(strike.connection, "revoke", payload, strike.delay_ms)
