"""The vocabulary of a model's actions, and the pure rules of a run that a model drives."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from domain.actions import KEY_NAMES, NORM_STEPS, Action, Canvas, Kind, in_words, key_name, reach, scroll_px
from domain.run import NAMED_KEYS, Limits, Refusal, Talk, asked, follow, judge_batch, shown, used_up
from domain.values import Point

SIZES = st.integers(1, 5_000)
CANVASES = st.builds(Canvas, image_width=SIZES, image_height=SIZES, page_width=SIZES, page_height=SIZES)
CANVAS = Canvas(image_width=640, image_height=400, page_width=1280, page_height=800)


def action(kind: Kind, **more: object) -> Action:
    return Action(kind=kind, provider="p", native=kind, arguments="{}", **more)  # type: ignore[arg-type]


def refusal(*actions: Action, limits: Limits | None = None) -> Refusal | None:
    return judge_batch(actions, limits or Limits(), CANVAS)


@given(canvas=CANVASES, data=st.data())
def test_every_point_of_the_picture_is_a_pixel_of_the_page(canvas: Canvas, data: st.DataObject) -> None:
    x, y = (data.draw(st.integers(0, size - 1)) for size in (canvas.image_width, canvas.image_height))
    assert canvas.holds(x, y, "px")
    point = canvas.on_page(x, y, "px")
    assert 0 <= point.x < canvas.page_width
    assert 0 <= point.y < canvas.page_height
    norm = canvas.on_page(x % NORM_STEPS, y % NORM_STEPS, "norm_1000")
    assert 0 <= norm.x < canvas.page_width
    assert 0 <= norm.y < canvas.page_height


@given(canvas=CANVASES)
def test_the_right_and_the_bottom_edge_are_not_on_the_picture(canvas: Canvas) -> None:
    assert not canvas.holds(canvas.image_width, 0, "px")
    assert not canvas.holds(0, canvas.image_height, "px")
    assert not canvas.holds(NORM_STEPS, 0, "norm_1000")
    assert not canvas.holds(-1, 0, "px")


def test_a_picture_of_the_pages_own_size_moves_no_point() -> None:
    same = Canvas(image_width=1280, image_height=800, page_width=1280, page_height=800)
    assert same.on_page(333, 777, "px") == Point(x=333, y=777)


def test_every_kind_has_a_reach_and_what_submits_acts() -> None:
    assert {reach(action(kind)) for kind in get_args(Kind)} == {"read", "local", "input", "act"}
    assert reach(action("type", text="a")) == "input"
    assert reach(action("type", text="a\nb")) == "act"
    assert reach(action("key", keys=("Tab",))) == "input"
    assert reach(action("key", keys=("Enter",))) == "act"
    assert reach(action("key", keys=("Space",))) == "act"
    assert reach(action("click")) == "act"


def test_keys_have_one_name_whatever_the_provider_calls_them() -> None:
    assert {key_name(name) for name in ("Return", "ENTER", "kp_enter")} == {"Enter"}
    assert key_name("A") == "a"
    assert key_name("F5") == "F5"
    assert set(KEY_NAMES.values()) >= NAMED_KEYS


def test_scrolling_is_kept_in_its_unit_and_meant_in_pixels_of_the_page() -> None:
    assert scroll_px(action("scroll", dy=100), CANVAS) == (0, 200)
    assert scroll_px(action("scroll", dy=-2, unit="notch"), CANVAS) == (0, -200)
    assert scroll_px(action("scroll", dx=500, unit="norm"), CANVAS) == (640, 0)


def test_words_name_the_place_the_space_and_the_call() -> None:
    said = action(
        "click", point=Point(x=2, y=4), raw_point=Point(x=1, y=2), call_id="c", batch_index=1, part=2
    )
    assert in_words(said) == "click at 2,4 (said 1,2 px), call c #2.3"
    assert "inferred" in in_words(action("click", point=Point(x=2, y=4), inferred=True))
    assert in_words(action("wait", call_id="c")) == "wait, call c #1"


def test_a_click_needs_a_point_on_the_page() -> None:
    assert str(refusal(action("click"))) == "actions[0].x: a point on the picture, got nothing"
    assert refusal(action("click", point=Point(x=1279, y=799))) is None
    assert refusal(action("click", point=Point(x=1280, y=0))) is not None
    assert refusal(action("wait", duration_ms=10_001)) is not None
    assert refusal(action("type", text="")) is not None


@given(count=st.integers(0, 40))
def test_a_batch_is_as_long_as_the_limit_says(count: int) -> None:
    assert (refusal(*[action("screenshot")] * count) is None) == (count <= 12)


def test_calls_are_a_budget() -> None:
    talk = Talk()
    for _ in range(4):
        assert used_up(talk, Limits()) is None
        talk = asked(talk)
    over = used_up(talk, Limits())
    assert over is not None
    assert (over.verdict, over.measures) == ("budget_exhausted", {"model_calls": 4})


def test_a_final_answer_needs_a_response_id_and_no_call_id() -> None:
    after = follow(Talk(call_id="old"), response_id="r", call_id="", limits=Limits())
    assert isinstance(after, Talk)
    assert (after.response_id, after.call_id) == ("r", "")
    assert isinstance(follow(Talk(), response_id="", call_id="c", limits=Limits()), Refusal)
    assert isinstance(follow(Talk(), response_id="r", call_id="c" * 201, limits=Limits()), Refusal)
    assert isinstance(follow(Talk(), response_id="r\n", call_id="c", limits=Limits()), Refusal)


def test_a_refused_value_is_shown_short() -> None:
    assert shown("x" * 500).endswith("(502 characters)")
    assert shown(None) == "None"
