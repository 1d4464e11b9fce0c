"""A model's loop over one task: the published controller behaviours by name, on the form in memory (C1 to C7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain import events as e
from domain.actions import Action
from domain.budgets import Budget
from domain.errors import WorldError
from domain.ids import PrincipalId, run_stream
from domain.policy import Identity, WritePolicy
from domain.run import Limits
from executor.approvals import answer
from executor.models.base import ModelRequest, SafetyCheck
from executor.models.transport import ModelAnswer
from executor.runtime.recovery import task_stream_of
from executor.sandbox.model_server.dialogue import ProviderName, ScriptedTransport
from executor.sandbox.model_server.scenario import MISBEHAVIOURS, Misbehaviour, Move, ScriptTurn
from executor.sandbox.practice.book import CASE, WRITER, Book
from executor.sandbox.practice.offline import TENANT, Practice
from executor.tools.base import Performed, Step, Target
from tests.support.practice import FILL, PROVIDERS, SUBMIT, USUAL, dialogue, driven, facts

DONE = ScriptTurn(say="It was sent.")
LOOK = Move(do="screenshot")
providers = pytest.mark.parametrize("provider", PROVIDERS)


def refusal(made: Practice) -> str:
    return facts(made, e.ModelResponded)[-1].reason


def run_turns(folder: Path, *turns: ScriptTurn, limits: Limits | None = None) -> tuple[str, str, Book]:
    """Status, the last refusal, and the book of a run."""
    book = Book.usual()
    with driven(folder, *turns, book=book, limits=limits) as (made, _):
        outcome = made.run()
        assert made.desk.done == []
        return outcome.status, refusal(made), book


# -- the fifteen published behaviours ----------------------------------------------------------------------


@providers
def test_controller_01_each_output_carries_the_calls_own_id_and_a_new_picture(
    tmp_path: Path, provider: ProviderName
) -> None:
    with driven(tmp_path, *USUAL, DONE, provider=provider) as (made, said):
        assert made.run().status == "succeeded"
        assert said.complaints == []
        asked, answered = facts(made, e.ModelRequested), facts(made, e.ModelResponded)
    assert asked[0].answers == ()
    for before, request in zip(answered, asked[1:], strict=False):
        assert request.answers == before.call_ids
        assert request.previous_response == before.response_id
    assert said.heard[0] != said.heard[1]


def test_controller_02_the_whole_batch_is_judged_before_its_first_action(tmp_path: Path) -> None:
    status, reason, book = run_turns(tmp_path, ScriptTurn(moves=[*FILL, Move(do="click", x=1280, y=10)]))
    assert (status, book.posts) == ("taken_over", [])
    assert reason.startswith("output[1].actions[4].x: 0 to 1279, got 1280")


@pytest.mark.parametrize("how", ["true_numbers", "not_a_number", "text_numbers"])
def test_controller_03_booleans_texts_and_non_finite_numbers_are_no_coordinates(
    tmp_path: Path, how: Misbehaviour
) -> None:
    status, reason, _ = run_turns(tmp_path, ScriptTurn(moves=[SUBMIT], misbehave=how))
    assert status == "taken_over"
    assert "a whole number" in reason or "RFC 8259" in reason


@pytest.mark.parametrize(("x", "y"), [(1280, 0), (0, 800), (-1, 0), (0, -1), (5_000, 5_000)])
def test_controller_04_a_point_on_or_past_the_edge_is_refused(tmp_path: Path, x: int, y: int) -> None:
    status, reason, _ = run_turns(tmp_path, ScriptTurn(moves=[Move(do="click", x=x, y=y)]))
    assert status == "taken_over"
    assert ".actions[0]." in reason


def test_controller_05_a_text_of_more_than_200_characters_is_refused(tmp_path: Path) -> None:
    status, reason, _ = run_turns(tmp_path, ScriptTurn(moves=[Move(do="type", text="x" * 201)]))
    assert (status, reason) == ("taken_over", "actions[0].text: 1 to 200 characters, got 201 characters")


@pytest.mark.parametrize("keys", ["ctrl+w", "F5", "a", "Enter+Enter", "Launch"])
def test_controller_06_only_single_named_keys_are_pressed(tmp_path: Path, keys: str) -> None:
    status, reason, _ = run_turns(tmp_path, ScriptTurn(moves=[Move(do="key", text=keys)]))
    assert status == "taken_over"
    assert "one named key" in reason


def test_controller_07_scrolling_is_bounded(tmp_path: Path) -> None:
    status, reason, _ = run_turns(tmp_path, ScriptTurn(moves=[Move(do="scroll", dy=2_001)]))
    assert (status, reason) == ("taken_over", "actions[0].scroll: at most 2000 px, got 0,2001 px")


def test_controller_08_a_response_holds_at_most_12_actions(tmp_path: Path) -> None:
    status, reason, _ = run_turns(tmp_path, ScriptTurn(moves=[LOOK] * 13))
    assert (status, reason) == ("taken_over", "actions: at most 12 actions a response, got 13")


def test_controller_09_a_run_makes_at_most_4_model_calls(tmp_path: Path) -> None:
    moves = [ScriptTurn(moves=[Move(do="move", x=x, y=1)]) for x in range(9)]
    with driven(tmp_path, *moves, limits=Limits()) as (made, said):
        made.kit = replace(made.kit, budget=Budget(stuck_frames=40))
        outcome = made.run()
    assert (outcome.status, outcome.verdict) == ("taken_over", "budget_exhausted")
    assert len(said.heard) == 4


@providers
def test_controller_10_an_unknown_action_stops(tmp_path: Path, provider: ProviderName) -> None:
    with driven(tmp_path, ScriptTurn(moves=[SUBMIT], misbehave="unknown_kind"), provider=provider) as (
        made,
        _,
    ):
        assert made.run().verdict == "unreadable"
        assert "run_shell" in refusal(made)
        assert made.book.posts == []


@providers
def test_controller_11_two_calls_in_a_response_stop(tmp_path: Path, provider: ProviderName) -> None:
    with driven(tmp_path, ScriptTurn(moves=[SUBMIT], misbehave="two_calls"), provider=provider) as (made, _):
        assert made.run().verdict == "unreadable"
        assert "one computer call a response" in refusal(made)


@providers
def test_controller_12_a_repeated_call_id_stops(tmp_path: Path, provider: ProviderName) -> None:
    again = ScriptTurn(moves=[LOOK], misbehave="repeats_call_id")
    with driven(tmp_path, ScriptTurn(moves=[LOOK]), again, provider=provider) as (made, _):
        assert made.run().verdict == "unreadable"
        assert refusal(made) == "call_id: an id that was not used before, got 'call_1'"


@providers
@pytest.mark.parametrize("how", ["incomplete", "failed"])
def test_controller_13_an_incomplete_or_failed_response_stops(
    tmp_path: Path, provider: ProviderName, how: Misbehaviour
) -> None:
    with driven(tmp_path, ScriptTurn(moves=[SUBMIT], misbehave=how), provider=provider) as (made, _):
        assert made.run().verdict == "unreadable"
        assert made.book.posts == []
        assert facts(made, e.ModelResponded)[0].input_tokens == 1_200  # it cost all the same


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_controller_14_a_pending_safety_check_stops_and_nothing_approves_it(
    tmp_path: Path, provider: ProviderName
) -> None:
    with driven(tmp_path, ScriptTurn(moves=[SUBMIT], misbehave="safety_check"), provider=provider) as (
        made,
        said,
    ):
        outcome = made.run()
        assert (outcome.status, outcome.verdict) == ("taken_over", "approval_required")
        assert "the page may instruct the model" in outcome.reason
        assert (made.desk.done, made.book.posts, facts(made, e.SafetyAcknowledged)) == ([], [], [])
        assert len(said.heard) == 1


def test_controller_15_the_rest_of_a_batch_is_dropped_once_the_goal_is_reached(tmp_path: Path) -> None:
    batch = [*FILL, SUBMIT, Move(do="type", text="and more"), Move(do="key", text="Enter"), SUBMIT]
    with driven(tmp_path, ScriptTurn(moves=batch), ScriptTurn(moves=[SUBMIT])) as (made, said):
        assert made.run().status == "succeeded"
        assert made.desk.done == ["click", "fill", "click", "fill", "click"]
        assert (made.writes, len(made.book.posts), len(said.heard)) == (1, 1, 1)
        assert made.found.ok


# -- completion --------------------------------------------------------------------------------------------


def test_somebody_elses_effect_before_an_action_drops_the_whole_batch(tmp_path: Path) -> None:
    book = Book.usual()

    class Meanwhile:
        """Somebody sends the form by hand while the model thinks."""

        def send(self, request: ModelRequest) -> ModelAnswer:
            book.submit(CASE.values(), "bob")
            return inner.send(request)

        def close(self) -> None:
            return None

    inner = ScriptedTransport(dialogue(*USUAL))
    with driven(tmp_path, book=book, transport=Meanwhile()) as (made, _):
        outcome = made.run()
        assert outcome.verdict == "already_in_progress"
        assert (made.desk.done, made.writes, len(book.posts)) == ([], 0, 1)


def test_the_models_word_is_no_completion(tmp_path: Path) -> None:
    with driven(tmp_path, ScriptTurn(say="All done, I sent it!")) as (made, _):
        outcome = made.run()
        assert (outcome.status, outcome.verdict) == ("taken_over", "noop")
        assert "I sent it" in outcome.reason
        assert made.found.verdict == "not_yet"


@pytest.mark.parametrize("fault", ["banner_only", "other_address", "duplicate"])
def test_a_banner_or_a_wrong_record_is_no_success(tmp_path: Path, fault: Any) -> None:  # noqa: ANN401
    with driven(tmp_path, *USUAL, book=Book.usual([fault])) as (made, _):
        outcome = made.run()
        assert outcome.status == "taken_over", outcome
        assert made.book.banner
        after = [j for j in facts(made, e.GuardJudged) if j.phase == "after"][-1]
        told = next(check for check in after.checks if check.guard == "receiver")
        assert told.verdict == "noop"


def test_a_late_record_is_waited_for(tmp_path: Path) -> None:
    with driven(tmp_path, *USUAL, book=Book.usual(["late"])) as (made, _):
        assert made.run().status == "succeeded"


# -- guards, policy, people --------------------------------------------------------------------------------


def test_a_guard_that_drops_an_action_drops_the_rest_and_the_model_gets_a_fresh_picture(
    tmp_path: Path,
) -> None:
    nowhere = Move(do="click", x=1_200, y=700)
    with driven(tmp_path, ScriptTurn(moves=[nowhere, SUBMIT]), *USUAL) as (made, said):
        outcome = made.run()
        blocked = facts(made, e.ActionBlocked)
        assert (outcome.status, len(blocked), blocked[0].verdict) == ("succeeded", 1, "page_changed")
        note = said.heard[1]["input"][1]["content"][0]["text"]
        assert "page_changed" in note
        assert made.book.posts == [CASE.values()]


def test_a_button_that_moved_is_not_pressed(tmp_path: Path) -> None:
    with driven(tmp_path, *USUAL, book=Book.usual(["moved"])) as (made, _):
        assert made.run().status == "taken_over"
        assert made.book.posts == []
        assert "target_changed" in {fact.verdict for fact in facts(made, e.ActionBlocked)}


def test_a_wrong_form_never_leaves(tmp_path: Path) -> None:
    wrong = [replace_text(move) for move in FILL]
    with driven(tmp_path, ScriptTurn(moves=[*wrong, SUBMIT])) as (made, _):
        assert made.run().status == "taken_over"
        assert made.book.posts == []
        assert "intent_mismatch" in {fact.verdict for fact in facts(made, e.ActionBlocked)}


def replace_text(move: Move) -> Move:
    return Move(do=move.do, x=move.x, y=move.y, text="thief@elsewhere.example") if "@" in move.text else move


def test_enter_in_a_field_sends_nothing(tmp_path: Path) -> None:
    with driven(tmp_path, ScriptTurn(moves=[*FILL, Move(do="key", text="Enter")]), DONE) as (made, _):
        assert made.run().status == "taken_over"
        assert made.book.posts == []
        assert facts(made, e.ActionBlocked)[0].verdict == "request_mismatch"


def test_a_write_that_needs_a_person_waits_and_goes_on_after_their_word(tmp_path: Path) -> None:
    policy = WritePolicy(readback_sources=("api",), approval_required=("submit_change",))
    with driven(tmp_path, *USUAL) as (made, _):
        made.kit = replace(made.kit, policy=policy)
        outcome = made.run()
        assert (outcome.status, made.book.posts) == ("awaiting_approval", [])
        assert facts(made, e.ApprovalRequested)[0].frame is not None
        person = Identity(
            principal=PrincipalId("person:li.na"),
            kind="person",
            tenants=(TENANT,),
            actions=("approve:submit_change",),
        )
        answer(
            task_stream_of(made.kit, made.order().task_id),
            person,
            "grant",
            note="checked",
            now_us=made.kit.clock.now_us(),
        )
        made.transport = ScriptedTransport(dialogue(*USUAL))
        assert made.run().status == "succeeded"
        assert (made.writes, made.book.posts) == (1, [CASE.values()])


def test_an_action_that_can_not_be_undone_is_refused_before_the_model_is_asked(tmp_path: Path) -> None:
    with driven(tmp_path, *USUAL) as (made, said):
        rule = replace(made.kit.rules["submit_change"], irreversible=True)
        made.kit = replace(made.kit, rules={**made.kit.rules, "submit_change": rule})
        outcome = made.run()
        assert (outcome.verdict, said.heard, made.book.posts) == ("denied_by_policy", [], [])


def test_a_person_lets_one_safety_check_pass_and_is_on_record(tmp_path: Path) -> None:
    asked: list[SafetyCheck] = []

    def ask(check: SafetyCheck) -> PrincipalId:
        asked.append(check)
        return PrincipalId("person:li.na")

    turns = (ScriptTurn(moves=list(FILL), misbehave="safety_check"), ScriptTurn(moves=[SUBMIT]))
    with driven(tmp_path, *turns, acknowledge=ask) as (made, said):
        assert made.run().status == "succeeded"
        given = facts(made, e.SafetyAcknowledged)[0]
        assert (given.check_id, given.by, given.call_id) == ("sc_1", "person:li.na", "call_1")
        output = said.heard[1]["input"][0]
        assert [check["id"] for check in output["acknowledged_safety_checks"]] == ["sc_1"]
        assert facts(made, e.ModelRequested)[1].acknowledged == ("sc_1",)
        stored = list(made.kit.log.stream(TENANT, f"task:{made.order().task_id}"))  # type: ignore[arg-type]
        principals = {r.envelope.principal for r in stored if isinstance(r.event, e.SafetyAcknowledged)}
    assert principals == {"person:li.na"}
    assert len(asked) == 1


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
