"""A disk that is really full: nothing by half, nothing acknowledged is lost, and it goes on when there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).parents[2]
_REMEDY = "no file system can be mounted here: run as root, or allow user namespaces"


def _on_a_small_disk(backend: str, folder: Path) -> dict[str, Any]:
    """What ``full_disk`` says, from a mount namespace that ends with its process."""
    apart = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    done = subprocess.run(
        [*apart, sys.executable, "-m", "tests.simulation.full_disk", backend, str(folder)],
        check=False,
        capture_output=True,
        text=True,
        cwd=_ROOT,
    )
    assert done.returncode == 0, f"{_REMEDY}: {done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that the database server's user may enter."""
    with tempfile.TemporaryDirectory(prefix="proofreel-disk-") as name:
        made = Path(name)
        made.chmod(0o755)
        yield made


@pytest.mark.parametrize("backend", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_full_disk_stores_nothing_by_half_and_loses_nothing(backend: str, folder: Path) -> None:
    found = _on_a_small_disk(backend, folder)
    assert found["acknowledged"] > 50, "the disk was full before it was used"
    assert "free some disk space" in found["error"]
    assert found["full"] == [found["acknowledged"], []]
    assert found["again"] == found["acknowledged"]
    assert found["after"] == [found["expected"], []]
