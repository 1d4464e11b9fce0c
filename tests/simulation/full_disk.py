"""A record on a disk that is full: run in a mount namespace of its own, where the folder given is a small tmpfs.

Prints one JSON object: what was acknowledged before the disk was full, the error, and what is there afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url

from domain.errors import WorldError
from executor.store.log import RecordLog, open_record
from projections.fsck import check
from projections.reading import open_reader
from tests.support.postgres import Cluster
from tests.support.records import ACME, Maker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from domain.envelope import Draft

SIZE_KB = 3_000
BALLAST_KB = 1_600


def _fill(log: RecordLog, maker: Maker) -> tuple[int, str, Sequence[Draft]]:
    """How many events were acknowledged, then the error and the events that met it."""
    acknowledged = 0
    while True:
        drafts = maker.notes(maker.task(), 1 + acknowledged % 4, size=2_000)
        try:
            acknowledged = log.append(drafts).last_position
        except WorldError as error:
            return acknowledged, str(error), drafts


def _sound(url: str) -> list[object]:
    with open_reader(url) as reader:
        report = check(reader, None)
        return [reader.positions(ACME), [finding.code for finding in report.findings]]


def run(url: str, ballast: Path, *, close: bool) -> dict[str, object]:
    """Fill, look, make room, append what met the error, look again."""
    log, maker = open_record(url), Maker(seed=1)
    acknowledged, error, drafts = _fill(log, maker)
    full = _sound(url)
    ballast.unlink()
    if close:
        log.close()
        log = open_record(url)
    last = log.append(drafts).last_position
    log.close()
    return {
        "acknowledged": acknowledged,
        "error": error,
        "full": full,
        "again": last - len(drafts),
        "after": _sound(url),
        "expected": acknowledged + len(drafts),
    }


def main(backend: str, folder: Path) -> None:
    """Mount, run, print."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k,mode=0777", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * (BALLAST_KB << 10))
    if backend == "sqlite":
        json.dump(run(f"sqlite:///{folder}/record.db", ballast, close=False), sys.stdout)
        return
    server = Cluster()
    try:
        url = server.url()
        open_record(url).close()
        server.move_table(str(make_url(url).database), "event", folder)
        json.dump(run(url, ballast, close=True), sys.stdout)
    finally:
        server.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
