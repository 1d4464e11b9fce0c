"""``proofreel demo``: the whole story once, on a real browser, with the functions that the other commands call."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from domain.errors import ConfigError, WorldError
from domain.ids import PrincipalId, TaskId, TenantId
from executor.approvals import answer
from executor.cli import run_command
from executor.cli.common import print_json, print_table
from executor.cli.evidence_commands import case_of, export_bundle
from executor.cli.month_commands import import_file, print_breaks, reconciled
from executor.cli.people_commands import now_us, person_stream
from executor.cli.run_commands import report, run_batch
from executor.compensation import compensate
from executor.config import load_config
from executor.orders import load_batch
from executor.runtime.batch import BatchResult
from executor.runtime.recovery import task_stream_of
from executor.runtime.system import SystemClock
from executor.sandbox import story
from executor.sandbox.legacy_run import run_legacy
from executor.sandbox.portal.server import PortalServer
from executor.store.log import open_record
from executor.store.signing import make_key, sign_checkpoint
from executor.wiring import Workshop, open_target
from projections.blobs import open_blob_reader
from projections.exports.select import scope_of
from projections.exports.verify import verify as check_bundle
from projections.fsck import check
from projections.reading import open_reader
from projections.views.reconciliation import Reconciliation

MARKER = "demo.json"
"""Written into a demo's folder; only a folder that has it is ever cleared."""
PROCESS_LIMIT_S = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The demo's folder and what stands in it."""

    folder: Path

    @property
    def config(self) -> Path:
        """Configuration of the first executor."""
        return self.folder / "proofreel.yaml"

    @property
    def second_config(self) -> Path:
        """Configuration of the second executor process."""
        return self.folder / "proofreel-second.yaml"

    @property
    def store(self) -> str:
        """The record's URL."""
        return f"sqlite:///{self.folder / 'record.db'}"

    @property
    def blobs(self) -> str:
        """The folder of frames."""
        return str(self.folder / "blobs")

    @property
    def evidence(self) -> Path:
        """The exported bundle."""
        return self.folder / "evidence.zip"


@click.command(epilog="Examples: proofreel demo; proofreel demo --no-ui --json; make demo ARGS=--no-ui")
@click.option("--no-ui", is_flag=True, help="End instead of serving the replay desk.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("proofreel-demo"),
    show_default=True,
    help="Where the demo's record, frames and files go; an earlier demo there is replaced.",
)
@click.option(
    "--lang",
    type=click.Choice(["zh", "en", "ja", "ko"]),
    default="zh",
    show_default=True,
    help="Language of the vendor's back office.",
)
@click.option("--port", type=int, default=8501, show_default=True, help="Port of the desk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON (implies --no-ui).")
def demo(no_ui: bool, folder: Path, lang: str, port: int, as_json: bool) -> int:  # noqa: FBT001
    """Record a guarded batch, find the month-end differences, replay them, carry the evidence away.

    Starts a vendor's old back office on a loopback port and works on it with a real browser: normal bills, a fake
    success, a row that moves between look and click, two executors at one bill, another tenant's bill, a refund with
    approval and undoing, an expired session; then an unguarded loop that is only watched, a change by hand, the month
    end, and an evidence bundle.
    """
    stage = Stage(folder=_cleared(folder))
    console = Console(stderr=True, quiet=as_json)
    with PortalServer(stage.folder / "portal.db", counts=story.COUNTS, lang=lang) as portal:
        result = perform(stage, portal, language=lang, console=console)
    if as_json:
        print_json(result)
        return 0 if result["ok"] else 1
    print_table("What happened", ("what", "result"), result["summary"].items())
    if not no_ui and result["ok"]:
        click.echo(f"look at it again with: proofreel serve --config {stage.config}")
        return run_command(["serve", "--config", str(stage.config), "--port", str(port)])
    return 0 if result["ok"] else 1


