"""``proofreel hold`` and ``proofreel retention``: what must stay, what may go, and its deletion, on record (X7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import click

from domain.errors import ConfigError
from domain.ids import TenantId
from domain.policy import Identity
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    places,
    print_json,
    print_table,
    store_options,
)
from executor.cli.people_commands import person_option
from executor.privacy_config import key_path, keyring_path
from executor.retention import Retention
from executor.runtime.system import SystemClock, SystemIds
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.store.sealed import SealedBlobs

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
kind_option = click.option(
    "--kind", type=click.Choice(["frame", "document"]), help="Screens, or everything else; both by default."
)
basis_option = click.option(
    "--basis", required=True, metavar="TEXT", help="What it rests on, kept on record."
)


@click.group(
    epilog="Example: proofreel hold place --month 2026-11 --basis 'claim 7 O 12/26' --as person:counsel"
)
def hold() -> None:
    """Legal holds: nothing that one covers is deleted until it is released."""


@hold.command(
    "place", epilog="Example: proofreel hold place --kind frame --basis 'claim 7' --as person:counsel"
)
@kind_option
@click.option("--month", default="", help="Month of storage, YYYY-MM; every month by default.")
@basis_option
@person_option
@config_option
@store_options
@json_option
def place_hold(
    kind: Literal["frame", "document"] | None,
    month: str,
    basis: str,
    person: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Place a hold."""
    if month and not _MONTH.fullmatch(month):
        raise ConfigError(f"{month!r} is no month", remedy="write --month YYYY-MM")
    with _retention(config_path, store, blobs, person) as (work, who):
        placed = work.place(who, kind=kind, month=month, basis=basis)
    if as_json:
        print_json(placed)
    else:
        click.echo(f"{placed.hold_id}: {kind or 'everything'} of {month or 'every month'} is held: {basis}")
    return 0


@hold.command("release", epilog="Example: proofreel hold release HOLD --basis 'settled' --as person:counsel")
@click.argument("hold_id", metavar="HOLD")
@basis_option
@person_option
@config_option
@store_options
def release_hold(
    hold_id: str, basis: str, person: str, config_path: Path, store: str | None, blobs: str | None
) -> int:
    """End a hold."""
    with _retention(config_path, store, blobs, person) as (work, who):
        work.release(who, hold_id, basis=basis)
    click.echo(f"{hold_id}: released")
    return 0


@hold.command("list", epilog="Example: proofreel hold list --json")
@config_option
@store_options
@json_option
def list_holds(
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Show the holds in force."""
    with _retention(config_path, store, blobs, None) as (work, _):
        found = work.holds()
    if as_json:
        print_json({"holds": found})
        return 0
    for one in found:
        click.echo(
            f"{one.hold_id}  {one.kind or 'everything'} of {one.month or 'every month'}, by {one.by}: {one.basis}"
        )
    click.echo(f"{len(found)} holds in force")
    return 0


@click.group(epilog="Example: proofreel retention plan")
def retention() -> None:
    """How long contents are kept, and their deletion by destroying the key of their month."""


@retention.command("plan", epilog="Example: proofreel retention plan --json")
@config_option
@store_options
@json_option
def plan(
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Show every month and kind with its end of retention; changes nothing."""
    with _retention(config_path, store, blobs, None) as (work, _):
        units = work.plan()
    if as_json:
        print_json({"tenant": work.tenant, "units": units})
        return 0
    print_table(
        f"retention of {work.tenant}",
        ("unit", "contents", "standing", "due on", "basis"),
        [(one.unit, one.blobs, one.standing.replace("_", " "), one.due_on, one.basis) for one in units],
    )
    return 0


@retention.command("apply", epilog="Example: proofreel retention apply --as person:records")
@click.option("--unit", "units", multiple=True, metavar="KIND/MONTH", help="Only this one; may be repeated.")
@person_option
@config_option
@store_options
@json_option
def apply(
    units: tuple[str, ...],
    person: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Delete what is due and not held. It can't be undone: the keys are overwritten and removed."""
    with _retention(config_path, store, blobs, person) as (work, who):
        done = work.apply(who, units)
    if as_json:
        print_json({"tenant": work.tenant, "deleted": done})
        return 0
    for one in done:
        click.echo(f"{one.deletion}: {one.unit}, {one.blobs} contents deleted: {one.basis}")
    click.echo(f"{len(done)} units deleted")
    return 0


@contextmanager
def _retention(
    config_path: Path, store: str | None, blobs: str | None, person: str | None
) -> Iterator[tuple[Retention, Identity]]:
    """The configured tenant's retention, for a person or for somebody who only looks."""
    config = configured(config_path)
    who = config.person(person) if person is not None else config.domain_identity()
    where = places(store, blobs, config_path)
    kept = open_blobs(where.blobs)
    if not isinstance(kept, SealedBlobs):
        key_path(config.privacy, config_path)
        keyring_path(config.privacy, config_path, where.blobs)
        raise ConfigError(
            "these blobs have no keys", remedy="name blobs that are kept under this configuration"
        )
    with open_record(where.store) as log:
        yield (
            Retention(
                log=log,
                blobs=kept,
                ids=SystemIds(),
                clock=SystemClock(),
                tenant=TenantId(config.tenant),
                section=config.privacy,
            ),
            who,
        )
