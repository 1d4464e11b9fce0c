"""Export and verification of a bundle against tools that do nothing but hash the same file.

``python -m tests.benchmarks.bundle [MiB]``. The aim is at least 0.6 of the speed of ``sha256sum``, with memory that
does not grow with the bundle.

``sha256sum`` is one program with many builds: some use the processor's own instructions for SHA-256, others do not and
take four times as long. ``openssl dgst -sha256`` always does, so it stands beside it as the harder measure.

What is exported is a month on a real record (SQLite, a folder of blobs), in the proportions of the demo: screens of
200 kB, five events of 1 kB to each. Each side runs in a process of its own, in turns; its time on the wall, its
processor time and its peak of memory are those that the system counted.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from domain.ids import EffectKey, Sha256
from domain.values import FrameRef
from executor.store.log import open_record
from projections.exports.bundle import write_bundle
from projections.exports.select import scope_of
from projections.exports.verify import verify
from projections.reading import open_blob_reader, open_reader
from tests.benchmarks._measure import MESSAGE_BYTES, Producer
from tests.support.records import ACME

SCREEN_BYTES = 200_000
EVENTS_TO_A_SCREEN = 5
SCREENS_TO_A_TASK = 10
BYTES_TO_A_SCREEN = 218_000
"""Of the bundle: the screen, its events, their entries, and the page's copy of both."""
MONTH = "2026-11"
DEFAULT_MIB = 2048
ROUNDS = 3
MIB = 1 << 20
Side = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a side took."""

    wall_s: float
    processor_s: float
    peak_mib: float
    """Most memory that its process had."""


def apart(work: Side) -> Cost:
    """The cost of ``work`` in a process of its own."""
    gc.collect()
    start = time.perf_counter()
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit("a side of the benchmark failed")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def fill(folder: Path, mib: int) -> None:
    """A month's record in ``folder`` whose bundle has about that many MiB."""
    maker = Producer(seed=7)
    with open_record(f"sqlite:///{folder}/record.db") as log:
        for number in range(max(1, mib * MIB // BYTES_TO_A_SCREEN // SCREENS_TO_A_TASK)):
            stream = maker.task()
            drafts = [maker.opened(stream, EffectKey(f"key-{number}"))]
            for screen in range(SCREENS_TO_A_TASK):
                name = _screen(folder / "blobs", b"\x89PNG\r\n\x1a\n" + maker.random.randbytes(SCREEN_BYTES))
                seen = [FrameRef(role="observed", sha256=name, width=1280, height=800)]
                for event in range(EVENTS_TO_A_SCREEN):
                    version, frames = 2 + screen * EVENTS_TO_A_SCREEN + event, seen if not event else []
                    drafts.append(maker.note(stream, version, size=MESSAGE_BYTES, frames=frames))
            log.append(drafts)


def _screen(blobs: Path, data: bytes) -> Sha256:
    name = Sha256(hashlib.sha256(data).hexdigest())
    path = blobs / name[:2] / name[2:4] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return name


def export(folder: Path) -> None:
    """Write the bundle."""
    with open_reader(f"sqlite:///{folder}/record.db") as reader:
        blobs = open_blob_reader(str(folder / "blobs"))
        write_bundle(folder / "bundle.zip", reader, blobs, tenant=ACME, scope=scope_of(month=MONTH))


def check(folder: Path) -> None:
    """Verify it."""
    report = verify(folder / "bundle.zip")
    assert report.ok, report.problems


def tool(*command: str) -> Side:
    """A program that takes the place of the process."""

    def run() -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execvp(command[0], command)  # noqa: S606 - names of the caller's

    return run


def on_one(work: Side) -> Side:
    """The same with one processor."""

    def run() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        work()

    return run


def sides(folder: Path) -> dict[str, Side]:
    """Who takes part; export comes first, the others need its file."""
    path = str(folder / "bundle.zip")
    found: dict[str, Side] = {"export": lambda: export(folder), "sha256sum": tool("sha256sum", path)}
    if shutil.which("openssl"):
        found["openssl dgst"] = tool("openssl", "dgst", "-sha256", path)
    found["verify"] = lambda: check(folder)
    found["export, one processor"] = on_one(found["export"])
    found["verify, one processor"] = on_one(found["verify"])
    return found


def peaks(folder: Path) -> tuple[float, float]:
    """Peaks of memory of export and verify, in MiB, on the record in ``folder``."""
    return apart(lambda: export(folder)).peak_mib, apart(lambda: check(folder)).peak_mib


def main(mib: int = DEFAULT_MIB) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory(prefix="proofreel-bench-") as name:
        small, whole = Path(name, "small"), Path(name, "whole")
        for folder, size in ((small, mib // 8), (whole, mib)):
            folder.mkdir()
            apart(lambda folder=folder, size=size: fill(folder, size))  # type: ignore[misc]
        costs: dict[str, list[Cost]] = {who: [] for who in sides(whole)}
        for _ in range(ROUNDS):
            for who, side in sides(whole).items():
                costs[who].append(apart(side))
        octets = (whole / "bundle.zip").stat().st_size / MIB
        print(
            f"bundle of {octets:,.0f} MiB, {len(os.sched_getaffinity(0))} processors, {ROUNDS} turns; speed"
        )
        for line in table(costs, octets):
            print(line)
        for who, less, more in zip(("export", "verify"), peaks(small), peaks(whole), strict=True):
            print(
                f"  memory of {who}: {more:.0f} MiB at its peak; for an eighth of the bundle {less:.0f} MiB"
            )


def table(costs: dict[str, list[Cost]], octets: float) -> list[str]:
    """A line for each side; its speed against both tools, turn by turn for the wall, best for the processor."""
    tools = [who for who in ("sha256sum", "openssl dgst") if who in costs]
    lines = [
        "  " + " " * 24 + "MiB/s  processor s" + "".join(f"   of {who}: wall, processor" for who in tools)
    ]
    for who, own in costs.items():
        wall = statistics.median(cost.wall_s for cost in own)
        line = f"  {who:<24}{octets / wall:5.0f} {_quickest(own):12.2f}"
        for other in tools:
            turns = [theirs.wall_s / ours.wall_s for theirs, ours in zip(costs[other], own, strict=True)]
            line += f"{statistics.median(turns):20.2f} {_quickest(costs[other]) / _quickest(own):10.2f}"
        lines.append(line)
    return lines


def _quickest(costs: Sequence[Cost]) -> float:
    return min(cost.processor_s for cost in costs)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
