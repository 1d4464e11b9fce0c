"""Pages of the desk on a short and on a long record, in a real Chromium: the aim is at most 1.5 times as long.

``python -m tests.benchmarks.desk [--keep FOLDER] [--without PAGE] [events] [rounds]``, by default 200,000 against
5,000; the aim speaks of 5,000,000. ``--keep`` makes the records there once and finds them there, views included, the
next time; ``--without`` leaves a page out, such as the month end, whose first look checks the whole chain. Both desks
are served at once and the pages are asked in turns, so that other work on the machine meets both. A page is run again
as its button does: from the click until the last message of its script. What is built once (views, first conclusions)
is not in it and stands beside.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from playwright.sync_api import Page, sync_playwright

from domain.envelope import Draft, Envelope
from domain.events import SettlementImported
from domain.ids import EventId, Sha256, settlement_stream
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.settlement.importer import read_settlement
from projections.settlement.profiles import load_profile
from tests.benchmarks._records import tasks
from tests.replay_ui.conftest import FLAGS, chromium
from tests.replay_ui.serving import served_at, settled
from tests.support.events import PERSON, TENANT
from tests.support.settlement import FileLine, month_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT: Final = 5_000
LONG: Final = 200_000
ROUNDS: Final = 15
MONTH: Final = "2026-12"
MEMORY: Final = Path("/dev/shm")
QUIET_MS: Final = 400
"""A page has run when its script has ended and nothing was heard for so long."""
IN_MEMORY: Final = 500_000
"""Events of the longest record that goes there."""
PAGES: Final = {
    "cases": "/",
    "runs": "/runs",
    "runs, page 3": "/runs?page=3",
    "runs, searched": "/runs?q=month",
    "replay": "/replay?run=run-0000001",
    "month end": "/month",
    "chain": "/chain?bill=B0000001-03",
    "queue": "/queue",
    "metrics": "/metrics",
    "integrity": "/integrity",
    "export": "/export?kind=bill&name=B0000001-03",
    "search, bill": "/search?q=B0000001",
    "search, identity": "/search?q=svc:acme-batch",
    "search, hash": "/search?q=abcdef01",
}
# When the page last heard from the server. A short run is over before its state is ever seen to change.
HEARING: Final = """
(() => {
  const Native = window.WebSocket;
  window.WebSocket = class extends Native {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", () => { window.lastHeard = performance.now(); });
    }
  };
})();
"""
AGAIN: Final = """
async ({ quiet }) => {
  const app = document.querySelector("[data-testid=stApp]");
  const button = [...document.querySelectorAll("[data-testid=stSidebar] button")].find((one) =>
    one.textContent.includes("Look again"));
  const start = performance.now();
  button.click();
  for (;;) {
    await new Promise((done) => setTimeout(done, 50));
    const now = performance.now();
    const over = app.dataset.testScriptState === "notRunning" && now - window.lastHeard > quiet;
    if (window.lastHeard > start && over) return window.lastHeard - start;
    if (now - start > 300_000) throw new Error("the page did not run again within five minutes");
  }
}
"""


class Side(NamedTuple):
    """One of the two desks."""

    events: int
    url: str
    page: Page
    took: dict[str, list[float]]
    first: dict[str, float]


@contextlib.contextmanager
def place(keep: Path | None, events: int) -> Iterator[Path]:
    """Where a record of so many events is made: below ``keep``, else in memory if it fits, for the time being."""
    if keep is not None:
        yield keep / str(events)
        return
    where = MEMORY if MEMORY.is_dir() and events <= IN_MEMORY else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        yield Path(name)


def record(folder: Path, events: int) -> tuple[str, str, int]:
    """A record of so many events with one small settlement file; store, blobs and events."""
    store, blobs, made = f"sqlite:///{folder}/record.db", str(folder / "blobs"), folder / "made"
    if made.exists():
        return store, blobs, int(made.read_text(encoding="ascii"))
    (folder / "blobs").mkdir(parents=True)
    written = tasks(store, events)
    data = month_bytes(FileLine(bill="B0000000-01"), FileLine(bill="B0000000-02"))
    open_blobs(blobs).put(data, media_type="text/csv")
    file = read_settlement(data, load_profile("portal"), MONTH, file_name=f"{MONTH}.csv")
    fact = SettlementImported(
        blob=Sha256(file.sha256),
        file_name=f"{MONTH}.csv",
        source="file",
        profile="portal",
        month=MONTH,
        rows_read=file.counts.read,
        rows_accepted=file.counts.accepted,
        rows_refused=file.counts.refused,
        rows_other=file.counts.other,
        total_minor=file.totals,
    )
    envelope = Envelope(
        event_id=EventId("019affff-ffff-7000-8000-000000000001"),
        tenant=TENANT,
        stream=settlement_stream(MONTH),
        version=1,
        principal=PERSON,
        occurred_at_us=1_796_000_000_000_000,
        salt="0" * 64,
    )
    with open_record(store) as log:
        log.append([Draft(envelope=envelope, event=fact)])
    made.write_text(str(written + 1), encoding="ascii")
    return store, blobs, written + 1


def visit(side: Side, name: str) -> None:
    """Open a page once; what it costs for the first time is kept apart."""
    start = time.perf_counter()
    side.page.goto(side.url + PAGES[name])
    settled(side.page)
    side.page.wait_for_selector(".ds-sheet, .pr-player", timeout=600_000)
    side.first[name] = time.perf_counter() - start


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="The desk's pages on a short and on a long record.")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="make the records there, or find them there"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="PAGE", choices=PAGES, help="leave it out"
    )
    asked, rest = parser.parse_known_args()
    numbers = [int(argument) for argument in rest if argument.isdigit()]
    long, rounds = (numbers + [LONG, ROUNDS][len(numbers) :])[:2]
    with contextlib.ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        stack.callback(browser.close)
        sides = []
        for events in (SHORT, long):
            folder = stack.enter_context(place(asked.keep, events))
            start = time.perf_counter()
            store, blobs, written = record(folder, events)
            made = time.perf_counter()
            options = ("--views", str(folder / "views.db"))
            url, _ = stack.enter_context(served_at(store, blobs, folder, *options))
            print(
                f"{written:,} events: recorded in {made - start:.1f} s,"
                f" views built and desk served in {time.perf_counter() - made:.1f} s"
            )
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.set_default_timeout(900_000)
            page.add_init_script(HEARING)
            sides.append(Side(written, url, page, {name: [] for name in PAGES}, {}))
        for name in (name for name in PAGES if name not in asked.without):
            for side in sides:
                visit(side, name)
            for _ in range(rounds):
                for side in sides:
                    settled(side.page)
                    side.took[name].append(float(side.page.evaluate(AGAIN, {"quiet": QUIET_MS})))
            print(f"  {name}", file=sys.stderr, flush=True)
        table(*sides)


def table(short: Side, long: Side) -> None:
    """Median of each page on both, and their ratio."""
    print(f"{'page':<18}{short.events:>12,}{long.events:>12,}   ratio   (ms, medians; first look in s)")
    worst = 0.0
    for name in (name for name in PAGES if short.took[name]):
        mine, theirs = statistics.median(short.took[name]), statistics.median(long.took[name])
        worst = max(worst, theirs / mine)
        first = f"{short.first[name]:.1f} / {long.first[name]:.1f}"
        print(f"{name:<18}{mine:>12.0f}{theirs:>12.0f}{theirs / mine:>8.2f}   {first}")
    print(f"worst ratio {worst:.2f}")


if __name__ == "__main__":
    main()
