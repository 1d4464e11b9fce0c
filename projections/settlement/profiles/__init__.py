"""Settlement profiles: how one vendor's file is read, in YAML, one file each.

Rules: unknown keys are refused with file and line; a profile never guesses (marks, encodings and labels are listed);
adding a vendor is adding one YAML file here, or naming one's own by path.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
import yaml

from domain.errors import ConfigError
from projections.settlement.lines import LineKind

Format = Literal["csv", "xlsx", "mt940", "camt", "bai2"]
Column = Literal[
    "line_id",
    "bill_id",
    "counterparty",
    "counterparty_id",
    "kind",
    "direction",
    "amount",
    "amount_in",
    "amount_out",
    "refund_amount",
    "currency",
    "at",
    "time",
    "account",
    "status",
]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections."""


class AmountStyle(_Strict, frozen=True, kw_only=True):
    """How amounts are written."""

    decimal: str = "."
    grouping: str = ","
    """Characters that may separate thousands; a blank stands for every kind of space."""
    extra_digits: bool = False
    """Three decimals in a two-digit currency are decimals (formats that define the mark)."""
    signs: Literal["as_written", "by_kind", "by_direction", "in_and_out"] = "as_written"


class CurrencyRule(_Strict, frozen=True, kw_only=True):
    """Where the currency comes from."""

    default: str = ""
    aliases: dict[str, str] = {}
    """The vendor's word → ISO 4217 code."""
    upper: bool = False
    """Codes may be written in lower case."""


class StatusRule(_Strict, frozen=True, kw_only=True):
    """Which statuses count as booked; when given, any other word refuses the row."""

    booked: list[str] = []
    not_booked: list[str] = []


class EffectSection(_Strict, frozen=True, kw_only=True):
    """How a business action of ours appears in the file."""

    kind: LineKind
    sign: Literal[1, -1, 0] = 1


class Profile(_Strict, frozen=True, kw_only=True):
    """One vendor's file."""

    name: str
    title: str
    format: Format = "csv"
    encodings: tuple[str, ...] = ("utf-8",)
    """Tried strictly in this order; a byte order mark wins."""
    delimiter: str = ","
    header_within: int = 40
    """The header row is looked for in so many first rows."""
    timezone: str = "UTC"
    time_formats: tuple[str, ...] = ("%Y-%m-%d %H:%M:%S",)
    columns: dict[Column, list[str]]
    """Field → header texts it may have, in any language the vendor uses."""
    required: tuple[Column, ...] = ("bill_id", "amount")
    """Columns without which the row can't be used; empty cells in them refuse the row."""
    kinds: dict[LineKind, list[str]] = {}
    default_kind: LineKind | None = None
    """For files without a kind column, or for kinds that are not listed; none: refused."""
    kind_signs: dict[LineKind, Literal[1, -1]] = {}
    directions: dict[str, Literal[1, -1, 0]] = {}
    """Direction word → sign; 0 is a movement that is neither income nor expense."""
    amounts: AmountStyle = AmountStyle()
    currency: CurrencyRule = CurrencyRule()
    statuses: StatusRule | None = None
    trailer: list[str] = []
    """Texts that the first cell of the trailer begins with; everything after it is trailer."""
    trailer_required: bool = False
    declared: list[str] = []
    """Regular expressions over preamble and trailer rows (cells joined by commas), with the named groups ``count``,
    ``amount`` (less ``minus``), ``currency``, ``month``, ``problem``: what the file says of itself."""
    effects: dict[str, EffectSection] = {}
    vendor_kinds: tuple[LineKind, ...] = ("fee",)
    empty_marks: tuple[str, ...] = ()
    """Texts that stand for an empty id (``/``)."""
    key_case: Literal["keep", "upper"] = "keep"
    """How bill numbers are normalised before they are compared."""

    def zone(self) -> ZoneInfo:
        """Time zone of the file's local times."""
        return ZoneInfo(self.timezone)


def ready_profiles() -> tuple[str, ...]:
    """Names of the profiles that ship with the product, sorted."""
    return tuple(
        sorted(p.name.removesuffix(".yaml") for p in files(__name__).iterdir() if p.name.endswith(".yaml"))
    )


def load_profile(name_or_path: str) -> Profile:
    """A ready profile by name, or one's own by path; ``ConfigError`` names file, line and remedy."""
    if name_or_path in ready_profiles():
        text = files(__name__).joinpath(f"{name_or_path}.yaml").read_text(encoding="utf-8")
        return parse_profile(text, file=f"{name_or_path}.yaml")
    path = Path(name_or_path)
    if not path.is_file():
        raise ConfigError(
            f"there is no settlement profile {name_or_path!r}",
            remedy=f"use one of {', '.join(ready_profiles())}, or the path of a YAML file",
        )
    try:
        return parse_profile(path.read_text(encoding="utf-8"), file=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("can't be read as UTF-8 text", file=str(path), remedy="save it as UTF-8") from error


def parse_profile(text: str, *, file: str) -> Profile:
    """Parse and check YAML text; see ``load_profile``."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        profile = msgspec.convert(yaml.safe_load(text), Profile)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigError(
            f"not YAML: {error.problem}", file=file, line=line, remedy="correct it there"
        ) from error
    except msgspec.ValidationError as error:
        raise ConfigError(
            str(error), file=file, line=_line_of(str(error), node), remedy="correct or remove that key"
        ) from error
    _check(profile, file)
    return profile


def _check(profile: Profile, file: str) -> None:
    """Refuse what can't work, before a file is read with it."""
    style = profile.amounts
    wrong = ""
    if style.decimal in style.grouping or len(style.decimal) != 1:
        wrong = "the decimal mark must be one character and no grouping mark"
    elif style.signs == "by_direction" and not profile.directions:
        wrong = "signs by_direction needs directions"
    elif style.signs == "by_kind" and not profile.kind_signs:
        wrong = "signs by_kind needs kind_signs"
    elif "amount" not in profile.columns and style.signs != "in_and_out":
        wrong = "columns names no amount"
    elif "bill_id" not in profile.columns:
        wrong = "columns names no bill_id"
    elif "kind" not in profile.columns and profile.default_kind is None:
        wrong = "without a kind column a default_kind is needed"
    elif missing := [column for column in profile.required if column not in profile.columns]:
        wrong = f"required column {missing[0]} is not in columns"
    if wrong:
        raise ConfigError(wrong, file=file, remedy="see projections/settlement/README.md")
    try:
        profile.zone()
        for pattern in profile.declared:
            re.compile(pattern)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"unknown time zone {profile.timezone!r}", file=file, remedy="use a name such as Asia/Shanghai"
        ) from error
    except re.error as error:
        raise ConfigError(
            f"declared: {error} in {pattern!r}", file=file, remedy="correct the expression"
        ) from error


def _line_of(message: str, root: yaml.Node | None) -> int:
    """Line of the key that a validation message is about, 0 when it can't be told."""
    names = re.findall(r"unknown field `([^`]+)`", message)
    place = re.search(r"at `\$?([^`]*)`", message)
    path = [part for part in re.split(r"[.\[\]]+", place[1]) if part] if place else []
    line, node = 0, root
    for part in [*path, *names]:
        if not isinstance(node, yaml.MappingNode):
            break
        for key, value in node.value:
            if key.value == part:
                line, node = key.start_mark.line + 1, value
                break
    return line
