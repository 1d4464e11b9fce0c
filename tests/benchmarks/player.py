"""The frame player in a real Chromium, over a real record that the desk serves: from the key to the new frame.

``python -m tests.benchmarks.player [frames…]``, by default 40 and 50,000. Every frame has its own bytes and is fetched,
hashed and decoded; the clock is the browser's, from the key to the frame on its canvas. Other work on the machine blurs
all of it, so processor time and the machine's load stand beside. The aims: at most 20 ms at the 95th percentile,
the first frame within 2 s of opening the page, memory that doesn't grow with the run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import CDPSession, Page, sync_playwright

from tests.benchmarks._records import one_run
from tests.replay_ui.conftest import FLAGS, chromium
from tests.replay_ui.serving import served_at

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


def measure(frames: int) -> None:
    """One line of the table, and what it rests on."""
    where = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as name, sync_playwright() as playwright:
        folder = Path(name)
        store, blobs = one_run(folder, frames)
        with served_at(store, blobs, folder, "--views", str(folder / "views.db")) as (url, _):
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
            forward = page.evaluate(
                STEPS, {"count": min(KEYS, frames - 1), "pause": 60, "keys": ["ArrowRight"]}
            )
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
    for frames in [int(argument) for argument in sys.argv[1:] if argument.isdigit()] or [40, 50_000]:
        measure(frames)


if __name__ == "__main__":
    main()
