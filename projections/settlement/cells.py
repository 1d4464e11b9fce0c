"""Cells of a row to the values of a line.

Rules: ids are text and stay text; an id that a spreadsheet has rounded is refused, not guessed; local times are read
in the profile's zone; padding, backticks, tabs and no-break spaces that exports put around values are not data.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

_ROUNDED_ID = re.compile(r"[0-9](?:[.,][0-9]+)?[eE]\+?[0-9]+")
_FORMULA_TEXT = re.compile(r'="(.*)"', re.DOTALL)
_PADDING = " \t\r\n`'\u00a0\u202f\u2007\u3000\ufeff"
_ISO = "%Y-%m-%d %H:%M:%S"


class CellRefused(ValueError):
    """The value can't be used; the message says why."""


def clean_text(value: str) -> str:
    """The value without the padding that exports put around it."""
    return value.strip(_PADDING)


def clean_key(value: str) -> str:
    """An id: padding and Excel's ``="…"`` removed, full-width characters folded; ``CellRefused`` when rounded."""
    key = value.strip(_PADDING)
    if not key.isascii():
        key = "".join(c for c in unicodedata.normalize("NFKC", key) if unicodedata.category(c) != "Cf")
    if key[:1] == "=" and (wrapped := _FORMULA_TEXT.fullmatch(key)):
        key = wrapped[1].strip(_PADDING)
    if ("E" in key or "e" in key) and _ROUNDED_ID.fullmatch(key):
        raise CellRefused("scientific notation: a spreadsheet has destroyed the number")
    return key


def clean_label(value: str) -> str:
    """A header or label for comparison: folded, lower case, inner white space reduced."""
    return " ".join(unicodedata.normalize("NFKC", value).strip(_PADDING).lower().split())


def time_parser(formats: Sequence[str], zone: ZoneInfo) -> Callable[[str], int]:
    """A function from local time text to microseconds since 1970 (UTC); it raises ``CellRefused``."""
    epoch = datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))
    days: dict[str, int] = {}
    second_us = 1_000_000

    def slow(text: str) -> int:
        for known in formats:
            try:
                moment = datetime.strptime(text, known)  # noqa: DTZ007 - the zone is the profile's, set below
            except ValueError:
                continue
            aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
            elapsed = aware - epoch
            return (elapsed.days * 86_400 + elapsed.seconds) * second_us + elapsed.microseconds
        raise CellRefused(f"no time in the form {' or '.join(formats)}")

    if formats[0] != _ISO or zone.utcoffset(datetime(2020, 1, 1)) != zone.utcoffset(datetime(2020, 7, 1)):  # noqa: DTZ001
        return slow

    def fast(text: str) -> int:
        # Zones without daylight saving: midnight once a day, the rest is arithmetic (a million rows a second).
        if len(text) == 19 and text[10] == " " and text[13] == ":" == text[16]:  # noqa: PLR2004 - the form's length
            day, hour, minute, second = text[:10], text[11:13], text[14:16], text[17:]
            try:
                midnight = days.get(day)
                if midnight is None:
                    midnight = days[day] = slow(f"{day} 00:00:00")
                if hour < "24" and minute < "60" and second < "60" and text.isascii():
                    return midnight + (int(hour) * 3600 + int(minute) * 60 + int(second)) * second_us
            except ValueError:
                return slow(text)
        return slow(text)

    return fast
