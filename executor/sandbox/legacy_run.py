"""The watched run of the demo: one bill as it should be, one processed twice from a stale page."""

from __future__ import annotations

from domain.ids import PrincipalId
from domain.values import Intent
from executor.guards.page import GuardedPage
from executor.runtime.batch import Setting
from executor.runtime.kit import Kit
from executor.runtime.watch import Recording, Watch
from executor.sandbox.legacy_loop import LegacyLoop
from executor.tools.browser import BrowserTool

LEGACY = PrincipalId("svc:legacy-loop")


def run_legacy(
    kit: Kit, setting: Setting, pages: tuple[BrowserTool, ...], *, single: Intent, doubled: Intent
) -> dict[str, str]:
    """Process ``single`` once and ``doubled`` twice, under two task ids; what the loop's log says.

    ``pages`` are two logged-in record-only tools of one session.
    """
    recording = Recording(
        log=kit.log,
        blobs=kit.blobs,
        ids=kit.ids,
        clock=kit.clock,
        tenant=kit.tenant,
        principal=LEGACY,
        origin=kit.origin,
    )
    watch = Watch(recording, setting)
    workers = [GuardedPage(page, watch.sink) for page in pages]
    loop = LegacyLoop(watch, workers, kit.recipe, language=kit.language)
    watch.start(tasks_planned=3)
    loop.process(single, reference="queue-1", worker=0)
    loop.open_bill(doubled, worker=0)
    loop.open_bill(doubled, worker=1)  # two seconds apart, from one queue: the second page is stale by then
    loop.press(doubled, reference="queue-2", worker=0)
    loop.press(doubled, reference="queue-3", worker=1)
    watch.finish()
    return {"run_id": watch.run_id, "said": "3 of 3 tasks succeeded, 2 of them about one bill"}
