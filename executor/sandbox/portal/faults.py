"""The fault board: which faults are on, for which bill, and how often they still strike.

Rules of this module:

* A fault for one bill goes before a fault for all (`*`).
* Striking and counting down are one transaction: a fault set for once strikes once.
* A name or a parameter that the registry does not know is refused: a mistyped fault would look like a
  system that withstood it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from executor.sandbox.portal.db import Database
from executor.sandbox.portal.model import Role

ANY_BILL: Final = "*"
Params = dict[str, str | int | bool]
Moment = Literal["post", "page", "render", "rest"]
"""When a fault strikes: at a post of a form, after a page was loaded, in how pages are drawn, or at any call of the
REST interface."""

COMMON: Final[Mapping[str, str | int | bool]] = {"account": "", "tenant": "", "on": "", "trigger": ""}
"""Parameters of every fault: strike only this account or tenant; strike at another moment than usual; wait in the
page for the pointer's next move (`pointer`) or press (`press`)."""
TRIGGERS: Final = ("", "pointer", "press")


class UnknownFaultError(ValueError):
    """The registry has no such fault, or the fault no such parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One line of the registry.

    `post` takes the place of the usual posting. `effect` makes what the page's own script will do.
    `act` does something on the server. `times` is how often it strikes when nothing else is said (None:
    always). `pages` are the pages that trigger it, `list` and `detail`. A benign one changes the screen
    but not what an action means.
    """

    name: str
    description: str
    on: Moment
    params: Mapping[str, str | int | bool] = field(default_factory=dict)
    pages: tuple[str, ...] = ("detail",)
    times: int | None = None
    benign: bool = False
    post: Callable[..., Any] | None = None
    effect: Callable[..., dict[str, Any]] | None = None
    act: Callable[..., None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """A fault that strikes now, with its parameters complete."""

    kind: FaultKind
    bill_id: str
    params: Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is being looked at or posted: whose, and which bills."""

    tenant: str
    account: str
    role: Role
    bill_ids: tuple[str, ...]
    page: str = ""


class FaultBoard:
    """The faults that are on. Kept in the database, so every process and every restart sees them."""

    def __init__(self, database: Database, kinds: Iterable[FaultKind]) -> None:
        """Use the given registry."""
        self._database = database
        self.kinds: dict[str, FaultKind] = {kind.name: kind for kind in kinds}

    def kind(self, name: str, params: Mapping[str, Any]) -> tuple[FaultKind, Params]:
        """Return a fault of the registry with its parameters, the given ones over the usual ones.

        Raises:
            UnknownFaultError: no such fault, no such parameter, or a value of another type.
        """
        kind = self.kinds.get(name)
        if kind is None:
            raise UnknownFaultError(f"no fault {name!r}: use one of {', '.join(sorted(self.kinds))}")
        complete: Params = {**COMMON, **kind.params}
        for key, value in params.items():
            if key not in complete:
                raise UnknownFaultError(f"{name} has no parameter {key!r}: use {', '.join(sorted(complete))}")
            if type(value) is not type(complete[key]):
                raise UnknownFaultError(f"{name}: {key} takes a value such as {complete[key]!r}")
            complete[key] = value
        able = {"", kind.on, *(["post"] if kind.post else []), *(["page"] if kind.effect or kind.act else [])}
        if complete["on"] not in able:
            raise UnknownFaultError(f"{name}: on takes one of {', '.join(sorted(able - {''}))}")
        if complete["trigger"] not in (TRIGGERS if kind.effect else ("",)):
            raise UnknownFaultError(f"{name}: trigger takes pointer or press, for what the page itself does")
        return kind, complete

    def switch_on(
        self,
        name: str,
        bill_id: str = ANY_BILL,
        *,
        times: int | None = None,
        skip: int = 0,
        **params: str | int | bool,
    ) -> int:
        """Switch a fault on for one bill or all; return its number.

        Args:
            name: its name in the registry.
            bill_id: the bill, or `*`.
            times: how often it strikes; the registry's figure when None.
            skip: how many chances it lets pass first.
            params: what differs from the registry's parameters.
        """
        kind, _ = self.kind(name, params)
        remaining = kind.times if times is None else times
        with self._database.writing() as connection:
            cursor = connection.execute(
                "INSERT INTO faults (name, bill_id, params, remaining, skip) VALUES (?, ?, ?, ?, ?)",
                (name, bill_id, json.dumps(params), remaining, skip),
            )
            return int(cursor.lastrowid or 0)

    def switch_off(self, name: str | None = None, bill_id: str | None = None) -> None:
        """Switch off all faults of that name and bill; None stands for any."""
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM faults WHERE (:n IS NULL OR name = :n) AND (:b IS NULL OR bill_id = :b)",
                {"n": name, "b": bill_id},
            )
            if name is None and bill_id is None:
                connection.execute("DELETE FROM page_events")

    def listing(self) -> list[dict[str, Any]]:
        """Return the faults that were switched on, with how often each struck."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT * FROM faults ORDER BY id").fetchall()
        return [{**dict(row), "params": json.loads(row["params"])} for row in rows]

    def take(self, moment: Moment, target: Target, *, most: int = 16) -> list[Strike]:
        """Return the faults that strike this target now, and count them down."""
        if not self._matching_rows(moment, target):
            return []
        strikes: list[Strike] = []
        with self._database.writing() as connection:
            for row, strike in self._matching(connection, moment, target):
                if row["skip"] > 0:
                    connection.execute("UPDATE faults SET skip = skip - 1 WHERE id = ?", (row["id"],))
                    continue
                if len(strikes) == most:
                    break
                connection.execute(
                    "UPDATE faults SET remaining = remaining - 1, triggered = triggered + 1 WHERE id = ?",
                    (row["id"],),
                )
                strikes.append(strike)
        return strikes

    def active(self, moment: Moment, target: Target) -> bool:
        """Return whether a fault of this moment is on for the target, without counting it down."""
        return bool(self._matching_rows(moment, target))

    def _matching_rows(self, moment: Moment, target: Target) -> list[tuple[sqlite3.Row, Strike]]:
        with self._database.reading() as connection:
            return self._matching(connection, moment, target)

    def _matching(
        self, connection: sqlite3.Connection, moment: Moment, target: Target
    ) -> list[tuple[sqlite3.Row, Strike]]:
        rows = connection.execute(
            "SELECT * FROM faults WHERE remaining IS NULL OR remaining > 0 ORDER BY bill_id = '*', id"
        ).fetchall()
        found = []
        for row in rows:
            kind, params = self.kind(row["name"], json.loads(row["params"]))
            strike = Strike(kind=kind, bill_id=row["bill_id"], params=params)
            if _strikes(strike, moment, target):
                found.append((row, strike))
        return found


def _strikes(strike: Strike, moment: Moment, target: Target) -> bool:
    on = strike.params["on"] or strike.kind.on
    if on != moment or strike.params["tenant"] not in ("", target.tenant):
        return False
    account = strike.params["account"]
    if account not in ("", target.account):
        return False
    if account == "" and target.role is Role.READBACK and moment not in {"render", "rest"}:
        # The independent reader must not use up a fault that is meant for the writer.
        return False
    if moment not in {"post", "rest"} and target.page not in strike.kind.pages:
        return False
    return strike.bill_id == ANY_BILL or strike.bill_id in target.bill_ids
