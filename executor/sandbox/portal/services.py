"""The portal's parts, put together once: what handlers and faults work with."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from executor.sandbox.portal.accounts import Accounts, withdraw_rights
from executor.sandbox.portal.arrivals import insert_new
from executor.sandbox.portal.book import Book, Order, StatusRefusedError
from executor.sandbox.portal.db import Clock, Database, system_clock
from executor.sandbox.portal.faults import FaultBoard, FaultKind
from executor.sandbox.portal.holds import Holds
from executor.sandbox.portal.jobs import Jobs
from executor.sandbox.portal.model import Action

UI_VERSION: Final = "3.2.1"
REDESIGNED_UI_VERSION: Final = "4.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one portal is set up.

    `control_token` opens the control interface. `poll_ms` is how often open pages ask for changes.
    """

    control_token: str
    lang: str = "zh"
    poll_ms: int = 200
    page_size: int = 20
    strict: bool = False

    def __repr__(self) -> str:
        """Leave the token out: a repr ends in logs and in exception texts."""
        return f"Settings(lang={self.lang!r}, strict={self.strict!r})"


class Portal:
    """One vendor portal over one SQLite file."""

    def __init__(
        self, path: Path, settings: Settings, kinds: Iterable[FaultKind], clock: Clock = system_clock
    ) -> None:
        """Open or create the file."""
        self.settings = settings
        self.database = Database(path, clock)
        self.accounts = Accounts(self.database)
        self.book = Book(self.database, strict=settings.strict)
        self.holds = Holds(self.database)
        self.faults = FaultBoard(self.database, kinds)
        self.jobs = Jobs(
            self.database,
            {
                "book": self._work_book,
                "again": self._work_again,
                "revoke": self._work_revoke,
                "insert": self._work_insert,
            },
        )

    def order_payload(self, order: Order) -> dict[str, Any]:
        """Return an order as the payload of a `book` job."""
        return {**asdict(order), "action": order.action.value}

    def _work_book(self, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
        # Somebody else may have changed the bill meanwhile; the vendor's timer drops its order without a word.
        with contextlib.suppress(StatusRefusedError):
            self.book.book(connection, _order(payload))

    def _work_again(self, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
        with contextlib.suppress(StatusRefusedError):
            self.book.again(connection, _order(payload))

    def _work_revoke(self, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
        withdraw_rights(connection, payload["account"])

    def _work_insert(self, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
        insert_new(self.database, connection, payload["tenant"], payload["params"], below=payload["below"])


def _order(payload: dict[str, Any]) -> Order:
    return Order(**{**payload, "action": Action(payload["action"])})