def perform(stage: Stage, portal: PortalServer, *, language: str, console: Console) -> dict[str, Any]:
    """The story from the first order to the verified bundle; plain data about what happened."""
    cast = story.choose(portal)
    story.set_faults(portal, cast)
    story.write_config(stage.config, origin=portal.url, language=language)
    story.write_config(stage.second_config, origin=portal.url, language=language, second=True)
    with _secrets(portal):
        with console.status("two executor processes submit one bill"):
            both = _two_processes(stage, cast)
        console.print("[bold]1[/] two executor processes, one bill:", " and ".join(sorted(both)))
        first, undone = _guarded(stage, portal, cast, console)
        with console.status("an unguarded loop, watched in record-only mode"):
            watched = _watched(stage, cast)
        console.print("[bold]3[/] an unguarded loop was watched:", watched["said"])
        with portal.client("wang.li") as person:
            person.process(cast.by_hand["id"])
        console.print(f"[bold]3[/] wang.li changed {cast.by_hand['id']} by hand, with no record at all")
        with console.status("month end"):
            month = _month_end(stage)
        console.print("[bold]4[/] month end:")
        if not console.quiet:
            print_breaks(month)
        evidence = _carry_away(stage, month, cast, console)
    return _told(stage, both, first, undone, watched, month, evidence)


def _guarded(
    stage: Stage, portal: PortalServer, cast: story.Cast, console: Console
) -> tuple[BatchResult, dict[str, Any]]:
    """The batch, the approval, the rest of the batch, and the undoing of the refund."""
    config = load_config(stage.config)
    target = open_target(config, stage.config)
    path = story.write_batch(stage.folder / "batch.yaml", "november-differences", story.main_orders(cast))
    batch = load_batch(path, dict(target.rules))
    console.print(f"[bold]2[/] a guarded batch of {len(batch.orders)} orders in real Chromium")
    with Workshop(target, store=stage.store, blobs=stage.blobs) as workshop:
        waiting = run_batch(
            workshop, batch, before=lambda order: story.before_order(portal, cast, order.intent.bill_id)
        )
        refund = next(o for o in waiting.outcomes if o.action == "refund")
        with person_stream(stage.config, None, story.APPROVER, refund.task_id) as (stream, person):
            answer(stream, person, "grant", note="amount and bill checked", now_us=now_us())
        console.print(
            f"[bold]2[/] {story.APPROVER} approved the refund of {refund.bill_id}; the batch goes on"
        )
        result = run_batch(workshop, batch)
        task = task_stream_of(workshop.kit(), TaskId(refund.task_id))
        undone = compensate(
            workshop.kit(),
            task,
            workshop.hands,
            requested_by=PrincipalId(story.APPROVER),
            reason="the counterparty asked for the bill to stay settled",
        )
    if not console.quiet:
        report(result, as_json=False)
    console.print(f"[bold]2[/] the refund was undone: {undone.reason}")
    return result, {"task_id": refund.task_id, "status": task.state.status, "reason": undone.reason}


def _two_processes(stage: Stage, cast: story.Cast) -> list[str]:
    """Two ``proofreel run`` processes with the same bill at the same time; their outcomes."""
    orders = [story.order(cast.shared, "mark_processed")]
    running = []
    for name, config in (("shared-one", stage.config), ("shared-two", stage.second_config)):
        batch = story.write_batch(stage.folder / f"{name}.yaml", name, orders)
        command = [sys.executable, "-m", "executor.cli", "run", str(batch), "--config", str(config), "--json"]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
        )
    statuses = []
    for process in running:
        out, err = process.communicate(timeout=PROCESS_LIMIT_S)
        if process.returncode not in {0, 1}:
            raise WorldError(
                f"an executor process failed: {err.strip().splitlines()[-1] if err.strip() else '?'}"
            )
        statuses += [outcome["status"] for outcome in json.loads(out)["outcomes"]]
    return statuses


def _watched(stage: Stage, cast: story.Cast) -> dict[str, str]:
    config = load_config(stage.config)
    target = open_target(config, stage.config)
    with Workshop(target, store=stage.store, blobs=stage.blobs) as workshop:
        return run_legacy(
            workshop.kit(),
            workshop.setting("november differences, unguarded", agent="legacy loop"),
            workshop.watched_pages(2),
            single=story.intent_of(cast.legacy, "mark_processed", "processed"),
            doubled=story.intent_of(cast.doubled, "mark_processed", "processed"),
        )


