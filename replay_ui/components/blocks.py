"""Blocks: what a page shows, as plain data.

Rules enforced here:

- A block has texts, tones and addresses, never markup. The frontend writes texts with ``textContent``, so a text out of
  an audited page stays a text.
- An address is a path on this server; anything else is refused when the block is built.
- Money and times are formatted here, once: grouped digits with the currency's code, UTC with its zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote, urlencode

import msgspec

from domain.errors import ConfigError
from domain.values import exponent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Tone = Literal["ok", "stopped", "failed", "unknown", "none"]
Look = Literal["", "quiet", "strong", "mono", "name", "number", "chip", "button"]
"""``mono`` stays on one line, ``name`` may break anywhere: keys, hashes."""
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

Units = tuple[str, str, str, str]
"""Days, hours, minutes and seconds in the words of a language, each with ``{n}`` where the number stands."""


class _Base(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all blocks: what is at its default doesn't travel."""


class Span(_Base, frozen=True, kw_only=True):
    """A piece of text."""

    text: str
    look: Look = ""
    tone: Tone = "none"
    href: str = ""
    """Path on this server; empty for plain text."""
    new: bool = False
    """Open in a tab of its own: stored evidence, files."""
    tip: str = ""
    left_ms: int | None = None
    """Milliseconds until something is due, negative when it is late: the text then counts down where it is shown."""
    ticking: str = ""
    """The text while there is time left, and ``over`` when there is none; ``{time}`` is filled in."""
    over: str = ""
    units: Units | None = None
    """What the duration is said with."""
    low: int | None = None
    """Per mille, with ``high`` and ``at``: an interval drawn below the text."""
    high: int | None = None
    at: int | None = None

    def __post_init__(self) -> None:
        """Refuse an address elsewhere."""
        check_path(self.href)


Line = tuple[Span, ...]


class Cell(_Base, frozen=True, kw_only=True):
    """One or more lines."""

    lines: tuple[Line, ...] = ()


class Column(_Base, frozen=True, kw_only=True):
    """Heading of a column."""

    label: str
    align: Literal["start", "end"] = "start"
    grow: bool = False
    """Takes the room that is left."""


class Row(_Base, frozen=True, kw_only=True):
    """A row; ``href`` opens where the row leads."""

    cells: tuple[Cell, ...]
    href: str = ""
    chosen: bool = False

    def __post_init__(self) -> None:
        """Refuse an address elsewhere."""
        check_path(self.href)


