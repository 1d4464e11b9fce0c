"""Two runs side by side are aligned on steps, by bill where they share one."""

from __future__ import annotations

import json
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from replay_ui.player.aligning import align, aligned_bytes


class Frame(NamedTuple):
    bill_id: str
    step: int


def frames(*places: tuple[str, int, int]) -> list[Frame]:
    """Bill, step and number of frames."""
    return [Frame(bill, step) for bill, step, count in places for _ in range(count)]


RUNS = st.lists(
    st.tuples(st.sampled_from(["", "B1", "B2", "B3"]), st.integers(0, 9), st.integers(1, 4)), max_size=12
).map(lambda places: frames(*places))


def test_the_same_step_about_the_same_bill_stands_beside_it_whatever_its_number_in_the_run() -> None:
    mine = frames(("B1", 1, 3), ("B1", 2, 2), ("B2", 3, 2))
    other = frames(("B9", 1, 4), ("B1", 2, 1), ("B1", 3, 5), ("B2", 4, 2))
    assert align(mine, other) == [(0, 4, 1), (3, 5, 5), (5, 10, 2)]


def test_bills_in_another_order_are_found() -> None:
    mine = frames(("B1", 1, 2), ("B2", 2, 2))
    other = frames(("B2", 1, 3), ("B1", 2, 1))
    assert align(mine, other) == [(0, 3, 1), (2, 0, 3)]


def test_a_step_that_the_other_run_does_not_have_is_said_to_have_no_counterpart() -> None:
    mine = frames(("B1", 1, 1), ("B1", 2, 1), ("B1", 3, 1))
    other = frames(("B1", 1, 2))
    assert align(mine, other) == [(0, 0, 2), (1, 0, 0), (2, 0, 0)]


def test_runs_without_a_common_bill_are_aligned_on_the_number_of_the_step() -> None:
    mine = frames(("A1", 1, 2), ("A2", 2, 1))
    other = frames(("", 0, 1), ("C1", 1, 1), ("C1", 2, 4))
    assert align(mine, other) == [(0, 0, 1), (2, 1, 1)]


def test_what_travels_is_a_part_for_each_step_and_not_for_each_frame() -> None:
    mine = frames(*(("B1", step, 100) for step in range(1, 6)))
    sent = json.loads(aligned_bytes(mine, mine))
    assert sent == {"version": 1, "parts": [[100 * step, 100 * step, 100] for step in range(5)]}


@given(RUNS, RUNS)
def test_every_frame_has_a_part_and_every_counterpart_is_there(mine: list[Frame], other: list[Frame]) -> None:
    aligned = align(mine, other)
    assert [first for first, _, _ in aligned] == sorted({first for first, _, _ in aligned})
    assert not mine or aligned[0][0] == 0
    for _, there, count in aligned:
        assert there >= 0
        assert there + count <= len(other)


@given(RUNS)
def test_a_run_beside_itself_is_the_same_frame(run: list[Frame]) -> None:
    for first, there, _ in align(run, run):
        assert first == there
