"""What the vendor does with a posted form, rightly and wrongly.

Rules of this module:

* A posting function books inside the transaction that it is given and answers with what the page is told.
  The answer and the booking are two things, which is what most of these faults are about.
* A fault function takes the place of `post_plainly`; the registry names it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from executor.sandbox.portal.accounts import end_sessions, withdraw_rights
from executor.sandbox.portal.book import SYSTEM_ACCOUNT, Order, StatusRefusedError
from executor.sandbox.portal.faults import Params
from executor.sandbox.portal.model import Action, Bill, Status, next_status
from executor.sandbox.portal.services import Portal


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the page is told. `reason` names a text `reason_…`; `bill_status` is what the page shows."""

    status_code: int
    reason: str = ""
    bill_status: Status | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One form that passed the checks of session, rights and fields."""

    portal: Portal
    connection: sqlite3.Connection
    order: Order
    bill: Bill
    params: Params

    def book(self, **changes: Any) -> Bill:  # noqa: ANN401 - forwarded to the order's fields
        """Book the order, with some fields changed."""
        return self.portal.book.book(self.connection, replace(self.order, **changes))

    def later(self, **changes: Any) -> None:  # noqa: ANN401 - forwarded to the order's fields
        """Book the order after the fault's delay, with some fields changed."""
        payload = self.portal.order_payload(replace(self.order, **changes))
        self.portal.jobs.schedule(self.connection, "book", payload, int(self.params["delay_ms"]))

    def check(self) -> Status:
        """Return the status that the action leads to; a fault must not pretend where the vendor refuses.

        Raises:
            StatusRefusedError: the bill's status does not allow the action.
        """
        target = next_status(self.bill.status, self.order.action, strict=self.portal.settings.strict)
        if target is None:
            raise StatusRefusedError(self.bill.id)
        return target


def post_plainly(post: Post) -> Reply:
    """Book the order and say so."""
    return Reply(status_code=200, bill_status=post.book().status)


def fake_success(post: Post) -> Reply:
    """Say "done" and book nothing; `optimistic` makes the page show the new status until it is loaded again."""
    target = post.check()
    return Reply(status_code=200, bill_status=target if post.params["optimistic"] else post.bill.status)


def late_posting(post: Post) -> Reply:
    """Say "done" and book later."""
    post.check()
    post.later(source="timer")
    return Reply(status_code=200, bill_status=post.bill.status)


def double_posting(post: Post) -> Reply:
    """Book twice: two lines in the ledger, two entries in the history."""
    bill = post.book()
    post.portal.book.again(post.connection, replace(post.order, source="queue"))
    return Reply(status_code=200, bill_status=bill.status)


def commit_then_504(post: Post) -> Reply:
    """Book, and let the gateway say that it took too long."""
    post.book()
    return Reply(status_code=504, reason="gateway")


def drop_then_504(post: Post) -> Reply:
    """Book nothing, and let the gateway say that it took too long."""
    post.check()
    return Reply(status_code=504, reason="gateway")


def partial_save(post: Post) -> Reply:
    """Book, but lose the counterparty on the way."""
    return Reply(status_code=200, bill_status=post.book(counterparty_id="").status)


def late_reversal(post: Post) -> Reply:
    """Book, and let the vendor's validation undo it later."""
    bill = post.book()
    if post.order.action is not Action.UNDO:
        post.later(action=Action.UNDO, account=SYSTEM_ACCOUNT, source="timer")
    return Reply(status_code=200, bill_status=bill.status)


def late_duplicate(post: Post) -> Reply:
    """Book, and let an at-least-once queue deliver the same post again later."""
    bill = post.book()
    payload = post.portal.order_payload(replace(post.order, source="queue"))
    post.portal.jobs.schedule(post.connection, "again", payload, int(post.params["delay_ms"]))
    return Reply(status_code=200, bill_status=bill.status)


def collateral_fee(post: Post) -> Reply:
    """Book, and book a fee that nobody asked for beside it."""
    bill = post.book()
    fee = replace(post.order, account=SYSTEM_ACCOUNT, source="rule")
    post.portal.book.fee(post.connection, fee, int(post.params["fee_minor"]))
    return Reply(status_code=200, bill_status=bill.status)


def lost_update(post: Post) -> Reply:
    """Save the record as the page had read it: a colleague's hold that came meanwhile is gone without a word."""
    holds = post.portal.holds
    if post.bill.id not in holds.current([post.bill.id]):
        holds.place(post.connection, post.bill.id, str(post.params["colleague"]), str(post.params["note"]))
    bill = post.book()
    holds.lose(post.connection, bill.id)
    return Reply(status_code=200, bill_status=bill.status)


def session_expired(post: Post) -> Reply:
    """End the account's sessions before anything is booked."""
    end_sessions(post.connection, post.order.account)
    return Reply(status_code=401)


def permission_dialog(post: Post) -> Reply:
    """Withdraw the account's rights before anything is booked."""
    withdraw_rights(post.connection, post.order.account)
    return Reply(status_code=403, reason="permission_changed")
