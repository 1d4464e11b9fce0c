"""Holds: a person's word that a bill is not to be worked on now, and who gave it.

Rules of this module:

* A hold stays until somebody lifts it. Booking an action leaves it where it is; the vendor's server doesn't refuse a
  held bill, its people are expected to look.
* Placing and lifting are written down in a log that is only added to. A hold that is gone with no line about lifting
  it was lost by the vendor's own saving (`lost_update`), and the log is how anybody can tell.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from executor.sandbox.portal.db import Database
from executor.sandbox.portal.model import Hold

Done = Literal["placed", "lifted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldEntry:
    """One line of the log."""

    bill_id: str
    at: str
    account: str
    done: Done
    note: str


class Holds:
    """The holds of all bills."""

    def __init__(self, database: Database) -> None:
        """Keep them in the given database."""
        self._database = database

    def current(self, bill_ids: Iterable[str]) -> dict[str, Hold]:
        """Return the holds that are on these bills now."""
        wanted = list(bill_ids)
        marks = ", ".join("?" * len(wanted))
        with self._database.reading() as connection:
            rows = connection.execute(f"SELECT * FROM held WHERE bill_id IN ({marks})", wanted).fetchall()  # noqa: S608 - question marks
        return {row["bill_id"]: hold_of(row) for row in rows}

    def log(self, bill_id: str) -> tuple[HoldEntry, ...]:
        """Return who placed and lifted holds of a bill, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM hold_log WHERE bill_id = ? ORDER BY seq", (bill_id,)
            ).fetchall()
        return tuple(map(hold_entry_of, rows))

    def place(self, connection: sqlite3.Connection, bill_id: str, account: str, note: str) -> None:
        """Put a hold on a bill inside the caller's transaction; one that is there is replaced."""
        now = self._database.now()
        connection.execute(
            "INSERT OR REPLACE INTO held (bill_id, account, note, at) VALUES (?, ?, ?, ?)",
            (bill_id, account, note, now),
        )
        _write(connection, HoldEntry(bill_id=bill_id, at=now, account=account, done="placed", note=note))

    def lift(self, connection: sqlite3.Connection, bill_id: str, account: str) -> None:
        """Take a hold off inside the caller's transaction."""
        if connection.execute("DELETE FROM held WHERE bill_id = ?", (bill_id,)).rowcount:
            now = self._database.now()
            _write(connection, HoldEntry(bill_id=bill_id, at=now, account=account, done="lifted", note=""))

    @staticmethod
    def lose(connection: sqlite3.Connection, bill_id: str) -> None:
        """Forget a hold without a word, as saving a record that was read before it was placed does."""
        connection.execute("DELETE FROM held WHERE bill_id = ?", (bill_id,))


def hold_of(row: sqlite3.Row) -> Hold:
    """Return the hold of a row of `held`."""
    return Hold(account=row["account"], note=row["note"], at=row["at"])


def hold_entry_of(row: sqlite3.Row) -> HoldEntry:
    """Return the entry of a row of `hold_log`."""
    return HoldEntry(
        bill_id=row["bill_id"], at=row["at"], account=row["account"], done=row["done"], note=row["note"]
    )


def _write(connection: sqlite3.Connection, entry: HoldEntry) -> None:
    connection.execute(
        "INSERT INTO hold_log (bill_id, at, account, done, note) VALUES (?, ?, ?, ?, ?)",
        (entry.bill_id, entry.at, entry.account, entry.done, entry.note),
    )


def hold_json(hold: Hold | None) -> dict[str, Any] | None:
    """Return a hold as the read interface gives it."""
    return None if hold is None else {"account": hold.account, "note": hold.note, "at": hold.at}


def hold_entry_json(entry: HoldEntry) -> dict[str, Any]:
    """Return a line of the log as the read interface gives it."""
    return {"at": entry.at, "account": entry.account, "done": entry.done, "note": entry.note}
