"""The browser's trace of a task on the real portal: kept by how the task ended, and never with a password."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import async_playwright

from domain import events as e
from domain.envelope import Recorded
from domain.errors import ConfigError
from domain.ids import TaskId, TenantId, task_stream
from executor.cli.run_commands import run_batch
from executor.compensation import compensate
from executor.record import RecordPlace, recorded_async_page, recorded_page
from executor.runtime.recovery import task_stream_of
from executor.store.log import open_record
from executor.tools.base import TracePolicy
from executor.tools.browser_hands import BrowserHands
from executor.tools.chromium import find_chromium, flags
from executor.wiring import Workshop
from projections.blobs import open_blob_reader
from projections.exports.bundle import write_bundle
from projections.exports.select import Scope
from projections.exports.verify import verify
from projections.fold import run_keys
from projections.fsck import check
from projections.reading import open_reader
from projections.views.evidence_chain import EvidenceChain, chain
from tests.executor.guards.support import INTENT
from tests.support.chromium import running_browser
from tests.support.sandbox import TENANT, Sandbox, running_sandbox, statuses
from tests.support.site import Site, running_site
from tests.support.workbench import PERSON

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("traced"), bills=20) as running:
        yield running


def traced(sandbox: Sandbox, policy: TracePolicy) -> Workshop:
    target = sandbox.target()
    browser = msgspec.structs.replace(target.config.browser, trace=policy)
    config = msgspec.structs.replace(target.config, browser=browser)
    target = dataclasses.replace(target, config=config)
    return Workshop(target, store=sandbox.store, blobs=sandbox.blobs)


def stored(sandbox: Sandbox, task: TaskId) -> list[Recorded]:
    with open_reader(sandbox.store) as reader:
        return list(reader.stream(TENANT, task_stream(task)))


def traces(sandbox: Sandbox, task: TaskId) -> list[e.TraceAttached]:
    return [one.event for one in stored(sandbox, task) if isinstance(one.event, e.TraceAttached)]


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_task_that_goes_wrong_keeps_its_trace_and_one_that_goes_well_does_not(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    good, fake = sandbox.pending()[:2]
    sandbox.portal.control.switch_on("fake_success", fake["id"])
    batch = sandbox.batch("on-failure", [good, fake])
    with traced(sandbox, "on_failure") as workshop:
        assert statuses(run_batch(workshop, batch)) == ["succeeded", "taken_over"]
    assert traces(sandbox, batch.orders[0].task_id) == []
    (kept,) = traces(sandbox, batch.orders[1].task_id)
    data = open_blob_reader(sandbox.blobs).get(kept.blob)
    assert (len(data), kept.tool.startswith("playwright 1."), kept.calls > 0) == (kept.octets, True, True)
    text = b"".join(part for name, part in members(data).items() if not name.endswith(".png"))
    assert f"/bills/{fake['id']}/actions".encode() in text, "the write is in it"
    for account in sandbox.portal.accounts.values():
        assert account.password.encode() not in text
    assert b"vendor_sid" not in text
    with open_reader(sandbox.store) as reader:
        assert check(reader, open_blob_reader(sandbox.blobs), TENANT).ok
        (write,) = _chain(list(reader.events(TENANT)), fake["id"]).writes
        assert (write.trace, write.readback) == (kept.blob, "mismatched")
        bundle = tmp_path / "bundle.zip"
        blobs = open_blob_reader(sandbox.blobs)
        write_bundle(bundle, reader, blobs, tenant=TENANT, scope=Scope("bill", fake["id"]))
    inside = members(bundle.read_bytes())
    assert [part for name, part in inside.items() if name.endswith(f"/data/traces/{kept.blob}.zip")] == [data]
    assert not verify(bundle).problems


def _chain(events: list[Recorded], bill: str) -> Any:  # noqa: ANN401 - the view's own type
    made = chain(run_keys(EvidenceChain(), events).values(), bill)
    assert made is not None
    return made


def test_always_keeps_the_trace_of_doing_and_of_undoing_ahead_of_the_seal(sandbox: Sandbox) -> None:
    bill = sandbox.pending()[-1]
    batch = sandbox.batch("always", [bill])
    with traced(sandbox, "always") as workshop:
        assert statuses(run_batch(workshop, batch, second_look=False)) == ["succeeded"]
        stream = task_stream_of(workshop.kit(), batch.orders[0].task_id)
        assert compensate(
            workshop.kit(), stream, workshop.hands, requested_by=PERSON.principal, reason="drill"
        ).restored
    task = batch.orders[0].task_id
    did, undid = traces(sandbox, task)
    with open_reader(sandbox.store) as reader:
        writes = _chain(list(reader.events(TENANT)), bill["id"]).writes
    assert [(write.undoing, write.trace) for write in writes] == [(False, did.blob), (True, undid.blob)]
    names = [one.name for one in stored(sandbox, task)]
    assert names[-1] == "task.sealed"
    assert names.count("trace.attached") == 2


def test_a_trace_that_can_not_be_had_costs_the_task_nothing(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bill = sandbox.pending()[-2]
    batch = sandbox.batch("lost", [bill])
    monkeypatch.setattr("executor.traces.scrub.FORMAT", 9)
    with traced(sandbox, "always") as workshop, caplog.at_level(logging.WARNING, "proofreel.traces"):
        assert statuses(run_batch(workshop, batch)) == ["succeeded"]
    assert traces(sandbox, batch.orders[0].task_id) == []
    assert "no trace was kept" in caplog.text


def test_a_new_log_in_is_in_no_trace(sandbox: Sandbox) -> None:
    """The session's own log-in comes before the trace, and its password is known if it comes again."""
    with traced(sandbox, "always") as workshop:
        hands = workshop.hands()
        assert isinstance(hands, BrowserHands)
        hands.begin_trace()
        hands.log_in()
        kept = hands.end_trace(keep=True)
        assert kept is not None
        password = sandbox.portal.accounts["svc-acme"].password.encode()
        assert not [name for name, data in members(kept.data).items() if password in data]
        assert b"svc-acme" in b"".join(members(kept.data).values())


