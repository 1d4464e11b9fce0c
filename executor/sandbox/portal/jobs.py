"""Things the vendor does later: persisted, so that a restart does not lose them.

Rules of this module:

* A job is marked done in the transaction that does its work: it happens once.
* Times are the portal's clock, in milliseconds since the epoch.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final

from executor.sandbox.portal.db import Database

_LOG: Final = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.03
"""How late a job can be."""

Work = Callable[[sqlite3.Connection, dict[str, Any]], None]
"""Does one job inside the transaction that marks it done."""


class Jobs:
    """The queue and the loop that empties it."""

    def __init__(self, database: Database, works: Mapping[str, Work]) -> None:
        """Keep the queue in the database; `works` says what each kind of job does."""
        self._database = database
        self._works = works

    def schedule(
        self, connection: sqlite3.Connection, kind: str, payload: dict[str, Any], delay_ms: int
    ) -> None:
        """Put a job into the queue inside the caller's transaction."""
        connection.execute(
            "INSERT INTO jobs (due_at_ms, kind, payload) VALUES (?, ?, ?)",
            (self._now_ms() + delay_ms, kind, json.dumps(payload)),
        )

    def pending(self) -> int:
        """Return how many jobs wait."""
        with self._database.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM jobs WHERE done_at IS NULL").fetchone()[0])

    def cancel(self) -> None:
        """Forget all jobs that wait."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM jobs WHERE done_at IS NULL")

    def run_due(self) -> int:
        """Do what is due; return how many jobs were done."""
        due = "SELECT * FROM jobs WHERE done_at IS NULL AND due_at_ms <= ? ORDER BY due_at_ms, id"
        with self._database.reading() as connection:
            if connection.execute(due, (self._now_ms(),)).fetchone() is None:
                return 0
        with self._database.writing() as connection:
            rows = connection.execute(due, (self._now_ms(),)).fetchall()
            for row in rows:
                self._works[row["kind"]](connection, json.loads(row["payload"]))
                connection.execute(
                    "UPDATE jobs SET done_at = ? WHERE id = ?", (self._database.now(), row["id"])
                )
        return len(rows)

    async def run_forever(self) -> None:
        """Empty the queue again and again until cancelled."""
        while True:
            try:
                await asyncio.to_thread(self.run_due)
            except sqlite3.OperationalError:
                # The file was locked for longer than a writer waits; the job is still there next time.
                _LOG.warning("a waiting job could not be done yet", exc_info=True)
            await asyncio.sleep(POLL_SECONDS)

    def _now_ms(self) -> int:
        return int(self._database.clock().timestamp() * 1000)
