"""Read lane: the bill lists as they were fetched, as a table for the warehouse (B14).

Rules enforced here:

* The rows are those of the original bytes, which are kept as a blob; nothing is taken from anywhere else. Each row says
  which event fetched it, when, from where and as whom.
* Columns are the fields of the answers, in order of first appearance. Decimal numbers and nested values stay text,
  exactly as they came: an amount is never a float.
* A list whose bytes have another shape, or another number of rows than was recorded, is an error, not a shorter table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from domain import events as e
from domain.envelope import Recorded
from domain.errors import IntegrityError
from domain.ids import Sha256
from projections.exports.report.tables import Cell, Column, Kind, Table
from projections.masking import Masks

OWN: tuple[Column, ...] = (
    Column(name="fetched_event", kind="count"),
    Column(name="fetched_at", kind="time"),
    Column(name="fetched_from"),
    Column(name="fetched_as"),
    Column(name="row", kind="count"),
)
_SAFE = 2**63 - 1


class Blobs(Protocol):
    """Where the lists are kept."""

    def get(self, sha256: Sha256) -> bytes:
        """Bytes of a blob, checked against its name."""
        ...


@dataclass(frozen=True, slots=True)
class _Line:
    own: tuple[Cell, ...]
    fields: dict[str, Any]


def bill_table(
    events: Iterable[Recorded], blobs: Blobs, *, newest_only: bool = True, masks: Masks | None = None
) -> Table:
    """Bills of the newest fetched list, or of every one.

    Args:
        events: of one tenant, in order of its log; others than ``bill_list.fetched`` are passed over.
        blobs: where the original bytes are.
        newest_only: leave out all lists but the last.
        masks: texts that may no longer be shown.

    Raises:
        IntegrityError: the bytes are not the list that was recorded.
    """
    lists = [
        (recorded, recorded.event) for recorded in events if isinstance(recorded.event, e.BillListFetched)
    ]
    lines = [
        line
        for one in (lists[-1:] if newest_only else lists)
        for line in _lines(*one, blobs, masks or Masks())
    ]
    names = list(dict.fromkeys(name for line in lines for name in line.fields))
    kinds = {name: _kind([line.fields.get(name) for line in lines]) for name in names}
    own = {column.name for column in OWN}
    titles = {name: f"bill_{name}" if name in own else name for name in names}
    return Table(
        name="bills",
        title="Bills",
        about="The list of bills as it was fetched.",
        columns=(*OWN, *(Column(name=titles[name], kind=kinds[name]) for name in names)),
        rows=tuple(
            (*line.own, *(_cell(kinds[name], line.fields.get(name)) for name in names)) for line in lines
        ),
    )


def _lines(recorded: Recorded, fact: e.BillListFetched, blobs: Blobs, masks: Masks) -> list[_Line]:
    where = f"bill list of event {recorded.row.position}"
    try:
        pages = [
            json.loads(page, parse_float=str)
            for page in blobs.get(fact.blob).decode().split("\n")
            if page.strip()
        ]
        rows = [row for page in pages for row in _rows(masks.plain(page))]
    except (ValueError, TypeError) as error:
        raise IntegrityError(f"the list has another shape: {error}", where=where) from error
    if len(rows) != fact.rows:
        raise IntegrityError(f"the list has {len(rows)} rows, recorded were {fact.rows}", where=where)
    at = (recorded.row.position, recorded.envelope.occurred_at_us, fact.source, fact.account)
    return [_Line((*at, number), row) for number, row in enumerate(rows, 1)]


def _rows(page: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON edge
    """Rows of one page: the page itself, or its only list of objects."""
    if not isinstance(page, dict | list):
        message = f"{page!r} holds no rows"
        raise TypeError(message)
    lists = (
        [page] if isinstance(page, list) else [value for value in page.values() if isinstance(value, list)]
    )
    found = [rows for rows in lists if all(isinstance(row, dict) for row in rows)]
    if len(found) != 1:
        message = f"{len(found)} lists of rows where one is expected"
        raise ValueError(message)
    return found[0]


def _kind(values: list[Any]) -> Kind:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return "flag"
    whole = all(
        isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _SAFE for value in present
    )
    return "count" if present and whole else "text"


def _cell(kind: Kind, value: Any) -> Cell:  # noqa: ANN401 - JSON edge
    if value is None or kind in {"flag", "count"}:
        return value  # type: ignore[no-any-return]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
