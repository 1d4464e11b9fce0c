"""The gauntlet's own honesty: its scenarios, its judge, its counting."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from executor.sandbox.gauntlet.arena import COUNTS, WRITER, Arena, Deal, Striker
from executor.sandbox.gauntlet.arms import ARMS
from executor.sandbox.gauntlet.scenario import PREVENTABLE, Scenario, catalogue, find
from executor.sandbox.gauntlet.summary import confusion, summarise, wilson
from executor.sandbox.gauntlet.trials import Results, plan_of, wanted
from executor.sandbox.gauntlet.verdicts import Said, Trial, ending_of, look_up, restored
from executor.sandbox.gauntlet.workers import Job, OpenRunner, run_shared
from executor.sandbox.portal.client import PortalClient
from executor.sandbox.portal.db import Database
from executor.sandbox.portal.faults import FaultBoard
from executor.sandbox.portal.registry import FAULTS
from executor.sandbox.portal.server import PortalThread


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with PortalThread(tmp_path_factory.mktemp("arena") / "portal.db", counts=COUNTS) as portal:
        arena = Arena(portal, think_ms=50)
        yield arena
        arena.close()


@pytest.fixture
def deal(arena: Arena) -> Deal:
    return arena.deal(find("quiet"), 1)


@pytest.fixture
def writer(arena: Arena) -> Iterator[PortalClient]:
    with arena.portal.client(WRITER) as client:
        yield client


def said(*, done: bool) -> Said:
    return Said(done=done, stops=0, steps=2, step_ms=10.0, kept_bytes=0)


def trial(arm: str = "ours", scenario: str = "quiet", **changed: object) -> Trial:
    usual = Trial(
        plan="p", arm=arm, scenario=scenario, seed=1, ending="done", wrong_effects=0, differs=False,
        stops=0, steps=2, step_ms=20.0, kept_bytes=100, posts=1,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **changed)


# -- scenarios ---------------------------------------------------------------------------------------------


def test_there_are_scenarios_of_every_class_and_enough_controls() -> None:
    scenarios = catalogue()

    assert len(scenarios) >= 40
    assert sum(scenario.benign for scenario in scenarios) >= 10
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    assert {scenario.shown_by for scenario in scenarios} == {
        *PREVENTABLE,
        "readback",
        "second_readback",
        "nothing_wrong",
    }
    assert any(blow.moment == "random" for scenario in scenarios for blow in scenario.blows)


@pytest.mark.parametrize("scenario", catalogue(), ids=lambda scenario: scenario.name)
def test_the_portal_knows_every_fault_of_a_scenario(scenario: Scenario, tmp_path: Path) -> None:
    board = FaultBoard(Database(tmp_path / "portal.db"), FAULTS)
    for blow in scenario.blows:
        if blow.doer != "portal":
            assert blow.fault == ""
            continue
        trigger = {"trigger": blow.moment} if blow.moment in {"pointer", "press"} else {}
        kind, _ = board.kind(blow.fault, {**blow.params, **trigger})
        assert scenario.course in kind.pages or kind.on == "post" or blow.params.get("on") == "post"
        assert kind.benign <= scenario.benign


def test_an_unknown_scenario_is_refused() -> None:
    with pytest.raises(LookupError):
        find("no-such-thing")


# -- the arena ---------------------------------------------------------------------------------------------


def test_a_seed_deals_the_same_cards_to_every_loop(arena: Arena) -> None:
    first = arena.deal(find("quiet"), 7)
    arena.person().process(first.bill.id)
    again, other = arena.deal(find("quiet"), 7), arena.deal(find("quiet"), 8)

    assert (again.bill, again.other) == (first.bill, first.other)
    assert other.bill != first.bill
    assert arena.portal.truth.history(first.bill.id) == []
    assert first.bill != first.other


def test_a_colleague_strikes_once_at_the_step_that_is_named(arena: Arena) -> None:
    deal = arena.deal(find("colleague-at-answer"), 3)
    striker = Striker(arena, deal)
    striker.before()
    striker.at_step(0)
    striker.finish()
    assert arena.portal.truth.history(deal.bill.id) == []

    striker.at_step(1)
    striker.at_step(1)
    striker.finish()
    assert [entry.account for entry in arena.portal.truth.history(deal.bill.id)] == ["wang.li"]


def test_a_fault_that_can_not_be_landed_is_an_error_of_the_gauntlet(arena: Arena) -> None:
    deal = arena.deal(find("fake-success"), 1)
    striker = Striker(arena, deal)
    striker.at_step(0)  # a fault of the post can't be fired; only ``before`` switches it on

    with pytest.raises(RuntimeError, match="could not be landed"):
        striker.finish()


# -- the judge ---------------------------------------------------------------------------------------------


def test_what_was_asked_for_is_neither_wrong_nor_different(
    arena: Arena, deal: Deal, writer: PortalClient
) -> None:
    writer.process(deal.bill.id)
    truth = look_up(arena, deal)

    assert (truth.wrong_effects, truth.differs, truth.posts) == (0, False, 1)
    assert ending_of(said(done=True), truth) == "done"
    assert ending_of(said(done=False), truth) == "told"


def test_nothing_done_is_stopped_or_a_silent_failure_by_what_the_loop_says(arena: Arena, deal: Deal) -> None:
    truth = look_up(arena, deal)

    assert (truth.wrong_effects, truth.touched, truth.differs) == (0, False, True)
    assert ending_of(said(done=False), truth) == "stopped"
    assert ending_of(said(done=True), truth) == "silent"


@pytest.mark.parametrize(
    "changed", [{"amount": "1.00"}, {"month": "2026-12"}, {"counterparty_id": "V97777"}, {"currency": "USD"}]
)
def test_a_wrong_field_is_a_wrong_effect(
    arena: Arena, deal: Deal, writer: PortalClient, changed: dict[str, str]
) -> None:
    writer.act(deal.bill.id, "process", **changed)
    truth = look_up(arena, deal)

    assert (truth.wrong_effects, truth.differs) == (1, True)
    assert ending_of(said(done=True), truth) == "silent"


def test_another_bill_and_the_endpoint_of_all_bills_are_wrong_effects(
    arena: Arena, deal: Deal, writer: PortalClient
) -> None:
    writer.process(deal.other.id)
    _, fields = writer.form(deal.bill.id)
    writer.post_form("/bills/all/actions", {**fields, "action": "process"})

    assert look_up(arena, deal).wrong_effects == 2


def test_a_second_time_is_a_wrong_effect_also_when_a_colleague_was_first(
    arena: Arena, deal: Deal, writer: PortalClient
) -> None:
    arena.person().process(deal.bill.id)
    assert look_up(arena, deal).wrong_effects == 0

    writer.process(deal.bill.id)
    assert look_up(arena, deal).wrong_effects == 1


def test_a_consent_that_nobody_wanted_is_a_wrong_effect(
    arena: Arena, deal: Deal, writer: PortalClient
) -> None:
    _, fields = writer.form(deal.bill.id)
    writer.post_form("/notices/rate-2027/accept", {"csrf": fields["csrf"]})
    writer.process(deal.bill.id)
    truth = look_up(arena, deal)

    assert (truth.wrong_effects, truth.differs) == (1, True)


def test_a_vendor_that_books_twice_is_no_wrong_effect_of_the_loop_and_the_book_differs(
    arena: Arena, deal: Deal, writer: PortalClient
) -> None:
    arena.portal.control.switch_on("double_posting", deal.bill.id)
    writer.process(deal.bill.id)
    truth = look_up(arena, deal)
    assert (truth.wrong_effects, truth.differs) == (0, True)

    arena.portal.control.switch_off()
    writer.undo(deal.bill.id)
    assert arena.portal.truth.bill(deal.bill.id).status == "pending"
    assert not restored(arena, deal), "one of two bookings is left"


def test_a_colleagues_other_bill_is_no_difference_where_the_scenario_says_so(
    arena: Arena, writer: PortalClient
) -> None:
    for name, differs in (("other-row-changes", False), ("quiet", True)):
        deal = arena.deal(find(name), 2)
        arena.person().process(deal.other.id)
        writer.process(deal.bill.id)
        assert look_up(arena, deal).differs is differs


# -- counting ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 20, 0.0, 0.1611), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)]
)
def test_intervals_are_those_of_wilson_as_newcombe_printed_them(
    hits: int, of: int, low: float, high: float
) -> None:
    rate = wilson(hits, of)
    assert [rate.low, rate.high] == pytest.approx([low, high], abs=1e-4)


def test_a_rate_is_written_with_its_interval() -> None:
    assert wilson(3, 40).text() == "3/40 2.6–20 %"
    assert wilson(20, 20).text() == "20/20 84–100 %"


def test_nothing_tried_says_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high, wilson(0, 0).text()) == (0.0, 1.0, "–")


def test_a_stop_that_was_got_over_is_a_false_stop_on_a_control_and_none_elsewhere() -> None:
    scenarios = {name: find(name) for name in ("quiet", "spinner", "glass-pane")}
    trials = [trial(), trial(scenario="spinner", stops=1), trial(scenario="glass-pane", stops=3)]
    summary = summarise("ours", trials, scenarios)

    assert (summary.false_stops.hits, summary.false_stops.of) == (1, 2)
    assert (summary.benign_completion.hits, summary.completion.hits) == (2, 3)
    assert (summary.step_ms, summary.step_bytes) == (10.0, 50.0)


def test_wrong_effects_are_counted_apart_where_something_could_have_shown_them() -> None:
    scenarios = {name: find(name) for name in ("glass-pane", "colleague-at-answer")}
    trials = [
        trial(scenario="glass-pane", wrong_effects=1, ending="silent"),
        trial(scenario="colleague-at-answer", wrong_effects=1, ending="told", rollback="failed_silently"),
        trial(scenario="colleague-at-answer", ending="stopped", arm="none"),
    ]
    summary = summarise("ours", trials, scenarios)

    assert (summary.wrong_effects.hits, summary.wrong_but_visible.hits, summary.wrong_but_visible.of) == (
        2,
        1,
        1,
    )
    assert (summary.nothing_sent.hits, summary.nothing_sent.of) == (0, 1)
    assert (summary.silent_failures.hits, summary.takeover.hits, summary.rollback_silent) == (1, 1, 1)
    assert confusion(trials, list(scenarios.values()), ("none", "ours")) == [
        ("glass-pane", "document", "", "1 SILENT 1 WRONG"),
        ("colleague-at-answer", "readback", "1 stopped", "1 told 1 WRONG"),
    ]


# -- results -----------------------------------------------------------------------------------------------


def test_results_survive_a_line_that_was_cut_off(tmp_path: Path) -> None:
    results = Results(tmp_path / "deep" / "runs.jsonl")
    assert results.load() == []
    results.add(trial())
    with (tmp_path / "deep" / "runs.jsonl").open("ab") as file:
        file.write(b'{"plan":"p","arm":"ou')

    assert results.load() == [trial()]


def test_a_result_after_a_cut_off_line_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"plan":"p","arm":"ou')
    results = Results(path)
    results.add(trial())

    assert results.load() == [trial()]


def test_other_settings_are_another_plan() -> None:
    assert plan_of(find("quiet"), 350) != plan_of(find("quiet"), 351)


# -- sharing out -------------------------------------------------------------------------------------------


@contextmanager
def open_answering() -> Iterator[Callable[[Job], Trial]]:
    """What runs in a worker's process here: an answer without a browser."""
    yield lambda job: trial(job[1], job[2].name, seed=job[0], note=str(os.getpid()))


