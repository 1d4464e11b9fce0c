"""Plain effects of a month in columns: a block of the log is one page, read in one piece.

Rules enforced here:

* A page is disposable: it says what the stored rows of its group say, and is made again when it may not.
* A row enters a group only by an event of the group's block, so a page made after the block's end lacks nothing; the
  block in which the log ends is always read anew.
* A row that has left its group since is odd now, which its month's odd ones say, or stands in a later page as well, and
  then is looked at for standing twice: pages out of date cost time, and nothing else.
* Bills are compared by their bytes; hashes only find candidates, and two bills of one hash are both looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from domain.ids import TenantId
from projections.settlement.effects import BLOCK, Effect, Effects, plain_group
from projections.tables import METADATA, ROWS

Bytes = npt.NDArray[np.bytes_]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

PAGES: Final = sa.Table(
    "effect_pages",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("grouped", sa.String(400), primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


class Identity(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is needed of an effect only when somebody looks at it."""

    bill_id: str
    key: str
    task: str
    confirmed: bool


class _Page(msgspec.Struct, frozen=True, array_like=True):
    """A group's effects; numbers are little-endian and of eight bytes."""

    width: int
    """Bytes of a bill; shorter ones are filled with NUL."""
    bills: memoryview
    amounts: memoryview
    tail_codes: memoryview
    tails: list[str]
    identities: memoryview
    """JSON list of ``Identity``."""


@dataclass(frozen=True, slots=True)
class Columns:
    """All plain effects of a month."""

    bills: Bytes
    amounts: Ints
    tail_codes: Ints
    tails: list[str]
    _identities: list[memoryview]

    def identities(self) -> Iterator[Identity]:
        """In the order of the columns."""
        for part in self._identities:
            yield from msgspec.json.decode(part, type=list[Identity])


def read_columns(
    connection: sa.Connection, tenant: TenantId, month: str, *, end: int, counted: bool = False
) -> Columns:
    """The month's plain effects by the stored rows; ``end`` is the position that these are true for.

    Pages that have to be made are stored with the connection's transaction. Rows that have left a group since its page
    was made are still in it unless the rows are ``counted``, which takes as long as all the rest.
    """
    view = Effects()
    place = (ROWS.c.view == view.name, ROWS.c.version == view.version, ROWS.c.tenant == tenant)
    kept = sa.select(PAGES.c.grouped, PAGES.c.count, PAGES.c.body).where(
        PAGES.c.version == view.version, PAGES.c.tenant == tenant, *_within(PAGES, month)
    )
    stored = {group: (int(count), body) for group, count, body in connection.execute(kept)}
    groups = (
        _counts(connection, place, month) if counted else dict.fromkeys(_groups(connection, place, month))
    )
    pages: list[_Page] = []
    for group, rows in sorted(groups.items()):
        count, body = stored.get(group, (-1, b""))
        if count < 0 or rows not in {None, count}:
            chosen = sa.select(ROWS.c.body).where(*place, ROWS.c.grouped == group)
            effects = [msgspec.json.decode(row, type=Effect) for row in connection.execute(chosen).scalars()]
            body = msgspec.msgpack.encode(_made(effects))
            _store(connection, tenant, group, len(effects), body, end=end)
        pages.append(msgspec.msgpack.decode(body, type=_Page))
    return _joined(pages)


def _within(table: sa.Table, month: str) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.grouped >= plain_group(month, 0), table.c.grouped < f"{month}$"


def _counts(
    connection: sa.Connection, place: tuple[sa.ColumnElement[bool], ...], month: str
) -> dict[str, int | None]:
    chosen = sa.select(ROWS.c.grouped, sa.func.count()).where(*place, *_within(ROWS, month))
    return {group: int(count) for group, count in connection.execute(chosen.group_by(ROWS.c.grouped))}


def _groups(
    connection: sa.Connection, place: tuple[sa.ColumnElement[bool], ...], month: str
) -> Iterator[str]:
    """Names of the groups, each found from the one before in the index, without a look at their rows."""
    low, high = f"{month}#", f"{month}$"
    # One bound below: of two, SQLite would use the first that is written.
    beyond = (*place, ROWS.c.grouped > sa.bindparam("last"), ROWS.c.grouped < high)
    next_group = sa.select(ROWS.c.grouped).where(*beyond).order_by(ROWS.c.grouped).limit(1)
    found: str | None = connection.execute(next_group, {"last": low}).scalar()
    while found is not None:
        yield found
        found = connection.execute(next_group, {"last": found}).scalar()


def _store(
    connection: sa.Connection, tenant: TenantId, group: str, count: int, body: bytes, *, end: int
) -> None:
    """Keep a page if its block is past; the one in which the log ends still grows."""
    version = Effects().version
    connection.execute(
        sa.delete(PAGES).where(PAGES.c.version <= version, PAGES.c.tenant == tenant, PAGES.c.grouped == group)
    )
    if (int(group.rpartition("#")[2]) + 1) * BLOCK <= end:
        connection.execute(
            sa.insert(PAGES).values(version=version, tenant=tenant, grouped=group, count=count, body=body)
        )


def _made(effects: Sequence[Effect]) -> _Page:
    bills = as_bytes([effect.bill for effect in effects])
    codes: dict[str, int] = {}
    tail_codes = [codes.setdefault(effect.tail, len(codes)) for effect in effects]
    identities = [Identity(effect.bill_id, effect.key, effect.task, effect.confirmed) for effect in effects]
    return _Page(
        width=bills.dtype.itemsize,
        bills=memoryview(bills.tobytes()),
        amounts=np.array([effect.amount_minor for effect in effects], dtype="<i8").data.cast("B"),
        tail_codes=np.array(tail_codes, dtype="<i8").data.cast("B"),
        tails=list(codes),
        identities=memoryview(msgspec.json.encode(identities)),
    )


def _joined(pages: Sequence[_Page]) -> Columns:
    codes: dict[str, int] = {}
    bills, amounts, tails = [np.zeros(0, "S1")], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for page in pages:
        bills.append(np.frombuffer(page.bills, dtype=f"S{page.width}"))
        amounts.append(np.frombuffer(page.amounts, dtype="<i8"))
        own = np.array([codes.setdefault(tail, len(codes)) for tail in page.tails], dtype=np.int64)
        tails.append(own[np.frombuffer(page.tail_codes, dtype="<i8")] if len(own) else own)
    return Columns(
        bills=np.concatenate(bills),
        amounts=np.concatenate(amounts),
        tail_codes=np.concatenate(tails),
        tails=list(codes),
        _identities=[page.identities for page in pages],
    )


def as_bytes(bills: Sequence[str]) -> Bytes:
    """UTF-8 of the bills, all of one width; none may hold a NUL."""
    if not bills:
        return np.zeros(0, "S1")
    try:
        return np.array(bills, dtype=np.bytes_)
    except UnicodeEncodeError:
        return np.array([bill.encode() for bill in bills], dtype=np.bytes_)


def hashes(bills: Bytes) -> Hashes:
    """One number a bill, whatever the width; equal bills have equal ones, and others may."""
    width = -(-bills.dtype.itemsize // 8) * 8
    words = bills.astype(f"S{width}").view("<u8").reshape(len(bills), width // 8)
    found = np.zeros(len(bills), dtype=np.uint64)
    for column in range(words.shape[1]):
        word = words[:, column]
        mixed = (found ^ word) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
        found = np.where(word == 0, found, mixed)  # padding doesn't count
    return found
