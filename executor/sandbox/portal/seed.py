"""Bills and log-ins to start with, the same for the same seed.

Rules of this module:

* Amounts are integers of minor units. Most bills are in CNY, every seventh of a tenant in JPY.
* Numbers are shared by all tenants and given in order of time, as one vendor database would.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from executor.sandbox.portal.arrivals import next_bill_id
from executor.sandbox.portal.book import Book
from executor.sandbox.portal.db import Database, iso
from executor.sandbox.portal.model import Account, Bill, Role, Status

COUNTERPARTIES: Final = (
    ("V10011", "杭州云栖供应链管理有限公司"),
    ("V10012", "上海申达国际货运代理有限公司"),
    ("V10013", "深圳市鹏程电子商务有限公司"),
    ("V10014", "广州南粤冷链物流有限公司"),
    ("V10015", "北京中关村软件服务有限公司"),
    ("V10016", "成都天府食品贸易有限公司"),
    ("V10017", "苏州工业园区精密制造有限公司"),
    ("V10018", "青岛海丰水产进出口有限公司"),
    ("V10019", "武汉江城印务包装有限公司"),
    ("V10020", "厦门鹭岛茶业有限公司"),
    ("V10021", "宁波北仑港务仓储有限公司"),
    ("V10022", "西安秦岭医药配送有限公司"),
)
"""Ids and names of the vendor's customers."""

STRANGERS: Final = (("V97777", "义乌市恒昌百货经营部"), ("V90001", "深圳市顺捷达物流有限公司"))
"""Counterparties that no seeded bill has; some faults book in their name."""

ACCOUNTS: Final = (
    ("svc-acme", "acme", Role.SERVICE, "acme 自动处理"),
    ("svc-acme-2", "acme", Role.SERVICE, "acme 自动处理 2"),
    ("readback-acme", "acme", Role.READBACK, "acme 核对"),
    ("wang.li", "acme", Role.CLERK, "王丽"),
    ("svc-globex", "globex", Role.SERVICE, "globex 自动处理"),
    ("readback-globex", "globex", Role.READBACK, "globex 核对"),
    ("zhao.min", "globex", Role.CLERK, "赵敏"),
)
"""Name, tenant, role and display name of the usual log-ins."""

USUAL_COUNTS: Final[Mapping[str, int]] = MappingProxyType({"acme": 30, "globex": 8})
"""Bills for each tenant."""

_JPY_EVERY: Final = 7
_OCTOBER_SHARE: Final = 0.3


def usual_accounts() -> tuple[Account, ...]:
    """Return the usual log-ins, each with a new random password."""
    return tuple(
        Account(name=name, password=secrets.token_urlsafe(12), tenant=tenant, role=role, display=display)
        for name, tenant, role, display in ACCOUNTS
    )


def seed(
    database: Database, counts: Mapping[str, int] = USUAL_COUNTS, *, number: int = 2026
) -> dict[str, list[str]]:
    """Fill an empty portal; return the ids of each tenant's bills, oldest first.

    A portal that has bills already is left alone and its ids are returned.

    Args:
        database: the portal's file.
        counts: how many bills for each tenant.
        number: the seed; the same number gives the same bills.
    """
    with database.writing() as connection:
        present = connection.execute("SELECT tenant, id FROM bills ORDER BY created_at, id").fetchall()
        if not present:
            book = Book(database)
            for drawn in _draw(counts, random.Random(number)):  # noqa: S311 - data, not secrets
                bill_id = next_bill_id(connection, drawn.month)
                book.insert(connection, [replace(drawn, id=bill_id)])
            connection.executemany("INSERT OR IGNORE INTO counterparties (id, name) VALUES (?, ?)", STRANGERS)
            present = connection.execute("SELECT tenant, id FROM bills ORDER BY created_at, id").fetchall()
    ids: dict[str, list[str]] = {tenant: [] for tenant in counts}
    for row in present:
        ids.setdefault(row["tenant"], []).append(row["id"])
    return ids


def _draw(counts: Mapping[str, int], chance: random.Random) -> list[Bill]:
    bills = []
    for tenant, count in counts.items():
        for index in range(count):
            month, start = ("2026-10", 5) if chance.random() < _OCTOBER_SHARE else ("2026-11", 2)
            year, number = int(month[:4]), int(month[5:])
            created = datetime(year, number, start, 1, tzinfo=UTC) + timedelta(
                seconds=chance.randrange(24 * 86_400)
            )
            counterparty_id, counterparty = chance.choice(COUNTERPARTIES)
            japanese = index % _JPY_EVERY == _JPY_EVERY - 1
            amount = chance.randrange(1_000, 900_000) * (10 if japanese else 1)
            bills.append(
                Bill(
                    id="",
                    tenant=tenant,
                    counterparty_id=counterparty_id,
                    counterparty=counterparty,
                    month=month,
                    amount_minor=amount,
                    currency="JPY" if japanese else "CNY",
                    status=Status.PENDING,
                    created_at=iso(created),
                    updated_by="import",
                    updated_at=iso(created),
                    handled=None,
                )
            )
    return sorted(bills, key=lambda bill: (bill.created_at, bill.tenant))
