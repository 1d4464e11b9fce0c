"""Settlement files that are on record: read again, and ``proofreel settlement compare`` for a corrected re-issue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from domain import events as e
from domain.errors import ConfigError
from domain.ids import PrincipalId, TenantId, settlement_stream
from domain.values import format_minor
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
from projections.settlement.importer import read_settlement
from projections.settlement.lines import SettlementFile, SettlementLine
from projections.settlement.profiles import load_profile
from projections.settlement.reissue import Reissue, compare_issues
from projections.withholding import Withholding

MAX_LISTED = 20
"""Lines of a kind that are shown to people; all of them are in the JSON."""
MIN_DIGITS = 6
"""Digits of a hash that name an import."""


class Import(NamedTuple):
    """A settlement file on record."""

    fact: e.SettlementImported
    position: int
    imported_by: PrincipalId
    imported_at_us: int
    """Clock of whoever imported it, microseconds since 1970 (UTC)."""


def imports_of(reader: RecordReader, tenant: TenantId, month: str) -> list[Import]:
    """Every import of a month, oldest first; ``ConfigError`` when there is none."""
    imports = [
        Import(
            recorded.event,
            recorded.row.position,
            recorded.envelope.principal,
            recorded.envelope.occurred_at_us,
        )
        for recorded in reader.stream(tenant, settlement_stream(month))
        if isinstance(recorded.event, e.SettlementImported)
    ]
    if not imports:
        raise ConfigError(
            f"no settlement file of {month} was imported",
            remedy=f"run 'proofreel settlement fetch --month {month}'",
        )
    return imports


def read_import(fact: e.SettlementImported, blobs: BlobReader, inforce: Withholding) -> SettlementFile:
    """The file of an import as it may be shown; ``ConfigError`` when it was withheld or deleted."""
    inforce.require_document(fact.blob, f"the settlement file of {fact.month}", there=blobs.has(fact.blob))
    profile = load_profile(fact.profile)
    file = read_settlement(blobs.get(fact.blob), profile, fact.month, file_name=fact.file_name)
    return inforce.masks.object(file)


@click.command(
    "compare",
    epilog="Examples: proofreel settlement compare --month 2026-11; "
    "proofreel settlement compare --month 2026-11 --earlier 3f9a01 --later 77c2de --json",
)
@click.option("--month", required=True, help="YYYY-MM.")
@click.option("--earlier", metavar="SHA256", help="The file before, by the first digits of its hash.")
@click.option("--later", metavar="SHA256", help="The corrected file; the newest import by default.")
@config_option
@store_options
@tenant_option
@json_option
def compare_command(
    month: str,
    earlier: str | None,
    later: str | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Show how a corrected re-issue of a month differs from the file before: lines added, gone and changed.

    Lines are the same by their id, or by all they say where the file has no ids. Exits 1 when the issues differ.
    """
    where = places(store, blobs, config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        before, after = _chosen(imports_of(reader, known, month), earlier, later)
        originals, inforce = open_blob_reader(where.blobs), reader.withholding(known)
        files = [read_import(one.fact, originals, inforce) for one in (before, after)]
    found = compare_issues(*files)
    if as_json:
        print_json(
            {
                "tenant": known,
                "month": month,
                "earlier": _told(before),
                "later": _told(after),
                **_parts(found),
            }
        )
    else:
        _print(found, before, after)
    return 1 if found.added or found.removed or found.changed else 0


def _chosen(imports: Sequence[Import], earlier: str | None, later: str | None) -> tuple[Import, Import]:
    """The two imports that are meant: named, or the newest and the last other file of its profile before it."""
    after = _named(imports, later) if later else imports[-1]
    if earlier:
        before = _named(imports, earlier)
        if before.fact.profile != after.fact.profile:
            raise ConfigError(
                f"the files were read with different profiles: {before.fact.profile} and {after.fact.profile}",
                remedy="import both with the same --profile",
            )
        return before, after
    others = [
        one
        for one in imports
        if one.position < after.position
        and one.fact.profile == after.fact.profile
        and one.fact.blob != after.fact.blob
    ]
    if not others:
        raise ConfigError(
            f"no other file of {after.fact.month}, read with {after.fact.profile}, is before {after.fact.file_name}",
            remedy="import the corrected file first, or name both with --earlier and --later",
        )
    return others[-1], after


def _named(imports: Sequence[Import], digits: str) -> Import:
    """The newest import of the file whose hash begins so."""
    found = [one for one in imports if len(digits) >= MIN_DIGITS and one.fact.blob.startswith(digits.lower())]
    if len({one.fact.blob for one in found}) != 1:
        listed = "; ".join(f"{one.fact.blob[:12]} {one.fact.file_name}" for one in imports)
        raise ConfigError(
            f"{digits!r} names {'several files' if found else 'no file'} of {imports[0].fact.month}",
            remedy=f"give at least {MIN_DIGITS} digits of one of: {listed}",
        )
    return found[-1]


def _told(one: Import) -> dict[str, Any]:
    fact = one.fact
    return {
        "sha256": fact.blob,
        "file_name": fact.file_name,
        "profile": fact.profile,
        "position": one.position,
        "imported_by": one.imported_by,
        "imported_at_us": one.imported_at_us,
        "rows_accepted": fact.rows_accepted,
        "rows_refused": fact.rows_refused,
        "total_minor": fact.total_minor,
    }


def _parts(found: Reissue) -> dict[str, Any]:
    return {
        "same_bytes": found.same_bytes,
        "added": found.added,
        "removed": found.removed,
        "changed": [{"earlier": one, "later": other} for one, other in found.changed],
        "kept": found.kept,
        "total_minor_change": found.totals,
    }


def _print(found: Reissue, before: Import, after: Import) -> None:
    fact = after.fact
    click.echo(
        f"{fact.file_name} ({fact.blob[:12]}) of {fact.month} after {before.fact.file_name} ({before.fact.blob[:12]}): "
        f"{len(found.added)} added, {len(found.removed)} gone, {len(found.changed)} changed, {found.kept} the same"
    )
    for currency, change in found.totals.items():
        sign = "+" if change > 0 else ""
        click.echo(f"  total {currency}: {sign}{format_minor(change, currency)}")
    _list("+", found.added, _line)
    _list("-", found.removed, _line)
    _list("~", found.changed, _change)
    if not (found.added or found.removed or found.changed):
        click.echo("  no line says anything else")
    for word, one in (("before", before), ("after", after)):
        if one.fact.rows_refused:
            click.echo(
                f"  !! {one.fact.rows_refused} rows of the file {word} were refused and are not compared; see "
                "'proofreel settlement import'"
            )


def _list(sign: str, items: Sequence[Any], words: Callable[[Any], str]) -> None:
    for item in items[:MAX_LISTED]:
        click.echo(f"  {sign} {words(item)}")
    if len(items) > MAX_LISTED:
        click.echo(f"  {sign} … and {len(items) - MAX_LISTED} more; --json lists all of them")


def _line(line: SettlementLine) -> str:
    name = f"{line.line_id}, " if line.line_id else ""
    booked = "" if line.booked else f", not booked ({line.status})"
    amount = f"{format_minor(line.amount_minor, line.currency)} {line.currency}"
    return f"line {line.line}: {name}{line.bill_id or 'no bill'}, {line.kind}, {amount}{booked}"


def _change(pair: tuple[SettlementLine, SettlementLine]) -> str:
    one, other = pair
    name = f"{other.line_id}, " if other.line_id else ""
    return f"line {other.line}: {name}{other.bill_id or 'no bill'}: {', '.join(_fields(one, other))}"


def _fields(one: SettlementLine, other: SettlementLine) -> Iterable[str]:
    """Each field that says something else, before and after."""
    for field in msgspec.structs.fields(SettlementLine):
        before, after = getattr(one, field.name), getattr(other, field.name)
        if field.name == "line" or before == after:
            continue
        if field.name == "amount_minor":
            before, after = format_minor(before, one.currency), format_minor(after, other.currency)
            yield f"amount {before} → {after} {other.currency}"
        elif field.name == "at_us":
            yield f"time {_time(before)} → {_time(after)}"
        else:
            yield f"{field.name.replace('_', ' ')} {before or 'nothing'} → {after or 'nothing'}"


def _time(at_us: int) -> str:
    return f"{datetime.fromtimestamp(at_us // 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC" if at_us else "nothing"
