"""``proofreel cases``: kept differences of month ends, what was concluded about them, and people's word on that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from domain import events as e
from domain.errors import ConfigError
from domain.ids import PrincipalId, TenantId, case_stream
from domain.policy import Identity
from domain.values import format_minor
from executor.casework import Casework, note, reopen, sign_off
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    one_tenant,
    places,
    print_json,
    print_table,
    store_options,
    tenant_option,
)
from executor.cli.people_commands import person_option
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from projections.fold import run_keys
from projections.reading import RecordReader, open_reader
from projections.settlement.cases import casework
from projections.views.cases import CaseRow, Cases, listed
from projections.views.reconciliation import Reconciliation

SHOWN_DIGITS = 12
"""Digits of a digest in a table; enough to name a conclusion."""


@click.group(epilog="Example: proofreel cases list --month 2026-11")
def cases() -> None:
    """Differences that were kept as cases (see 'proofreel reconcile --keep')."""


@cases.command("list", epilog="Example: proofreel cases list --month 2026-11 --all --json")
@click.option("--month", default="", help="YYYY-MM; all months by default.")
@click.option("--all", "everything", is_flag=True, help="Also those that were signed off or are gone.")
@config_option
@store_options
@tenant_option
@json_option
def list_cases(
    month: str,
    everything: bool,  # noqa: FBT001 - click passes flags by name
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Show cases with their newest conclusion."""
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        rows = listed(case_rows(reader, known).values(), month=month, closed=everything)
    if as_json:
        print_json({"tenant": known, "cases": [_plain(row) for row in rows]})
    else:
        print_table(
            f"cases of {known}",
            ("case", "month", "bill", "difference", "amount", "stands", "conclusion"),
            [
                (
                    row.break_id,
                    row.month,
                    row.bill_id,
                    row.kind.replace("_", " "),
                    f"{format_minor(row.amount_minor, row.currency)} {row.currency}",
                    row.standing.replace("_", " "),
                    row.digest[:SHOWN_DIGITS],
                )
                for row in rows
            ],
        )
    return 0


