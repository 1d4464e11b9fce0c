"""Steps: observed, proposed, judged, attempted, reported; and the write that happens at most once."""

from __future__ import annotations

import pytest

from domain import commands as c
from domain import events as e
from domain.events.action import Phase, Rung
from domain.ids import EffectKey
from domain.task import TaskState
from domain.values import Verdict
from tests.domain import facts as f
from tests.support.bdd import given
from tests.support.events import PERSON, SERVICE

ATTEMPT = c.Attempt(f.attempted(), at_us=f.NOW)


def test_the_whole_good_course_from_opening_to_seal() -> None:
    state = (
        given()
        .when(
            c.Open(f.opened()),
            c.Claim(f.claimed()),
            c.Observe(f.observed()),
            c.Propose(f.proposed("filter", writes=False)),
            c.Judge(f.judged(action="filter")),
            c.Attempt(f.attempted("filter", writes=False), at_us=f.NOW),
            c.Report(f.executed("filter")),
            c.Observe(f.observed()),
            c.Propose(f.proposed()),
            c.Judge(f.judged()),
            c.RegisterCompensation(f.registered()),
            ATTEMPT,
            c.Report(f.executed()),
            c.Judge(f.judged(phase="after")),
            c.Observe(f.observed()),
            c.ReadBack(f.confirmed()),
            c.Succeed(f.succeeded()),
            c.Seal(by=SERVICE),
        )
        .then(
            *f.CLAIMED,
            f.observed(),
            f.proposed("filter", writes=False),
            f.judged(action="filter"),
            f.attempted("filter", writes=False),
            f.executed("filter"),
            *f.READY[2:],
            f.attempted(),
            f.executed(),
            f.judged(phase="after"),
            f.observed(),
            f.confirmed(),
            f.succeeded(),
            f.sealed(18),
        )
    )
    assert (state.status, state.effect, state.steps, state.sealed) == ("succeeded", "confirmed", 2, True)


def test_a_step_is_planned_on_an_observed_frame() -> None:
    blind = f.proposed(planned_on=None)
    given(f.CLAIMED, f.observed()).when(c.Propose(blind)).refused("propose.observation")
    given(f.CLAIMED, f.observed()).when(c.Propose(f.proposed())).then(f.proposed())


@pytest.mark.parametrize("rung", ["api", "mcp"])
def test_a_rung_without_a_screen_needs_no_frame(rung: Rung) -> None:
    step = f.proposed(planned_on=None, rung=rung)
    given(f.CLAIMED).when(c.Propose(step)).then(step)


@pytest.mark.parametrize(
    "past",
    [(), (f.opened(),), f.PLANNED, f.ASKED, f.ATTEMPTED, f.CONFIRMED, f.SUCCEEDED, f.TAKEN_OVER],
    ids=["new", "unclaimed", "planned", "asked", "attempted", "confirmed", "succeeded", "taken over"],
)
def test_nothing_is_proposed_without_a_claim_or_while_something_is_open_or_after_the_end(
    past: tuple[e.Event, ...],
) -> None:
    given(past).when(c.Propose(f.proposed("next", writes=False))).refused("propose.order")


def test_guards_judge_the_proposed_step_and_no_other() -> None:
    given(f.PLANNED).when(c.Judge(f.judged(action="other"))).refused("judge.action")
    given(f.CLAIMED).when(c.Judge(f.judged())).refused("judge.action")
    assert given(f.PLANNED).when(c.Judge(f.judged())).then(f.judged()).status == "allowed"


def test_a_decisive_finding_against_a_step_is_no_pass() -> None:
    given(f.PLANNED).when(c.Judge(f.judged("pass", found="stale"))).refused("judge.verdict")
    state = given(f.PLANNED).when(c.Judge(f.judged("stale"))).then(f.judged("stale"))
    assert state.status == "proposed"


