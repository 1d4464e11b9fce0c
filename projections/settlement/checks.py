"""What the file says of itself against what was read.

Rules: counts and totals are compared with every readable booking row, refused ones included in the count only; a
difference is reported with both figures and changes nothing else.
"""

from __future__ import annotations

import re

from domain.values import format_minor
from projections.settlement.amounts import AmountRefused, parse_amount
from projections.settlement.formats.base import Row
from projections.settlement.lines import FileFinding, RowCounts
from projections.settlement.profiles import Profile
from projections.settlement.repeats import Repeated


class Declared:
    """Count, totals and month that preamble and trailer declare."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._patterns = [re.compile(pattern) for pattern in profile.declared]
        self.count: int | None = None
        self.totals: dict[str, int] = {}
        self.month = ""
        self.problems: list[tuple[int, str]] = []
        """What the format's own controls found wrong, with its line."""
        self.trailer_line = 0
        self.line = 0

    @property
    def trailer_missing(self) -> bool:
        """True if the profile demands a trailer and there is none: the file may be cut."""
        return self._profile.trailer_required and not self.trailer_line

    def look_at(self, row: Row) -> None:
        """Keep what one preamble or trailer row declares."""
        text = ",".join(cell.strip().strip("`\t") for cell in row.cells)
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                self._keep(match.groupdict(), row.line)

    def _keep(self, groups: dict[str, str | None], line: int) -> None:
        style = self._profile.amounts
        if count := groups.get("count"):
            self.count, self.line = (self.count or 0) + int(count), line
        if month := groups.get("month"):
            self.month = month
        if problem := groups.get("problem"):
            self.problems.append((line, problem))
        amount = groups.get("amount")
        if amount is None:
            return
        currency = groups.get("currency") or self._profile.currency.default
        currency = self._profile.currency.aliases.get(currency, currency)
        try:
            minor = sum(
                sign
                * parse_amount(
                    text, currency, decimal=style.decimal, grouping=style.grouping, extra_digits=True
                )
                for sign, text in ((1, amount), (-1, groups.get("minus")))
                if text is not None
            )
        except AmountRefused:
            return  # a total that can't be read declares nothing; the count still does
        self.totals[currency] = self.totals.get(currency, 0) + minor


def check_file(
    declared: Declared,
    counts: RowCounts,
    totals: dict[str, int],
    repeated: Repeated,
    month: str | None,
) -> tuple[FileFinding, ...]:
    """Findings in a fixed order: trailer, count, totals by currency, repeated ids, month, refused rows."""
    found: list[FileFinding] = []
    place = declared.trailer_line or declared.line
    if declared.trailer_missing:
        found.append(
            FileFinding(code="trailer_missing", what="the closing line is missing: the file may be cut")
        )
    booked = counts.accepted + counts.refused
    if declared.count is not None and declared.count != booked:
        what = f"the file declares {declared.count} rows, {booked} are there"
        found.append(
            FileFinding(code="count_mismatch", what=what, line=place, declared=declared.count, found=booked)
        )
    for currency in sorted(declared.totals):
        said, read = declared.totals[currency], totals.get(currency, 0)
        if said != read:
            what = (
                f"the file declares a total of {format_minor(said, currency)} {currency}, "
                f"its lines sum to {format_minor(read, currency)}"
            )
            found.append(
                FileFinding(
                    code="total_mismatch", what=what, line=place, declared=said, found=read, currency=currency
                )
            )
    found += [FileFinding(code="control_mismatch", what=what, line=line) for line, what in declared.problems]
    for first, later in repeated.pairs:
        what = f"line {later} has the line id of line {first}"
        found.append(FileFinding(code="repeated_line_id", what=what, line=later))
    if more := repeated.total - len(repeated.pairs):
        what = f"{more} more lines have the line id of another"
        found.append(FileFinding(code="repeated_line_id", what=what))
    if month and declared.month and month != declared.month:
        what = f"the file says it is for {declared.month}, it was imported for {month}"
        found.append(FileFinding(code="month_mismatch", what=what))
    if counts.refused:
        what = f"{counts.refused} of {counts.read} rows could not be imported"
        found.append(FileFinding(code="rows_refused", what=what, found=counts.refused))
    return tuple(found)
