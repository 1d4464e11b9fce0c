"""``proofreel alerts``: what reached nobody, and another try."""

from __future__ import annotations

from pathlib import Path

import click

from domain.ids import TaskId, TenantId
from executor.cli.common import (
    config_option,
    configured,
    json_option,
    places,
    print_json,
    print_table,
    store_options,
)
from executor.notify import configured as notifier_of
from executor.runtime.streams import TaskStream
from executor.runtime.system import SystemClock, SystemIds
from executor.store.log import open_record
from executor.takeover import tell_again
from projections.fold import run_keys
from projections.reading import open_reader
from projections.views.dead_letters import DeadLetters, Letter, LettersRow, undelivered


@click.group(epilog="Example: proofreel alerts list --json")
def alerts() -> None:
    """Alerts that some channel has not had: the dead letters."""


def _letters(store: str, tenant: TenantId) -> tuple[tuple[LettersRow, Letter], ...]:
    with open_reader(store) as reader:
        return undelivered(run_keys(DeadLetters(), reader.events(tenant)).values())


@alerts.command("list", epilog="Example: proofreel alerts list --json")
@config_option
@store_options
@json_option
def list_alerts(config_path: Path, store: str | None, blobs: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Show alerts that were not delivered. Exits 1 while there are any."""
    config = configured(config_path)
    where = places(store, blobs or "unused", config_path)
    found = _letters(where.store, TenantId(config.tenant))
    if as_json:
        letters = [{"task_id": row.task_id, "run_id": row.run_id, "alert": letter} for row, letter in found]
        print_json({"tenant": config.tenant, "undelivered": letters})
    else:
        print_table(
            f"undelivered alerts of {config.tenant}",
            ("task", "kind", "severity", "failed", "what"),
            [
                (
                    row.task_id,
                    letter.kind,
                    letter.severity,
                    "; ".join(f"{channel}: {word}" for channel, word in sorted(letter.failed.items())),
                    letter.message,
                )
                for row, letter in found
            ],
        )
    return 1 if found else 0


@alerts.command("resend", epilog="Example: proofreel alerts resend --config proofreel.yaml")
@config_option
@store_options
@json_option
def resend(config_path: Path, store: str | None, blobs: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Try the channels again that have not had an alert. Exits 1 when any still has not."""
    config = configured(config_path)
    where = places(store, blobs or "unused", config_path)
    tenant = TenantId(config.tenant)
    notifier = notifier_of(config.notify.webhook, config.notify.command)
    found = [(row, letter) for row, letter in _letters(where.store, tenant) if row.task_id]
    with open_record(where.store) as log:
        for row, letter in found:
            stream = TaskStream(
                log,
                ids=SystemIds(),
                clock=SystemClock(),
                tenant=tenant,
                task_id=TaskId(row.task_id),
                run_id=None,
                principal=config.domain_identity().principal,
            )
            stream.load()
            tell_again(
                stream,
                notifier,
                kind=letter.kind,
                severity=letter.severity,
                message=letter.message,
                channels=tuple(letter.failed),
            )
    left = _letters(where.store, tenant)
    if as_json:
        print_json({"tenant": config.tenant, "tried": len(found), "left": len(left)})
    else:
        click.echo(f"{len(found)} tried again, {len(left)} still undelivered")
    return 1 if left else 0
