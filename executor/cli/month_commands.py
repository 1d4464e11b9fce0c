"""``proofreel settlement`` and ``reconcile``: the vendor's file against the record, and why they differ."""

from __future__ import annotations

import io
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import click
import msgspec
import sqlalchemy as sa
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from domain import events as e
from domain.envelope import Draft, Envelope
from domain.errors import ConfigError, WorldError
from domain.ids import PrincipalId, TenantId, settlement_stream
from domain.values import format_minor
from executor.cli.case_commands import case_rows, keep_cases
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    one_tenant,
    places,
    print_json,
    store_options,
    tenant_option,
)
from executor.cli.issue_commands import compare_command, imports_of, read_import
from executor.runtime.system import SystemClock, SystemIds
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.wiring import Workshop, open_target
from projections.blobs import BlobReader, open_blob_reader
from projections.fsck import check
from projections.reading import RecordReader, open_reader
from projections.settlement.at_scale import reconcile_stored
from projections.settlement.formats import MEDIA_TYPES
from projections.settlement.importer import survey_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile
from projections.views.reconciliation import Reconciliation
from projections.views.reconciliation import reconcile as compare

COLOURS = {"proven": "green", "supported": "yellow", "undecidable": "magenta"}
MAX_LISTED = 20
"""Refused rows shown in a table; all of them are in the JSON."""


@click.group(epilog="Example: proofreel settlement fetch --month 2026-11")
def settlement() -> None:
    """The vendor's settlement files: fetch or import them into the record, and compare two issues of a month."""


settlement.add_command(compare_command)


