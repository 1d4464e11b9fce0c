"""A model's loop over one task: the published controller behaviours by name, on the form in memory (C1 to C7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain import events as e
from domain.budgets import Budget
from domain.ids import PrincipalId
from domain.policy import Identity, WritePolicy
from domain.run import Limits
from executor.approvals import answer
from executor.models.base import ModelRequest, SafetyCheck
from executor.models.transport import ModelAnswer
from executor.runtime.recovery import task_stream_of
from executor.sandbox.model_server.dialogue import ProviderName, ScriptedTransport
from executor.sandbox.model_server.scenario import Misbehaviour, Move, ScriptTurn
from executor.sandbox.practice.book import CASE, Book
from executor.sandbox.practice.offline import TENANT, Practice
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