def _month_end(stage: Stage) -> Reconciliation:
    config = load_config(stage.config)
    target = open_target(config, stage.config)
    path = target.recipe.read.settlement_path.format(month=story.MONTH)
    with Workshop(target, store=stage.store, blobs=stage.blobs) as workshop:
        data = workshop.http_session().get(path).content
    import_file(
        io.BytesIO(data),
        store=stage.store,
        blobs=stage.blobs,
        tenant=TenantId(config.tenant),
        principal=PrincipalId(config.identity.principal),
        month=story.MONTH,
        profile="portal",
        name=Path(path).name,
        source=f"{config.target.origin}{path}",
    )
    with open_reader(stage.store) as reader:
        return reconciled(reader, open_blob_reader(stage.blobs), TenantId(config.tenant), story.MONTH)


def _carry_away(stage: Stage, month: Reconciliation, cast: story.Cast, console: Console) -> dict[str, Any]:
    """Sign the log, export the bundle about the doubled bill, and verify it with the public key."""
    tenant = TenantId(story.TENANT)
    key = make_key(stage.folder / "demo.key", "demo.example")
    with open_record(stage.store) as log:
        sign_checkpoint(log, tenant, key, SystemClock())
    found = next(item for item in month.breaks if item.bill == cast.doubled["id"])
    with open_reader(stage.store) as reader:
        case = case_of(reader, stage.blobs, tenant, story.MONTH, found.id)
        info = export_bundle(
            reader, stage.blobs, tenant, scope_of(bill=found.bill), stage.evidence, case=case
        )
        whole = check(reader, open_blob_reader(stage.blobs), tenant)
    trusted = str(key.verifier(tenant))
    verified = check_bundle(stage.evidence, trusted_keys=[trusted])
    console.print(
        f"[bold]5[/] evidence for {found.bill}: {stage.evidence} ({info.events} events, {info.frames} frames), "
        + ("verified" if verified.ok else "[red]NOT verified[/]"),
        highlight=False,
    )
    console.print(
        f"    check it: proofreel verify {stage.evidence} --key {trusted}", highlight=False, soft_wrap=True
    )
    return {
        "file": str(stage.evidence),
        "key": trusted,
        "proved": verified.proved,
        "bill": found.bill,
        "break": found.id,
        "events": info.events,
        "frames": info.frames,
        "verified": verified.ok,
        "fsck_ok": whole.ok,
        "fsck_events": whole.events,
    }


def _told(
    stage: Stage,
    both: list[str],
    first: BatchResult,
    undone: Mapping[str, Any],
    watched: Mapping[str, str],
    month: Reconciliation,
    evidence: Mapping[str, Any],
) -> dict[str, Any]:
    causes = [
        {
            "bill": found.bill,
            "kind": found.kind,
            "cause": finding.cause,
            "verdict": finding.verdict,
            "responsible": list(finding.responsible),
        }
        for found in month.breaks
        for finding in found.findings
    ]
    ok = bool(evidence["verified"]) and bool(evidence["fsck_ok"]) and undone["status"] == "compensated"
    counts = ", ".join(f"{count} {status}" for status, count in first.counts().items())
    return {
        "ok": ok,
        "folder": str(stage.folder),
        "store": stage.store,
        "blobs": stage.blobs,
        "two_processes": sorted(both),
        "outcomes": first.outcomes,
        "refund": dict(undone),
        "watched": dict(watched),
        "causes": causes,
        "evidence": dict(evidence),
        "summary": {
            "two executors, one bill": " and ".join(sorted(both)),
            "guarded batch": counts,
            "refund": f"{undone['status']}: {undone['reason']}",
            "watched loop": watched["said"],
            "month end": f"{len(month.matched)} lines agree, {len(month.breaks)} differ",
            "causes": "; ".join(f"{item['bill']} {item['cause']} ({item['verdict']})" for item in causes),
            "evidence": f"{evidence['file']}: {'verified' if evidence['verified'] else 'NOT verified'}",
            "whole record": f"{evidence['fsck_events']} events, {'sound' if evidence['fsck_ok'] else 'DAMAGED'}",
        },
    }


def _cleared(folder: Path) -> Path:
    """The demo's folder, empty; refuses to clear one that no demo wrote."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            raise ConfigError(f"{folder} is not empty and no demo's", remedy="name another one with --dir")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text('{"made_by": "proofreel demo"}\n', encoding="utf-8")
    return folder.resolve()


@contextmanager
def _secrets(portal: PortalServer) -> Iterator[None]:
    """The portal's random passwords in the environment, for this process and the executors that it starts."""
    values = {variable: portal.accounts[account].password for account, variable in story.SECRETS.items()}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
