"""Budgets, usage, failures and secrets of a model's loop, on the form in memory (C6, C7, G7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from domain import events as e
from domain.actions import Action
from domain.errors import WorldError
from domain.ids import run_stream
from domain.run import Limits
from executor.sandbox.model_server.dialogue import ProviderName
from executor.sandbox.model_server.scenario import MISBEHAVIOURS, Misbehaviour, Move, ScriptTurn
from executor.sandbox.practice.book import CASE, WRITER
from executor.sandbox.practice.offline import TENANT
from executor.tools.base import Performed, Step, Target
from tests.support.practice import FILL, PROVIDERS, SUBMIT, USUAL, driven, facts

DONE = ScriptTurn(say="It was sent.")
LOOK = Move(do="screenshot")
providers = pytest.mark.parametrize("provider", PROVIDERS)


# -- budgets -----------------------------------------------------------------------------------------------


def test_endless_screenshots_are_stuck(tmp_path: Path) -> None:
    with driven(tmp_path, ScriptTurn(moves=[LOOK], repeat=0), limits=Limits(max_calls=50)) as (made, said):
        outcome = made.run()
        assert (outcome.status, outcome.verdict) == ("taken_over", "stuck")
        assert len(said.heard) == 3


def test_steps_are_a_budget_with_no_way_round(tmp_path: Path) -> None:
    turns = [ScriptTurn(moves=[Move(do="move", x=x, y=5)]) for x in range(60)]
    with driven(tmp_path, *turns, limits=Limits(max_calls=99)) as (made, said):
        outcome = made.run()
        assert outcome.verdict == "budget_exhausted"
        assert "40 steps" in outcome.reason
        assert len(said.heard) == 40


def test_a_run_that_mostly_fails_is_stopped(tmp_path: Path) -> None:
    turns = [ScriptTurn(moves=[Move(do="click", x=1_200, y=600 + y)]) for y in range(20)]
    with driven(tmp_path, *turns, limits=Limits(max_calls=99)) as (made, _):
        assert made.run().verdict == "low_success"


# -- usage, failures, secrets ------------------------------------------------------------------------------


@providers
@pytest.mark.parametrize("how", MISBEHAVIOURS)
def test_no_misbehaviour_of_the_model_writes_or_is_asked_again(
    tmp_path: Path, provider: ProviderName, how: Misbehaviour
) -> None:
    harmless = {"echoes_key"}
    if (provider, how) == ("anthropic", "safety_check"):
        harmless |= {how}  # the protocol has none
    if provider != "openai":
        harmless |= {"wrong_previous", "too_many"}  # the same
    turns = (ScriptTurn(moves=[LOOK]), ScriptTurn(moves=[SUBMIT], misbehave=how), DONE)
    with driven(tmp_path, *turns, provider=provider) as (made, said):
        outcome = made.run()
        assert (outcome.status, made.book.posts) == ("taken_over", [])
        if how not in harmless:
            assert len(said.heard) == 2, "a failed request is not sent again"
            assert (
                facts(made, e.ModelResponded)[-1].outcome in {"refused", "failed", "timed_out"}
                or how == "safety_check"
            )


def test_usage_is_on_record_for_every_answer_and_a_time_out_is_possibly_billed(tmp_path: Path) -> None:
    turns = (ScriptTurn(moves=[LOOK]), ScriptTurn(moves=[SUBMIT], misbehave="slow"))
    with driven(tmp_path, *turns) as (made, _):
        outcome = made.run()
        first, second = facts(made, e.ModelResponded)
    assert (first.input_tokens, first.output_tokens, first.possibly_billed) == (1_200, 40, False)
    assert (second.outcome, second.input_tokens, second.possibly_billed) == ("timed_out", -1, True)
    assert "possibly billed" in outcome.reason


def test_a_failure_midway_keeps_what_was_done_and_the_effect_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with driven(tmp_path, ScriptTurn(moves=[*FILL, SUBMIT])) as (made, said):
        act = made.desk.act

        def breaks(action: Action, step: Step, target: Target | None, **more: Any) -> Performed:  # noqa: ANN401
            performed = act(action, step, target, **more)
            if step.writes:
                raise WorldError("the browser is gone")
            return performed

        monkeypatch.setattr(made.desk, "act", breaks)
        outcome = made.run()
        assert outcome.status == "succeeded", "read back, not repeated"
        assert (made.writes, len(made.book.posts), len(said.heard)) == (1, 1, 1)
        assert [fact.reason for fact in facts(made, e.ActionOutcomeUnknown)] == ["the browser is gone"]
        assert len(facts(made, e.ActionExecuted)) == 4


def test_an_attempted_action_is_told_apart_from_one_that_returned(tmp_path: Path) -> None:
    with driven(tmp_path, ScriptTurn(moves=[*FILL, SUBMIT])) as (made, _):
        made.run()
        attempted = [fact.action_id for fact in facts(made, e.ActionAttempted)]
        returned = [fact.action_id for fact in facts(made, e.ActionExecuted)]
        proposed = facts(made, e.ActionProposed)
    assert attempted == returned == [fact.action_id for fact in proposed]
    assert [fact.writes for fact in proposed] == [False, False, False, False, True]
    assert {fact.rung for fact in proposed} == {"computer_use"}
    said = orjson.loads(proposed[0].provider_args)
    assert (said["type"], said["x"], proposed[0].provider) == ("click", 300, "openai")
    assert proposed[0].target == "click at 300,140 (said 300,140 px), call call_1 #1"


@providers
def test_a_key_that_the_endpoint_repeats_is_nowhere_on_record(tmp_path: Path, provider: ProviderName) -> None:
    with driven(tmp_path, ScriptTurn(moves=[LOOK], misbehave="echoes_key"), DONE, provider=provider) as (
        made,
        _,
    ):
        outcome = made.run()
        assert "[removed]" in facts(made, e.ModelResponded)[0].said
        assert made.key not in repr(made.facts()) + repr(outcome)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert made.key.encode() not in kept


def test_every_picture_that_was_sent_and_every_answer_is_kept(tmp_path: Path) -> None:
    with driven(tmp_path, *USUAL) as (made, _):
        made.run()
        stored = list(made.kit.log.stream(TENANT, f"task:{made.order().task_id}"))  # type: ignore[arg-type]
        asked = [r for r in stored if isinstance(r.event, e.ModelRequested)]
        assert all(made.kit.blobs.has(r.envelope.frames[0].sha256) for r in asked)
        answers = [fact.response for fact in facts(made, e.ModelResponded)]
        assert all(name is not None and orjson.loads(made.kit.blobs.get(name))["id"] for name in answers)
        started = next(
            r.event
            for r in made.kit.log.stream(TENANT, run_stream(stored[0].envelope.run_id))  # type: ignore[arg-type]
        )
    assert isinstance(started, e.RunStarted)


def test_the_desk_writes_as_the_agents_own_account(tmp_path: Path) -> None:
    with driven(tmp_path, *USUAL) as (made, _):
        made.run()
        state = made.book.case_state(CASE.reference)
        assert state is not None
        assert [entry["account"] for entry in state["history"]] == [WRITER]