# -- a loop of one's own -----------------------------------------------------------------------------------


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as running:
        yield running


def place(folder: Path, site: Site) -> RecordPlace:
    store, blobs = f"sqlite:///{folder / 'agent.db'}", str(folder / "frames")
    return RecordPlace(tenant="acme", principal="svc:agent", origin=site.url, store=store, blobs=blobs)


def kinds(where: RecordPlace, task: TaskId) -> list[str]:
    with open_record(where.store) as log:
        return [one.name for one in log.stream(TenantId("acme"), task_stream(task))]


def test_a_loop_of_ones_own_keeps_a_trace_when_it_fails(site: Site, tmp_path: Path) -> None:
    where = place(tmp_path, site)
    with (
        running_browser() as browser,
        recorded_page(browser.new_page(), where, trace="on_failure") as recorded,
    ):
        recorded.page.goto("/form.html")
        with recorded.task(INTENT) as well:
            recorded.page.click("#approve")
        with pytest.raises(KeyError), recorded.task(INTENT) as failed:  # noqa: PT012 - the loop is what raises
            recorded.page.click("#approve")
            raise KeyError
    assert "trace.attached" not in kinds(where, well)
    assert "trace.attached" in kinds(where, failed)


def test_an_asynchronous_loop_keeps_one_too_and_says_how_it_is_asked_for(site: Site, tmp_path: Path) -> None:
    where = place(tmp_path, site)

    async def loop() -> TaskId:
        async with async_playwright() as playwright:
            choice = find_chromium(None, bundled=playwright.chromium.executable_path or "")
            browser = await playwright.chromium.launch(executable_path=choice.path, args=flags(root=True))
            page = await browser.new_page()
            async with recorded_async_page(page, where, trace="always") as recorded:
                await recorded.page.goto("/form.html")
                async with recorded.task(INTENT) as task:
                    await recorded.page.click("#approve")
                with pytest.raises(ConfigError, match="asynchronously"), recorded.task(INTENT):
                    pass
            await browser.close()
        return task

    names = kinds(where, asyncio.run(loop()))
    assert names[-3:] == ["trace.attached", "task.declared_done", "task.sealed"]