def test_only_the_proposed_step_is_attempted() -> None:
    given(f.READY).when(c.Attempt(f.attempted("other"), at_us=f.NOW)).refused("attempt.proposal")
    given(f.CLAIMED).when(ATTEMPT).refused("attempt.proposal")
    assert given(f.READY).when(ATTEMPT).then(f.attempted()).status == "attempted"


@pytest.mark.parametrize("verdict", ["stale", "stale_local", "target_changed", "session_expired"])
def test_a_step_that_the_guards_stopped_is_not_attempted(verdict: Verdict) -> None:
    past = (*f.PLANNED, f.registered(), f.judged(verdict))
    given(past).when(ATTEMPT).refused("attempt.guards")


def test_a_step_that_no_guard_has_seen_is_not_attempted() -> None:
    given(f.PLANNED, f.registered()).when(ATTEMPT).refused("attempt.guards")


def test_a_later_finding_takes_the_permission_away() -> None:
    given(f.READY, f.judged("stale")).when(ATTEMPT).refused("attempt.guards")


def test_a_stopped_step_is_not_judged_again_until_it_passes() -> None:
    past = (*f.PLANNED, f.registered(), f.judged("stale"), f.judged(), f.judged())
    given(past).when(ATTEMPT).refused("attempt.guards")


@pytest.mark.parametrize("phase", ["event", "request", "after"])
def test_only_a_judgement_from_before_the_act_lets_it_pass(phase: Phase) -> None:
    given(f.PLANNED, f.registered(), f.judged(phase=phase)).when(ATTEMPT).refused("attempt.guards")


def test_a_new_look_at_the_screen_asks_for_a_new_plan() -> None:
    given(f.READY, f.observed()).when(ATTEMPT).refused("attempt.guards")


def test_a_blocked_step_starts_again_from_a_new_observation_and_may_then_write() -> None:
    state = (
        given(f.PLANNED, f.registered())
        .when(
            c.Judge(f.judged("stale")),
            c.Report(f.blocked()),
            c.Observe(f.observed()),
            c.Propose(f.proposed("again")),
            c.Judge(f.judged(action="again")),
            c.Attempt(f.attempted("again"), at_us=f.NOW),
        )
        .accepted()
    )
    assert (state.status, state.blocks, state.steps) == ("attempted", 1, 2)


@pytest.mark.parametrize("report", [f.blocked(), f.act_failed()])
def test_a_write_that_certainly_had_no_effect_may_be_planned_again(
    report: e.ActionBlocked | e.ActionFailed,
) -> None:
    state = given(f.ATTEMPTED).when(c.Report(report)).then(report)
    assert (state.status, state.effect) == ("blocked", "none")
    again = c.Propose(f.proposed("again"))
    given(f.ATTEMPTED, report).when(c.Observe(f.observed()), again).accepted()


def test_an_attempt_says_truly_whether_the_step_writes() -> None:
    lie = c.Attempt(f.attempted(writes=False), at_us=f.NOW)
    given(f.READY).when(lie).refused("attempt.writes")
    read = (*f.CLAIMED, f.observed(), f.proposed(writes=False), f.judged())
    given(read).when(ATTEMPT).refused("attempt.writes")
    given(read).when(lie).accepted()


def test_a_write_is_attempted_under_its_key() -> None:
    keyless = c.Attempt(f.attempted(key=None), at_us=f.NOW)
    given(f.READY).when(keyless).refused("attempt.key")
    foreign = c.Attempt(f.attempted(key=EffectKey("acme:B2:mark_processed:1")), at_us=f.NOW)
    given(f.READY).when(foreign).refused("write.key")


def test_no_write_without_the_claim() -> None:
    unclaimed = tuple(fact for fact in f.READY if not isinstance(fact, e.TaskClaimed))
    given(unclaimed).when(ATTEMPT).refused("write.claim")
    given(f.READY, f.released()).when(ATTEMPT).refused("attempt.guards")


def test_no_write_without_a_registered_way_back() -> None:
    given(f.ALLOWED).when(ATTEMPT).refused("write.way_back")
    given(f.ALLOWED).when(c.RegisterCompensation(f.registered()), ATTEMPT).accepted()


