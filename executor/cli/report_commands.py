"""``proofreel report``, ``ocel`` and ``bills``: what leaves the record as figures, for people and for other tools."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from domain.envelope import Recorded
from domain.errors import ConfigError
from domain.events import BillListFetched
from domain.ids import TenantId, settlement_stream
from executor.cli.common import (
    config_option,
    json_option,
    one_tenant,
    places,
    print_json,
    store_options,
    tenant_option,
)
from projections.blobs import BlobReader, open_blob_reader
from projections.reading import RecordReader, open_reader

if TYPE_CHECKING:
    from projections.exports.report import Period, TenantData

MODES = ("guarded", "record_only")
FORMATS = ("html", "xlsx", "csv", "parquet")
TABLE_FORMATS = ("csv", "parquet")

month_option = click.option("--month", help="YYYY-MM; or give --since and --until.")
mode_option = click.option(
    "--mode", type=click.Choice(MODES), help="Only tasks of this mode; both by default."
)
_DAY = click.DateTime(["%Y-%m-%d"])
since_option = click.option("--since", type=_DAY, help="First day, UTC.")
until_option = click.option("--until", type=_DAY, help="Day after the last one, UTC.")


def micros(day: datetime) -> int:
    """Begin of a day (UTC) in microseconds since 1970."""
    return int(day.replace(tzinfo=UTC).timestamp()) * 1_000_000


def period_of(month: str | None, since: datetime | None, until: datetime | None, mode: str | None) -> Period:
    """The period that is asked for; all of the record when none is."""
    from projections.exports.report import Period, month_period

    if month is not None:
        if since is not None or until is not None:
            raise ConfigError("two periods are asked for", remedy="give --month, or --since and --until")
        return month_period(month, mode or "")
    label = " ".join(
        f"{word} {day:%Y-%m-%d}" for word, day in (("from", since), ("until", until)) if day is not None
    )
    return Period(
        label=label or "of the whole record",
        since_us=micros(since) if since else 0,
        until_us=micros(until) if until else None,
        mode=mode or "",
    )


def up_to(reader: RecordReader, tenant: TenantId, size: int) -> Iterator[Recorded]:
    """Events up to a position, however much is appended meanwhile."""
    return takewhile(lambda recorded: recorded.row.position <= size, reader.events(tenant))


def tenant_data(
    reader: RecordReader, blobs: BlobReader | None, tenant: TenantId, *, month: str | None, check: bool = True
) -> TenantData:
    """A tenant's rows for a report; with its month end when a settlement file of ``month`` was imported."""
    from executor.cli.month_commands import reconciled
    from projections.exports.report import TenantData
    from projections.fold import run_together
    from projections.fsck import check as check_record
    from projections.views.runs import Runs
    from projections.views.tallies import Metrics
    from projections.views.targets import Targets

    head = reader.head(tenant)
    size = head.size if head is not None else 0
    tallies, runs, targets = run_together((Metrics(), Runs(), Targets()), up_to(reader, tenant, size))
    imported = month is not None and next(iter(reader.stream(tenant, settlement_stream(month))), None)
    chain = "not checked"
    if check:
        chain = "verified" if check_record(reader, None, tenant).ok else "broken"
    return TenantData(
        tenant=tenant,
        events=size,
        root=head.root.hex() if head is not None else "",
        chain=chain,
        tallies=tuple(tallies.values()),
        runs=tuple(runs.values()),
        targets=tuple(targets.values()),
        month=reconciled(reader, blobs, tenant, month) if imported and month and blobs is not None else None,
    )


