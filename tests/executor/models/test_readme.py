"""The walk-through of the README is run as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path("executor/models/README.md")


def walk_through() -> str:
    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_walk_through_has_ten_lines_and_prints_verified_1_1() -> None:
    code = walk_through()
    assert len(code.strip().splitlines()) == 10
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    assert (done.stdout, done.returncode) == ("verified 1 1\n", 0), done.stderr


def test_the_map_names_every_module() -> None:
    modules = {path.stem for path in README.parent.glob("*.py")} - {"__init__"}
    assert {name for name in modules if f"`{name}`" not in README.read_text(encoding="utf-8")} == set()
