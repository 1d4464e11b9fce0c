"""The page of a bundle, opened from disk in a real browser without a network."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from domain.events import all_names
from projections.exports.verify import layout
from projections.exports.verify.known import KNOWN
from projections.exports.zipwriter import piece_of
from projections.settlement.causes import CAUSES, BreakKind
from tests.projections.exports.made import Made, export, make
from tests.projections.exports.withholding import (
    ALLOWED,
    ASKED,
    BASIS,
    delete,
    pointers,
    redact_event,
    redact_frame,
)

pytestmark = pytest.mark.browser
FLAGS = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("PROOFREEL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test when it reports an error or asks for anything but files."""
    context = browser.new_context(locale="en-US", viewport={"width": 1400, "height": 900}, offline=True)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "blob:")) else troubles.append(asked.url),
    )
    yield page
    context.close()
    assert troubles == []


def unpack(path: Path, target: Path) -> Path:
    """Folder of the unpacked bundle."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(target)
    return next(target.iterdir())


@pytest.fixture(scope="module")
def folder(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(bundle, tmp_path_factory.mktemp("page"))


def show(page: Page, folder: Path, place: str = "") -> None:
    page.goto((folder / layout.INDEX).as_uri() + place)
    page.wait_for_function("document.querySelectorAll('#events .event').length > 0")


def test_it_checks_events_chains_and_screens_by_itself(page: Page, folder: Path) -> None:
    show(page, folder)
    page.get_by_text("6 of 6 screens match their hash").wait_for()
    assert page.locator("#checks .badge").all_inner_texts() == [
        "✓ 25 of 25 events match their hash",
        "✓ 25 of 25 links of the chains hold",
        "✓ 6 of 6 screens match their hash",
    ]


def test_it_tells_the_story_in_plain_words_and_links_the_cause_to_its_events(
    page: Page, folder: Path
) -> None:
    show(page, folder)
    assert page.locator("h1").inner_text() == "bill B1"
    assert "duplicate across tasks proven" in page.locator("#conclusion").inner_text().replace("\n", " ")
    page.locator("#conclusion").get_by_role("button", name="#9").click()
    assert (
        page.locator("#stage .what").inner_text().startswith("The tool reported that it performed the action")
    )
    page.locator("#stage figure .badge.ok").wait_for()
    assert page.evaluate("document.querySelector('#stage img').naturalWidth") == 1280


def test_the_place_that_was_aimed_at_is_marked(page: Page, folder: Path) -> None:
    show(page, folder, "#e7")
    page.locator("#stage .shot .point").wait_for()
    assert page.locator("#stage .shot .box").count() == 1


def test_keys_walk_along_the_chain(page: Page, folder: Path) -> None:
    show(page, folder)
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
        seen.append(page.evaluate("location.hash"))
    assert seen == ["#e2", "#e3", "#e2", "#e59", "#e1"]


def test_search_and_filter_narrow_the_list(page: Page, folder: Path) -> None:
    show(page, folder)
    page.select_option("#filter", "screens")
    with_screens = page.locator("#events .event").count()
    page.fill("#search", "acme-reader")
    assert 0 < page.locator("#events .event").count() < with_screens < 25


def test_nothing_from_the_audited_page_becomes_markup(page: Page, folder: Path) -> None:
    show(page, folder, "#e20")
    assert "<script>document.title='owned'</script>" in page.locator("#stage .what").inner_text()
    page.get_by_text("6 of 6 screens match").wait_for()
    assert page.title() == "Evidence bundle: bill B1"
    assert page.locator("#stage img[src='x']").count() == 0


def test_a_changed_screen_is_marked(page: Page, bundle: Path, tmp_path: Path) -> None:
    copy = unpack(bundle, tmp_path)
    script = min((copy / "data" / "page" / "frames").iterdir())
    text = script.read_text()
    at = text.index("A", len(text) // 2)
    script.write_text(text[:at] + "B" + text[at + 1 :])
    show(page, copy)
    page.get_by_text("5 of 6 screens match their hash").wait_for()
    assert page.locator("#checks .badge.bad").count() == 1


def test_a_changed_event_is_marked(page: Page, bundle: Path, tmp_path: Path) -> None:
    copy = unpack(bundle, tmp_path)
    script = copy / "data" / "page" / "events-00001.js"
    script.write_text(script.read_text().replace("Northwind", "Southwind", 1))
    show(page, copy)
    page.get_by_text("✗ 24 of 25 events match their hash").wait_for()
    page.get_by_text("✗ 24 of 25 links of the chains hold").wait_for()


def test_what_is_withheld_is_shown_as_withheld(page: Page, tmp_path: Path) -> None:
    made = make(others=0)
    told = next(one for one in made.book.events if one.name == "observation.recorded" and one.envelope.frames)
    frame = told.envelope.frames[0]
    redact_frame(made, frame.sha256)
    redact_event(made, told, ["/data/account"])
    gone = next(one.envelope.frames[0] for one in made.book.events if one.name == "action.executed")
    delete(made, gone.sha256)
    for number, one in enumerate([*made.book.events]):
        if one is not told and (where := pointers(one, "acme-bot")):
            redact_event(made, one, where, name=f"more-{number}")
    export(made, tmp_path / "less.zip")
    folder = unpack(tmp_path / "less.zip", tmp_path / "out")
    show(page, folder, f"#e{told.row.position}")
    figure = page.locator("#stage figure")
    figure.locator(".badge", has_text="parts withheld").wait_for()
    assert f"Parts withheld: {BASIS} (asked for by {ASKED}, approved by {ALLOWED}" in figure.inner_text()
    assert page.locator("#stage > .withheld").inner_text().startswith("Parts withheld: ")
    page.wait_for_function("document.querySelector('#stage img').naturalWidth === 1280")
    assert "acme-bot" not in page.content()
    assert page.locator("#checks .badge.bad").count() == 0
    executed = next(one for one in made.book.events if one.name == "action.executed")
    show(page, folder, f"#e{executed.row.position}")
    page.locator("#stage figure .badge", has_text="deleted").wait_for()
    assert "by person:dpo: retention of screens: 180 days" in page.locator("#stage figure").inner_text()


def test_a_large_bundle_s_screens_are_checked_when_the_folder_is_chosen(
    page: Page, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "MAX_EMBEDDED_BYTES", 100)
    export(made, tmp_path / "large.zip")
    folder = unpack(tmp_path / "large.zip", tmp_path / "out")
    assert not (folder / "data" / "page" / "frames").exists()
    show(page, folder, "#e5")
    assert page.locator("#stage figure .badge").inner_text() == "not checked yet"
    page.wait_for_function("document.querySelector('#stage img').naturalWidth === 1280")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Check the screens").click()
    chooser.value.set_files(folder)
    page.get_by_text("6 of 6 screens match their hash").wait_for()
    page.locator("#stage figure .badge.ok").wait_for()


WORDS = """(code) => {
    const walk = (value, path) => typeof value !== "object" ? [path]
        : Object.entries(value).flatMap(([key, item]) => walk(item, path + "/" + key));
    return walk(proofreelWords[code], "").filter((path) => !/^\\/(kinds|causes)\\//.test(path)).sort();
}"""


@pytest.mark.parametrize("code", ["zh", "ja", "ko"])
def test_every_language_has_every_word(code: str, page: Page, folder: Path) -> None:
    show(page, folder)
    assert page.evaluate(WORDS, code) == page.evaluate(WORDS, "en")
    page.select_option("#language", code)
    assert page.locator("html").get_attribute("lang") == code
    assert page.locator("h1").inner_text() != "bill B1"


@pytest.mark.parametrize("code", ["zh", "ja", "ko"])
def test_every_language_names_the_causes_and_kinds_of_differences(
    code: str, page: Page, folder: Path
) -> None:
    show(page, folder)
    assert set(page.evaluate(f"Object.keys(proofreelWords.{code}.causes)")) == set(CAUSES)
    assert set(page.evaluate(f"Object.keys(proofreelWords.{code}.kinds)")) == set(get_args(BreakKind))


def test_every_event_has_a_sentence_in_every_language(page: Page, folder: Path) -> None:
    show(page, folder)
    for code in page.evaluate("Object.keys(proofreelWords)"):
        assert sorted(page.evaluate(f"Object.keys(proofreelWords.{code}.event)")) == list(all_names())


def test_the_page_that_is_shipped_is_known_to_the_verifier(folder: Path) -> None:
    """When this fails, a file of the page was changed: add its hash to ``verify/known.py``."""
    for path, hashes in KNOWN.items():
        assert piece_of((folder / path).read_bytes()).sha256 in hashes, path
