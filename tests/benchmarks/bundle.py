"""Export and verification of a bundle against ``sha256sum`` of the same file.

``python -m tests.benchmarks.bundle [MiB]``; other work on the machine blurs times on the wall, so times of the
processor stand beside them.

The aim is at least 0.6 of its speed, with memory that doesn't grow with the bundle. Screens are random bytes behind a
PNG signature, read from a folder of files and checked there, as a store of blobs does.
"""

from __future__ import annotations

import hashlib
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from domain import events as e
from domain.ids import Sha256
from domain.values import FrameRef
from projections.exports.bundle import write_bundle
from projections.exports.select import Scope
from projections.exports.verify import verify
from tests.projections.exports.made import Made
from tests.support.events import intent

SCREEN_BYTES = 300_000
DEFAULT_MIB = 256
ROUNDS = 3


class Folder:
    """Screens as files, checked when they are read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, sha256: Sha256) -> bytes:
        data = (self.path / sha256).read_bytes()
        assert hashlib.sha256(data).hexdigest() == sha256
        return data


def record(folder: Path, screens: int) -> Made:
    """A task that saw so many screens."""
    made, rng = Made(), random.Random(7)
    task = made.book.run("run-1").task("task-1", intent("B1"))
    for _ in range(screens):
        data = b"\x89PNG\r\n\x1a\n" + rng.randbytes(SCREEN_BYTES)
        name = Sha256(hashlib.sha256(data).hexdigest())
        (folder / name).write_bytes(data)
        seen = e.ObservationRecorded(url="u", title="t", structure_sha256=name, document_sha256=name)
        task.add(seen, frames=[FrameRef(role="observed", sha256=name, width=1280, height=800)])
    return made


def processor_s() -> float:
    """Seconds of processor time of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of the processor, each of its quickest round."""
    wall, processor = [], []
    for _ in range(ROUNDS):
        start, used = time.perf_counter(), processor_s()
        work()
        wall.append(time.perf_counter() - start)
        processor.append(processor_s() - used)
    return min(wall), min(processor)


def peak_mib() -> float:
    """Most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(mib: int = DEFAULT_MIB) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory() as name:
        blobs, path = Path(name, "blobs"), Path(name, "bundle.zip")
        blobs.mkdir()
        made = record(blobs, mib * (1 << 20) // SCREEN_BYTES)
        scope, before = Scope("bill", "B1"), peak_mib()
        export = best(lambda: write_bundle(path, made, Folder(blobs), tenant=made.book.tenant, scope=scope))
        exported = peak_mib()
        check = best(lambda: verify(path))
        tool = best(lambda: subprocess.run(["sha256sum", str(path)], check=True, capture_output=True))
        octets = path.stat().st_size / (1 << 20)
        print(f"bundle of {octets:.0f} MiB   MiB/s   of sha256sum: wall  processor   memory gained, MiB")
        rows = (
            ("sha256sum", tool, 0.0),
            ("export", export, exported - before),
            ("verify", check, peak_mib() - exported),
        )
        for row, (wall, processor), gained in rows:
            speed = f"{octets / wall:9.0f} {tool[0] / wall:19.2f} {tool[1] / processor:10.2f}"
            print(f"  {row:<12}{speed} {gained:14.0f}")
        assert verify(path).ok


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
