"""Which tasks keep a trace, when it is kept, and what a page that is gone costs: over a vendor in memory."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

import pytest

from domain import events as e
from domain.errors import ConfigError, WorldError
from executor.runtime.kit import Hands
from executor.runtime.traces import TaskTraces
from executor.tools.base import TracePolicy
from executor.traces.scrub import Scrubbed
from tests.support.fakes import FakeHands
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, Bench

KEPT = Scrubbed(data=b"PK trace", tool="playwright 1.65.2", calls=3, masked=1, left_out=("bodies",))


@dataclass
class Page:
    """What a traced page was asked for, and how it answers."""

    asked: list[str] = field(default_factory=list)
    begins: Exception | None = None
    ends: Exception | None = None


def trace_on(
    bench: Bench, policy: TracePolicy, monkeypatch: pytest.MonkeyPatch, page: Page | None = None
) -> Page:
    """The bench's hands become traceable."""
    page = page or Page()

    def begin(_: FakeHands) -> None:
        page.asked.append("begin")
        if page.begins is not None:
            raise page.begins

    def end(_: FakeHands, *, keep: bool) -> Scrubbed | None:
        page.asked.append("keep" if keep else "drop")
        if page.ends is not None:
            raise page.ends
        return KEPT if keep else None

    monkeypatch.setattr(FakeHands, "begin_trace", begin, raising=False)
    monkeypatch.setattr(FakeHands, "end_trace", end, raising=False)
    bench.kit = replace(bench.kit, trace=policy)
    return page


@pytest.mark.parametrize(
    ("policy", "expected"), [("never", []), ("on_failure", ["begin", "drop"]), ("always", ["begin", "keep"])]
)
def test_a_task_that_ends_well(
    policy: TracePolicy, expected: list[str], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = trace_on(bench, policy, monkeypatch)
    order = bench.order()
    assert bench.run(order).status == "succeeded"
    assert page.asked == expected
    assert len(bench.facts(order, e.TraceAttached)) == expected.count("keep")


def test_a_fake_success_keeps_the_trace_because_readback_decides(
    bench: Bench, vendor: FakeVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = trace_on(bench, "on_failure", monkeypatch)
    vendor.switch_on(BILL, "fake_success")
    order = bench.order()
    assert bench.run(order).status == "taken_over"
    assert page.asked == ["begin", "keep"]
    (trace,) = bench.facts(order, e.TraceAttached)
    assert bench.kit.blobs.get(trace.blob) == KEPT.data
    assert (trace.octets, trace.calls, trace.masked) == (len(KEPT.data), 3, 1)


def test_waiting_for_an_approval_is_no_failure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    page = trace_on(bench, "on_failure", monkeypatch)
    bench.vendor.bills[BILL].status = "processed"
    order = bench.order(action="refund")
    assert bench.run(order).status == "awaiting_approval"
    assert page.asked[-1] == "drop"


@pytest.mark.parametrize(
    "page",
    [Page(begins=WorldError("gone")), Page(begins=ConfigError("traced")), Page(ends=WorldError("gone"))],
)
def test_a_trace_that_can_not_be_had_is_said_and_costs_nothing(
    page: Page, bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trace_on(bench, "always", monkeypatch, page)
    order = bench.order()
    with caplog.at_level(logging.WARNING, "proofreel.traces"):
        assert bench.run(order).status == "succeeded"
    assert bench.facts(order, e.TraceAttached) == []
    assert "no trace was kept" in caplog.text


def test_a_page_that_closes_before_the_end_is_known_keeps_its_trace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = trace_on(bench, "on_failure", monkeypatch)
    order = bench.order()
    bench.run(order)
    traces: TaskTraces[Hands] = TaskTraces(bench.kit, bench.open_hands, closes_early=True)
    stream = bench.stream(order)
    with traces.of(stream):
        traces.hands()
        traces.hands()
    assert page.asked[-2:] == ["begin", "keep"]


def test_an_error_on_the_way_keeps_the_trace_and_goes_on_its_way(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = trace_on(bench, "on_failure", monkeypatch)

    def broken(*_: object, **__: object) -> None:
        raise WorldError("the browser went away")

    monkeypatch.setattr(FakeHands, "perform", broken)
    order = bench.order()
    with pytest.raises(WorldError, match="went away"):
        bench.run(order)
    assert page.asked == ["begin", "keep"]
    assert len(bench.facts(order, e.TraceAttached)) == 1
