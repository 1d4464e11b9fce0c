"""Plain effects of a month in columns: a block of the log is one page, read in one piece.

Rules enforced here:

* A page is disposable: it says what the stored rows of its group say, and is made again when it may not.
* A row enters a group only by an event of the group's block, so a page made after the block's end is true as long as
  its group has as many rows; the block in which the log ends is always read anew.
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
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

PAGES: Final = sa.Table(
    "effect_pages",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("grouped", sa.String(400), primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
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


def read_columns(connection: sa.Connection, tenant: TenantId, month: str, *, end: int) -> Columns:
    """The month's plain effects by the stored rows; ``end`` is the position that these are true for.

    Pages that had to be made are stored with the connection's transaction.
    """
    view = Effects()
    place = (ROWS.c.view == view.name, ROWS.c.version == view.version, ROWS.c.tenant == tenant)
    low, high = plain_group(month, 0), f"{month}$"
    within = (ROWS.c.grouped >= low, ROWS.c.grouped < high)
    counted = sa.select(ROWS.c.grouped, sa.func.count()).where(*place, *within).group_by(ROWS.c.grouped)
    counts = {group: int(count) for group, count in connection.execute(counted)}
    kept = sa.select(PAGES.c.grouped, PAGES.c.count, PAGES.c.body).where(
        PAGES.c.version == view.version,
        PAGES.c.tenant == tenant,
        PAGES.c.grouped >= low,
        PAGES.c.grouped < high,
        PAGES.c.closed,
    )
    stored = {group: (int(count), body) for group, count, body in connection.execute(kept)}
    pages: list[_Page] = []
    for group in sorted(counts):
        count, body = stored.get(group, (-1, b""))
        if count != counts[group]:
            chosen = sa.select(ROWS.c.body).where(*place, ROWS.c.grouped == group)
            effects = [msgspec.json.decode(row, type=Effect) for row in connection.execute(chosen).scalars()]
            body = msgspec.msgpack.encode(_made(effects))
            closed = (int(group.rpartition("#")[2]) + 1) * BLOCK <= end
            _store(connection, tenant, group, len(effects), body, closed=closed)
        pages.append(msgspec.msgpack.decode(body, type=_Page))
    return _joined(pages)


def _store(
    connection: sa.Connection, tenant: TenantId, group: str, count: int, body: bytes, *, closed: bool
) -> None:
    version = Effects().version
    connection.execute(
        sa.delete(PAGES).where(PAGES.c.version <= version, PAGES.c.tenant == tenant, PAGES.c.grouped == group)
    )
    if closed:
        connection.execute(
            sa.insert(PAGES).values(
                version=version, tenant=tenant, grouped=group, count=count, closed=True, body=body
            )
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