@pytest.mark.parametrize("past", [f.ATTEMPTED, f.WRITTEN, f.CONFIRMED, (*f.ATTEMPTED, f.outcome_unknown())])
def test_the_way_back_is_not_rewritten_after_the_write(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.RegisterCompensation(f.registered("processed"))).refused("compensation.late")
    given(f.UNDOING).when(c.RegisterCompensation(f.registered("processed"))).refused("compensation.late")


def test_vision_never_performs_an_irreversible_write() -> None:
    def ready(rung: Rung, *, irreversible: bool) -> tuple[e.Event, ...]:
        step = f.proposed(rung=rung, irreversible=irreversible)
        return (*f.CLAIMED, f.observed(), step, f.judged(), f.registered())

    given(ready("computer_use", irreversible=True)).when(ATTEMPT).refused("write.vision")
    given(ready("computer_use", irreversible=False)).when(ATTEMPT).accepted()
    given(ready("browser", irreversible=True)).when(ATTEMPT).accepted()


def test_a_write_that_may_have_taken_effect_is_not_planned_again() -> None:
    given(f.WRITTEN).when(c.Propose(f.proposed("again"))).refused("write.once")
    given(f.WRITTEN).when(c.Propose(f.proposed("look", writes=False))).accepted()


def test_a_write_planned_before_is_not_attempted_a_second_time() -> None:
    # The record can hold such a plan (a merge of two processes' facts); the rule must not rest on Propose alone.
    past = (*f.WRITTEN, f.proposed("again"), f.judged(action="again"))
    given(past).when(c.Attempt(f.attempted("again"), at_us=f.NOW)).refused("write.once")


@pytest.mark.parametrize("report", [f.executed(), f.blocked(), f.act_failed(), f.outcome_unknown()])
def test_an_attempt_gets_one_report(
    report: e.ActionExecuted | e.ActionBlocked | e.ActionFailed | e.ActionOutcomeUnknown,
) -> None:
    given(f.ATTEMPTED).when(c.Report(report)).then(report)
    for second in (f.executed(), f.blocked(), f.act_failed(), f.outcome_unknown()):
        given(f.ATTEMPTED, report).when(c.Report(second)).refused("report.attempt")


def test_a_report_names_the_open_attempt() -> None:
    given(f.ATTEMPTED).when(c.Report(f.executed("other"))).refused("report.attempt")
    given(f.ATTEMPTED).when(c.Report(f.blocked("other"))).refused("report.attempt")


def test_what_was_not_attempted_can_be_dropped_but_not_executed() -> None:
    given(f.ALLOWED).when(c.Report(f.executed())).refused("report.attempt")
    given(f.ALLOWED).when(c.Report(f.outcome_unknown())).refused("report.attempt")
    assert given(f.ALLOWED).when(c.Report(f.blocked())).then(f.blocked()).status == "blocked"
    assert given(f.PLANNED).when(c.Report(f.act_failed())).then(f.act_failed()).status == "blocked"


@pytest.mark.parametrize("past", [f.SUCCEEDED, (*f.ALLOWED, f.handed_over(), f.taken())])
def test_a_block_reported_after_the_end_does_not_bring_the_task_back(past: tuple[e.Event, ...]) -> None:
    given(past).when(c.Report(f.blocked())).refused("report.attempt")


def test_a_report_that_comes_after_the_take_over_is_kept_and_leaves_the_task_with_the_person() -> None:
    past = given(f.ATTEMPTED, f.handed_over(), f.taken())
    state = past.when(c.Report(f.executed())).then(f.executed())
    assert (state.status, state.owner, state.effect) == ("taken_over", PERSON, "executed")


def test_a_reading_step_whose_outcome_is_unknown_is_simply_planned_again() -> None:
    read = (*f.CLAIMED, f.observed(), f.proposed(writes=False), f.judged(), f.attempted(writes=False))
    state: TaskState = given(read).when(c.Report(f.outcome_unknown())).accepted()
    assert (state.status, state.effect) == ("blocked", "none")
