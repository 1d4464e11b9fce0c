"""The single-file verifier, run by a Python that has nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from projections.exports.zipapp import write_verifier
from tests.projections.exports.forgeries import drop_tail
from tests.projections.exports.forging import Forger
from tests.projections.exports.made import KEY


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verifier") / "verify.pyz"
    write_verifier(path)
    return path


def run(verifier: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Isolated, without site-packages and without this project on the path."""
    command = [sys.executable, "-I", "-S", str(verifier), *arguments]
    return subprocess.run(command, cwd=verifier.parent, capture_output=True, text=True, check=False)


def test_a_bare_python_verifies_a_bundle_with_its_signatures(verifier: Path, bundle: Path) -> None:
    done = run(verifier, str(bundle), "--key", KEY, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["proved"]["authenticity"] == "ok"


def test_a_bare_python_says_what_is_wrong(verifier: Path, bundle: Path, tmp_path: Path) -> None:
    forger = Forger(bundle)
    drop_tail(forger)
    done = run(verifier, str(forger.cover().write(tmp_path / "forged.zip")))
    assert done.returncode == 1
    assert "event 11 of stream task:task-1 (position 12) is left out" in done.stdout


def test_a_bare_python_refuses_a_wrong_signature(verifier: Path, bundle: Path) -> None:
    name, key_id, public = KEY.split("+", 2)
    assert run(verifier, str(bundle), "--key", f"{name}+{key_id}+{public[:-4]}AAA=").returncode == 2


def test_it_is_the_same_file_each_time(verifier: Path, tmp_path: Path) -> None:
    write_verifier(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == verifier.read_bytes()
