"""What the whole log costs: reading it back, checking it, and appending to one that has grown."""

from __future__ import annotations

import hashlib
import resource
import statistics
from collections import deque
from pathlib import Path

from domain.codec import read
from domain.values import FrameRef
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.fsck import check
from projections.reading import open_blob_reader, open_reader
from tests.benchmarks._measure import MESSAGE_BYTES, Producer, Rows, Samples, in_turns, timed
from tests.support.records import ACME

_FRAME_BYTES = 300_000
_GROWN_FROM = 30_000


def reading(folder: Path, scale: int) -> Rows:
    """The log read back as domain events."""
    url, maker = f"sqlite:///{folder}/reading.db", Producer(seed=3)
    with open_record(url) as log:
        for _ in range(10 * scale):
            log.append(maker.batch(50))
    with open_reader(url) as reader:
        total = reader.positions(ACME)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spent = [timed(lambda: deque(reader.events(ACME), maxlen=0).clear()) for _ in range(9)]
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows = list(reader.rows(ACME, limit=5_000))
        decoded = [timed(lambda: deque(map(read, rows), maxlen=0).clear()) for _ in range(9)]
    wall, cpu = min(spent)[0], min(cpu for _, cpu in spent)
    middle = total / statistics.median(wall for wall, _ in spent)
    detail = (
        f"median {middle:,.0f}; of CPU time {total / cpu:,.0f}; {(after - before) / 1024:.0f} MiB more memory"
    )
    alone = len(rows) / min(cpu for _, cpu in decoded)
    return [
        ("reading as domain events", f"{total / wall:,.0f} a second", detail, "≥ 80,000, flat"),
        ("  of it decoding alone", f"{alone:,.0f} a second", "of CPU time", ""),
    ]


def checking(folder: Path, scale: int) -> Rows:
    """``proofreel fsck`` beside hashing the same bytes."""
    blobs_url, maker = str(folder / "blobs"), Producer(seed=5)
    blobs = open_blobs(blobs_url)
    names = [
        blobs.put(maker.random.randbytes(_FRAME_BYTES), media_type="image/png") for _ in range(5 * scale)
    ]
    with open_record(f"sqlite:///{folder}/checked.db") as log:
        for name in names:
            frame = FrameRef(role="observed", sha256=name, width=1280, height=800)
            stream = maker.task()
            first = maker.note(stream, 1, size=MESSAGE_BYTES, frames=[frame])
            log.append([first, *maker.notes(stream, 4, first=2, size=MESSAGE_BYTES)])
    paths = [folder / "blobs" / name[:2] / name[2:4] / name for name in names]
    with open_reader(f"sqlite:///{folder}/checked.db") as reader:
        files, known = open_blob_reader(blobs_url), reader.positions(ACME)
        bodies = [row.body for row in reader.rows(ACME)]

        def hash_all(_: int) -> None:
            for body in bodies:
                hashlib.sha256(body).digest()
            for path in paths:
                hashlib.sha256(path.read_bytes()).digest()

        def whole(_: int) -> None:
            assert check(reader, files).ok

        turns = range(10)
        samples = in_turns(
            {"hashing": hash_all, "fsck": whole}, {"hashing": turns, "fsck": turns}, turns=len(turns)
        )
    hashing, fsck = samples["hashing"], samples["fsck"]
    ratio = f"{hashing.median / fsck.median:.2f} ({hashing.quiet / fsck.quiet:.2f} quiet) of hashing alone"
    cpu = f"{known / fsck.median:,.0f} events/s; of CPU time {hashing.quiet_cpu / fsck.quiet_cpu:.2f}"
    return [("fsck, one frame of 300 kB to 5 events", ratio, cpu, "≥ 0.5")]


def growth(folder: Path, most: int) -> Rows:
    """Cost of an append on a log of 30 thousand events, and on one of ``most``, in turns on the same disk."""
    with (
        open_record(f"sqlite:///{folder}/small.db") as small,
        open_record(f"sqlite:///{folder}/grown.db") as grown,
    ):
        maker = Producer(seed=4)
        for number in range(most // 1_000):
            batch = maker.batch(1_000)
            grown.append(batch)
            if number < _GROWN_FROM // 1_000:
                small.append(batch)
        turns = 1_500
        each = {name: (maker.batch(1) for _ in range(turns)) for name in ("small", "grown")}
        sides: dict[str, Samples] = in_turns(
            {"small": small.append, "grown": grown.append}, each, turns=turns
        )
    low, high = sides["small"], sides["grown"]
    ratio = f"{high.median / low.median:.2f} × at 30,000 ({high.quiet / low.quiet:.2f} quiet)"
    detail = (
        f"{low.median * 1e6:,.0f} µs, then {high.median * 1e6:,.0f} µs; CPU {low.quiet_cpu * 1e6:,.0f}, then"
    )
    detail += f" {high.quiet_cpu * 1e6:,.0f} µs"
    return [(f"append at {most:,} events", ratio, detail, "≤ 1.3 at 3,000,000")]
