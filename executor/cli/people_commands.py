"""``proofreel approvals``, ``takeover`` and ``compensate``: what people decide, recorded as theirs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, cast

import click

from domain.errors import ConfigError
from domain.events import TakeoverResolved
from domain.ids import PrincipalId, TaskId, TenantId
from domain.policy import Identity
from domain.values import Intent
from executor.approvals import answer
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    places,
    print_json,
    print_table,
    store_options,
)
from executor.compensation import compensate as undo
from executor.notify import configured as notifier_of
from executor.runtime.recovery import task_stream_of
from executor.runtime.streams import TaskStream
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from executor.takeover import resolve, take
from executor.wiring import Workshop, open_target
from projections.fold import run_keys
from projections.reading import open_reader
from projections.views.approvals import Approvals, pending
from projections.views.takeover_queue import TakeoverQueue, aged

person_option = click.option(
    "--as", "person", required=True, metavar="PRINCIPAL", help="Who decides, e.g. person:li.na."
)
note_option = click.option("--note", default="", help="Kept with the decision.")

Resolution = Literal["effect_present", "effect_absent", "done_by_hand", "undone_by_hand", "nothing_to_do"]
RESOLUTIONS = ("effect_present", "effect_absent", "done_by_hand", "undone_by_hand", "nothing_to_do")


def now_us() -> int:
    """Microseconds since 1970 (UTC)."""
    return time.time_ns() // 1000


@contextmanager
def person_stream(
    config_path: Path, store: str | None, person: str, task: str
) -> Iterator[tuple[TaskStream, Identity]]:
    """A task's stream opened for a configured person's decision."""
    config = configured(config_path)
    who = config.person(person)
    where = places(store, "unused", config_path)
    with open_record(where.store) as log:
        stream = TaskStream(
            log,
            ids=SystemIds(),
            clock=SystemClock(),
            tenant=TenantId(config.tenant),
            task_id=TaskId(task),
            run_id=None,
            principal=who.principal,
        )
        if stream.load().status == "new":
            raise ConfigError(f"there is no task {task}", remedy="see 'proofreel tasks'")
        yield stream, who


def bill_and_action(intent: Intent | None) -> tuple[str, str]:
    """For a table's cells."""
    return ("", "") if intent is None else (intent.bill_id, intent.action)


@click.group(epilog="Example: proofreel approvals list")
def approvals() -> None:
    """Requests that wait for another person's word."""


