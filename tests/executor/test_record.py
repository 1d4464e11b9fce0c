"""A loop of somebody's own, recorded in a few lines, into the same record."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from domain import events as e
from domain.ids import StreamId, TaskId, TenantId, run_stream, task_stream
from executor.record import RecordPlace, recorded_async_page, recorded_page
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.tools.chromium import find_chromium, flags
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader
from tests.executor.guards.support import INTENT, RULE
from tests.support.chromium import running_browser
from tests.support.site import Site, running_site

pytestmark = pytest.mark.browser
ACME = TenantId("acme")


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as running:
        yield running


def place(folder: Path, origin: str = "") -> RecordPlace:
    return RecordPlace(
        tenant="acme",
        principal="svc:agent",
        origin=origin,
        store=f"sqlite:///{folder / 'agent.db'}",
        blobs=str(folder / "frames"),
    )


def facts(folder: Path, stream: StreamId) -> list[e.Event]:
    with open_record(place(folder).store) as log:
        return [recorded.event for recorded in log.stream(ACME, stream)]


def test_five_lines_put_a_loop_on_record(site: Site, tmp_path: Path) -> None:
    with running_browser() as browser:
        page = browser.new_page()
        with recorded_page(page, place(tmp_path, site.url)) as recorded:
            recorded.page.goto("/form.html")
            with recorded.task(INTENT) as task_id:
                recorded.page.click("#approve", label="Approve", rule=RULE)
    kinds = [type(fact).__name__ for fact in facts(tmp_path, task_stream(task_id))]
    assert kinds == [
        "TaskOpened",
        "ObservationRecorded",
        "ActionProposed",
        "GuardJudged",
        "ActionAttempted",
        "ActionExecuted",
        "GuardJudged",
        "ObservationRecorded",
        "TaskDeclaredDone",
        "TaskSealed",
    ]
    run = facts(tmp_path, run_stream(recorded.watch.run_id))
    assert [type(fact).__name__ for fact in run] == ["RunStarted", "RunFinished"]
    where = place(tmp_path)
    with open_reader(where.store) as reader:
        assert check(reader, open_blob_reader(where.blobs), ACME).ok
    with open_record(where.store) as log:
        frames = [f for item in log.stream(ACME, task_stream(task_id)) for f in item.envelope.frames]
    assert frames
    assert all(open_blobs(where.blobs).has(frame.sha256) for frame in frames)


def test_a_guarded_loop_is_recorded_with_what_was_stopped(site: Site, tmp_path: Path) -> None:
    with running_browser() as browser:
        page = browser.new_page()
        with recorded_page(page, place(tmp_path, site.url), mode="guarded") as recorded:
            recorded.page.goto("/form.html")
            with recorded.task(INTENT) as task_id:
                recorded.page.click("#approve", label="Reject", rule=RULE)
    stored = facts(tmp_path, task_stream(task_id))
    (blocked,) = [fact for fact in stored if isinstance(fact, e.ActionBlocked)]
    assert blocked.verdict == "precondition_failed"
    judged = next(fact for fact in stored if isinstance(fact, e.GuardJudged))
    assert (judged.enforced, judged.verdict) == (True, "precondition_failed")
    assert site.posts == []


def test_a_loop_that_fails_has_not_declared_its_task_done(site: Site, tmp_path: Path) -> None:
    with running_browser() as browser:
        page = browser.new_page()
        with (  # noqa: PT012 - the loop is what raises
            pytest.raises(KeyError),
            recorded_page(page, place(tmp_path, site.url)) as recorded,
        ):
            recorded.page.goto("/form.html")
            with recorded.task(INTENT) as task_id:
                recorded.page.click("#approve", label="Approve", rule=RULE)
                raise KeyError
    kinds = [type(fact).__name__ for fact in facts(tmp_path, task_stream(task_id))]
    assert "ActionExecuted" in kinds
    assert "TaskDeclaredDone" not in kinds


def test_an_asynchronous_loop_is_recorded_the_same_way(site: Site, tmp_path: Path) -> None:
    async def loop() -> TaskId:
        async with async_playwright() as playwright:
            choice = find_chromium(None, bundled=playwright.chromium.executable_path or "")
            browser = await playwright.chromium.launch(executable_path=choice.path, args=flags(root=True))
            page = await browser.new_page()
            async with recorded_async_page(page, place(tmp_path, site.url)) as recorded:
                await recorded.page.goto("/form.html")
                with recorded.task(INTENT) as task_id:
                    await recorded.page.click("#approve", label="Approve", rule=RULE)
            await browser.close()
        return task_id

    stored = facts(tmp_path, task_stream(asyncio.run(loop())))
    assert [type(fact).__name__ for fact in stored][-2:] == ["TaskDeclaredDone", "TaskSealed"]
    assert sum(isinstance(fact, e.ActionExecuted) for fact in stored) == 1
