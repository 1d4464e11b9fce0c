"""Month files for tests: real bytes through the real import."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain.values import format_minor
from projections.settlement.importer import read_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile

WORDS = {"process": "Process", "refund": "Refund", "undo": "Undo", "fee": "Fee"}
BEIJING = timedelta(hours=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLine:
    """One booking of the vendor."""

    bill: str = "B1"
    amount_minor: int = 12_000
    kind: str = "process"
    account: str = "acme-bot"
    counterparty: str = "Northwind"
    counterparty_id: str = ""
    currency: str = "CNY"
    at_us: int = 1_793_000_100_000_000
    line_id: str = ""
    raw_amount: str = ""
    """Text in place of the amount, to damage a row."""


def month_bytes(
    *lines: FileLine, month: str = "2026-11", declared: int | None = None, extra_minor: int = 0
) -> bytes:
    """The portal's file in English; ``declared`` and ``extra_minor`` falsify the trailer."""
    rows = [
        "Yunhuitong merchant settlement",
        f"Month,{month}",
        "Merchant,acme",
        "",
        "Line no.,Bill no.,Counterparty no.,Counterparty,Type,Amount,Currency,Time,Account,Status",
    ]
    totals: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        at = (datetime.fromtimestamp(line.at_us / 1_000_000, UTC) + BEIJING).strftime("%Y-%m-%d %H:%M:%S")
        amount = line.raw_amount or format_minor(line.amount_minor, line.currency)
        name = line.line_id or f"JS202611-{number:06d}"
        rows.append(
            f"{name},{line.bill},{line.counterparty_id},{line.counterparty},{WORDS[line.kind]},{amount},"
            f"{line.currency},{at},{line.account},Booked"
        )
        totals[line.currency] = totals.get(line.currency, 0) + line.amount_minor
    said = ",".join(
        f"{currency} {format_minor(total + extra_minor, currency)}"
        for currency, total in sorted(totals.items())
    )
    rows.append(f"Total,{len(lines) if declared is None else declared},{said}")
    return "\r\n".join(rows).encode("utf-8-sig")


def month_file(
    *lines: FileLine, month: str = "2026-11", declared: int | None = None, extra_minor: int = 0
) -> SettlementFile:
    """The same, imported."""
    data = month_bytes(*lines, month=month, declared=declared, extra_minor=extra_minor)
    return read_settlement(data, load_profile("portal"), file_name=f"{month}.csv")