@approvals.command("list", epilog="Example: proofreel approvals list --json")
@config_option
@store_options
@json_option
def list_approvals(config_path: Path, store: str | None, blobs: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Show open requests with what would be approved and until when."""
    config = configured(config_path)
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        rows = run_keys(Approvals(), reader.events(TenantId(config.tenant)))
    waiting = pending(rows.values(), now_us=now_us())
    if as_json:
        print_json({"tenant": config.tenant, "requests": waiting})
    else:
        print_table(
            f"approvals of {config.tenant}",
            ("task", "bill", "action", "why", "seconds left"),
            [
                (p.task_id, *bill_and_action(p.intent), p.request.reason, p.left_us // 1_000_000)
                for p in waiting
            ],
        )
    return 0


def _answer(
    verdict: Literal["grant", "deny"], config_path: Path, store: str | None, person: str, task: str, note: str
) -> int:
    with person_stream(config_path, store, person, task) as (stream, who):
        notify = configured(config_path).notify
        notifier = notifier_of(notify.webhook, notify.command)
        answer(stream, who, verdict, note=note, now_us=now_us(), notifier=notifier)
        click.echo(_what_now(stream, who, verdict))
    return 0


def _what_now(stream: TaskStream, who: Identity, verdict: Literal["grant", "deny"]) -> str:
    bill, action = bill_and_action(stream.state.intent)
    given, request = len(stream.state.approved_by), stream.state.request
    if verdict == "deny":
        return f"denied by {who.principal}: {action} of {bill}; run the same batch again to end it without an effect"
    if stream.state.status == "awaiting_approval" and request is not None:
        return f"granted by {who.principal}: {action} of {bill}; that is {given} of {request.approvers_needed} needed"
    return f"granted by {who.principal}: {action} of {bill}; run the same batch again to carry it out"


@approvals.command(
    "grant", epilog="Example: proofreel approvals grant TASK --as person:li.na --note 'checked'"
)
@click.argument("task")
@person_option
@note_option
@config_option
@store_options
def grant(task: str, person: str, note: str, config_path: Path, store: str | None, blobs: str | None) -> int:
    """Allow exactly the requested action; the next 'proofreel run' carries it out."""
    del blobs
    return _answer("grant", config_path, store, person, task, note)


@approvals.command(
    "deny", epilog="Example: proofreel approvals deny TASK --as person:li.na --note 'wrong bill'"
)
@click.argument("task")
@person_option
@note_option
@config_option
@store_options
def deny(task: str, person: str, note: str, config_path: Path, store: str | None, blobs: str | None) -> int:
    """Refuse the requested action; the task ends without an effect."""
    del blobs
    return _answer("deny", config_path, store, person, task, note)


@click.group(epilog="Example: proofreel takeover list --all")
def takeover() -> None:
    """Tasks that need a person."""


@takeover.command("list", epilog="Example: proofreel takeover list --all --json")
@click.option("--all", "everything", is_flag=True, help="Also those that were resolved.")
@config_option
@store_options
@json_option
def list_takeovers(
    everything: bool,  # noqa: FBT001 - click passes flags by name
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Show the queue: severity, due time, owner, breach."""
    config = configured(config_path)
    where = places(store, blobs or "unused", config_path)
    with open_reader(where.store) as reader:
        rows = run_keys(TakeoverQueue(), reader.events(TenantId(config.tenant)))
    queue = aged(rows.values(), now_us=now_us(), closed=everything)
    if as_json:
        print_json({"tenant": config.tenant, "queue": queue})
    else:
        print_table(
            f"takeover queue of {config.tenant}",
            ("task", "bill", "severity", "owner", "minutes left", "why"),
            [
                (
                    a.task_id,
                    bill_and_action(a.intent)[0],
                    a.item.severity,
                    a.item.owner,
                    a.left_us // 60_000_000,
                    a.item.reason,
                )
                for a in queue
            ],
        )
    return 0


@takeover.command("take", epilog="Example: proofreel takeover take TASK --as person:li.na")
@click.argument("task")
@person_option
@config_option
@store_options
def take_over(task: str, person: str, config_path: Path, store: str | None, blobs: str | None) -> int:
    """Own the task; the executor keeps its hands off."""
    del blobs
    with person_stream(config_path, store, person, task) as (stream, who):
        take(stream, who.principal)
        click.echo(f"task {task} is owned by {who.principal}")
    return 0


@takeover.command(
    "resolve", epilog="Example: proofreel takeover resolve TASK effect_absent --as person:li.na --note '...'"
)
@click.argument("task")
@click.argument("resolution", type=click.Choice(RESOLUTIONS))
@person_option
@click.option("--note", required=True, help="What was found and done.")
@config_option
@store_options
def resolve_takeover(
    task: str,
    resolution: str,
    person: str,
    note: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
) -> int:
    """Close the takeover with what was found and done."""
    del blobs
    with person_stream(config_path, store, person, task) as (stream, who):
        fact = TakeoverResolved(
            owner=who.principal,
            resolution=cast(
                "Resolution",
                resolution,
            ),
            note=note,
        )
        resolve(stream, fact)
        click.echo(f"task {task} is resolved: {resolution}")
    return 0


@click.command(epilog="Example: proofreel compensate TASK --as person:li.na --reason 'refund was a mistake'")
@click.argument("task")
@person_option
@click.option("--reason", required=True, help="Why the effect is undone.")
@config_option
@store_options
@json_option
def compensate(
    task: str,
    person: str,
    reason: str,
    config_path: Path,
    store: str | None,
    blobs: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name
) -> int:
    """Undo a task's effect by its registered way back, and read it back. Exits 1 when the state isn't restored."""
    config = configured(config_path)
    who = config.person(person)
    target = open_target(config, config_path)
    where = places(store, blobs, config_path)
    with Workshop(target, store=where.store, blobs=where.blobs) as workshop:
        kit = workshop.kit()
        stream = task_stream_of(kit, TaskId(task))
        done = undo(kit, stream, workshop.hands, requested_by=PrincipalId(who.principal), reason=reason)
    if as_json:
        print_json({"task_id": task, "status": stream.state.status, "result": done})
    else:
        click.echo(f"task {task} is {stream.state.status}: {done.reason}")
        for effect in done.residual_effects:
            click.echo(f"  stays: {effect}")
    return 0 if done.restored else 1
