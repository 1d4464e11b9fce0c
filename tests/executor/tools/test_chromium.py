"""Finding and starting Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from domain.errors import ConfigError, WorldError
from executor.tools.chromium import find_chromium, flags


def executable(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_configured_browser_comes_first(tmp_path: Path) -> None:
    own, bundled = executable(tmp_path, "own"), executable(tmp_path, "bundled")
    choice = find_chromium(own, bundled=bundled)
    assert (choice.path, choice.origin) == (own, "configured")


def test_a_configured_browser_that_is_not_there_is_never_replaced(tmp_path: Path) -> None:
    bundled = executable(tmp_path, "bundled")
    with pytest.raises(ConfigError, match="PROOFREEL_CHROMIUM=/nowhere/chrome"):
        find_chromium("/nowhere/chrome", bundled=bundled)


def test_the_bundled_browser_comes_before_those_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = executable(tmp_path, "chromium")
    monkeypatch.setenv("PATH", str(tmp_path))
    bundled = executable(tmp_path, "bundled")
    assert find_chromium(None, bundled=bundled).origin == "playwright"
    choice = find_chromium("", bundled=str(tmp_path / "gone"))
    assert (choice.path, choice.origin) == (on_path, "path")


def test_no_browser_at_all_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorldError, match="PROOFREEL_CHROMIUM"):
        find_chromium(None, bundled=str(tmp_path / "gone"))


def test_the_sandbox_is_given_up_for_root_only() -> None:
    assert "--no-sandbox" in flags(root=True)
    assert "--no-sandbox" not in flags(root=False)


def test_only_the_hosts_of_allowed_origins_resolve() -> None:
    rule = flags(("https://a.example:8443", "http://127.0.0.1:9000"), root=False)[-1]
    assert rule == "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE a.example"


@pytest.mark.browser
def test_the_chosen_browser_starts_and_tells_its_version(browser: Browser) -> None:
    assert browser.version.split(".")[0].isdigit()