@settlement.command("fetch", epilog="Example: proofreel settlement fetch --month 2026-11")
@click.option("--month", required=True, help="YYYY-MM.")
@click.option(
    "--profile", default="portal", show_default=True, help="How the file is read: a name or a path."
)
@config_option
@store_options
@json_option
def fetch(
    month: str,
    profile: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Download the month's file with the readback account and import it."""
    config = configured(config_path)
    target = open_target(config, config_path)
    where = places(store, blobs, config_path)
    path = target.recipe.read.settlement_path.format(month=month)
    with Workshop(target, store=where.store, blobs=where.blobs) as workshop:
        data = workshop.http_session().get(path).content
    imported = import_file(
        io.BytesIO(data),
        store=where.store,
        blobs=where.blobs,
        tenant=TenantId(config.tenant),
        principal=PrincipalId(config.identity.principal),
        month=month,
        profile=profile,
        name=Path(path).name,
        source=f"{config.target.origin}{path}",
    )
    return _report_import(imported, as_json=as_json)


@settlement.command(
    "import", epilog="Example: proofreel settlement import november.csv --month 2026-11 --as person:li.na"
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--month", required=True, help="YYYY-MM.")
@click.option(
    "--profile", default="portal", show_default=True, help="How the file is read: a name or a path."
)
@click.option("--as", "person", help="Who brings the file; the configured identity by default.")
@config_option
@store_options
@json_option
def import_command(
    file: Path,
    month: str,
    profile: str,
    person: str | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Import a file that somebody received. Exits 1 when rows were refused or the file contradicts itself."""
    config = configured(config_path)
    where = places(store, blobs, config_path)
    with _readable(file) as stream:
        imported = import_file(
            stream,
            store=where.store,
            blobs=where.blobs,
            tenant=TenantId(config.tenant),
            principal=PrincipalId(person or config.identity.principal),
            month=month,
            profile=profile,
            name=file.name,
            source=f"file {file.name}",
        )
    return _report_import(imported, as_json=as_json)


def _readable(path: Path) -> BinaryIO:
    """The file, open; what can't be read twice (a pipe) is taken into a temporary file first."""
    try:
        file = path.open("rb")
        if file.seekable():
            return file
        kept = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        with file:
            shutil.copyfileobj(file, kept)
    except OSError as error:
        raise ConfigError(
            f"can't be read: {error.strerror}", file=str(path), remedy="name a readable file"
        ) from error
    return cast("BinaryIO", kept)


class Imported(NamedTuple):
    """What an import came to."""

    file: SettlementFile
    """Without its lines."""
    added: bool
    """False when the month had this very file, read with this profile, before."""


def import_file(
    file: BinaryIO,
    *,
    store: str,
    blobs: str,
    tenant: TenantId,
    principal: PrincipalId,
    month: str,
    profile: str,
    name: str,
    source: str,
) -> Imported:
    """Keep the original bytes as a blob and the import as an event; the same file again adds nothing.

    The same bytes read with another profile are another import: the first may have been the wrong one. The file is
    read several times and never held as a whole (a workbook's and an MT940 statement's reader hold theirs).
    """
    how = load_profile(profile)
    parsed = survey_settlement(file, how, month, file_name=name)
    sha256 = open_blobs(blobs).put_file(file, media_type=MEDIA_TYPES[how.format])
    if sha256 != parsed.sha256:
        raise WorldError(f"{name} changed while it was read", remedy="wait until it is whole, and try again")
    clock, ids = SystemClock(), SystemIds()
    with open_record(store) as log:
        stream = settlement_stream(month)
        stored = [recorded.event for recorded in log.stream(tenant, stream)]
        before = [fact for fact in stored if isinstance(fact, e.SettlementImported)]
        if any((fact.blob, fact.profile) == (sha256, profile) for fact in before):
            return Imported(parsed, added=False)
        fact = e.SettlementImported(
            blob=sha256,
            file_name=name,
            source=source,
            profile=profile,
            month=month,
            rows_read=parsed.counts.read,
            rows_accepted=parsed.counts.accepted,
            rows_refused=parsed.counts.refused,
            rows_other=parsed.counts.other,
            total_minor=parsed.totals,
            findings=tuple(finding.what for finding in parsed.findings),
        )
        envelope = Envelope(
            event_id=ids.event_id(),
            tenant=tenant,
            stream=stream,
            version=len(stored) + 1,
            principal=principal,
            occurred_at_us=clock.now_us(),
            salt=ids.salt(),
            correlation_id=f"month:{month}",
        )
        log.append([Draft(envelope=envelope, event=fact)])
    return Imported(parsed, added=True)


def _report_import(imported: Imported, *, as_json: bool) -> int:
    file = imported.file
    if as_json:
        told = {name: value for name, value in msgspec.to_builtins(file).items() if name != "lines"}
        print_json({**told, "added": imported.added})
    else:
        totals = ", ".join(
            f"{currency} {format_minor(total, currency)}" for currency, total in file.totals.items()
        )
        click.echo(
            f"{file.file_name}: {file.counts.read} rows = {file.counts.accepted} accepted + {file.counts.refused} "
            f"refused + {file.counts.other} other; total {totals or 'nothing'}"
        )
        for finding in file.findings:
            click.echo(f"  !! {finding.what}")
        for row in file.refused[:MAX_LISTED]:
            value = f", {row.column} “{row.value}”" if row.column else ""
            click.echo(f"  refused: line {row.line}{value}: {row.reason}")
        if len(file.refused) > MAX_LISTED:
            click.echo(
                f"  … and {len(file.refused) - MAX_LISTED} more refused rows; --json lists all of them"
            )
        if not file.counts.accepted and not file.counts.refused:
            click.echo("  there is no settlement line in it; check the file and its --profile")
        if not imported.added:
            click.echo("  this very file was imported before; nothing was added")
    return 1 if file.findings or file.refused else 0


@click.command(
    epilog="Examples: proofreel reconcile --month 2026-11 --json; proofreel reconcile --month 2026-11 --keep"
)
@click.option("--month", required=True, help="YYYY-MM.")
@click.option(
    "--keep", is_flag=True, help="Record each difference and its causes as a case ('proofreel cases')."
)
@click.option(
    "--as", "person", metavar="PRINCIPAL", help="Who keeps them; the configured identity by default."
)
@click.option(
    "--views",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep what the month end needs of the record here: a long log is then read once, not every month.",
)
@config_option
@store_options
@tenant_option
@json_option
def reconcile(
    month: str,
    keep: bool,  # noqa: FBT001 - click passes flags by name
    person: str | None,
    views: Path | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Compare the month's newest settlement file with the record; each difference gets its cause.

    Exits 1 when there are differences.
    """
    where = places(store, blobs, config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        result = reconciled(reader, open_blob_reader(where.blobs), known, month, views=views)
        rows = case_rows(reader, known) if keep else {}
    told = "" if not keep else keep_cases(where.store, known, result, rows, _keeper(config_path, person))
    if as_json:
        print_json(replace(result, matched=tuple(result.matched)))
    else:
        print_breaks(result)
    if keep:
        click.echo(told, err=as_json)
    return 1 if result.breaks or result.file_findings else 0


def _keeper(config_path: Path, person: str | None) -> PrincipalId:
    """Who keeps the cases: somebody configured, else the identity that acts."""
    config = configured(config_path)
    return config.person(person).principal if person else PrincipalId(config.identity.principal)


def reconciled(
    reader: RecordReader, blobs: BlobReader, tenant: TenantId, month: str, *, views: Path | None = None
) -> Reconciliation:
    """The month's newest imported file against the record, whose chain is checked first.

    ``views`` is a database of stored views, made where there is none; without, the whole log is read.
    """
    newest, inforce = imports_of(reader, tenant, month)[-1].fact, reader.withholding(tenant)
    file = read_import(newest, blobs, inforce)
    masks = inforce.masks
    verified = check(reader, None, tenant).ok
    if views is None:
        return compare(reader.events(tenant), file, tenant=tenant, month=month, chain_verified=verified)
    engine = sa.create_engine(f"sqlite:///{views}")
    try:
        found = reconcile_stored(reader, engine, file, tenant=tenant, month=month, chain_verified=verified)
        return masks.object(found)
    except sa.exc.DatabaseError as error:
        raise ConfigError(
            "is no database of views that can be used",
            file=str(views),
            remedy="name another file, or a new one",
        ) from error
    finally:
        engine.dispose()


def print_breaks(result: Reconciliation) -> None:
    """Differences with their causes, for people."""
    console = Console()
    console.print(
        f"[bold]month {result.month} of {result.tenant}[/]: {len(result.matched)} lines agree, "
        f"{len(result.breaks)} differ",
        highlight=False,
    )
    for found in result.breaks:
        amount = f"{format_minor(found.amount_minor, found.currency)} {found.currency}"
        console.print(
            f"  [bold]{found.bill}[/] {found.kind.replace('_', ' ')}, {amount} (break {found.id})",
            highlight=False,
        )
        for finding in found.findings:
            reason = f": {finding.reason.replace('_', ' ')}" if finding.reason else ""
            who = ", ".join(finding.responsible) or finding.party.replace("_", " ")
            console.print(
                f"    [{COLOURS[finding.verdict]}]{finding.verdict}[/]{reason}, "
                f"{finding.cause.replace('_', ' ')}, responsible: {who}",
                highlight=False,
            )
            console.print(Padding(Text(finding.summary), (0, 0, 0, 6)))
    for total in result.totals:
        parts = [
            f"{name} {format_minor(amount, total.currency)}"
            for name, amount in (
                ("file", total.file_minor),
                ("record", total.expected_minor),
                ("difference", total.breaks_minor),
                ("attributed", total.attributed_minor),
                ("residual", total.residual_minor),
            )
        ]
        console.print(f"  {total.currency}: {', '.join(parts)}", highlight=False)
    if not result.chain_verified:
        console.print("  !! the record's chain does not verify, so nothing is proven: run 'proofreel fsck'")
