"""The package's README says what is true."""

from __future__ import annotations

from pathlib import Path

import domain
from tests.domain.transitions import table

PACKAGE = Path(domain.__file__).parent
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def test_the_state_table_is_what_the_rules_do() -> None:
    shown = README.split("<!-- states -->", 1)[1].split("<!-- end of states -->", 1)[0]
    assert shown.strip() == table()


def test_the_map_names_every_module() -> None:
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if f"`{name}`" not in README} == set()