@contextmanager
def open_failing() -> Iterator[Callable[[Job], Trial]]:
    """A worker that can't work."""

    def fail(_: Job) -> Trial:
        message = "no portal"
        raise LookupError(message)

    yield fail


@contextmanager
def open_dying() -> Iterator[Callable[[Job], Trial]]:
    """A worker that the machine kills."""
    os.kill(os.getpid(), signal.SIGKILL)
    yield lambda _: trial()


def test_a_round_is_whole_before_the_next_one_begins_and_loops_take_turns_in_it() -> None:
    plan = list(wanted([find("quiet"), find("spinner")], ARMS[:2], (1, 2)))

    assert [entry[0] for entry in plan] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert [entry[1] for entry in plan[:4]] == ["none", "published", "none", "published"]


def test_every_trial_is_run_once_by_one_of_the_workers() -> None:
    plan = list(wanted([find("quiet"), find("spinner")], ARMS[:2], range(5)))
    news = list(run_shared(open_answering, plan, workers=2))

    assert {(one.seed, one.arm, one.scenario) for one in news} == {(n, arm, s.name) for n, arm, s in plan}
    assert len(news) == len(plan)
    assert str(os.getpid()) not in {one.note for one in news}


@pytest.mark.parametrize(
    ("opened", "reason"), [(open_failing, "LookupError: no portal"), (open_dying, "died")]
)
def test_a_worker_that_fails_or_dies_ends_the_run_with_its_reason(opened: OpenRunner, reason: str) -> None:
    with pytest.raises(RuntimeError, match=reason):
        list(run_shared(opened, [(1, "none", find("quiet"))], workers=1))
