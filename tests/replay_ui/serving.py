"""The desk as its command serves it, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from tests.replay_ui.conftest import ROOT
from tests.replay_ui.sample import Sample

COMMAND = "from executor.cli import main; main()"


@contextmanager
def served(
    sample: Sample, folder: Path, *more: str, tenant: str = "acme", **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The desk over a sample as its command starts it, of tenant ``acme`` unless another is named."""
    options = (*more, "--tenant", tenant) if tenant else more
    with served_at(sample.store, sample.blobs, folder, *options, **environment) as running:
        yield running


@contextmanager
def served_at(
    store: str, blobs: str, folder: Path, *more: str, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The desk over any record; its address and its process."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    options = ["--store", store, "--blobs", blobs, "--port", "0", "--json", *more]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)} | environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line.rstrip() == "}":
                break
        yield str(json.loads("".join(lines))["url"]), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        process.stdout.close()


def free_port() -> int:
    """A port that nobody has at this moment, for an address that must be known before the desk starts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settled(page: Page) -> None:
    """Wait until the page's script has run."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
