"""The settlement file of a month, as such vendors make it.

Rules of this module:

* Some lines of preamble, a heading, one line for each booking, and a closing line with the number of lines and
  the sum of each currency. The month is the booking's, which a form can get wrong.
* Encoding is UTF-8 with a byte order mark (Excel needs it) or GB18030; lines end in CRLF (RFC 4180).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from executor.sandbox.portal.i18n import Translator
from executor.sandbox.portal.model import LedgerLine, money
from executor.sandbox.portal.web import local_time

COLUMNS = (
    "line_id",
    "bill_id",
    "counterparty_id",
    "counterparty",
    "kind",
    "amount",
    "currency",
    "at",
    "account",
)


def settlement_file(
    lines: Sequence[LedgerLine],
    *,
    tenant: str,
    month: str,
    exported_at: str,
    lang: str,
    encoding: str,
    backtick: bool,
) -> bytes:
    """Return the file's bytes. `backtick` puts ` before ids, so that spreadsheets keep them as text."""
    t = Translator(lang)
    tick = "`" if backtick else ""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([t("file_title")])
    writer.writerow([t("file_month"), month])
    writer.writerow([t("file_merchant"), tenant])
    writer.writerow([t("file_exported"), local_time(exported_at)])
    writer.writerow([])
    writer.writerow([*(t(column) for column in COLUMNS), t("status")])
    for line in lines:
        writer.writerow(
            [
                tick + line.line_id,
                tick + line.bill_id,
                tick + line.counterparty_id,
                line.counterparty,
                t(f"kind_{line.kind}"),
                line.amount,
                line.currency,
                local_time(line.at),
                line.account,
                t("file_booked"),
            ]
        )
    writer.writerow([t("file_total"), len(lines), *_totals(lines)])
    return text.getvalue().encode(encoding)


def _totals(lines: Sequence[LedgerLine]) -> list[str]:
    sums: dict[str, int] = {}
    for line in lines:
        sums[line.currency] = sums.get(line.currency, 0) + line.amount_minor
    return [f"{currency} {money(amount, currency)}" for currency, amount in sorted(sums.items())]
