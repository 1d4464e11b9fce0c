"""What the record costs, beside doing less: ratios between sides that take turns, measured in one run.

Run with ``python -m tests.benchmarks.record [--quick] [--growth N] [--extension] [--markdown FILE]``. The bare side is
``sqlite3`` or ``psycopg`` with the same bytes and the same durability and nothing else: no chain, no tree, no index
but the primary key.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks import _appends, _extension, _whole_log
from tests.benchmarks._measure import Rows
from tests.support.postgres import Cluster

HEADINGS = ("what", "ratio", "raw, on this machine", "goal")
MARK = "<!-- record -->"
"""The table stands between two of these in the file that ``--markdown`` names."""


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument(
        "--growth",
        type=int,
        default=300_000,
        metavar="N",
        help="events of the grown log (3000000 for the goal)",
    )
    parser.add_argument(
        "--extension",
        action="store_true",
        help="the library's SQLAlchemy extension too (installs it elsewhere)",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also put the table into FILE")
    return parser.parse_args(list(arguments))


def measure(options: argparse.Namespace) -> Rows:
    """All rows of the table."""
    scale = 4 if options.quick else 40
    folder = Path(tempfile.mkdtemp(prefix="proofreel-bench-"))
    server = Cluster(fsync=True)
    try:
        return [
            *_appends.sqlite_appends(folder, scale),
            *(_extension.measure(15 * scale) if options.extension else ()),
            *_appends.shared_commits(folder, scale),
            *_appends.postgres_appends(server, scale),
            *_appends.four_writers(server, scale),
            *_whole_log.reading(folder, scale),
            *_whole_log.checking(folder, scale),
            *_whole_log.growth(folder, options.growth if not options.quick else 60_000),
        ]
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


def machine() -> str:
    """What the raw figures are of: processor, load and releases, in one line."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    processor = names[0] if names else platform.machine()
    return (
        f"{os.cpu_count()} × {processor}, load {load}; Python {platform.python_version()}, SQLite"
        f" {sqlite3.sqlite_version}; commit {commit or 'unknown'}"
    )


def put_table(file: Path, rows: Rows, line: str) -> None:
    """Replace the table between the marks of a Markdown file."""
    before, _, rest = file.read_text(encoding="utf-8").partition(MARK)
    after = rest.partition(MARK)[2]
    table = [HEADINGS, ("---",) * len(HEADINGS), *rows]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
    file.write_text(f"{before}{MARK}\n{line}.\n\n{lines}\n\n{MARK}{after}", encoding="utf-8")


def main(arguments: Sequence[str] = ()) -> None:
    """Measure and print the table."""
    options, before = _options(arguments), machine()
    rows = measure(options)
    table = Table(title=f"The record: {before}", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    Console(width=150).print(table)
    if options.markdown:
        put_table(options.markdown, rows, before)


if __name__ == "__main__":
    main(sys.argv[1:])
