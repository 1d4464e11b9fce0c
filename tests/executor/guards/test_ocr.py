"""Labels that only the pixels have: read on the element's own box, in four languages, on the real portal too."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser

from domain.values import Box, Check, Point
from executor.guards import ocr
from executor.guards.base import Purpose, first_stop, pre_checks
from executor.guards.label import check_label
from executor.guards.ocr import INSTALL, INSTALL_KOREAN, read_label
from executor.sandbox.portal.i18n import texts
from executor.sandbox.portal.server import PortalThread
from executor.tools.base import LoginForm, SiteRules, Step, Target
from executor.tools.browser import BrowserTool
from tests.executor.guards.support import APPROVE, target
from tests.support.chromium import FixedClock, running_browser

LABELS = {
    "zh": ("标记处理", "退款", "删除", "撤销"),
    "en": ("Mark processed", "Refund", "Delete", "Undo"),
    "ja": ("処理済みにする", "返金", "削除", "取消"),
    "ko": ("처리 표시", "환불", "삭제", "되돌리기"),
}
HEIGHT, GAP = 28, 8


def font() -> ImageFont.FreeTypeFont:
    asked = subprocess.run(
        ["fc-match", "-f", "%{file}", ":lang=ko:lang=zh"], capture_output=True, text=True, check=True
    )
    return ImageFont.truetype(asked.stdout, 14)


def strip(labels: tuple[str, ...], *, dark: bool = False) -> tuple[bytes, list[Box]]:
    """A row of drawn buttons, and the box of each."""
    face = font()
    widths = [int(face.getlength(label)) + 28 for label in labels]
    image = Image.new("RGB", (sum(widths) + GAP * (len(labels) + 1) + 400, 120), "white")
    draw = ImageDraw.Draw(image)
    boxes, x = [], GAP
    for label, width in zip(labels, widths, strict=True):
        draw.rectangle(
            (x, 40, x + width, 40 + HEIGHT), fill="#20406b" if dark else "#eaf0f7", outline="#8396b0"
        )
        draw.text(
            (x + width / 2, 40 + HEIGHT / 2),
            label,
            fill="white" if dark else "#20304a",
            font=face,
            anchor="mm",
        )
        boxes.append(Box(x=x, y=40, width=width + 1, height=HEIGHT + 1))
        x += width + GAP
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue(), boxes


def middle(box: Box) -> Point:
    return Point(x=box.x + box.width // 2, y=box.y + box.height // 2)


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("language", LABELS)
def test_the_label_on_an_elements_own_box_is_read(language: str, dark: bool) -> None:  # noqa: FBT001 - a parameter
    labels = LABELS[language]
    picture, boxes = strip(labels, dark=dark)
    read = [
        read_label(picture, box, middle(box), expected=label)
        for box, label in zip(boxes, labels, strict=True)
    ]
    assert [squeezed(one.text) for one in read] == [squeezed(label) for label in labels]
    assert {one.engine for one in read} == {"tesseract" if language == "ko" else "rapidocr"}


@pytest.mark.parametrize("language", LABELS)
def test_on_one_surface_with_several_the_label_around_the_point_is_read_and_no_other(language: str) -> None:
    labels = LABELS[language]
    picture, boxes = strip(labels)
    surface = Box(x=0, y=30, width=boxes[-1].x + boxes[-1].width + GAP, height=50)
    for box, label in zip(boxes, labels, strict=True):
        for at in (middle(box), Point(x=box.x + 4, y=box.y + 4)):
            assert squeezed(read_label(picture, surface, at, expected=label).text) == squeezed(label)
        wrong = read_label(
            picture, surface, middle(box), expected=next(other for other in labels if other != label)
        )
        assert squeezed(wrong.text) == squeezed(label)


def test_where_nothing_is_drawn_nothing_is_read() -> None:
    picture, boxes = strip(LABELS["en"])
    blank = Box(x=boxes[-1].x + 200, y=40, width=100, height=28)
    assert (
        read_label(picture, blank, middle(blank), expected="Refund").problem
        == "nothing is drawn at the point"
    )
    outside = Box(x=9_000, y=40, width=10, height=10)
    assert "outside" in read_label(picture, outside, middle(outside), expected="Refund").problem


def test_a_label_read_off_the_screen_lets_the_right_one_through_and_stops_the_wrong_one() -> None:
    picture, boxes = strip(("Approve", "Delete"))
    opaque = target(label="", opaque=True)

    def judged(box: Box) -> Check:
        return check_label(
            APPROVE, opaque, read=lambda: read_label(picture, box, middle(box), expected="Approve")
        )

    right, wrong = map(judged, boxes)
    assert (right.verdict, right.found) == ("pass", "Approve (rapidocr)")
    assert (wrong.verdict, wrong.expected, wrong.found) == (
        "precondition_failed",
        "Approve",
        "Delete (rapidocr)",
    )


def test_the_document_comes_first_and_only_what_destroys_is_read() -> None:
    def never() -> ocr.Reading:
        pytest.fail("nobody had to read the screen")

    assert check_label(APPROVE, target(), read=never).verdict == "pass"
    reading = Step(kind="click", selectors=("#x",), label="Details")
    assert not check_label(reading, target(label="", opaque=True), read=never).decisive


def test_without_an_ocr_the_step_stops_and_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    picture, boxes = strip(("Approve",))
    monkeypatch.setattr(ocr, "_rapid", lambda: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    opaque = target(label="", opaque=True)
    for label, remedy in (("Approve", INSTALL), ("승인", INSTALL_KOREAN)):
        step = Step(kind="click", selectors=("#x",), label=label, destructive=True)
        read = read_label(picture, boxes[0], middle(boxes[0]), expected=label)
        check = check_label(step, opaque, read=lambda read=read: read)  # type: ignore[misc]  # bound at once
        assert (check.verdict, check.decisive, check.expected) == ("precondition_failed", True, label)
        assert remedy in check.found


# -- the real portal, its buttons drawn --------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@dataclass(frozen=True, slots=True)
class Drawn:
    """A logged-in page of a portal, and the words of its language."""

    tool: BrowserTool
    words: Mapping[str, str]


LANGUAGES = ("zh", "en", "ja", "ko")


@pytest.fixture(scope="module", params=LANGUAGES)
def drawn(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Drawn]:
    folder: Path = tmp_path_factory.mktemp("drawn")
    with PortalThread(folder / "portal.db", counts={"acme": 12, "globex": 2}, lang=request.param) as portal:
        rules = SiteRules(origins=(portal.url,), volatile_selectors=("#clock",))
        tool = BrowserTool(browser.new_page(), rules, clock=FixedClock(), owns_context=True)
        form = LoginForm(
            url="/login",
            account_selector="[name=username]",
            secret_selector="[name=password]",
            submit_selector="button[type=submit]",
        )
        tool.login(form, "svc-acme", portal.accounts["svc-acme"].password)
        yield Drawn(tool, {key: word for key, word in texts(request.param).items() if isinstance(word, str)})
        tool.close()


def judge(tool: BrowserTool, found: Target, label: str) -> Check:
    look = tool.look()
    step = Step(kind="click", selectors=("x",), label=label, destructive=True)
    checks = pre_checks(step, found, Purpose(), planned=look, now=look)
    stop = first_stop(checks)
    return stop or next(check for check in checks if check.guard == "label")


@pytest.mark.browser
def test_a_button_that_is_a_picture_is_judged_by_what_it_shows(drawn: Drawn) -> None:
    drawn.tool.goto("/bills?status=pending&drawn=image")
    found = drawn.tool.locate(("#rows tr:first-child button[data-action=process]",))
    assert found is not None
    assert (found.label, found.opaque) == ("", True)
    assert judge(drawn.tool, found, drawn.words["process"]).verdict == "pass"
    wrong = judge(drawn.tool, found, drawn.words["detail"])
    assert (wrong.guard, wrong.verdict) == ("label", "precondition_failed")
    assert squeezed(drawn.words["process"]) in squeezed(wrong.found)


@pytest.mark.browser
def test_a_point_on_a_canvas_of_several_buttons_is_judged_by_the_one_it_is_on(drawn: Drawn) -> None:
    drawn.tool.goto("/bills?status=pending&drawn=canvas")
    surface = drawn.tool.locate(("#rows tr:nth-child(2) canvas",))
    assert surface is not None
    for name, x in (("detail", surface.box.x + 12), ("process", surface.box.x + surface.box.width - 26)):
        found = drawn.tool.gate.observe(Point(x=x, y=surface.point.y))
        assert found is not None
        other = "process" if name == "detail" else "detail"
        assert judge(drawn.tool, found, drawn.words[name]).verdict == "pass"
        assert judge(drawn.tool, found, drawn.words[other]).verdict == "precondition_failed"
