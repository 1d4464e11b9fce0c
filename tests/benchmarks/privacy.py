"""What privacy costs: blobs encrypted at rest beside plain ones, commitments to screens, and checking a rendition.

``python -m tests.benchmarks.privacy``. Sides take turns; a ratio is the plain side's CPU time over ours, higher is
better. The folder is on a file system without a disk where there is one, so that no sync hides the processor's part.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from domain import tiles
from domain.values import Box
from executor.redaction import frame_parts, frame_root
from executor.store.blobs import FolderBlobs
from executor.store.sealed import Keyring, SealedBlobs
from executor.store.secret_key import make_secret
from projections.blobs import open_blob_reader
from tests.projections.exports.made import Made
from tests.support.records import ManualClock

FRAMES = 40
FRAME_BYTES = 300_000
ROUNDS = 5
MEMORY = Path("/dev/shm")


def spent(work: Callable[[], object]) -> float:
    """Milliseconds of the processor."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def turns(sides: Sequence[Callable[[], object]]) -> list[float]:
    """Median of each side over rounds in which they take turns."""
    found: list[list[float]] = [[] for _ in sides]
    for _ in range(ROUNDS):
        for times, side in zip(found, sides, strict=True):
            times.append(spent(side))
    return [statistics.median(times) for times in found]


def blobs(folder: Path) -> list[tuple[str, str, str]]:
    """Putting and getting frames, plain and sealed."""
    randomness = random.Random(7)
    plain = FolderBlobs(folder / "plain")
    ring = Keyring(folder / "ring", make_secret(folder / "privacy.key"))
    place = FolderBlobs(folder / "sealed")
    sealed = SealedBlobs(place, place, ring, tenant="acme", clock=ManualClock())
    frames: list[bytes] = []

    def fresh() -> None:
        frames[:] = [randomness.randbytes(FRAME_BYTES) for _ in range(FRAMES)]

    puts: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        fresh()
        puts[0].append(spent(lambda: [plain.put(one, media_type="image/png") for one in frames]))
        puts[1].append(spent(lambda: [sealed.put(one, media_type="image/png") for one in frames]))
    names = list(plain.names())[:FRAMES]
    reader = open_blob_reader(str(folder / "plain"))
    kept = [sealed.put(plain.get(name), media_type="image/png") for name in names]
    gets = turns((lambda: [reader.get(name) for name in names], lambda: [sealed.get(name) for name in kept]))
    rows = []
    for what, (bare, ours) in (
        ("put", (statistics.median(puts[0]), statistics.median(puts[1]))),
        ("get", gets),
    ):
        raw = f"{bare / FRAMES:.2f} ms a frame, then {ours / FRAMES:.2f} ms"
        rows.append((f"sealed {what}, frames of {FRAME_BYTES // 1000} kB", f"{bare / ours:.2f}", raw))
    return rows


def screens() -> list[tuple[str, str, str]]:
    """Committing to a screen, redacting one, and checking what is shown of it."""
    made, key = Made(), b"k" * 32
    frame = made.screen("Bill CY202611-0007")
    data, region = made.blobs[frame.sha256], [Box(x=10, y=70, width=300, height=24)]
    parts = frame_parts(data, frame.sha256, region, key)
    hidden = tiles.hidden_by(frame.width, frame.height, region)
    salts = tiles.commit(tiles.decode_png(parts.rendition), key, frame.sha256)[2]

    def check() -> None:
        pixels = tiles.decode_png(parts.rendition)
        tiles.leaves(pixels, [None if number in hidden else salt for number, salt in enumerate(salts)])

    times = turns(
        (
            lambda: frame_root(data, frame.sha256, key),
            lambda: frame_parts(data, frame.sha256, region, key),
            check,
        )
    )
    size = f"{frame.width} x {frame.height}"
    return [
        (f"commit to a screen of {size}", "–", f"{times[0]:.0f} ms"),
        (f"redact it ({len(hidden)} of {len(salts)} tiles)", "–", f"{times[1]:.0f} ms"),
        ("check what is shown of it", "–", f"{times[2]:.0f} ms, {len(parts.opening):,} bytes of salts"),
    ]


def main() -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        rows = [*blobs(Path(folder)), *screens()]
    print("| what | ratio | raw, CPU on this machine |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
