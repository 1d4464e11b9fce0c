"""``proofreel export`` and ``verify``: carry evidence away, and prove it without trusting us."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from domain.errors import ConfigError
from domain.ids import RunId, TaskId, TenantId, settlement_stream
from executor.cli.common import (
    config_option,
    json_option,
    one_tenant,
    places,
    print_json,
    progress_bar,
    store_options,
    tenant_option,
)
from executor.cli.month_commands import reconciled
from projections.blobs import open_blob_reader
from projections.exports.bundle import BundleInfo, Extras, write_bundle
from projections.exports.select import Scope, scope_of
from projections.exports.verify import verify as check_bundle
from projections.exports.vouchers import collect_vouchers
from projections.reading import RecordReader, open_reader


@click.command(
    epilog="Examples: proofreel export --bill CY202611-0007 -o evidence.zip; "
    "proofreel export --break BREAK --month 2026-11 -o evidence.zip"
)
@click.option("--bill", help="Everything about one bill.")
@click.option("--task", "tasks", multiple=True, help="One task; may be repeated.")
@click.option("--run", "run_id", help="One run.")
@click.option("--month", help="All that the month's settlement rests on, or the month of --break.")
@click.option(
    "--break", "break_id", help="One month-end difference with its causes (see 'proofreel reconcile')."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write."
)
@config_option
@store_options
@tenant_option
@json_option
def export(
    bill: str | None,
    tasks: tuple[str, ...],
    run_id: str | None,
    month: str | None,
    break_id: str | None,
    out: Path,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Write an evidence bundle: a zip that opens offline and verifies without us."""
    where = places(store, blobs, config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        case: Mapping[str, Any] | None = None
        if break_id is not None:
            if month is None:
                raise ConfigError("a break belongs to a month", remedy="give --month YYYY-MM beside --break")
            case = case_of(reader, where.blobs, known, month, break_id)
            scope = scope_of(bill=str(case["bill"]))
        else:
            scope = scope_of(
                tasks=[TaskId(task) for task in tasks],
                bill=bill,
                run=RunId(run_id) if run_id else None,
                month=month,
            )
        info = export_bundle(reader, where.blobs, known, scope, out, case=case)
    if as_json:
        print_json({"file": str(out), "bundle": info})
    else:
        click.echo(
            f"{out}: {info.events} events, {info.frames} frames, {info.octets:,} bytes, log of {info.size} "
            f"events with root {info.root}"
        )
        click.echo(f"check it with: proofreel verify {out}")
    return 0


def case_of(
    reader: RecordReader, blobs: str, tenant: TenantId, month: str, break_id: str
) -> Mapping[str, Any]:
    """One difference of a month with its causes, as plain data."""
    result = reconciled(reader, open_blob_reader(blobs), tenant, month)
    for found in result.breaks:
        if found.id == break_id:
            plain: dict[str, Any] = msgspec.to_builtins(found)
            return {**plain, "streams": [settlement_stream(month)]}  # also when no task ever touched the bill
    known = ", ".join(found.id for found in result.breaks) or "none"
    raise ConfigError(f"month {month} has no break {break_id!r}", remedy=f"it has: {known}")


def extras_of(reader: RecordReader, tenant: TenantId) -> Extras:
    """The newest signed checkpoint with its cosignatures and time stamp, where it speaks of the whole log."""
    head = reader.head(tenant)
    vouchers = collect_vouchers(reader, tenant, size=head.size if head else 0)
    return Extras(checkpoint=vouchers.checkpoint, stamp=vouchers.stamp)


def export_bundle(
    reader: RecordReader,
    blobs: str,
    tenant: TenantId,
    scope: Scope,
    out: Path,
    *,
    case: Mapping[str, Any] | None = None,
) -> BundleInfo:
    """Write the bundle with progress on standard error."""
    with progress_bar() as bar:
        line = bar.add_task("frames", total=None)
        return write_bundle(
            out,
            reader,
            open_blob_reader(blobs),
            tenant=tenant,
            scope=scope,
            case=case,
            extras=extras_of(reader, tenant),
            progress=lambda done, total: bar.update(line, completed=done, total=total),
        )


@click.command(epilog="Example: proofreel verify evidence.zip --root 9f2c… --json")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--key", "keys", multiple=True, metavar="VKEY", help="Verifier key of the log you expect; repeatable."
)
@click.option(
    "--witness", "witnesses", multiple=True, metavar="VKEY", help="Verifier key of a witness; repeatable."
)
@click.option("--root", metavar="HEX", help="Root of the log as you have it from elsewhere.")
@json_option
def verify(
    file: Path,
    keys: tuple[str, ...],
    witnesses: tuple[str, ...],
    root: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Check a bundle: integrity, completeness, authenticity, time. Exits 1 and says what when anything is wrong."""
    if not file.is_file():
        raise ConfigError(f"there is no file {file}", remedy="name a bundle that 'proofreel export' wrote")
    report = check_bundle(file, trusted_keys=keys, witnesses=witnesses, expect_root=root)
    if as_json:
        print_json(report)
    else:
        for line in report.lines():
            click.echo(line)
    return 0 if report.ok else 1
