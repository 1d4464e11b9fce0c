"""``proofreel redact``: withhold rectangles of screens, fields of events and documents, on record and provably (X7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import click

from domain.errors import ConfigError
from domain.ids import EventId, RunId, Sha256, StreamId, TaskId, TenantId, run_stream, task_stream
from domain.policy import Identity
from domain.values import Box
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
from executor.cli.people_commands import note_option, person_option
from executor.privacy_config import key_path
from executor.redactions import Asked, Redactions
from executor.runtime.system import SystemClock, SystemIds
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.store.secret_key import load_secret
from projections.reading import open_reader
from projections.views.redactions import redaction

basis_option = click.option(
    "--basis", required=True, metavar="TEXT", help="Law or policy that asks for it, kept on record."
)
_NEXT = "in force once another person approves: proofreel redact approve {ids} --as PRINCIPAL"


@click.group(
    epilog="Example: proofreel redact frame SHA256 --region 10,70,300,24 --basis 'GDPR Art. 17' --as P"
)
def redact() -> None:
    """Withhold parts of the evidence: asked for by one person, approved by another, the rest still proved.

    The record itself stays as it is. What is shown in the desk and exported afterwards is withheld.
    """


@redact.command(
    "frame", epilog="Example: proofreel redact frame 9f86d081… --region 10,70,300,24 --basis B --as P"
)
@click.argument("frames", metavar="SHA256...", nargs=-1, required=True)
@click.option(
    "--region",
    "regions",
    metavar="X,Y,W,H",
    multiple=True,
    required=True,
    help="Rectangle in the screen's pixels; may be repeated. Every tile of 32 pixels that it touches is withheld.",
)
@basis_option
@person_option
@config_option
@store_options
@json_option
def redact_frame(
    frames: tuple[str, ...],
    regions: tuple[str, ...],
    basis: str,
    person: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Ask that rectangles of screens are withheld."""
    boxes = [_box(text) for text in regions]
    with opened_redactions(config_path, store, blobs, person) as (work, who):
        asked = [work.ask_frame(who, _sha256(name), boxes, basis) for name in frames]
    _tell(asked, as_json=as_json)
    return 0


@redact.command("field", epilog="Example: proofreel redact field EVENT --field counterparty --basis B --as P")
@click.argument("event")
@click.option(
    "--field",
    "fields",
    multiple=True,
    required=True,
    metavar="POINTER",
    help="Field of the event's data (title, intent/counterparty) or a JSON pointer; may be repeated.",
)
@click.option("--everywhere", is_flag=True, help="Also in every other event in which these texts stand.")
@basis_option
@person_option
@config_option
@store_options
@json_option
def redact_field(
    event: str,
    fields: tuple[str, ...],
    everywhere: bool,  # noqa: FBT001 - click passes flags by name
    basis: str,
    person: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - the same
) -> int:
    """Ask that fields of an event are withheld; an export is refused while the text stands elsewhere in it."""
    pointers = [field if field.startswith("/") else f"/data/{field}" for field in fields]
    with opened_redactions(config_path, store, blobs, person) as (work, who):
        places = {EventId(event): pointers}
        if everywhere:
            places |= dict(work.places_of(EventId(event), pointers))
        asked = [work.ask_event(who, name, held, basis) for name, held in places.items()]
    _tell(asked, as_json=as_json)
    return 0


