"""``requirements.md`` stays true: its tests exist, and no promise is passed over in silence."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).parent / "requirements.md"
PROMISES = {
    *(f"G{number}" for number in range(1, 11)),
    *(f"B{number}" for number in range(1, 18)),
    *(f"C{number}" for number in range(1, 10)),
    *(f"D{number}" for number in range(1, 6)),
    *(f"X{number}" for number in range(1, 10)),
}
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_named_test_exists() -> None:
    named = _TEST.findall(TABLE.read_text(encoding="utf-8"))
    assert named
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file() or (name and name not in defined(ROOT / path))
    ]
    assert missing == []


def test_every_promise_is_in_the_table_or_under_not_yet_and_never_in_both() -> None:
    text = TABLE.read_text(encoding="utf-8")
    table, _, rest = text.partition("## In part")
    rows = re.findall(r"^\| ([A-Z]\d+) \|", table, re.MULTILINE)
    later = rest.partition("## Not yet")[2]
    missing = [
        name for line in re.findall(r"^- ([A-Z0-9, ]+):", later, re.MULTILINE) for name in line.split(", ")
    ]
    assert sorted(rows + missing) == sorted(PROMISES)


def test_every_row_of_the_table_names_a_test() -> None:
    rows = [
        line for line in TABLE.read_text(encoding="utf-8").splitlines() if re.match(r"\| [A-Z]\d+ \|", line)
    ]
    assert [row for row in rows if "::test_" not in row] == []
