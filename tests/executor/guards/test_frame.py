"""Two frames compared, without a browser."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from domain.ids import Sha256
from domain.values import Box, Check, Point
from executor.guards import frame as frames
from executor.tools.base import Frame


def picture(
    *rects: tuple[int, int, int, int], size: tuple[int, int] = (320, 200), base: str = "white"
) -> Frame:
    image = Image.new("RGB", size, base)
    draw = ImageDraw.Draw(image)
    for rect in rects:
        draw.rectangle(rect, fill="black")
    out = io.BytesIO()
    image.save(out, format="PNG")
    data = out.getvalue()
    return Frame(
        data=data,
        sha256=Sha256(hashlib.sha256(data).hexdigest()),
        width=size[0],
        height=size[1],
        captured_at_us=1,
    )


def check(one: Frame, two: Frame, *, point: Point | None, row: Box | None, opaque: bool = False) -> Check:
    seen = frames.compare(one, two, point=point, row=row)
    return frames.check_frame(one, two, seen, row=row, opaque=opaque)


def test_equal_bytes_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Frame) -> Image.Image:
        raise AssertionError("decoded")

    monkeypatch.setattr(frames, "decode", refuse)
    one = picture((10, 10, 20, 20))
    assert frames.compare(one, one, point=Point(x=1, y=1)) == frames.FrameDifference()
    assert check(one, one, point=None, row=None).verdict == "pass"


def test_changed_tiles_and_the_row_band_are_counted() -> None:
    row = Box(x=40, y=96, width=100, height=20)
    seen = frames.compare(picture(), picture((0, 100, 1, 101), (319, 199, 319, 199)), row=row)
    assert seen.changed_tiles == 2
    assert seen.changed_band_px == 4


@pytest.mark.parametrize("spot", [(0, 0, 0, 0), (37, 95, 52, 121), (300, 180, 319, 199), (16, 16, 31, 31)])
def test_what_is_counted_in_the_changed_area_is_what_the_whole_screen_has(
    spot: tuple[int, int, int, int],
) -> None:
    row = Box(x=0, y=90, width=320, height=20)
    one, two = picture(), picture(spot)
    whole = [np.asarray(frames.decode(frame)) for frame in (one, two)]
    seen = frames.compare(one, two, row=row)
    assert seen.changed_tiles == int(frames.changed_tiles(*whole).sum())
    assert seen.changed_band_px == int((whole[0][90:110] != whole[1][90:110]).any(axis=2).sum())


def test_a_comparison_that_was_begun_is_of_the_frame_it_is_asked_about() -> None:
    row, point = Box(x=0, y=90, width=320, height=20), Point(x=200, y=100)
    planned, first, second = picture(), picture((5, 95, 9, 99)), picture((0, 0, 60, 60))
    comparison = frames.Comparison(planned, point=point, row=row)
    assert comparison.with_(first) == frames.compare(planned, first, point=point, row=row)
    comparison.begin(first)
    assert comparison.with_(first) == frames.compare(planned, first, point=point, row=row)
    assert comparison.with_(second) == frames.compare(planned, second, point=point, row=row)


def test_a_change_outside_the_crop_leaves_the_crop_at_zero() -> None:
    seen = frames.compare(picture(), picture((0, 0, 60, 60)), point=Point(x=250, y=150))
    assert seen.dhash_crop_bits == 0
    assert seen.changed_tiles == 16


def test_the_published_verdicts_are_recorded_and_do_not_decide() -> None:
    grid = [(x, y, x + 19, y + 12) for x in range(0, 320, 40) for y in range(0, 200, 25)]
    whole = check(picture(), picture(*grid), point=None, row=None)
    assert whole.verdict == "stale"
    assert not whole.decisive
    assert whole.measures["dhash_screen_bits"] > frames.SCREEN_LIMIT_BITS
    spot = [(x, y, x + 5, y + 5) for x in range(112, 208, 12) for y in range(52, 148, 12)]
    local = check(picture(), picture(*spot), point=Point(x=160, y=100), row=None)
    assert local.measures["dhash_crop_bits"] > frames.CROP_LIMIT_BITS
    assert not local.decisive


def test_changed_pixels_decide_where_there_is_no_document() -> None:
    row = Box(x=0, y=90, width=320, height=20)
    changed = picture((5, 95, 9, 99))
    opaque = check(picture(), changed, point=Point(x=200, y=100), row=row, opaque=True)
    assert (opaque.verdict, opaque.decisive) == ("stale_local", True)
    drawn = check(picture(), changed, point=Point(x=200, y=100), row=row)
    assert (drawn.verdict, drawn.decisive) == ("pass", False)


def test_another_size_is_stale_and_decides() -> None:
    found = check(picture(), picture(size=(300, 200)), point=None, row=None)
    assert (found.verdict, found.decisive) == ("stale", True)


def test_tiles_at_the_edges_may_be_smaller() -> None:
    one = np.zeros((20, 33, 3), dtype=np.uint8)
    two = one.copy()
    two[19, 32, 0] = 1
    tiles = frames.changed_tiles(one, two)
    assert tiles.shape == (2, 3)
    assert tiles.sum() == 1
    assert tiles[1, 2]


def test_a_document_that_stayed_the_same_is_a_noop_even_if_a_clock_ticked() -> None:
    before, after = picture(), picture((0, 0, 9, 9))
    assert frames.check_effect(same_document=True, before=before, after=after).verdict == "noop"
    assert frames.check_effect(same_document=False, before=before, after=before).verdict == "pass"
    assert frames.check_effect(same_document=True, before=before, after=after, opaque=True).verdict == "pass"
    assert frames.check_effect(same_document=True, before=before, after=before, opaque=True).verdict == "noop"