@cases.command("show", epilog="Example: proofreel cases show CASE --json")
@click.argument("case")
@config_option
@store_options
@tenant_option
@json_option
def show_case(
    case: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Show everything that was concluded and said about a case."""
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        row = run_keys(Cases(), reader.stream(known, case_stream(case))).get(case)
    if row is None:
        raise _unknown(case)
    if as_json:
        print_json(_plain(row))
    else:
        _print_case(row)
    return 0


@cases.command("note", epilog="Example: proofreel cases note CASE 'the vendor confirms' --as person:li.na")
@click.argument("case")
@click.argument("text")
@person_option
@config_option
@store_options
def note_case(
    case: str, text: str, person: str, config_path: Path, store: str | None, blobs: str | None
) -> int:
    """Write something down about a case."""
    del blobs
    with _work(config_path, store, case, person) as (work, who):
        note(work, case, who, text)
    click.echo(f"noted by {who.principal}")
    return 0


@cases.command(
    "sign-off", epilog="Example: proofreel cases sign-off CASE --digest 9f86d081884c --as person:li.na"
)
@click.argument("case")
@person_option
@click.option(
    "--digest",
    required=True,
    metavar="HEX",
    help="The conclusion that was read, by its first digits ('cases show').",
)
@click.option("--note", "words", default="", help="Kept with the sign-off.")
@config_option
@store_options
def sign_off_case(
    case: str,
    person: str,
    digest: str,
    words: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
) -> int:
    """Accept the newest conclusion of a case; not for those whom it names."""
    del blobs
    with _work(config_path, store, case, person) as (work, who):
        whole = sign_off(work, case, who, digest, note=words)
    click.echo(f"conclusion {whole} is signed off by {who.principal}")
    return 0


@cases.command("reopen", epilog="Example: proofreel cases reopen CASE --reason 'new facts' --as person:li.na")
@click.argument("case")
@person_option
@click.option("--reason", required=True, help="Why the sign-off is taken away.")
@config_option
@store_options
def reopen_case(
    case: str, person: str, reason: str, config_path: Path, store: str | None, blobs: str | None
) -> int:
    """Have a case that was signed off looked at again."""
    del blobs
    with _work(config_path, store, case, person) as (work, who):
        reopen(work, case, who, reason)
    click.echo(f"case {case} is open again")
    return 0


@contextmanager
def _work(
    config_path: Path, store: str | None, case: str, person: str
) -> Iterator[tuple[Casework, Identity]]:
    """The configured tenant's cases, opened for a configured person's word on one that exists."""
    config = configured(config_path)
    who = config.person(person)
    where = places(store, "unused", config_path)
    with open_record(where.store) as log:
        work = Casework(log, ids=SystemIds(), clock=SystemClock(), tenant=TenantId(config.tenant))
        if work.load(case).status == "new":
            raise _unknown(case)
        yield work, who


def _unknown(case: str) -> ConfigError:
    return ConfigError(f"there is no case {case}", remedy="see 'proofreel cases list --all'")


def _plain(row: CaseRow) -> dict[str, object]:
    """The row with what is read off it."""
    stands = {"standing": row.standing, "digest": row.digest, "amount_minor": row.amount_minor}
    return {**msgspec.structs.asdict(row), **stands}


def _print_case(row: CaseRow) -> None:
    console = Console()
    console.print(
        f"[bold]case {row.break_id}[/]: {escape(row.bill_id)} of {row.month}, {row.kind.replace('_', ' ')}, "
        f"{row.standing.replace('_', ' ')}",
        highlight=False,
    )
    for entry in row.entries:
        console.print(f"  {entry.position:>6}  {escape(entry.said)}", highlight=False)
    for number, made in enumerate(row.conclusions, start=1):
        console.print(f"  [bold]conclusion {number}[/] {made.digest}", highlight=False)
        for cause in made.fact.causes:
            who = ", ".join(cause.responsible) or cause.party.replace("_", " ")
            reason = f" ({cause.reason.replace('_', ' ')})" if cause.reason else ""
            places_of = ", ".join(str(position) for position in cause.evidence)
            console.print(
                f"    {cause.verdict}{reason}, {cause.cause.replace('_', ' ')}, responsible: {escape(who)}, "
                f"events {places_of or 'none'}",
                highlight=False,
            )


def case_rows(reader: RecordReader, tenant: TenantId) -> dict[str, CaseRow]:
    """Cases by break id, as they are stored."""
    view = Cases()
    rows: dict[str, CaseRow] = {}
    for stream in reader.streams(tenant, "case"):
        rows |= run_keys(view, reader.stream(tenant, stream))
    return rows


def keep_cases(
    store: str, tenant: TenantId, result: Reconciliation, rows: Mapping[str, CaseRow], by: PrincipalId
) -> str:
    """Tell the month's cases what was concluded; returns what became of them, in words."""
    known = {name: row.state for name, row in rows.items() if row.month == result.month}
    counts = {"opened": 0, "concluded anew": 0, "gone": 0, "as before": 0}
    reopened = 0
    with open_record(store) as log:
        work = Casework(log, ids=SystemIds(), clock=SystemClock(), tenant=tenant)
        for item in casework(result, known, by=by):
            facts = work.submit(item.break_id, item.commands, principal=by)
            counts[_became(facts)] += 1
            reopened += sum(isinstance(fact, e.CaseReopened) for fact in facts)
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"cases of {result.month}: {said}; {reopened} sign-offs taken away"


def _became(facts: Sequence[e.CaseEvent]) -> str:
    if not facts:
        return "as before"
    if isinstance(facts[0], e.CaseOpened):
        return "opened"
    last = facts[-1]
    return "gone" if isinstance(last, e.CaseConcluded) and not last.standing else "concluded anew"
