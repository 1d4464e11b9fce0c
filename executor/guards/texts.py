"""Text as a business reads it: what is equal, what is contained, what only looks alike, and which amounts it holds.

Rules: comparison is exact after compatibility normalisation (NFKC) and squeezed white space; a value is contained
only as a whole word, so that ``INV-4114`` is not found in ``INV-4114-A``; control and bidirectional characters are
never ignored, they are reported.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from domain.values import to_minor

BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_PAIRS: Final = (
    # Letters that are drawn like Latin ones (Unicode TR 39, the common part), as code points.
    # Cyrillic small letters.
    (
        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d",
        "aeopcyxijsdhqw",
    ),
    # Cyrillic capital letters.
    (
        "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0405",
        "ABEKMHOPCTYXIS",
    ),
    # Greek small letters.
    (
        "\u03b1\u03bf\u03bd\u03c1\u03b9\u03ba\u03c4\u03c5",
        "aovpiktu",
    ),
    # Greek capital letters.
    (
        "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
        "ABEZHIKMNOPTYX",
    ),
    # Latin letters and digits among themselves; Han characters that differ in a stroke.
    ("I1|0", "lllO"),
    ("冇可末土曰己巳戍戌", "有司未士日已已戊戊"),
)
ALIKE: Final = str.maketrans({a: b for x, y in _PAIRS for a, b in zip(x, y, strict=True)})
LOOKS_LIKE: Final = 0.75
"""Share of equal characters (difflib's ratio) from which another text is called a look-alike."""
_START = r"(?<![\w.,])(?<!\w[-/])"
NUMBER: Final = re.compile(rf"{_START}[-−]?\d[\d,. ]*\d|{_START}[-−]?\d")
DATE: Final = re.compile(
    r"(?<!\d)20\d\d\s*[-/.年]\s*\d{1,2}(\s*[-/.月]\s*\d{1,2}日?)?(?!\d)|\d{1,2}:\d{2}(:\d{2})?"
)
MONTH: Final = re.compile(r"(?<!\d)(20\d\d)\s*(?:[-/.]|年)\s*(\d{1,2})(?!\d)(?!\s*[-/.]\s*\d)(?!\s*月\s*\d)")
SYMBOLS: Final = {
    "CNY": ("¥", "¥", "元", "人民币"),
    "JPY": ("¥", "¥", "円"),
    "USD": ("$",),
    "EUR": ("€",),
    "GBP": ("£",),
    "KRW": ("₩", "원"),
}


def squeezed(text: str) -> str:
    """NFKC with single spaces."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip()


def plain(text: str) -> str:
    """Normal form for comparison: squeezed, and no space between Han characters (``确 定``)."""
    return re.sub(r"(?<=[\u2e80-\u9fff]) (?=[\u2e80-\u9fff])", "", squeezed(text))


def same(one: str, other: str) -> bool:
    """Equal for a reader; case does not matter."""
    return plain(one).casefold() == plain(other).casefold()


def holds(text: str, value: str) -> bool:
    """True if ``text`` contains ``value`` as a whole."""
    needle = squeezed(value).casefold()
    if not needle:
        return False
    hay = squeezed(text).casefold()
    start = hay.find(needle)
    while start >= 0:
        end = start + len(needle)
        before, after = hay[start - 1 : start], hay[end : end + 1]
        if not (_goes_on(before, needle[0]) or _goes_on(after, needle[-1])):
            return True
        start = hay.find(needle, start + 1)
    return False


def _goes_on(neighbour: str, edge: str) -> bool:
    """Does the word go on beyond its edge?"""
    if not neighbour:
        return False
    if edge.isascii():
        return neighbour.isascii() and (neighbour.isalnum() or neighbour in "-_")
    return neighbour.isalnum() and not neighbour.isascii()


def odd_characters(text: str) -> tuple[str, ...]:
    """Control, format and bidirectional characters in a value, by code point (``U+202E``)."""
    odd = [c for c in text if c in BIDI or (unicodedata.category(c) in {"Cc", "Cf"} and c not in "\t\n\r")]
    return tuple(f"U+{ord(c):04X}" for c in dict.fromkeys(odd))


def looks_like(text: str, intended: str) -> bool:
    """True if ``text`` is another text that a reader would take for the intended one."""
    if same(text, intended):
        return False
    one, other = (plain(t).translate(ALIKE).casefold() for t in (text, intended))
    return one == other or difflib.SequenceMatcher(None, one, other).ratio() >= LOOKS_LIKE


def parse_amount(text: str, currency: str) -> int:
    """An amount as screens write it, in minor units: grouped, with point or comma as decimal mark.

    Raises:
        ValueError: it is not an amount, or has more digits than the currency.
    """
    bare = re.sub(r"[\s ]", "", plain(text)).replace("−", "-")
    bare = bare.removeprefix(currency).removesuffix(currency)
    for symbol in SYMBOLS.get(currency, ()):
        bare = bare.removeprefix(symbol).removesuffix(symbol)
    point, comma = bare.rfind("."), bare.rfind(",")
    if point >= 0 and comma >= 0:
        decimal = "." if point > comma else ","
    elif comma >= 0:
        decimal = "" if re.fullmatch(r"-?\d{1,3}(,\d{3})+", bare) else ","
    else:
        decimal = "."
    grouping = {".": ",", ",": ".", "": ","}[decimal]
    digits = bare.replace(grouping, "")
    if decimal == ",":
        digits = digits.replace(",", ".")
    if not re.fullmatch(r"-?\d+(\.\d+)?", digits):
        raise ValueError(f"{text!r} is not an amount")
    return to_minor(digits, currency)


def amounts(text: str, currency: str) -> Iterator[int]:
    """Every number of a drawn text that reads as an amount in minor units."""
    for match in NUMBER.finditer(DATE.sub(" ; ", unicodedata.normalize("NFKC", text))):
        for part in (match.group(), *match.group().split()):
            try:
                yield parse_amount(part, currency)
            except ValueError:
                continue


def months(text: str) -> tuple[str, ...]:
    """Accounting months in a drawn text, as ``YYYY-MM``; full dates are none."""
    return tuple(f"{year}-{int(month):02d}" for year, month in MONTH.findall(plain(text)))


def shows_currency(text: str, currency: str) -> bool:
    """True if the text names the currency by code or sign."""
    normal = unicodedata.normalize("NFKC", text)
    return holds(normal, currency) or any(sign in normal for sign in SYMBOLS.get(currency, ()))
