"""The demo, run once for all tests about what it leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DEMO_LIMIT_S = 540


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What ``proofreel demo --json`` said, and where its files are."""

    said: dict[str, Any]
    folder: Path

    @property
    def evidence(self) -> Path:
        """The exported bundle."""
        return self.folder / "evidence.zip"

    @property
    def config(self) -> Path:
        """Its configuration."""
        return self.folder / "proofreel.yaml"

    def status_of(self, bill: str, action: str = "mark_processed") -> dict[str, Any]:
        """The outcome of one order of the guarded batch."""
        found: list[dict[str, Any]] = [
            outcome
            for outcome in self.said["outcomes"]
            if outcome["bill_id"] == bill and outcome["action"] == action
        ]
        assert len(found) == 1, found
        return found[0]


def command(*arguments: str) -> list[str]:
    """``proofreel`` as a process."""
    return [sys.executable, "-m", "executor.cli", *arguments]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo") / "run"
    done = subprocess.run(
        command("demo", "--no-ui", "--json", "--dir", str(folder)),
        capture_output=True,
        text=True,
        timeout=DEMO_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return Demo(said=json.loads(done.stdout), folder=folder)