class Table(_Base, frozen=True, kw_only=True, tag_field="kind", tag="table"):
    """Rows under headings."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    label: str = ""
    """For screen readers."""


class Tile(_Base, frozen=True, kw_only=True):
    """A figure; ``low`` and ``high`` (per mille) draw its interval."""

    label: str
    value: str
    detail: str = ""
    tone: Tone = "none"
    href: str = ""
    chosen: bool = False
    low: int | None = None
    high: int | None = None
    at: int | None = None

    def __post_init__(self) -> None:
        """Refuse an address elsewhere."""
        check_path(self.href)


class Tiles(_Base, frozen=True, kw_only=True, tag_field="kind", tag="tiles"):
    """Figures beside each other."""

    items: tuple[Tile, ...]


class Fact(_Base, frozen=True, kw_only=True):
    """A label and what stands behind it."""

    label: str
    line: Line


class Facts(_Base, frozen=True, kw_only=True, tag_field="kind", tag="facts"):
    """Labelled facts in columns."""

    items: tuple[Fact, ...]


class Thumb(_Base, frozen=True, kw_only=True):
    """A frame in small: the stored bytes from our own route, shown by the browser."""

    src: str
    href: str
    caption: str = ""
    marked: tuple[tuple[int, int, int, int], ...] = ()
    """Parts to draw over it, each left, top, width, height in per mille of its sides; it is then shown larger."""

    def __post_init__(self) -> None:
        """Refuse an address elsewhere."""
        check_path(self.src)
        check_path(self.href)


class Thumbs(_Base, frozen=True, kw_only=True, tag_field="kind", tag="thumbs"):
    """Frames beside each other."""

    items: tuple[Thumb, ...]


class Item(_Base, frozen=True, kw_only=True):
    """An entry of a chain."""

    when: str
    tone: Tone
    title: Line
    text: str
    foot: Line = ()
    thumbs: tuple[Thumb, ...] = ()
    chosen: bool = False


class Chain(_Base, frozen=True, kw_only=True, tag_field="kind", tag="chain"):
    """Entries in order of time."""

    items: tuple[Item, ...]


class Heading(_Base, frozen=True, kw_only=True, tag_field="kind", tag="heading"):
    """A heading within the page, with what stands beside it."""

    text: str
    beside: Line = ()
    level: Literal[2, 3] = 2


class Note(_Base, frozen=True, kw_only=True, tag_field="kind", tag="note"):
    """Something the reader must know, and what to do next."""

    text: str
    detail: str = ""
    tone: Tone = "none"


class Lines(_Base, frozen=True, kw_only=True, tag_field="kind", tag="lines"):
    """Lines of text."""

    items: tuple[Line, ...]


class Card(_Base, frozen=True, kw_only=True, tag_field="kind", tag="card"):
    """A framed group with a coloured edge."""

    title: Line
    blocks: tuple[Block, ...]
    tone: Tone = "none"


class Bar(_Base, frozen=True, kw_only=True):
    """One bar of a chart."""

    label: str
    at: int | None = None
    """Per mille of the height; None where nothing is stated."""
    detail: str = ""
    """What the bar stands for, in words."""
    tone: Tone = "none"
    href: str = ""
    mark: str = ""
    """What happened at this place, in words; a mark stands above the bar."""

    def __post_init__(self) -> None:
        """Refuse an address elsewhere."""
        check_path(self.href)


class Chart(_Base, frozen=True, kw_only=True, tag_field="kind", tag="chart"):
    """Bars from 0 to 100 %, in order; each opens what it stands for."""

    label: str
    bars: tuple[Bar, ...]
    limit: int | None = None
    """Per mille at which a line is drawn, named by ``limit_label``."""
    limit_label: str = ""
    mark_label: str = ""
    """What the marks above bars mean; empty where there are none."""


Block = Table | Tiles | Chart | Facts | Thumbs | Chain | Heading | Note | Lines | Card


def check_path(href: str) -> None:
    """Refuse what is no path on this server.

    Raises:
        ConfigError: an address with a scheme or a host.
    """
    if href and (not href.startswith("/") or href.startswith(("//", "/\\"))):
        raise ConfigError(f"{href!r} is no path on this server", remedy="build links with blocks.page_path")


def page_path(page: str, /, **parameters: str | int | None) -> str:
    """Path of a page of the desk with its query; empty and missing parameters are left out."""
    kept = {name: str(value) for name, value in parameters.items() if value not in {None, ""}}
    place = f"/{quote(page, safe='')}"
    return f"{place}?{urlencode(kept)}" if kept else place


def text(value: str, look: Look = "", *, href: str = "", tip: str = "", new: bool = False) -> Span:
    """A piece of text."""
    return Span(text=value, look=look, href=href, tip=tip, new=new)


def chip(value: str, tone: Tone, *, tip: str = "", href: str = "") -> Span:
    """A verdict or a state."""
    return Span(text=value, look="chip", tone=tone, tip=tip, href=href)


def cell(*lines: Span | Iterable[Span]) -> Cell:
    """A cell of lines; a single span is a line of its own."""
    return Cell(lines=tuple((line,) if isinstance(line, Span) else tuple(line) for line in lines))


def row(*cells: Cell | Span, href: str = "", chosen: bool = False) -> Row:
    """A row of cells; a single span is a cell of its own."""
    made = tuple(cell(item) if isinstance(item, Span) else item for item in cells)
    return Row(cells=made, href=href, chosen=chosen)


def table(columns: Sequence[str | Column], rows: Iterable[Row], *, label: str = "") -> Table:
    """A table; a column may be its label only."""
    heads = tuple(Column(label=item) if isinstance(item, str) else item for item in columns)
    return Table(columns=heads, rows=tuple(rows), label=label)


def when(at_us: int | None) -> str:
    """``2026-11-30 14:02:11 UTC`` for microseconds since 1970; a dash where there is no time."""
    if not at_us:
        return "–"
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def moment(at_us: int | None) -> Cell:
    """``when`` as a cell of two lines, day above time: a column of times need not be wide."""
    day, _, rest = when(at_us).partition(" ")
    return cell(text(day, "number"), text(rest, "number")) if rest else cell(text(day))


def clock(at_us: int) -> str:
    """``14:02:11.250`` of the day, UTC."""
    moment = datetime.fromtimestamp(at_us // 1_000_000, UTC)
    return f"{moment:%H:%M:%S}.{at_us % 1_000_000 // 1000:03d}"


def span_of_time(us: int, units: Units) -> str:
    """``2 d 4 h``, ``3 h 12 min``, ``45 s``: the two largest units of a duration, in the words of a language."""
    seconds = abs(us) // 1_000_000
    if seconds >= _DAY:
        parts = (seconds // _DAY, seconds % _DAY // _HOUR)
    elif seconds >= _HOUR:
        parts = (seconds // _HOUR, seconds % _HOUR // _MINUTE)
    else:
        parts = (seconds // _MINUTE, seconds % _MINUTE)
    first = 0 if seconds >= _DAY else 1 if seconds >= _HOUR else 2
    named = [unit.replace("{n}", str(part)) for unit, part in zip(units[first:], parts, strict=False)]
    return " ".join(named if parts[0] else named[1:])


def money(amount_minor: int, currency: str, *, signed: bool = False) -> str:
    """``1,434.74 CNY``; ``signed`` puts a plus before what is more, with a real minus sign for what is less."""
    digits = exponent(currency)
    whole, part = divmod(abs(amount_minor), 10**digits)
    number = f"{whole:,}" + (f".{part:0{digits}d}" if digits else "")
    sign = "−" if amount_minor < 0 else ("+" if signed and amount_minor > 0 else "")
    return f"{sign}{number} {currency}"


def countdown(left_us: int, ticking: str, over: str, *, units: Units) -> Span:
    """Time that is left, counting down; ``ticking`` and ``over`` have ``{time}`` where the duration stands."""
    late = left_us < 0
    shown = (over if late else ticking).replace("{time}", span_of_time(left_us, units))
    return Span(
        text=shown,
        look="chip" if late else "number",
        tone="failed" if late else "none",
        left_ms=left_us // 1000,
        ticking=ticking,
        over=over,
        units=units,
    )


def percent(permille: int) -> str:
    """``97.5 %``."""
    return f"{permille / 10:.1f} %"


def to_plain(blocks: Iterable[Block]) -> list[object]:
    """Blocks as JSON's own types."""
    made: list[object] = msgspec.to_builtins(list(blocks))
    return made
