"""Every view: the fold of a prefix, continued with the rest, is the fold of all; rows survive JSON; inputs stay."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Recorded
from projections.fold import Partitioned, run, run_keys
from projections.views import ALL
from tests.projections.views.histories import histories

VIEWS = pytest.mark.parametrize("view", ALL, ids=lambda view: view.name)


@VIEWS
@given(history=histories, cut=st.integers(0, 40))
def test_a_prefix_and_then_the_rest_is_the_same_as_all_at_once(
    view: Partitioned[Any], history: list[Recorded], cut: int
) -> None:
    first = run_keys(view, history[:cut])
    assert run_keys(view, history[cut:], first) == run_keys(view, history)


@VIEWS
@given(history=histories)
def test_a_row_is_the_plain_fold_over_the_events_of_its_key(
    view: Partitioned[Any], history: list[Recorded]
) -> None:
    for key, row in run_keys(view, history).items():
        assert row == run(view, [recorded for recorded in history if view.key(recorded) == key])


@VIEWS
@given(history=histories, cut=st.integers(0, 40))
def test_rows_that_went_through_json_continue_as_if_they_had_not(
    view: Partitioned[Any], history: list[Recorded], cut: int
) -> None:
    kept = {
        key: msgspec.json.decode(msgspec.json.encode(row), type=view.row_type)
        for key, row in run_keys(view, history[:cut]).items()
    }
    assert run_keys(view, history[cut:], kept) == run_keys(view, history)


@VIEWS
@given(history=histories)
def test_applying_an_event_leaves_the_earlier_view_as_it_was(
    view: Partitioned[Any], history: list[Recorded]
) -> None:
    row = view.initial()
    for recorded in history:
        before = copy.deepcopy(row)
        after = view.apply(row, recorded)
        assert row == before
        row = after


def test_names_of_views_are_unique() -> None:
    assert len({view.name for view in ALL}) == len(ALL)
