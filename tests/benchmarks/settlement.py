"""Import of a month file against Python's csv module reading the same file, and reconciling against the record.

``python -m tests.benchmarks.settlement [lines]``; other work on the machine blurs times on the wall, so times of the
processor are compared. The aims: import at most 4 times the csv module's time, in memory that doesn't grow with the
file.
"""

from __future__ import annotations

import csv
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from projections.settlement.importer import SettlementReader, read_settlement
from projections.settlement.profiles import load_profile
from projections.views.reconciliation import reconcile
from tests.support.events import TENANT, Book, intent
from tests.support.settlement import FileLine, month_bytes

DEFAULT_LINES = 1_000_000
TASKS = 2_000
ROUNDS = 3


def write_file(path: Path, lines: int) -> None:
    """A month as the portal writes it, in English."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["Yunhuitong merchant settlement"])
        writer.writerow(
            [
                "Line no.",
                "Bill no.",
                "Counterparty no.",
                "Counterparty",
                "Type",
                "Amount",
                "Currency",
                "Time",
                "Account",
                "Status",
            ]
        )
        for n in range(lines):
            day, second = n % 28 + 1, n % 60
            writer.writerow(
                [
                    f"JS202611-{n:07d}",
                    f"CY202611-{n:07d}",
                    f"V{n % 500}",
                    f"深圳市华远物流有限公司{n % 500}",
                    "Process",
                    f"{n * 7 % 100_000}.{n % 100:02d}",
                    "CNY",
                    f"2026-11-{day:02d} {n % 24:02d}:{second:02d}:{second:02d}",
                    "acme-bot",
                    "Booked",
                ]
            )
        writer.writerow(["Total", lines])


def timed(work: Callable[[], int]) -> float:
    """Least processor seconds of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def only_csv(path: Path) -> int:
    """What the csv module alone takes."""
    with path.open(encoding="utf-8", newline="") as text:
        return sum(1 for _ in csv.reader(text))


def imported(path: Path) -> int:
    """The whole import, streamed."""
    with path.open("rb") as stream:
        reader = SettlementReader(stream, load_profile("portal"))
        count = sum(1 for _ in reader)
    assert reader.counts().balanced
    assert reader.declared.count == count
    assert not reader.repeats.found().total
    return count


def peak_mib() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(lines: int = DEFAULT_LINES) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "month.csv"
        write_file(path, lines)
        size = path.stat().st_size / (1 << 20)
        before = peak_mib()
        ours = timed(lambda: imported(path))
        grown = peak_mib() - before
        theirs = timed(lambda: only_csv(path))
    print(
        f"import      {lines} lines, {size:.0f} MiB: {ours:.2f} s, csv module {theirs:.2f} s, ratio {ours / theirs:.2f}"
    )
    print(f"memory      grew by {grown:.0f} MiB")
    book = Book()
    run = book.run()
    for n in range(TASKS):
        run.task(f"t{n}", intent(f"B{n}")).done()
    file = read_settlement(
        month_bytes(*(FileLine(bill=f"B{n}") for n in range(TASKS))), load_profile("portal")
    )
    spent = timed(
        lambda: len(reconcile(book.events, file, tenant=TENANT, month="2026-11", chain_verified=True).matched)
    )
    print(
        f"reconcile   {len(book.events)} events, {TASKS} lines: {len(book.events) / spent:,.0f} events a second"
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
