"""Amount text as vendors write it, to signed minor units.

Rules: the profile says which mark is the decimal one and which group, nothing is guessed; a text that could mean two
amounts is refused; grouping marks must stand where groups end; a currency sign must fit the row's currency.
Sources: files that broke other importers, ``-3.000`` (thousands or three?), ``1'000'000,00``, ``-110.7 €``,
``7 000`` with a no-break space, full-width digits, ``(12.00)``, ``12.00-``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from domain.values import exponent, to_minor

_SIGNS: Final[dict[str, frozenset[str]]] = {
    "¥": frozenset({"CNY", "JPY"}),
    "元": frozenset({"CNY"}),
    "円": frozenset({"JPY"}),
    "원": frozenset({"KRW"}),
    "₩": frozenset({"KRW"}),
    "€": frozenset({"EUR"}),
    "£": frozenset({"GBP"}),
    "$": frozenset({"USD", "HKD", "AUD", "CAD", "SGD", "NZD", "TWD"}),
}
_MINUS: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))
"""Hyphens, dashes and the minus sign that stand for one another in exports."""
_SCIENTIFIC: Final = re.compile(r"[0-9.]+[eE][+-]?[0-9]+")
_CODE: Final = re.compile(r"[A-Z]{3}")
_AMBIGUOUS_DIGITS: Final = 3
MAX_DIGITS: Final = 15
"""Longer amounts would leave the 53 bits that the record can store; no bill is that large."""


class AmountRefused(ValueError):
    """The text is not one amount; the message says why, in words for the list of refused rows."""


def parse_amount(
    text: str, currency: str, *, decimal: str = ".", grouping: str = ",", extra_digits: bool = False
) -> int:
    """Signed minor units of ``text``; ``AmountRefused`` says what is wrong.

    ``grouping`` lists the characters that may separate groups. ``extra_digits`` accepts three decimals in a two-digit
    currency as decimals (payment formats that define the mark); otherwise ``3.000`` is refused as ambiguous.
    """
    plain, negative = _unsigned(_clean(text), currency)
    if _SCIENTIFIC.fullmatch(plain):
        raise AmountRefused("scientific notation: a spreadsheet has rounded the amount")
    whole, mark, fraction = plain.partition(decimal)
    if mark and (not fraction.isdigit() or not fraction.isascii()):
        raise AmountRefused(f"no plain digits after the decimal mark {decimal!r}")
    grouped = _ungroup(whole, grouping)
    if len(grouped) > MAX_DIGITS:
        raise AmountRefused(f"more than {MAX_DIGITS} digits")
    ambiguous = (
        mark
        and not extra_digits
        and len(fraction) == _AMBIGUOUS_DIGITS != exponent(currency)
        and grouped == whole
        and len(whole) <= _AMBIGUOUS_DIGITS
        and whole.strip("0")
    )
    if ambiguous:
        raise AmountRefused(
            f"ambiguous: {decimal!r} may mark decimals or thousands in {currency}; the profile must say which"
        )
    try:
        minor = to_minor(f"{grouped}.{fraction or '0'}", currency)
    except ValueError as error:
        raise AmountRefused(f"more decimals than {currency} has") from error
    return -minor if negative else minor


def _clean(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_MINUS)
    visible = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return visible.strip().strip("`'").strip()


def _unsigned(text: str, currency: str) -> tuple[str, bool]:
    """The bare number and whether it is negative; signs and currency marks may stand on either side."""
    body, marks = text, 0
    if body.startswith("(") and body.endswith(")"):
        body, marks = body[1:-1].strip(), marks + 1
    for _ in range(4):  # sign and currency mark in any order, on either side
        if body[:1] in {"-", "+"}:
            marks += body[0] == "-"
            body = body[1:].strip()
        elif body[-1:] == "-":
            body, marks = body[:-1].strip(), marks + 1
        elif body[:1] in _SIGNS or body[-1:] in _SIGNS:
            sign = body[0] if body[0] in _SIGNS else body[-1]
            if currency not in _SIGNS[sign]:
                raise AmountRefused(f"currency sign {sign} in a row of {currency}")
            body = body.strip(sign).strip()
        elif _CODE.fullmatch(body[:3]) or _CODE.fullmatch(body[-3:]):
            code = body[:3] if _CODE.fullmatch(body[:3]) else body[-3:]
            if code != currency:
                raise AmountRefused(f"currency {code} in a row of {currency}")
            body = body.removeprefix(code).removesuffix(code).strip()
        else:
            break
    if marks > 1:
        raise AmountRefused("two minus signs")
    if not body:
        raise AmountRefused("no amount")
    return body, marks == 1


def _ungroup(whole: str, grouping: str) -> str:
    """Digits of the whole part; separators must be one character and stand at thousands."""
    if whole.isascii() and whole.isdigit():
        return whole
    used = {c for c in whole if not (c.isascii() and c.isdigit())}
    if not whole or len(used) != 1 or not used <= set(grouping):
        raise AmountRefused(
            f"{whole!r} is no whole number" + (f" with {grouping!r} as grouping" if grouping else "")
        )
    first, *groups = whole.split(used.pop())
    if not 1 <= len(first) <= _AMBIGUOUS_DIGITS or any(len(group) != _AMBIGUOUS_DIGITS for group in groups):
        raise AmountRefused(f"grouping marks of {whole!r} don't stand at thousands")
    return first + "".join(groups)
