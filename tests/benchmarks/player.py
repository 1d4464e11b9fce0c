"""The frame player in a real Chromium, over a real record that the desk serves: from the key to the new frame.

``python -m tests.benchmarks.player [--keep FOLDER] [--profile FOLDER] [frames…]``, by default 40 and 50,000. ``--keep``
makes the record there once and finds it there the next time; ``--profile`` writes there, for the browser's own tools,
what the page's own thread did during the keys, which takes some of the time itself. Every frame has its own bytes and
is fetched, hashed and decoded; the clock is the browser's, from the key to the frame on its canvas. Other work on the
machine blurs all of it, so processor time and the machine's load stand beside. The aims: at most 20 ms at the 95th
percentile, the first frame within 2 s of opening the page, memory that doesn't grow with the run.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import CDPSession, Page, sync_playwright

from tests.benchmarks._records import one_run
from tests.replay_ui.conftest import FLAGS, chromium
from tests.replay_ui.serving import served_at

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS: Final = 400
JUMPS: Final = 40
MEMORY: Final = Path("/dev/shm")

# One key after the other: each is pressed when the frame before is on the canvas, after a pause as between keystrokes.
STEPS: Final = """
async ({ count, pause, keys }) => {
  const player = window.__player;
  const took = [];
  for (let i = 0; i < count; i += 1) {
    await new Promise((done) => setTimeout(done, pause));
    const before = player.dataset.frame;
    const start = performance.now();
    await new Promise((done) => {
      const watch = new MutationObserver(() => {
        if (player.dataset.frame !== before) { watch.disconnect(); done(); }
      });
      watch.observe(player, { attributes: true, attributeFilter: ["data-frame"] });
      document.body.dispatchEvent(
        new KeyboardEvent("keydown", { key: keys[i % keys.length], bubbles: true, composed: true, cancelable: true }),
      );
    });
    took.push(performance.now() - start);
  }
  return took;
}
"""
JUMP: Final = """
async (targets) => {
  const player = window.__player;
  const slider = player.querySelector(".pr-slider");
  const took = [];
  for (const share of targets) {
    await new Promise((done) => setTimeout(done, 150));
    const before = player.dataset.frame;
    const start = performance.now();
    const box = slider.getBoundingClientRect();
    await new Promise((done) => {
      const watch = new MutationObserver(() => {
        if (player.dataset.frame !== before) { watch.disconnect(); done(); }
      });
      watch.observe(player, { attributes: true, attributeFilter: ["data-frame"] });
      const clientX = box.left + share * box.width;
      const at = { clientX, clientY: box.top + box.height / 2, bubbles: true, pointerId: 1 };
      slider.dispatchEvent(new PointerEvent("pointerdown", at));
      slider.dispatchEvent(new PointerEvent("pointerup", at));
    });
    took.push(performance.now() - start);
  }
  return took;
}
"""
# How late the browser is by itself, with the same pauses and nothing to do: a message to oneself and back.
LATE: Final = """
async (count) => {
  const took = [];
  for (let i = 0; i < count; i += 1) {
    await new Promise((done) => setTimeout(done, 60));
    const start = performance.now();
    await new Promise((done) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { channel.port1.close(); done(); };
      channel.port2.postMessage(0);
    });
    took.push(performance.now() - start);
  }
  return took;
}
"""
# The player's root is inside an open shadow root.
FIND: Final = """
() => {
  const walk = (node) => {
    const found = node.querySelector?.(".pr-player");
    if (found) return found;
    for (const child of node.querySelectorAll("*")) {
      const inside = child.shadowRoot && walk(child.shadowRoot);
      if (inside) return inside;
    }
    return null;
  };
  window.__player = walk(document);
  return Boolean(window.__player);
}
"""


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values doesn't exceed."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def told(session: CDPSession, name: str) -> float:
    """One of the browser's own measures of the page."""
    metrics: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return float(next(item["value"] for item in metrics if item["name"] == name))


def heap(session: CDPSession) -> float:
    """Megabytes of JavaScript's heap after a collection."""
    session.send("HeapProfiler.collectGarbage")
    return told(session, "JSHeapUsedSize") / 2**20


def opened(page: Page, url: str) -> float:
    """Seconds from opening the page to its first frame."""
    start = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(".pr-player[data-state=ready]", timeout=120_000)
    return time.perf_counter() - start


def followed(page: Page, url: str) -> float:
    """Seconds from a click in the list of runs to the first frame."""
    page.goto(f"{url}/runs")
    row = page.locator("tr.ds-opens").first
    row.wait_for(timeout=120_000)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    start = time.perf_counter()
    row.click()
    page.wait_for_selector(".pr-player[data-state=ready]", timeout=120_000)
    return time.perf_counter() - start


