"""The served desk in a real Chromium: an investigation from the list of runs to the bundle that is carried away."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from domain.ids import TenantId
from projections.exports.verify import verify
from tests.replay_ui.sample import DOUBLE, FAKE, OTHER_RUN, RUN, STOPPED, WATCHED, Sample
from tests.replay_ui.serving import served, settled

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(sample, tmp_path_factory.mktemp("served")) as (address, _):
        yield address


def ready(page: Page, frame: int) -> None:
    expect(page.locator(".pr-player")).to_have_attribute("data-state", "ready")
    expect(page.locator(".pr-player")).to_have_attribute("data-frame", str(frame))


def test_a_run_is_opened_from_the_list_and_stepped_through(page: Page, url: str) -> None:
    page.goto(f"{url}/runs")
    page.evaluate("window.stayed = true")
    page.locator("tr.ds-opens", has_text="guarded").click()
    ready(page, 0)
    assert page.evaluate("window.stayed"), "the link kept the session"
    expect(page).to_have_url(re.compile(rf"/replay\?.*run={RUN}"))
    root = page.locator(".pr-player")
    seen, marked = set(), 0
    for index in range(1, 6):
        page.keyboard.press("ArrowRight")
        ready(page, index)
        expect(root).to_have_attribute("data-verified", "match")
        seen.add(root.get_attribute("data-sha256"))
        marked += root.get_attribute("data-marker") == "640,20"
    assert len(seen) == 5
    assert marked
    expect(page).to_have_url(re.compile(r"frame=6"))


def test_a_task_jumps_to_its_first_frame(page: Page, url: str) -> None:
    page.goto(f"{url}/replay?run={RUN}")
    ready(page, 0)
    page.locator("tr.ds-opens", has_text=FAKE).click()
    ready(page, 4)
    page.keyboard.press("ArrowRight")
    ready(page, 5)
    expect(page).to_have_url(re.compile("frame=6"))
    page.locator("tr.ds-opens", has_text=FAKE).click()
    ready(page, 4)


def test_a_difference_leads_to_its_chain_and_its_frame(page: Page, url: str) -> None:
    page.goto(url)
    settled(page)
    page.get_by_role("link", name="Month end").click()
    page.locator("tr.ds-opens", has_text=DOUBLE).click()
    expect(page.get_by_text("Counter-evidence that was looked for")).to_be_visible()
    page.get_by_role("link", name="Chain", exact=True).last.click()
    expect(page.locator(".ds-heading h2").first).to_have_text(DOUBLE)
    marked = page.locator(".ds-chain .ds-chosen")
    expect(marked).to_have_count(1)
    expect(marked).to_be_in_viewport()
    marked.get_by_role("link", name="Open frame").click()
    expect(page.locator(".pr-player")).to_have_attribute("data-verified", "match")
    expect(page).to_have_url(re.compile(r"/replay\?.*frame=\d"))


def test_the_bundle_of_a_difference_is_downloaded_and_verifies(page: Page, url: str, tmp_path: Path) -> None:
    page.goto(f"{url}/month")
    page.locator("tr.ds-opens", has_text=FAKE).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download evidence bundle").click()
    file = tmp_path / "evidence.zip"
    download.value.save_as(file)
    assert verify(file).ok


def test_a_frame_is_opened_by_its_link_in_another_browser(page: Page, url: str, sample: Sample) -> None:
    desk = sample.desk()
    line = desk.timeline(TenantId("acme"), RUN)
    desk.close()
    assert line is not None
    page.goto(f"{url}/replay?tenant=acme&run={RUN}&at={line.entries[6].position}")
    ready(page, 6)
    assert page.locator(".pr-player").get_attribute("data-sha256") == line.entries[6].sha256
    page.goto(f"{url}/replay?tenant=acme&run={RUN}&frame=3")
    ready(page, 2)


def test_thumbnails_are_the_stored_frames(page: Page, url: str) -> None:
    page.goto(f"{url}/chain?bill={FAKE}")
    picture = page.locator(".ds-thumb img").first
    picture.scroll_into_view_if_needed()
    expect(picture).to_have_js_property("naturalWidth", 1280)
    assert f"/frames/acme/{RUN}/" in str(picture.get_attribute("src"))


def test_hostile_text_of_an_audited_page_is_read_and_not_run(page: Page, url: str) -> None:
    for path in (f"/chain?bill={STOPPED}", "/queue", f"/replay?run={RUN}"):
        page.goto(url + path)
        expect(page.get_by_text("onerror=").first).to_be_visible()
        assert page.locator("img[src=x]").count() == 0
        assert page.title() == "Proofreel"


def test_another_tenants_ids_in_the_address_show_nothing(page: Page, url: str) -> None:
    page.goto(f"{url}/replay?tenant=globex&run={OTHER_RUN}")
    expect(page.get_by_text("There is no such tenant")).to_be_visible()
    assert page.locator(".pr-player").count() == 0
    page.goto(f"{url}/replay?tenant=acme&run={OTHER_RUN}")
    expect(page.get_by_text("There is no such run")).to_be_visible()
    assert page.locator(".pr-player").count() == 0
    for path in (
        f"/manifest/globex/{OTHER_RUN}.json",
        f"/manifest/acme/{OTHER_RUN}.json",
        "/bundles/globex/1/0.zip",
    ):
        answer = page.request.get(url + path)
        assert answer.status == 404
        assert answer.body() == b"Not found\n"


def test_the_language_is_the_browsers_until_another_is_picked(page: Page, url: str) -> None:
    context = page.context.browser.new_context(locale="ja-JP") if page.context.browser else page.context
    japanese = context.new_page()
    japanese.goto(f"{url}/runs")
    expect(japanese.get_by_role("heading", name="実行一覧")).to_be_visible()
    japanese.get_by_role("combobox", name="言語").click()
    japanese.get_by_role("option", name="한국어").click()
    expect(japanese.get_by_role("heading", name="실행 목록")).to_be_visible()
    japanese.get_by_role("link", name="지표").click()
    expect(japanese.get_by_role("heading", name="지표")).to_be_visible()
    context.close()


def test_the_single_user_mode_is_marked(page: Page, url: str) -> None:
    page.goto(f"{url}/metrics")
    expect(page.get_by_text("Local single-user mode")).to_be_visible()


def test_ctrl_c_ends_the_desk_cleanly_while_somebody_looks(
    page: Page, sample: Sample, tmp_path: Path
) -> None:
    with served(sample, tmp_path) as (address, process):
        page.goto(address)
        settled(page)
        assert list((tmp_path / "tmp").glob("proofreel-views-*"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert not list((tmp_path / "tmp").glob("proofreel-views-*"))


def test_two_runs_side_by_side_move_together_step_by_step(page: Page, url: str) -> None:
    page.goto(f"{url}/replay?run={RUN}&with={WATCHED}&frame=2")
    left, right = page.locator(".pr-player").nth(0), page.locator(".pr-player").nth(1)
    expect(left).to_have_attribute("data-frame", "1")
    expect(right).to_have_attribute("data-state", "ready")
    expect(right).to_have_attribute("data-aligned", re.compile("step|none"))
    left.click(position={"x": 5, "y": 5})
    page.keyboard.press("End")
    expect(left).to_have_attribute("data-frame", "8")
    expect(right).to_have_attribute("data-aligned", re.compile("step|none"))
    right.locator(".pr-slider").first.press("Home")
    expect(right).to_have_attribute("data-frame", "0")
    expect(left).to_have_attribute("data-aligned", "step")
    expect(left).to_have_attribute("data-frame", "0")
    expect(page).to_have_url(re.compile(rf"with={WATCHED}"))


def test_the_time_that_is_left_counts_down_on_the_page(page: Page, url: str) -> None:
    page.goto(f"{url}/queue")
    settled(page)
    late, left = page.get_by_text(" late").first, page.get_by_text(" left").first
    before = (late.inner_text(), left.inner_text())
    page.evaluate(
        "() => { const real = performance.now.bind(performance); performance.now = () => real() + 2.5e8; }"
    )
    expect(late).not_to_have_text(before[0])
    expect(left).not_to_have_text(before[1])
    page.evaluate("() => { performance.now = () => 9e15; }")
    expect(page.locator(".ds-due.ds-number")).to_have_count(0)
    expect(page.locator(".ds-due.ds-chip")).to_have_count(3)