@redact.command("document", epilog="Example: proofreel redact document 9f86d081… --basis B --as person:li.na")
@click.argument("sha256")
@basis_option
@person_option
@config_option
@store_options
@json_option
def redact_document(
    sha256: str,
    basis: str,
    person: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Ask that a document, a settlement file or a trace is withheld as a whole."""
    with opened_redactions(config_path, store, blobs, person) as (work, who):
        asked = [work.ask_document(who, _sha256(sha256), basis)]
    _tell(asked, as_json=as_json)
    return 0


@redact.command("approve", epilog="Example: proofreel redact approve REDACTION --as person:kim")
@click.argument("redactions", metavar="REDACTION...", nargs=-1, required=True)
@person_option
@note_option
@config_option
@store_options
def approve_redaction(
    redactions: tuple[str, ...],
    person: str,
    note: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
) -> int:
    """Allow redactions that somebody else asked for; the rendition is made again and compared first.

    A request that nobody answered for thirty days can only be denied, and is asked for anew.
    """
    return _answer(redactions, person, "approve", note, config_path, store, blobs)


@redact.command(
    "deny", epilog="Example: proofreel redact deny REDACTION --as person:kim --note 'needed as evidence'"
)
@click.argument("redactions", metavar="REDACTION...", nargs=-1, required=True)
@person_option
@note_option
@config_option
@store_options
def deny_redaction(
    redactions: tuple[str, ...],
    person: str,
    note: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
) -> int:
    """Refuse redactions; everything stays as it was."""
    return _answer(redactions, person, "deny", note, config_path, store, blobs)


@redact.command("list", epilog="Example: proofreel redact list --open --json")
@click.option("--open", "only_open", is_flag=True, help="Only those that wait for an answer.")
@config_option
@store_options
@tenant_option
@json_option
def list_redactions(
    only_open: bool,  # noqa: FBT001 - click passes flags by name
    config_path: Path,
    store: str | None,
    blobs: str | None,
    tenant: str | None,
    as_json: bool,  # noqa: FBT001 - the same
) -> int:
    """Show what was asked to be withheld, and what became of it."""
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        known = one_tenant(tenant, reader.tenants(), config_path)
        rows = [redaction(reader.stream(known, stream)) for stream in reader.streams(known, "redaction")]
    rows = [row for row in rows if not only_open or row.status == "requested"]
    if as_json:
        print_json({"tenant": known, "redactions": rows})
        return 0
    for row in rows:
        answered = f", {row.status} by {row.answered_by}" if row.answered_by else ""
        click.echo(f"{row.redaction}  {row.status}  {row.kind} {row.subject}  {row.parts}")
        click.echo(f"  asked by {row.requested_by}{answered}: {row.basis}")
    click.echo(f"{len(rows)} redactions of {known}")
    return 0


@redact.command("commit", epilog="Example: proofreel redact commit --run RUN")
@click.option("--run", "run_id", help="Only this run and the tasks in it; everything by default.")
@config_option
@store_options
@json_option
def commit(
    run_id: str | None,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Commit to every screen and event so far, part by part, before anybody asks for something to be withheld.

    What a later redaction shows of them is then proved to be what was there. Run it after each batch.
    """
    config = configured(config_path)
    with opened_redactions(config_path, store, blobs, None) as (work, who):
        streams = _streams(work, config_path, store, run_id)
        frames, events = work.commit(who.principal, run_id or "all", streams)
    if as_json:
        print_json({"tenant": config.tenant, "frames": frames, "events": events})
    else:
        click.echo(f"committed to {frames} screens and {events} events")
    return 0


def _streams(work: Redactions, config_path: Path, store: str | None, run_id: str | None) -> list[StreamId]:
    where = places(store, "unused", config_path)
    with open_reader(where.store) as reader:
        if run_id is None:
            kinds = ("task", "run", "settlement", "case")
            return [stream for kind in kinds for stream in reader.streams(work.tenant, kind)]
        own = run_stream(RunId(run_id))
        tasks = {
            task_stream(TaskId(one.envelope.task_id))
            for one in reader.events(work.tenant, names=("task.opened",))
            if one.envelope.run_id == run_id and one.envelope.task_id
        }
    return [own, *sorted(tasks)]


def _answer(
    redactions: tuple[str, ...],
    person: str,
    verdict: Literal["approve", "deny"],
    note: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
) -> int:
    with opened_redactions(config_path, store, blobs, person) as (work, who):
        for name in redactions:
            request = work.answer(who, name, verdict, note=note)
            word = "in force" if verdict == "approve" else "denied"
            click.echo(f"{name}: {word}, {request.kind} {request.subject}")
    return 0


@contextmanager
def opened_redactions(
    config_path: Path, store: str | None, blobs: str | None, person: str | None
) -> Iterator[tuple[Redactions, Identity]]:
    """The configured tenant's redactions, for a person or for the acting identity."""
    config = configured(config_path)
    who = config.person(person) if person is not None else config.domain_identity()
    key = load_secret(key_path(config.privacy, config_path))
    where = places(store, blobs, config_path)
    with open_record(where.store) as log, open_reader(where.store, as_stored=True) as stored:
        yield (
            Redactions(
                log=log,
                stored=stored,
                blobs=open_blobs(where.blobs),
                ids=SystemIds(),
                clock=SystemClock(),
                tenant=TenantId(config.tenant),
                key=key.salts,
            ),
            who,
        )


def _tell(asked: list[Asked], *, as_json: bool) -> None:
    if as_json:
        print_json({"requested": [asdict(one) for one in asked]})
        return
    for one in asked:
        click.echo(f"{one.redaction}: asked to withhold a part of {one.kind} {one.subject}")
    click.echo(_NEXT.format(ids=" ".join(one.redaction for one in asked)))


def _box(text: str) -> Box:
    try:
        x, y, width, height = (int(part) for part in text.split(","))
    except ValueError as error:
        what = f"{text!r} is no rectangle"
        raise ConfigError(what, remedy="give --region X,Y,WIDTH,HEIGHT in pixels: 10,70,300,24") from error
    return Box(x=x, y=y, width=width, height=height)


def _sha256(text: str) -> Sha256:
    digits = set("0123456789abcdef")
    if len(text) != len(Sha256("0" * 64)) or not digits.issuperset(text):
        raise ConfigError(f"{text[:80]!r} is no SHA-256", remedy="give its 64 digits, as the desk shows them")
    return Sha256(text)
