"""Options that commands share, and how they print."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
import orjson
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from domain.errors import ConfigError
from domain.ids import TenantId
from executor.config import Config, load_config
from executor.privacy_config import key_path, keyring_path
from executor.store.sealing import sealed_url

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_CONFIG = "proofreel.yaml"
STORE_ENV = "PROOFREEL_STORE"
BLOBS_ENV = "PROOFREEL_BLOBS"
_NO_BLOBS = frozenset({"unused", "."})
"""What commands say that need no blobs."""
SHORT_CELL = 36
"""Characters up to which a table's cells are never folded: an id must stay in one piece to be copied."""
FOLDED_CELL = 24
"""Characters that a longer cell has at least on each of its lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the record is: resolved from options, environment and configuration, in this order."""

    store: str
    blobs: str


def store_options(command: F) -> F:
    """``--store`` and ``--blobs``."""
    command = click.option(
        "--blobs", metavar="URL", envvar=BLOBS_ENV, help=f"Frames and files: a folder or s3://… [{BLOBS_ENV}]"
    )(command)
    return click.option(
        "--store",
        metavar="URL",
        envvar=STORE_ENV,
        help=f"The record: sqlite:///… or postgresql+psycopg://… [{STORE_ENV}]",
    )(command)


def config_option(command: F) -> F:
    """``--config``."""
    return click.option(
        "-c",
        "--config",
        "config_path",
        type=click.Path(path_type=Path, dir_okay=False),
        default=Path(DEFAULT_CONFIG),
        show_default=True,
        help="Who acts, on which target, under which policy.",
    )(command)


def json_option(command: F) -> F:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


def tenant_option(command: F) -> F:
    """``--tenant``."""
    return click.option("--tenant", help="Tenant; the configuration's, or the record's only one.")(command)


def configured(path: Path) -> Config:
    """Read the configuration, with a remedy when there is none."""
    if not path.exists():
        raise ConfigError(
            f"there is no configuration {path}",
            remedy="name one with --config; 'proofreel demo' makes an example",
        )
    return load_config(path)


def places(store: str | None, blobs: str | None, config_path: Path | None = None) -> Places:
    """Resolve the record's place; relative ones in a configuration are relative to that file."""
    config = load_config(config_path) if config_path is not None and config_path.exists() else None
    folder = config_path.parent if config_path is not None else Path()
    if config is not None:
        store = store or _beside(folder, config.record.store)
        blobs = blobs or _blobs_beside(folder, config.record.blobs)
    if not store:
        raise ConfigError("no record is named", remedy=f"give --store URL, set {STORE_ENV}, or use --config")
    if not blobs:
        raise ConfigError(
            "no blob store is named", remedy=f"give --blobs URL, set {BLOBS_ENV}, or use --config"
        )
    if config is not None and config.privacy.key and config.privacy.keyring and blobs not in _NO_BLOBS:
        blobs = sealed_url(
            blobs,
            ring=keyring_path(config.privacy, folder / "proofreel.yaml", blobs),
            key=key_path(config.privacy, folder / "proofreel.yaml").resolve(),
            tenant=config.tenant,
            writes=config.privacy.encrypt,
        )
    return Places(store=store, blobs=blobs)


def _beside(folder: Path, url: str) -> str:
    prefix = "sqlite:///"
    if url.startswith(prefix) and not url.removeprefix(prefix).startswith("/"):
        return prefix + str((folder / url.removeprefix(prefix)).resolve())
    return url


def _blobs_beside(folder: Path, url: str) -> str:
    return url if "://" in url or Path(url).is_absolute() else str((folder / url).resolve())


def one_tenant(asked: str | None, known: Sequence[TenantId], config_path: Path | None = None) -> TenantId:
    """The tenant that is meant: asked for, configured, or the only one there is."""
    if asked is None and config_path is not None and config_path.exists():
        asked = load_config(config_path).tenant
    if asked is not None:
        if known and TenantId(asked) not in known:
            raise ConfigError(f"the record has no tenant {asked!r}", remedy=f"it has: {', '.join(known)}")
        return TenantId(asked)
    if len(known) == 1:
        return known[0]
    listed = ", ".join(known) or "none"
    raise ConfigError("which tenant?", remedy=f"give --tenant; the record has: {listed}")


def _named(value: object) -> object:
    """``value`` with every field under its name, also where what is stored leaves names or defaults out."""
    if isinstance(value, msgspec.Struct):
        tag, tag_field = value.__struct_config__.tag, value.__struct_config__.tag_field
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        named = {told: _named(getattr(value, name)) for told, name in names}
        return named if tag_field is None else {tag_field: tag, **named}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _named(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _named(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_named(item) for item in value]
    return value


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    data = orjson.dumps(msgspec.to_builtins(_named(value)), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    click.echo(data.decode())


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for people: short cells stay on one line, long ones fold; rather wider than the terminal than cut."""
    cells = [[str(cell) for cell in row] for row in rows]
    needed = 0
    table = Table(title=title, title_justify="left", header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        widest = max((cell_len(row[number]) for row in cells), default=0)
        whole = widest <= SHORT_CELL
        width = max(cell_len(column), widest if whole else FOLDED_CELL)
        table.add_column(column, overflow="fold", no_wrap=whole, min_width=width)
        needed += 3 + width
    for row in cells:
        table.add_row(*row)
    console = Console()
    console.width = max(console.width, needed)
    console.print(table)


def progress_bar() -> Progress:
    """Progress on standard error; silent where that is no terminal."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty() and not os.environ.get("PROOFREEL_PROGRESS"),
        transient=True,
    )