@click.command(epilog="Example: proofreel report --month 2026-11 --out november")
@month_option
@since_option
@until_option
@mode_option
@click.option(
    "--tenant", "asked", multiple=True, help="Tenant; may be repeated. All of the record by default."
)
@click.option(
    "--format", "formats", multiple=True, type=click.Choice(FORMATS), help="May be repeated; all by default."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to."
)
@config_option
@store_options
@json_option
def report(
    month: str | None,
    since: datetime | None,
    until: datetime | None,
    mode: str | None,
    asked: tuple[str, ...],
    formats: tuple[str, ...],
    out: Path,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Metrics, runs and the month end as HTML, XLSX, CSV and Parquet: the desk's figures, each with its events.

    Exits 1 when the chain of a log that was read does not verify.
    """
    from projections.exports.report import FORMATS as ALL
    from projections.exports.report import compose, files

    period = period_of(month, since, until, mode)
    where = places(store, blobs, config_path)
    with open_reader(where.store) as reader:
        known = reader.tenants()
        chosen = [one_tenant(name, known) for name in asked] or known
        opened = open_blob_reader(where.blobs)
        data = [tenant_data(reader, opened, tenant, month=month) for tenant in chosen]
    wanted = [name for name in ALL if not formats or name in formats]
    written = [_write(out / name, content) for name, content in files(compose(data, period), wanted)]
    if as_json:
        print_json({"files": written, "tenants": {one.tenant: one.chain for one in data}})
    else:
        for path in written:
            click.echo(path)
    broken = [one.tenant for one in data if one.chain != "verified"]
    if broken:
        click.echo(f"the chain does not verify: {', '.join(broken)}; run 'proofreel fsck'", err=True)
    return 1 if broken else 0


def _write(path: Path, content: bytes) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(
            f"can't be written: {error.strerror}",
            file=str(path),
            remedy="name a folder that you may write to",
        ) from error
    return str(path)


@click.command(epilog="Example: proofreel ocel --out record.ocel.json")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write."
)
@config_option
@store_options
@tenant_option
@json_option
def ocel(
    out: Path,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """A tenant's log as OCEL 2.0 JSON, for process-mining tools."""
    from projections.exports.ocel import ocel as chunks

    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        head = reader.head(known)
        size = head.size if head is not None else 0
        try:
            with out.open("wb") as file:
                for chunk in chunks(up_to(reader, known, size)):
                    file.write(chunk)
        except OSError as error:
            raise ConfigError(
                f"can't be written: {error.strerror}", file=str(out), remedy="name another file"
            ) from error
    _said({"file": str(out), "events": size, "tenant": known}, f"{out}: {size} events", as_json=as_json)
    return 0


@click.command(epilog="Example: proofreel bills --out bills.parquet")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write: its ending, .csv or .parquet, is the format.",
)
@click.option("--all", "every", is_flag=True, help="Every list that was ever fetched, not the newest alone.")
@config_option
@store_options
@tenant_option
@json_option
def bills(
    out: Path,
    every: bool,  # noqa: FBT001 - click passes flags by name
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """The list of difference bills as it was fetched, as CSV or Parquet for the warehouse."""
    from projections.exports.bills import bill_table
    from projections.exports.report.flat import csv_bytes, parquet_bytes

    kind = out.suffix.removeprefix(".")
    if kind not in TABLE_FORMATS:
        raise ConfigError(f"{out.name} says no format", remedy="end the file's name with .csv or .parquet")
    where = places(store, blobs, config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        kept, inforce = open_blob_reader(where.blobs), reader.withholding(known)
        found = [
            one
            for one in reader.events(known, names=["bill_list.fetched"])
            if not (
                isinstance(one.event, BillListFetched)
                and inforce.gone(one.event.blob, there=kept.has(one.event.blob))
            )
        ]
        table = bill_table(found, kept, newest_only=not every, masks=inforce.masks)
    _write(out, csv_bytes(table) if kind == "csv" else parquet_bytes(table))
    _said(
        {"file": str(out), "rows": len(table.rows), "tenant": known},
        f"{out}: {len(table.rows)} rows",
        as_json=as_json,
    )
    return 0


def _said(result: dict[str, Any], line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        click.echo(line)