@contextlib.contextmanager
def recorded(keep: Path | None, frames: int) -> Iterator[tuple[Path, str, str]]:
    """Folder, store and blobs of a run with so many frames; kept below ``keep`` where that is given."""
    if keep is None:
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
            yield Path(name), *one_run(Path(name), frames)
        return
    folder = keep / str(frames)
    if not (folder / "made").exists():
        folder.mkdir(parents=True)
        one_run(folder, frames)
        (folder / "made").touch()
    yield folder, f"sqlite:///{folder}/record.db", str(folder / "blobs")


class Profile:
    """Samples of what the page's own thread did, for ``--profile``."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        session.send("Profiler.enable")
        session.send("Profiler.setSamplingInterval", {"interval": 200})
        session.send("Profiler.start")

    def write(self, file: Path, keys: int) -> str:
        """Write the profile, for the browser's own tools; returns where most of the time went, ms for each key."""
        profile = self._session.send("Profiler.stop")["profile"]
        file.write_text(json.dumps(profile), encoding="utf-8")
        frames = {node["id"]: node["callFrame"] for node in profile["nodes"]}
        took: collections.Counter[str] = collections.Counter()
        for node, micros in zip(profile["samples"], profile["timeDeltas"], strict=True):
            frame = frames[node]
            took[f"{frame['functionName'] or '(anonymous)'} {frame['url'].rsplit('/', 1)[-1]}"] += micros
        del took["(idle) "]
        return "\n".join(f"          {us / 1000 / keys:8.2f} ms  {name}" for name, us in took.most_common(25))


def measure(frames: int, keep: Path | None, profiles: Path | None) -> None:
    """One line of the table, and what it rests on."""
    with (
        recorded(keep, frames) as (folder, store, blobs),
        sync_playwright() as playwright,
        served_at(store, blobs, folder, "--views", str(folder / "views.db")) as (url, _),
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        address = f"{url}/replay?run=long"
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        cold = opened(page, address)
        warm = min(opened(page, address) for _ in range(3))
        inside = min(followed(page, url) for _ in range(3))
        assert page.evaluate(FIND)
        page.evaluate(LATE, 20)
        late = page.evaluate(LATE, min(KEYS, 200))
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        before = heap(session)
        main, whole = told(session, "ThreadTime"), told(session, "ProcessTime")
        profile = Profile(session) if profiles else None
        forward = page.evaluate(STEPS, {"count": min(KEYS, frames - 1), "pause": 60, "keys": ["ArrowRight"]})
        if profiles and profile:
            print(profile.write(profiles / f"player-{frames}.cpuprofile", len(forward)))
        rest = load()
        main, whole = (
            1000 * (told(session, name) - start) / len(forward)
            for name, start in (("ThreadTime", main), ("ProcessTime", whole))
        )
        shares = [((7 * n) % 40 + 0.5) / 40 for n in range(JUMPS)]
        jumps = page.evaluate(JUMP, shares)
        after = heap(session)
        browser.close()
    print(
        f"{frames:>8,} frames: first frame {cold:5.2f} s with nothing cached, {warm:5.2f} s at the next visit,"
        f" {inside:5.2f} s from the list of runs\n"
        f"          key {statistics.median(forward):5.1f} / {percentile(forward, 0.95):5.1f} ms (median / p95),"
        f" CPU {main:.1f} ms of the page's own thread and {whole:.1f} ms of its process,"
        f" the browser's own lateness {statistics.median(late):.1f} / {percentile(late, 0.95):.1f} ms;"
        f" jump {statistics.median(jumps):6.1f} / {percentile(jumps, 0.95):6.1f} ms;"
        f" heap {before:5.1f} -> {after:5.1f} MiB; load {rest:.1f}"
    )


def load() -> float:
    """Processes that wanted the machine's processors, over the last minute; 0 where nobody counts them."""
    counted = Path("/proc/loadavg")
    return float(counted.read_text(encoding="ascii").split()[0]) if counted.exists() else 0.0


def main() -> None:
    """Measure each length that is asked for."""
    parser = argparse.ArgumentParser(description="The player: from the key to the new frame.")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="make the records there, or find them there"
    )
    parser.add_argument("--profile", type=Path, metavar="FOLDER", help="write the page's own thread's there")
    asked, rest = parser.parse_known_args()
    for frames in [int(argument) for argument in rest if argument.isdigit()] or [40, 50_000]:
        measure(frames, asked.keep, asked.profile)


if __name__ == "__main__":
    main()
