"""A portal, a configuration and batches of orders in one folder, and executors as real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.sandbox import story
from executor.sandbox.portal.server import PortalThread


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What an executor process needs."""

    folder: Path
    portal: PortalThread

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "proofreel.yaml"

    @property
    def store(self) -> str:
        """The record's URL."""
        return f"sqlite:///{self.folder / 'record.db'}"

    @property
    def blobs(self) -> str:
        """The folder of frames."""
        return str(self.folder / "blobs")

    def bills(self) -> list[dict[str, Any]]:
        """Pending CNY bills of the story's month, as the read API gives them."""
        with self.portal.client("wang.li") as person:
            found = person.bills(month=story.MONTH, status="pending", size=100)
        return [bill for bill in found if bill["currency"] == "CNY"]

    def batch(self, name: str, bills: Sequence[dict[str, Any]], action: str = "mark_processed") -> Path:
        """A batch file over ``bills``."""
        path = self.folder / f"{name}.yaml"
        return story.write_batch(path, name, [story.order(bill, action) for bill in bills])

    def start(self, batch: Path) -> subprocess.Popen[str]:
        """``proofreel run BATCH`` as a process in a group of its own."""
        secrets = {
            variable: self.portal.accounts[account].password for account, variable in story.SECRETS.items()
        }
        return subprocess.Popen(
            [sys.executable, "-m", "executor.cli", "run", str(batch), "-c", str(self.config), "--json"],
            env={**os.environ, **secrets},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def set_up(folder: Path, portal: PortalThread) -> Stage:
    """Write the configuration."""
    stage = Stage(folder=folder, portal=portal)
    story.write_config(stage.config, origin=portal.url, language="zh")
    return stage
