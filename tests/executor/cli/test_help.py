"""Every command explains itself, with an example, and without loading a browser."""

from __future__ import annotations

import subprocess
import sys

import pytest

from executor.cli import COMMANDS
from tests.executor.cli.conftest import Command, every_command

NAMES = [name for name, _ in every_command()]


@pytest.mark.parametrize("name", NAMES, ids=" ".join)
def test_every_command_has_help_with_an_example(proofreel: Command, name: tuple[str, ...]) -> None:
    done = proofreel(*name, "--help")
    assert done.code == 0
    assert "Usage: " in done.out
    assert f"proofreel {name[0]}" in done.out.split("Example")[1]


@pytest.mark.parametrize("name", NAMES, ids=" ".join)
def test_an_unknown_option_is_bad_use(proofreel: Command, name: tuple[str, ...]) -> None:
    done = proofreel(*name, "--no-such-option")
    assert done.code == 2
    assert "No such option" in done.err


def test_the_commands_are_listed_in_the_order_they_are_used(proofreel: Command) -> None:
    out = proofreel("--help").out
    places = [out.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_an_unknown_command_is_bad_use(proofreel: Command) -> None:
    assert proofreel("frobnicate").code == 2


def test_the_version_is_shown(proofreel: Command) -> None:
    assert proofreel("--version").out.startswith("proofreel, version ")


def test_help_loads_neither_a_browser_nor_the_desk() -> None:
    code = (
        "import sys; from executor.cli import run_command; run_command(['--version']);"
        "print([name for name in ('playwright', 'streamlit', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
