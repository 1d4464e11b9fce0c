"""The library's SQLAlchemy extension against bare ``sqlite3``, in an environment of its own.

The extension needs an older SQLAlchemy than we do, so it can't be installed beside us: ``measure`` makes a virtual
environment for it, runs this very file there and throws it away. What runs there imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

PACKAGES = ("eventsourcing-sqlalchemy==1.0.1", "eventsourcing>=9.5,<9.6")
Rows = list[tuple[str, str, str, str]]


def measure(turns: int) -> Rows:
    """Rows of the table; downloads the extension from the package index that pip is set up with."""
    with tempfile.TemporaryDirectory(prefix="proofreel-bench-") as name:
        venv.create(name, with_pip=True)
        python = str(Path(name) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        done = subprocess.run(
            [python, __file__, name, str(turns)], check=True, capture_output=True, text=True, timeout=600
        )
    found = json.loads(done.stdout.splitlines()[-1])
    return [
        (
            f"SQLite, {title}: the SQLAlchemy extension",
            f"{one['bare'][0] / one['other'][0]:.2f} ({one['bare'][1] / one['other'][1]:.2f} quiet)",
            f"{one['other'][0] * 1e6:,.0f} µs ({one['other'][1] * 1e6:,.0f} quiet)",
            "",
        )
        for title, one in found.items()
    ]


def _quantiles(samples: list[float]) -> tuple[float, float]:
    return statistics.median(samples), statistics.quantiles(samples, n=4)[0]


def _in_turns(turns: int, batch: int, sides: dict[str, Callable[[list[bytes]], object]]) -> dict[str, object]:
    walls: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        bodies = [os.urandom(500).hex().encode() for _ in range(batch)]
        for name, put in sides.items():
            began = time.perf_counter()
            put(bodies)
            walls[name].append(time.perf_counter() - began)
    return {name: _quantiles(samples) for name, samples in walls.items()}


def main(folder: str, turns: int) -> None:
    """Run in the extension's environment; prints one line of JSON."""
    from eventsourcing.persistence import StoredEvent  # noqa: PLC0415 - there, not here
    from eventsourcing.utils import Environment  # noqa: PLC0415 - the same
    from eventsourcing_sqlalchemy.factory import (  # type: ignore[import-not-found] # noqa: PLC0415 - the same
        SQLAlchemyFactory,
    )

    bare = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    bare.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")
    sqlite3.connect(f"{folder}/other.db").execute("PRAGMA journal_mode=WAL")
    recorder = SQLAlchemyFactory(
        Environment("bench", {"SQLALCHEMY_URL": f"sqlite:///{folder}/other.db"})
    ).application_recorder()

    def put_bare(bodies: list[bytes]) -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.executemany("INSERT INTO t (body) VALUES (?)", [(body,) for body in bodies])
        bare.execute("COMMIT")

    def put_other(bodies: list[bytes]) -> None:
        originator = uuid4()
        recorder.insert_events(
            [StoredEvent(originator, version, "note", body) for version, body in enumerate(bodies, start=1)]
        )

    sides: dict[str, Callable[[list[bytes]], object]] = {"bare": put_bare, "other": put_other}
    _in_turns(20, 100, sides)
    found = {
        "one event": _in_turns(turns, 1, sides),
        "batch of 100": _in_turns(max(turns // 10, 20), 100, sides),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
