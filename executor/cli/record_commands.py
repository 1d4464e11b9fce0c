"""Commands about the record itself: check it, sign it, witness it, move it, say who may write.

Each is a thin call of a function in ``executor.store`` or ``projections.fsck``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from domain.errors import ConfigError
from domain.ids import TenantId
from executor.cli.common import (
    config_option,
    json_option,
    one_tenant,
    places,
    print_json,
    print_table,
    progress_bar,
    store_options,
    tenant_option,
)

if TYPE_CHECKING:
    from domain.notes import VerifierKey
    from projections.findings import FsckReport


@click.command(epilog="Example: proofreel fsck --store sqlite:////srv/record.db --blobs /srv/blobs --json")
@store_options
@config_option
@tenant_option
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A checkpoint note kept elsewhere: finds a log that was cut short or set back.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="NAME+ID+KEY",
    help="A signer's or a witness's public key ('proofreel keys show'): its signatures must be right.",
)
@click.option("--no-blobs", is_flag=True, help="Don't look at frames and files.")
@json_option
def fsck(
    store: str | None,
    blobs: str | None,
    config_path: Path,
    tenant: str | None,
    checkpoints: tuple[Path, ...],
    keys: tuple[str, ...],
    no_blobs: bool,  # noqa: FBT001 - click passes flags by name
    as_json: bool,  # noqa: FBT001 - the same
) -> int:
    """Re-derive the whole record from its stored bytes and say what is broken, and where.

    Exits 1 when something is. Reads only, also from a read-only copy.
    """
    from projections.fsck import anchors_from, check
    from projections.reading import open_blob_reader, open_reader

    place = places(store, blobs or ("." if no_blobs else None), config_path)
    known = [_verifier(text) for text in keys]
    with open_reader(place.store) as reader, progress_bar() as bar:
        rows: dict[str, int] = {}

        def progress(done: int, total: int, name: str) -> None:
            row = rows.get(name)
            if row is None:
                row = rows[name] = bar.add_task(name, total=total)
            bar.update(row, completed=done)  # type: ignore[arg-type]

        report = check(
            reader,
            None if no_blobs else open_blob_reader(place.blobs),
            TenantId(tenant) if tenant else None,
            progress,
            anchors=anchors_from([path.read_text(encoding="utf-8") for path in checkpoints], known),
            keys=known,
        )
    if as_json:
        print_json({**msgspec.to_builtins(report), "ok": report.ok, "tasks": report.tasks})
        return 0 if report.ok else 1
    for finding in report.findings:
        where = f"{finding.tenant} {finding.position or ''}".strip() or "record"
        task = f" (task {finding.task})" if finding.task else ""
        click.echo(f"{finding.code}: {where}: {finding.what}{task}")
    click.echo(
        f"{report.events} events of {len(report.tenants)} tenants, {report.blobs} blobs{_deleted(report)},"
        f" {report.claims} claims, {report.checkpoints} checkpoints ({_signatures(report)}): "
        + ("sound" if report.ok else f"{report.found} findings")
    )
    return 0 if report.ok else 1


def _deleted(report: FsckReport) -> str:
    """What of the blobs was deleted on record, in words; empty for nothing."""
    return f" ({report.deleted} deleted, as the record says)" if report.deleted else ""


def _signatures(report: FsckReport) -> str:
    """What became of the signatures, in words."""
    if not report.signatures_checked:
        return "signatures not checked: give --key"
    return f"{report.signatures} signature{'' if report.signatures == 1 else 's'} right"


def _verifier(text: str) -> VerifierKey:
    from domain.notes import parse_verifier_key

    try:
        return parse_verifier_key(text)
    except ValueError as error:
        raise ConfigError(
            str(error), remedy="give --key NAME+ID+KEY as 'proofreel keys show' prints it"
        ) from error


@click.group(epilog="Example: proofreel keys show ~/.proofreel/desk.key")
def keys() -> None:
    """Keys that sign checkpoints and bundles."""


@keys.command("init", epilog="Example: proofreel keys init ~/.proofreel/desk.key --name desk.example.com")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--name", required=True, help="Name that the key signs with: a host name, say. No spaces, no plus."
)
@json_option
def keys_init(file: Path, name: str, as_json: bool) -> None:  # noqa: FBT001 - click passes flags by name
    """Make an Ed25519 key in FILE (mode 0600) and print its public half.

    Keep FILE out of the record and out of backups of it: whoever has both can rewrite and sign.
    """
    from executor.store.signing import make_key

    _print_key(file, make_key(file, name), as_json=as_json, tenants=())


@keys.command("privacy", epilog="Example: proofreel keys privacy ~/.proofreel/privacy.key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def keys_privacy(file: Path, as_json: bool) -> None:  # noqa: FBT001 - click passes flags by name
    """Make the privacy key in FILE (mode 0600): salts of redactions come from it, data keys are wrapped by it.

    Keep it out of the record and of backups of it. Without it, what was encrypted can't be read any more.
    """
    from executor.store.secret_key import make_secret

    key = make_secret(file)
    if as_json:
        print_json({"file": str(file), "name": key.name})
    else:
        click.echo(f"privacy key {key.name} in {file}; name it under privacy.key in the configuration")


@keys.command("show", epilog="Example: proofreel keys show ~/.proofreel/desk.key --tenant acme")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--tenant", "tenants", multiple=True, help="Print the verifier key of this tenant's checkpoints."
)
@json_option
def keys_show(file: Path, tenants: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - as above
    """Print the public half of the key in FILE, for auditors and witnesses."""
    from executor.store.signing import load_key

    _print_key(file, load_key(file), as_json=as_json, tenants=tenants)


def _print_key(file: Path, key: object, *, as_json: bool, tenants: tuple[str, ...]) -> None:
    from domain.notes import verifier_key
    from executor.store.signing import SigningKey

    assert isinstance(key, SigningKey)  # noqa: S101 - invariant, stays on
    shown = {
        "file": str(file),
        "verifier_key": str(verifier_key(key.name, key.private.public_key())),
        "witness_key": str(key.verifier_of_witness()),
        "tenants": {tenant: str(key.verifier(TenantId(tenant))) for tenant in tenants},
    }
    if as_json:
        print_json(shown)
        return
    click.echo(f"key          {shown['file']}")
    click.echo(f"verifier     {shown['verifier_key']}")
    click.echo(f"as a witness {shown['witness_key']}")
    for tenant in tenants:
        click.echo(f"log of {tenant}: {key.verifier(TenantId(tenant))}")


@click.command(
    epilog="Example: proofreel checkpoint --key desk.key --witness http://witness:8502=NAME+ID+KEY"
)
@store_options
@config_option
@tenant_option
@click.option("--key", "key_path", required=True, type=click.Path(path_type=Path), help="Key to sign with.")
@click.option("--witness", "witnesses", multiple=True, metavar="URL=KEY", help="Have it cosigned there.")
@click.option("--timestamp", "authority", metavar="URL", help="RFC 3161 authority to have it timed by.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the note here as well.")
@json_option
def checkpoint(
    store: str | None,
    blobs: str | None,
    config_path: Path,
    tenant: str | None,
    key_path: Path,
    witnesses: tuple[str, ...],
    authority: str | None,
    out: Path | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> None:
    """Sign the present end of a tenant's log; keep the note, print it, and have others vouch for it.

    Keep a copy outside this machine: it is what shows later that the log was cut short or rewritten.
    """
    from domain.notes import parse_verifier_key
    from executor.runtime.system import SystemClock
    from executor.store.attesting import submit_to_witness, timestamp_checkpoint
    from executor.store.log import open_record
    from executor.store.signing import load_key, sign_checkpoint, tenants_of

    place = places(store, blobs or ".", config_path)
    clock = SystemClock()
    with open_record(place.store) as log:
        who = one_tenant(tenant, tenants_of(log), config_path)
        note = sign_checkpoint(log, who, load_key(key_path), clock)
        lines = []
        for item in witnesses:
            url, _, text = item.partition("=")
            try:
                witness = parse_verifier_key(text)
            except ValueError as error:
                raise ConfigError(str(error), remedy="give --witness URL=NAME+ID+KEY") from error
            lines.append(submit_to_witness(log, who, note, url=url, witness=witness, clock=clock))
        stamped = timestamp_checkpoint(log, who, note, url=authority, clock=clock) if authority else b""
    whole = note + "".join(lines)
    if out is not None:
        out.write_text(whole, encoding="utf-8")
    if as_json:
        print_json(
            {"tenant": who, "note": whole, "cosignatures": len(lines), "timestamp_bytes": len(stamped)}
        )
    else:
        click.echo(whole, nl=False)


@click.command(epilog="Example: proofreel witness --key witness.key --state seen.db --log NAME+ID+KEY")
@click.option(
    "--key", "key_path", required=True, type=click.Path(path_type=Path), help="The witness's own key."
)
@click.option("--state", required=True, type=click.Path(path_type=Path), help="File of what was seen so far.")
@click.option(
    "--log", "logs", multiple=True, required=True, metavar="KEY", help="Verifier key of a log to watch."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8502, show_default=True, type=click.IntRange(0, 65535))
def witness(key_path: Path, state: Path, logs: tuple[str, ...], host: str, port: int) -> None:
    """Serve a witness (C2SP add-checkpoint): it cosigns checkpoints that continue what it has seen.

    To be run by somebody else than the operator of the record, on another machine.
    """
    import uvicorn

    from domain.notes import parse_verifier_key
    from executor.runtime.system import SystemClock
    from executor.store.signing import load_key
    from executor.store.witness import WitnessState, witness_app

    try:
        known = [parse_verifier_key(text) for text in logs]
    except ValueError as error:
        raise ConfigError(
            str(error), remedy="print it with 'proofreel keys show FILE --tenant NAME'"
        ) from error
    app = witness_app(WitnessState(state), load_key(key_path), known, SystemClock())
    click.echo(f"witness on http://{host}:{port}/add-checkpoint", err=True)
    uvicorn.run(app, host=host, port=port, log_level="warning")


@click.command(epilog="Example: proofreel migrate sqlite:////srv/record.db postgresql+psycopg://desk@db/desk")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
def migrate(source: str, target: str, as_json: bool) -> None:  # noqa: FBT001 - click passes flags by name
    """Copy a record between SQLite and PostgreSQL and prove that its roots are the same."""
    from executor.store.migrate import migrate as move

    with progress_bar() as bar:
        rows: dict[str, int] = {}

        def progress(done: int, total: int, name: str) -> None:
            row = rows.get(name)
            if row is None:
                row = rows[name] = bar.add_task(name, total=total)
            bar.update(row, completed=done)  # type: ignore[arg-type]

        moved = move(source, target, progress)
    if as_json:
        print_json(moved)
        return
    rows_shown = [
        (item.tenant, item.events, item.root_before[:16] + "…", item.root_after[:16] + "…") for item in moved
    ]
    print_table("Moved", ["tenant", "events", "root before", "root after"], rows_shown)


@click.command(
    epilog="Example: proofreel grant desk_app --tenant acme --store postgresql+psycopg://owner@db/desk"
)
@click.argument("role")
@click.option("--tenant", "tenants", multiple=True, required=True, help="Tenant that the role may see.")
@click.option("--read-only", is_flag=True, help="No appends: for the desk and for auditors.")
@click.option("--store", required=True, metavar="URL", help="The record, as its owner.")
def grant(role: str, tenants: tuple[str, ...], read_only: bool, store: str) -> None:  # noqa: FBT001 - as above
    """Give a PostgreSQL login role the right to read and append for some tenants, and nothing else."""
    from executor.store.roles import grant_role

    grant_role(store, role, tenants, write=not read_only)
    click.echo(f"{role} may {'read' if read_only else 'read and append'} for {', '.join(tenants)}")


COMMANDS: tuple[click.Command, ...] = (fsck, keys, checkpoint, witness, migrate, grant)
