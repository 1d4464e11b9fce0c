"""Asking for a redaction beside the frame, and answering it as another person, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from domain.envelope import Recorded
from domain.ids import TenantId
from executor.store.secret_key import make_secret
from projections.reading import open_reader
from projections.views.redactions import redaction
from tests.replay_ui.sample import RUN, Sample, make
from tests.replay_ui.serving import served, settled
from tests.replay_ui.test_axe_browser import GRAVE, violations

pytestmark = pytest.mark.browser

ACME = TenantId("acme")
BASIS = "GDPR Art. 17, request 2026-31"
CONFIG = """
tenant: acme
identity: {principal: "svc:acme-batch", tenants: [acme], actions: [mark_processed, refund, undo]}
people:
  - {principal: "person:dpo", tenants: [acme], actions: [redact, "approve:redaction"]}
  - {principal: "person:counsel", tenants: [acme], actions: ["approve:redaction"]}
  - {principal: "person:chen.jie", tenants: [acme]}
target:
  name: vendor portal
  origin: http://127.0.0.1:8800
  recipe: vendor-portal
  service: {account: svc-acme, secret_env: SERVICE_PASSWORD}
  readback: {account: readback-acme, secret_env: READBACK_PASSWORD}
privacy: {key: privacy.key}
"""


@pytest.fixture
def made(tmp_path: Path) -> Sample:
    (tmp_path / "proofreel.yaml").write_text(CONFIG, encoding="utf-8")
    make_secret(tmp_path / "privacy.key")
    return make(tmp_path)


@pytest.fixture
def url(made: Sample, tmp_path: Path) -> Iterator[str]:
    with served(made, tmp_path) as (address, _):
        yield address


def on_record(made: Sample) -> list[Recorded]:
    with open_reader(made.store, as_stored=True) as reader:
        return [one for stream in reader.streams(ACME, "redaction") for one in reader.stream(ACME, stream)]


def open_form(page: Page, url: str) -> Locator:
    """The player with a frame, and the form beside it."""
    page.goto(f"{url}/replay?run={RUN}&frame=3")
    player = page.locator(".pr-player")
    expect(player).to_have_attribute("data-state", "ready")
    expect(player).to_have_attribute("data-verified", "match")
    page.get_by_text("Withhold a part of this").click()
    expect(rectangle(page)).to_be_visible()
    return player


def draw(page: Page, player: Locator) -> list[int]:
    """Mark a part of the frame with the pointer; the rectangle that came of it."""
    player.locator("[data-command=region]").click()
    expect(player.locator("[data-command=region]")).to_have_attribute("aria-pressed", "true")
    box = player.locator("canvas.pr-frame").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.25)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.375, steps=4)
    page.mouse.up()
    region = player.get_attribute("data-region")
    assert region, "a part is marked"
    return [int(part) for part in region.split(",")]


def rectangle(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Rectangle: x, y, width, height in pixels")


def unfold(chosen: Locator) -> None:
    """Open a list of choices. It closes when the page scrolls, and a click scrolls first, so that goes ahead of it."""
    chosen.scroll_into_view_if_needed()
    chosen.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    chosen.click()


def tiles_of(x: int, y: int, width: int, height: int) -> tuple[int, int, int, int]:
    """The tiles of 32 pixels that a rectangle touches, as a rectangle."""
    left, top = x // 32 * 32, y // 32 * 32
    return left, top, -(-(x + width) // 32) * 32 - left, -(-(y + height) // 32) * 32 - top


def test_a_part_of_a_screen_is_drawn_asked_for_and_withheld_once_another_person_allows_it(
    page: Page, url: str, made: Sample
) -> None:
    player = open_form(page, url)
    sha256 = player.get_attribute("data-sha256")
    region = draw(page, player)
    assert [abs(part - want) <= 3 for part, want in zip(region, (320, 200, 320, 100), strict=True)] == [
        True
    ] * 4
    field = rectangle(page)
    expect(field).to_have_value(", ".join(map(str, region)))
    page.get_by_role("textbox", name="Law or policy that asks for it").fill(BASIS)
    page.get_by_role("button", name="Ask that this is withheld").click()
    expect(page.get_by_text("in force once another person approves it")).to_be_visible()
    (asked,) = on_record(made)
    row = redaction([asked])
    assert (row.subject, row.parts) == (sha256, ",".join(map(str, region)))
    assert (row.basis, asked.envelope.principal) == (BASIS, "person:dpo")

    page.goto(f"{url}/queue")
    settled(page)
    page.get_by_role("link", name="screen", exact=True).click()
    expect(page.get_by_role("heading", name="Redaction of: screen")).to_be_visible()
    picture, mark = page.locator(".ds-marked img").bounding_box(), page.locator(".ds-marked i").bounding_box()
    assert picture is not None
    assert mark is not None
    reach = [mark["x"] - picture["x"], mark["y"] - picture["y"], mark["width"], mark["height"]]
    scale = 1280 / picture["width"]
    assert all(abs(part * scale - want) <= 3 for part, want in zip(reach, tiles_of(*region), strict=True))
    unfold(page.get_by_role("combobox", name="Decide as"))
    expect(page.get_by_role("option")).to_have_text(["person:counsel"])
    page.get_by_role("option", name="person:counsel").click()
    page.get_by_role("textbox", name="Note").fill("as the person asked")
    page.get_by_role("button", name="Withhold exactly this").click()
    expect(page.get_by_text("The decision is on record.")).to_be_visible()
    expect(page.get_by_role("heading", name="Redactions")).to_have_count(0)
    allowed = on_record(made)[-1]
    assert (allowed.name, allowed.envelope.principal) == ("redaction.approved", "person:counsel")

    page.goto(f"{url}/replay?run={RUN}&frame=3")
    expect(player).to_have_attribute("data-sha256", str(sha256))
    expect(player).to_have_attribute("data-verified", "withheld")


def test_fields_of_an_event_are_asked_for_and_refused(page: Page, url: str, made: Sample) -> None:
    open_form(page, url)
    page.get_by_text("Fields of the event", exact=True).click()
    chosen = page.get_by_role("combobox", name="Fields")
    expect(chosen).to_be_visible()
    settled(page)
    unfold(chosen)
    page.locator("[role=option]:visible").filter(has_text="title:").click()
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Law or policy that asks for it").fill(BASIS)
    page.get_by_role("button", name="Ask that this is withheld").click()
    expect(page.get_by_text("in force once another person approves it")).to_be_visible()
    (asked,) = on_record(made)
    assert redaction([asked]).parts == "/data/title"
    page.goto(f"{url}/queue?redaction={redaction([asked]).redaction}")
    page.get_by_role("button", name="Refuse").click()
    expect(page.get_by_text("The decision is on record.")).to_be_visible()
    assert on_record(made)[-1].name == "redaction.denied"


def test_a_request_without_a_basis_or_a_part_records_nothing_and_says_why(
    page: Page, url: str, made: Sample
) -> None:
    open_form(page, url)
    ask = page.get_by_role("button", name="Ask that this is withheld")
    ask.click()
    expect(page.get_by_text("the law or policy that asks for it is missing")).to_be_visible()
    page.get_by_text("Withhold a part of this").click()
    basis = page.get_by_role("textbox", name="Law or policy that asks for it")
    basis.fill(BASIS)
    basis.press("Tab")
    ask.click()
    expect(page.get_by_text("nothing is marked")).to_be_visible()
    assert on_record(made) == []


def test_another_frame_takes_the_marked_part_away(page: Page, url: str) -> None:
    player = open_form(page, url)
    draw(page, player)
    player.locator(".pr-slider").focus()
    page.keyboard.press("ArrowRight")
    expect(player).to_have_attribute("data-frame", "3")
    expect(player).to_have_attribute("data-region", "")
    page.keyboard.press("ArrowLeft")
    expect(player).to_have_attribute("data-frame", "2")
    expect(rectangle(page)).to_have_value("")


def test_asking_and_answering_keep_nobody_out(page: Page, url: str, made: Sample) -> None:
    player = open_form(page, url)
    draw(page, player)
    expect(rectangle(page)).not_to_have_value("")
    assert grave(page) == []
    page.get_by_role("textbox", name="Law or policy that asks for it").fill(BASIS)
    page.get_by_role("button", name="Ask that this is withheld").click()
    expect(page.get_by_text("in force once another person approves it")).to_be_visible()
    (asked,) = on_record(made)
    page.goto(f"{url}/queue?redaction={redaction([asked]).redaction}")
    expect(page.get_by_role("button", name="Withhold exactly this")).to_be_visible()
    assert grave(page) == []


def grave(page: Page) -> list[Any]:
    """What axe finds that keeps somebody out, and anything smaller in what is ours."""
    page.evaluate("document.fonts.ready.then(() => true)")
    return [item for item in violations(page) if item[1] in GRAVE or item[3]]
