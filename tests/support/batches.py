"""``proofreel run`` in a process that is killed, and the same batch started again in this one.

A process that is killed is forked from one that has everything imported, because Python's imports would be a third of
what a moment costs; starting again happens here, over the same record, on a browser that is started once.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Browser

from domain import events as e
from domain.errors import ConfigError, WorldError
from domain.ids import TenantId
from domain.task import TERMINAL, fold
from executor.cli import run_command
from executor.cli.run_commands import run_batch
from executor.config import load_config
from executor.orders import load_batch
from executor.runtime.batch import BatchResult
from executor.sandbox import story
from executor.sandbox.portal.server import PortalThread
from executor.wiring import Workshop, open_target
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader

TENANT = TenantId(story.TENANT)
LIMIT_S = 60.0
POLL_S = 0.02
PRELOADED = ["executor.cli.model_command", "executor.cli.run_commands", "executor.wiring"]
RESTARTS = 3
DEADLINE_MS = 20_000
"""A source that a busy machine keeps waiting is asked again; only a wrong effect takes that long."""


class SharedBrowser(Workshop):
    """A workshop on a browser that is somebody else's."""

    shared: Browser | None = None

    def browser(self) -> Browser:
        """See ``Workshop``."""
        return super().browser() if self.shared is None else self.shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A configuration with a record of its own, on a portal that others use too, and a batch of one bill."""

    folder: Path
    portal: PortalThread
    bill: Mapping[str, Any]

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "proofreel.yaml"

    @property
    def batch(self) -> Path:
        """The batch file."""
        return self.folder / "batch.yaml"

    @property
    def said(self) -> Path:
        """What the process printed, on either stream."""
        return self.folder / "said"

    @property
    def store(self) -> str:
        """The record's URL."""
        return f"sqlite:///{self.folder / 'record.db'}"

    def write(self, *, ladder: Sequence[str], sources: Sequence[str], tools: Mapping[str, Any]) -> None:
        """Write both files."""
        story.write_config(self.config, origin=self.portal.url, language="zh")
        content = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        content["tools"] = {"ladder": list(ladder), **tools}
        content["write_policy"] |= {"readback_sources": list(sources), "readback_deadline_ms": DEADLINE_MS}
        self.config.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
        story.write_batch(self.batch, self.folder.name, [story.order(self.bill, "mark_processed")])

    def start(self) -> ForkServerProcess:
        """``proofreel run`` over the batch, as a process in a group of its own."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        arguments = ["run", str(self.batch), "--config", str(self.config), "--json"]
        process = context.Process(target=_run, args=(arguments, dict(os.environ), str(self.said)))
        process.start()
        return process

    def again(self, browser: Browser | None) -> BatchResult:
        """The same batch started again, a few times if the world is not ready."""
        for left in reversed(range(RESTARTS)):
            target = open_target(load_config(self.config), self.config)
            try:
                with SharedBrowser(target, store=self.store, blobs=str(self.folder / "blobs")) as workshop:
                    workshop.shared = browser
                    return run_batch(workshop, load_batch(self.batch, dict(target.rules)))
            except WorldError:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def facts(self) -> list[e.Event]:
        """What is on record about the bill's task; nothing while there is no record."""
        with contextlib.suppress(ConfigError, WorldError), open_reader(self.store) as reader:
            return [
                recorded.event
                for recorded in reader.events(TENANT)
                if recorded.envelope.correlation_id == f"bill:{self.bill['id']}"
            ]
        return []

    def assert_settled(self) -> None:
        """Written once or not at all, the record says which of them, nothing is left open, and the record is sound."""
        history = self.portal.truth.history(self.bill["id"])
        posts = self.portal.truth.posts(f"/bills/{self.bill['id']}/actions")
        facts = self.facts()
        state = fold(facts)
        writes = [fact for fact in facts if isinstance(fact, e.ActionAttempted) and fact.writes]
        assert len(history) <= 1
        assert len(posts) <= 1
        assert state.status in TERMINAL
        if (
            state.status != "succeeded" and history
        ):  # a source that can't be read in time is a person's matter
            assert state.status == "taken_over"
            assert any(isinstance(fact, e.ReadbackInconclusive) for fact in facts)
        else:
            assert (state.status == "succeeded") == (len(history) == 1)
        assert state.open_attempt is None
        assert len(writes) <= 1 + sum(isinstance(fact, e.ActionBlocked) for fact in facts)
        with open_reader(self.store) as reader:
            sound = check(reader, open_blob_reader(str(self.folder / "blobs")), TENANT)
        assert sound.ok, sound.findings


def _run(arguments: list[str], environment: dict[str, str], said: str) -> None:
    os.setsid()
    os.environ.update(environment)
    with Path(said).open("w", encoding="utf-8") as out:
        os.dup2(out.fileno(), sys.stdout.fileno())
        os.dup2(out.fileno(), sys.stderr.fileno())
    sys.exit(run_command(arguments))


def attempted(place: Place) -> bool:
    """True once the write's attempt is durable."""
    return any(isinstance(fact, e.ActionAttempted) and fact.writes for fact in place.facts())


def wait_for_attempt(place: Place, process: ForkServerProcess) -> None:
    """Wait until the write's attempt is durable, or the process ends by itself."""
    end = time.monotonic() + LIMIT_S
    while process.is_alive() and time.monotonic() < end and not attempted(place):
        time.sleep(POLL_S)


def kill(process: ForkServerProcess, *, everything: bool) -> None:
    """SIGKILL to the executor, or to it and its children."""
    pid = process.pid
    assert pid is not None
    with contextlib.suppress(ProcessLookupError):
        if everything and os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        process.kill()
    process.join(LIMIT_S)


@contextmanager
def secrets_of(portal: PortalThread) -> Iterator[None]:
    """The accounts' passwords in the environment, under the names that the configuration gives."""
    before = {name: os.environ.get(name) for name in story.SECRETS.values()}
    os.environ.update({name: portal.accounts[account].password for account, name in story.SECRETS.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def untouched(portal: PortalThread) -> dict[str, Any]:
    """A pending CNY bill that nothing was ever posted about."""
    with portal.client("wang.li") as person:
        bills = [bill for bill in person.bills(status="pending", size=100) if bill["currency"] == "CNY"]
    return next(bill for bill in bills if not portal.truth.posts(f"/bills/{bill['id']}/"))
