"""``clock_skew``: two clocks put the write into two months.

Decisive: the appender's and the store's time of the write lie in different months of the vendor's zone, further apart
than the tolerance. ``supported`` when the file shows the effect in the month that only one of them names, else
undecidable. Counter-evidence: a readback before the month's end that shows the effect, which makes the clocks
irrelevant.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from domain.envelope import Recorded
from projections.settlement.causes import Finding
from projections.settlement.rules.base import Question, absent, conclusive, event, line_of, looked

TOLERANCE_US: Final = 120 * 1_000_000
"""Clocks kept by NTP and appends that wait for a lock stay well below two minutes."""


def month_of(at_us: int, zone: str) -> str:
    """``YYYY-MM`` of a time in a zone."""
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).astimezone(ZoneInfo(zone)).strftime("%Y-%m")


def skewed(recorded: Recorded) -> bool:
    """True if appender and store disagree about the time of this event beyond the tolerance."""
    return abs(recorded.row.recorded_at_us - recorded.envelope.occurred_at_us) > TOLERANCE_US


def judge(question: Question) -> Finding | None:
    """See the module."""
    zone = question.month.file.timezone
    for case, attempt in question.writes():
        at = attempt.at
        months = (month_of(at.envelope.occurred_at_us, zone), month_of(at.row.recorded_at_us, zone))
        if not skewed(at) or months[0] == months[1] or question.month.month not in months:
            continue
        readback = conclusive(case)
        shown = question.line is not None and question.difference.kind == "extra_in_file"
        return Finding(
            cause="clock_skew",
            verdict="supported" if shown else "undecidable",
            amount_minor=question.remaining if shown else 0,
            summary=f"The writer's clock puts the write into {months[0]}, the store's clock into {months[1]}.",
            reason="" if shown else "clocks_disagree_about_the_month",
            decisive=(event(at), line_of(question.line) if question.line else absent(question)),
            counter_evidence=(
                looked(
                    "an independent readback that fixes when the effect was there",
                    "readbacks of the bill",
                    (event(readback),) if readback else (),
                ),
            ),
        )
    return None
