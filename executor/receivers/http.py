"""Receivers that answer over HTTP, each through the readback account's own session.

``SubmissionsReceiver`` reads a list of submissions (the practice form's); ``PortalReceiver`` reads one bill of the
vendor's back office from two places that must agree: its API (ledger lines) and its list (status).

Rules: the reading account is never the writing one; an answer of another shape is trouble, not an empty list; two
places that disagree are trouble, because one table alone misses a third of the faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from domain.errors import WorldError
from executor.filling import in_path
from executor.readback import HttpSession
from executor.receivers.base import Record


def _rows(value: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise WorldError(f"{where} answers something that is no list of records")
    return value


def _json(session: HttpSession, path: str, **params: str) -> dict[str, Any]:
    try:
        value = session.get(path, **params).json()
    except ValueError:
        raise WorldError(f"{path} answers something that is no JSON") from None
    if not isinstance(value, dict):
        raise WorldError(f"{path} answers something that is no object")
    return value


def _record(row: Mapping[str, Any], key: str, names: Iterable[str]) -> Record:
    if key not in row:
        raise WorldError(f"a record without its {key}")
    return Record(key=str(row[key]), fields={name: str(row.get(name, "")) for name in names})


class SubmissionsReceiver:
    """All submissions of a form, in the order in which they arrived."""

    name = "submissions"

    def __init__(
        self,
        session: HttpSession,
        path: str = "/api/submissions",
        *,
        rows: str = "submissions",
        key: str = "number",
        fields: Iterable[str] = ("reference", "counterparty", "address", "amount", "currency", "month"),
    ) -> None:
        self._session = session
        self._path = path
        self._rows = rows
        self._key = key
        self._fields = tuple(fields)

    def records(self) -> tuple[Record, ...]:
        """See ``Receiver``."""
        rows = _rows(_json(self._session, self._path).get(self._rows), self._path)
        return tuple(_record(row, self._key, self._fields) for row in rows)


class PortalReceiver:
    """The ledger lines of one bill as the API has them, in step with the status that the list shows."""

    name = "vendor portal"
    FIELDS = ("type", "amount_minor", "currency", "month", "account")

    def __init__(self, session: HttpSession, bill_id: str) -> None:
        self._session = session
        self._bill_id = bill_id

    def records(self) -> tuple[Record, ...]:
        """See ``Receiver``."""
        path = in_path("/api/bills/{bill_id}", bill_id=self._bill_id)
        bill = _json(self._session, path)
        listed = _rows(_json(self._session, "/api/bills", bill_id=self._bill_id).get("bills"), "/api/bills")
        shown = [row.get("status") for row in listed if row.get("id") == self._bill_id]
        if shown != [bill.get("status")]:
            raise WorldError(f"list and API disagree about {self._bill_id}: {shown} and {bill.get('status')}")
        history, postings = _rows(bill.get("history"), path), _rows(bill.get("postings"), path)
        if history and history[-1].get("to") != bill.get("status"):
            raise WorldError(f"status and history of {self._bill_id} disagree")
        return tuple(_record(row, "line_id", self.FIELDS) for row in postings)
