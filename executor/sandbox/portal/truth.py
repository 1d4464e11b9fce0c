"""What really happened in the portal, read from its file.

Rules of this module:

* It reads the SQLite file and nothing else: no session, no page, no fault stands between.
* It never writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from executor.sandbox.portal.book import bill_of, history_of, ledger_of
from executor.sandbox.portal.db import open_connection
from executor.sandbox.portal.holds import HoldEntry, hold_entry_of, hold_of
from executor.sandbox.portal.model import Action, Bill, HistoryEntry, Hold, Kind, LedgerLine


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPost:
    """One post that reached a session, with the answer's HTTP status. The CSRF token is left out."""

    at: str
    account: str
    path: str
    fields: dict[str, str]
    status_code: int


class PortalTruth:
    """The tests' witness."""

    def __init__(self, path: Path) -> None:
        """Look at the given file; it must exist when a question is asked."""
        self._path = path

    def bill(self, bill_id: str) -> Bill:
        """Return a bill as it is stored.

        Raises:
            LookupError: there is none.
        """
        rows = self._rows("SELECT * FROM bills WHERE id = ?", (bill_id,))
        if not rows:
            raise LookupError(bill_id)
        return bill_of(rows[0])

    def bills(self, tenant: str) -> list[Bill]:
        """Return a tenant's bills, newest first, as the list shows them."""
        rows = self._rows("SELECT * FROM bills WHERE tenant = ? ORDER BY created_at DESC, id DESC", (tenant,))
        return [bill_of(row) for row in rows]

    def history(self, bill_id: str) -> list[HistoryEntry]:
        """Return who did what to a bill, oldest first."""
        return [
            history_of(row)
            for row in self._rows("SELECT * FROM history WHERE bill_id = ? ORDER BY seq", (bill_id,))
        ]

    def hold(self, bill_id: str) -> Hold | None:
        """Return the hold that is on a bill now."""
        rows = self._rows("SELECT * FROM held WHERE bill_id = ?", (bill_id,))
        return hold_of(rows[0]) if rows else None

    def hold_log(self, bill_id: str) -> list[HoldEntry]:
        """Return who placed and lifted holds of a bill, oldest first."""
        rows = self._rows("SELECT * FROM hold_log WHERE bill_id = ? ORDER BY seq", (bill_id,))
        return [hold_entry_of(row) for row in rows]

    def lost_hold(self, bill_id: str) -> bool:
        """Return whether a hold is gone that nobody has lifted."""
        log = self.hold_log(bill_id)
        return bool(log) and log[-1].done == "placed" and self.hold(bill_id) is None

    def ledger(self, bill_id: str = "", month: str = "") -> list[LedgerLine]:
        """Return the bookings of a bill, of a month, or all, oldest first."""
        rows = self._rows(
            "SELECT * FROM ledger WHERE bill_id LIKE ? AND month LIKE ? ORDER BY line",
            (bill_id or "%", month or "%"),
        )
        return [ledger_of(row) for row in rows]

    def effects(self, bill_id: str, action: Action) -> int:
        """Return how often an action was booked for a bill: 1 is right, 0 is a fake, 2 is a double."""
        return sum(line.kind is Kind(action) for line in self.ledger(bill_id))

    def posts(self, path_contains: str = "") -> list[ReceivedPost]:
        """Return the posts that reached a session, oldest first."""
        rows = self._rows("SELECT * FROM posts WHERE instr(path, ?) > 0 ORDER BY id", (path_contains,))
        return [
            ReceivedPost(
                at=row["at"],
                account=row["account"],
                path=row["path"],
                fields=json.loads(row["fields"]),
                status_code=row["status_code"],
            )
            for row in rows
        ]

    def consents(self) -> list[tuple[str, str]]:
        """Return account and notice of each consent that was given: only a wrong click gives one."""
        return [
            (row["account"], row["notice"]) for row in self._rows("SELECT * FROM consents ORDER BY id", ())
        ]

    def pending_jobs(self) -> int:
        """Return how many things the vendor still means to do."""
        return int(self._rows("SELECT count(*) AS n FROM jobs WHERE done_at IS NULL", ())[0]["n"])

    def _rows(self, query: str, values: Sequence[str]) -> list[sqlite3.Row]:
        connection = open_connection(self._path, read_only=True)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()
