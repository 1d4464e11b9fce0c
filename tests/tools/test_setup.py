"""A set-up that fails says in one line what to do; a browser that was configured is never replaced."""

import sys
from pathlib import Path

import pytest

from tools import bootstrap, system_setup
from tools.setup_console import SetupError, run_logged


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("printed", "remedy"),
    [
        ("NewConnectionError: ...\nERROR: No matching distribution found for orjson", "check the network"),
        ("ERROR: No matching distribution found for orjson==3.13.0", "use Python 3.11 to 3.13"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "check the mirror"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "free about 1 GB"),
        ("ERROR: something new", "something new"),
    ],
)
def test_a_failed_installation_names_its_remedy(printed: str, remedy: str) -> None:
    message = bootstrap.remedy(printed)
    assert remedy in message
    assert "\n" not in message


def test_a_configured_browser_that_does_not_start_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = executable(tmp_path / "chromium", "exit 127")
    monkeypatch.setenv(system_setup.CONFIGURED, str(broken))
    with pytest.raises(SetupError, match="does not start"):
        system_setup.ensure_chromium(Path(sys.executable), tmp_path / "log")


def test_a_configured_browser_is_used_though_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = executable(tmp_path / "mine", "echo Chromium 1.2.3")
    monkeypatch.setenv(system_setup.CONFIGURED, str(mine))
    assert system_setup.ensure_chromium(Path(sys.executable), tmp_path / "log") == mine


def test_a_browser_on_the_path_counts_only_if_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "chromium", "echo 'install the snap first' >&2; exit 1")
    starts = executable(tmp_path / "google-chrome", "echo Google Chrome 1.2.3")
    python_without_browser = executable(tmp_path / "python", "exit 1")
    monkeypatch.delenv(system_setup.CONFIGURED, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system_setup.ensure_chromium(python_without_browser, tmp_path / "log") == starts


def test_a_changed_lock_or_project_asks_for_a_new_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, project = tmp_path / "requirements.lock", tmp_path / "pyproject.toml"
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "LOCK", lock)
    stamps = set()
    for pins, settings in [("a", "b"), ("a2", "b"), ("a", "b2")]:
        lock.write_text(pins, encoding="utf-8")
        project.write_text(settings, encoding="utf-8")
        stamps.add(bootstrap.wanted_stamp())
    assert len(stamps) == 3


def test_a_command_that_fails_returns_what_it_printed_and_leaves_it_in_the_log(tmp_path: Path) -> None:
    log, seen = tmp_path / "log", list[str]()
    printed = run_logged(("/bin/sh", "-c", "echo out; echo err >&2; exit 3"), log, seen.append)
    assert printed is not None
    assert sorted(printed.splitlines()) == ["err", "out"]
    assert log.read_text(encoding="utf-8") == printed
    assert "".join(seen) == printed


def test_a_command_that_succeeds_returns_nothing(tmp_path: Path) -> None:
    assert run_logged(("/bin/sh", "-c", "echo out"), tmp_path / "log") is None
