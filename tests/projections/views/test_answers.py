"""What the views answer is frozen and can be written as JSON, whatever is on record."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Recorded
from projections.fold import run_keys
from projections.views.approvals import Approvals, Pending, pending
from projections.views.evidence_chain import BillChain, EvidenceChain, chain
from projections.views.metrics import MetricsReport, report
from projections.views.takeover_queue import Aged, TakeoverQueue, aged
from projections.views.tallies import Metrics
from projections.views.timeline import Timeline, TimelineProjection, timeline
from tests.projections.views.histories import histories
from tests.support.events import SECOND_US, START_US


def survives(answer: object) -> None:
    assert is_dataclass(answer)
    first = fields(answer)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(answer, first, getattr(answer, first))
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer


@given(history=histories, later=st.integers(0, 10_000))
def test_queue_and_approvals_answer_for_any_moment(history: list[Recorded], later: int) -> None:
    now_us = START_US + later * SECOND_US
    queue = aged(run_keys(TakeoverQueue(), history).values(), now_us=now_us, closed=True)
    requests = pending(run_keys(Approvals(), history).values(), now_us=now_us)
    for answer in (*queue, *requests):
        assert isinstance(answer, Aged | Pending)
        survives(answer)


@given(history=histories)
def test_chain_timeline_and_metrics_can_be_written_down(history: list[Recorded]) -> None:
    made = report(run_keys(Metrics(), history).values())
    assert isinstance(made, MetricsReport)
    survives(made)
    for bill in ("B1", "B2"):
        of_bill = chain(run_keys(EvidenceChain(), history).values(), bill)
        assert of_bill is None or isinstance(of_bill, BillChain)
        if of_bill is not None:
            survives(of_bill)
    for run in ("r1", "r2"):
        rows = [row for row in run_keys(TimelineProjection(), history).values() if row.run_id == run]
        of_run = timeline(rows)
        assert of_run is None or isinstance(of_run, Timeline)
        if of_run is not None:
            survives(of_run)
