"""The three protocols, read strictly: real lines are understood, and each refusal names field, value and rule (C2)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from domain.actions import Action, Canvas, in_words, reach, scroll_px
from domain.run import Limits, Refusal, Talk, follow, judge_batch
from domain.values import Point
from executor.models.anthropic import ACTIONS, AnthropicDialect, Version
from executor.models.base import Declined, Dialect, Reply, Screen, Turn, screen_of, understand
from executor.models.gemini import GeminiDialect
from executor.models.openai import OpenAIDialect
from executor.sandbox.practice.desk import SUBMIT as BUTTON
from executor.sandbox.practice.desk import draw
from executor.tools.base import Frame
from tests.support.practice import dialect_of, openai_response

CANVAS = Canvas(image_width=640, image_height=400, page_width=1280, page_height=800)
CLICK = {"type": "click", "button": "left", "x": 100, "y": 80}
SCREEN = Screen(image=b"png", canvas=CANVAS, url="http://vendor.test/bills")


def read(body: dict[str, Any] | bytes, dialect: Dialect | None = None) -> Turn | Declined:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    found = understand(dialect or OpenAIDialect(model="m"), data, CANVAS, Talk(), Limits())
    return found if isinstance(found, Declined) else found[0]


def sound(body: dict[str, Any], dialect: Dialect | None = None) -> Turn:
    turn = read(body, dialect)
    assert isinstance(turn, Turn), turn
    return turn


def refused(body: dict[str, Any] | bytes, dialect: Dialect | None = None) -> str:
    declined = read(body, dialect)
    assert isinstance(declined, Declined), declined
    return str(declined.refusal)


# -- OpenAI ------------------------------------------------------------------------------------------------


def test_openai_reads_actions_and_the_older_action() -> None:
    both = sound(openai_response(CLICK, {"type": "type", "text": "a"}, call_action=CLICK))
    assert [action.kind for action in both.actions] == ["click", "type"]
    old = openai_response()
    old["output"][0] = {**old["output"][0], "actions": None, "action": CLICK, "pending_safety_checks": None}
    assert [action.kind for action in sound(old).actions] == ["click"]
    assert len(sound(openai_response(CLICK, call_action=None)).actions) == 1


def test_openai_action_beside_actions_must_be_the_first_of_them() -> None:
    other = {**CLICK, "x": 7}
    assert "output[0].action: the first of actions" in refused(openai_response(CLICK, call_action=other))


def test_openai_points_are_those_of_the_picture_and_mapped_to_the_page() -> None:
    action = sound(openai_response(CLICK)).actions[0]
    assert (action.raw_point, action.point, action.space) == (Point(x=100, y=80), Point(x=200, y=160), "px")
    assert in_words(action) == "click at 200,160 (said 100,80 px), call call_1 #1"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": True}, "output[0].actions[0].x: a whole number, got True"),
        ({"x": "100"}, "output[0].actions[0].x: a whole number, got '100'"),
        ({"x": 100.0}, "output[0].actions[0].x: a whole number, got 100.0"),
        ({"x": None}, "output[0].actions[0].x: given, got None"),
        ({"x": 640}, "output[0].actions[0].x: 0 to 639, got 640"),
        ({"y": 400}, "output[0].actions[0].y: 0 to 399, got 400"),
        ({"y": -1}, "output[0].actions[0].y: 0 to 399, got -1"),
        ({"x": 10**30}, "output[0].actions[0].x"),
        ({"force": 1}, "output[0].actions[0].force: no such key"),
        ({"button": "right"}, "actions[0].button: one left click, got right x 1"),
        ({"keys": ["CTRL"]}, "actions[0].keys: a click without held-down keys, got 'Control'"),
        ({"type": "exec"}, "output[0].actions[0].type: one of"),
    ],
)
def test_openai_refusals_name_field_value_and_rule(change: dict[str, Any], words: str) -> None:
    if change.get("x") == 10**30:
        data = orjson.dumps(openai_response(CLICK)).replace(b'"x":100', b'"x":1' + b"0" * 30)
        assert words in refused(data)
        return
    assert words in refused(openai_response({**CLICK, **change}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "incomplete"}, "status: one of completed, got 'incomplete'"),
        ({"status": "in_progress"}, "status: one of completed"),
        ({"error": {"code": "server_error"}}, "error: null"),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "incomplete_details: null"),
        ({"call_status": "failed"}, "output[0].status: one of completed"),
        ({"call_call_id": ""}, "output[0].call_id: 1 to 200 characters"),
        ({"call_call_id": "a\nb"}, "output[0].call_id: a printable word"),
        ({"call_call_id": "x" * 201}, "output[0].call_id: 1 to 200 characters"),
        ({"call_call_id": None}, "output[0].call_id: given"),
        ({"call_actions": []}, "output[0].actions: at least one action"),
        ({"call_surprise": 1}, "output[0].surprise: no such key"),
        ({"previous_response_id": "resp_x"}, "previous_response_id: the response that was answered (none)"),
        ({"id": 7}, "id: a text, got 7"),
        ({"output": {}}, "output: a list"),
        ({"output": [{"type": "function_call", "name": "f"}]}, "output[0].type: one of reasoning, message"),
    ],
)
def test_openai_responses_that_are_not_whole_are_refused(changes: dict[str, Any], words: str) -> None:
    assert words in refused(openai_response(CLICK, **changes))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "RFC 8259"),
        (b"[]", "an object"),
        (b'{"id": NaN}', "RFC 8259"),
        (b'{"id": "\\ud800"}', "RFC 8259"),
        (b'{"id": "a"} {"id": "b"}', "RFC 8259"),
        (b'{"id": "a", "id": "b"}', "id: every key once"),
        (b"[" * 100_000, "body:"),
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "at most 32 levels"),
        (b'{"a":"' + b"x" * (5 << 20) + b'"}', "at most 4194304 bytes"),
        (b"\xff\xfe", "RFC 8259"),
        (b'{"id": 1e999}', "RFC 8259"),
    ],
)
def test_what_is_no_single_small_json_object_is_refused(data: bytes, words: str) -> None:
    assert words in refused(data)


def test_openai_requests_chain_by_ids_and_carry_the_picture() -> None:
    dialect = OpenAIDialect(model="m")
    assert "previous_response_id" not in dialect.opening("goal", SCREEN)
    turn = sound(openai_response(CLICK), dialect)
    body = dialect.answer(turn, Reply(screen=SCREEN, note="dropped"))
    assert body["previous_response_id"] == "resp_1"
    assert body["input"][0]["call_id"] == "call_1"
    assert body["input"][0]["output"]["image_url"].startswith("data:image/png;base64,")
    assert "acknowledged_safety_checks" not in body["input"][0]
    wrong = openai_response(CLICK, id="resp_2", call_call_id="call_2", previous_response_id="resp_9")
    assert "the response that was answered (resp_1)" in refused(wrong, dialect)


def test_a_refusal_keeps_what_the_answer_cost() -> None:
    declined = read(openai_response({**CLICK, "x": 9_999}))
    assert isinstance(declined, Declined)
    assert (declined.usage.input_tokens, declined.usage.output_tokens, declined.model) == (11, 3, "m-1")


# -- Anthropic ---------------------------------------------------------------------------------------------


def message(*blocks: dict[str, Any], **changes: object) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "c-1",
        "content": list(blocks),
        "stop_reason": "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 2},
        **changes,
    }


def use(action: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "computer", "input": {"action": action, **given}}


def test_the_first_version_clicks_where_the_pointer_was_moved_and_says_it_is_inferred() -> None:
    dialect = AnthropicDialect(model="c", version="20241022")
    dialect.opening("goal", SCREEN)
    assert "the pointer was not moved yet" in refused(message(use("left_click")), dialect)
    moved = sound(message(use("mouse_move", coordinate=[100, 80])), dialect)
    dialect.answer(moved, Reply(screen=SCREEN))
    click = sound(message(use("left_click")), dialect).actions[0]
    assert (click.point, click.raw_point, click.inferred) == (Point(x=200, y=160), None, True)
    assert "inferred" in in_words(click)
    assert "no point" in refused(message(use("left_click", coordinate=[1, 1])), dialect)


@pytest.mark.parametrize(
    ("version", "action", "known"),
    [
        ("20241022", "scroll", False),
        ("20250124", "scroll", True),
        ("20250124", "zoom", False),
        ("20251124", "zoom", True),
        ("20241022", "triple_click", False),
        ("20250124", "hold_key", True),
    ],
)
def test_each_tool_version_has_its_own_actions(version: Version, action: str, known: bool) -> None:  # noqa: FBT001
    assert (action in ACTIONS[version]) == known
    words = refused(message(use(action)), AnthropicDialect(model="c", version=version))
    assert ("input.action: one of" in words) != known


def test_anthropic_actions_have_their_meaning() -> None:
    dialect = AnthropicDialect(model="c", version="20250124")
    scroll = sound(
        message(use("scroll", coordinate=[1, 1], scroll_direction="down", scroll_amount=3)), dialect
    ).actions[0]
    assert (scroll.dy, scroll.unit, scroll_px(scroll, CANVAS)) == (3, "notch", (0, 300))
    key = sound(message(use("key", text="Return")), dialect).actions[0]
    assert (key.keys, reach(key)) == (("Enter",), "act")
    assert sound(message(use("wait", duration=2)), dialect).actions[0].duration_ms == 2_000
    assert sound(message(use("wait", duration=0.5)), dialect).actions[0].duration_ms == 500
    assert "0 to 100 seconds" in refused(message(use("wait", duration=True)), dialect)
    assert sound(message(use("key", text="ctrl+A")), dialect).actions[0].chord == "Control+a"
    assert "one named key" in refused(message(use("key", text="ctrl+w")), dialect)
    assert "one left click" in refused(message(use("triple_click", coordinate=[1, 1])), dialect)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (message(use("screenshot"), use("screenshot")), "one computer call a response"),
        (message(use("screenshot"), stop_reason="max_tokens"), "stop_reason: one of tool_use, end_turn"),
        (message(use("screenshot"), stop_reason="end_turn"), "stop_reason: tool_use exactly when"),
        (message({"type": "text", "text": "x"}, stop_reason="tool_use"), "tool_use exactly when"),
        (message({**use("screenshot"), "name": "bash"}), "content[0].name: one of computer"),
        (message({**use("screenshot"), "id": ""}), "content[0].id"),
        (message(use("left_click", coordinate=[640, 1])), "input.coordinate[0]: 0 to 639, got 640"),
        (message(use("left_click", coordinate=[1])), "input.coordinate: two numbers"),
        (message(use("left_click", coordinate=["1", 1])), "input.coordinate[0]: a whole number"),
        (message(use("left_click", coordinate=[1, 1], force=True)), "input.force: no such key"),
        (message(use("screenshot"), role="user"), "role: one of assistant"),
    ],
)
def test_anthropic_refusals_name_field_value_and_rule(body: dict[str, Any], words: str) -> None:
    assert words in refused(body, AnthropicDialect(model="c"))


def test_anthropic_answers_repeat_the_talk_and_name_the_call() -> None:
    dialect = AnthropicDialect(model="c")
    dialect.opening("goal", SCREEN)
    turn = sound(message({"type": "text", "text": "Hm"}, use("screenshot")), dialect)
    body = dialect.answer(turn, Reply(screen=SCREEN, note="dropped"))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    result = body["messages"][2]["content"][0]
    assert (result["tool_use_id"], result["is_error"]) == ("toolu_1", True)
    assert body["tools"][0] == {
        "type": "computer_20250124",
        "name": "computer",
        "display_width_px": 640,
        "display_height_px": 400,
    }


# -- Gemini ------------------------------------------------------------------------------------------------


def candidate(*parts: dict[str, Any], **changes: object) -> dict[str, Any]:
    found = {"finishReason": "STOP", "content": {"role": "model", "parts": list(parts)}, **changes}
    return {
        "responseId": "r_1",
        "modelVersion": "g-1",
        "candidates": [found],
        "usageMetadata": {"promptTokenCount": 9},
    }


def call(name: str, **args: object) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


GEMINI = GeminiDialect(model="g")


def test_gemini_points_run_from_0_to_999() -> None:
    action = sound(candidate(call("click_at", x=999, y=500)), GEMINI).actions[0]
    assert (action.point, action.raw_point) == (Point(x=1278, y=400), Point(x=999, y=500))
    assert "x: 0 to 999, got 1000" in refused(candidate(call("click_at", x=1000, y=0)), GEMINI)


def test_gemini_steps_of_several_actions_are_taken_apart() -> None:
    usual = sound(candidate(call("type_text_at", x=10, y=10, text="abc")), GEMINI)
    assert [(a.kind, a.part, a.chord) for a in usual.actions] == [
        ("click", 0, ""),
        ("key", 1, "Control+a"),
        ("type", 2, ""),
        ("key", 3, "Enter"),
    ]
    plain = candidate(
        call("type_text_at", x=10, y=10, text="abc", press_enter=False, clear_before_typing=False)
    )
    assert [a.kind for a in sound(plain, GEMINI).actions] == ["click", "type"]


def test_gemini_scrolls_in_its_own_unit() -> None:
    action = sound(candidate(call("scroll_at", x=1, y=1, direction="down", magnitude=500)), GEMINI).actions[0]
    assert (action.unit, scroll_px(action, CANVAS)) == ("norm", (0, 400))
    whole = sound(candidate(call("scroll_document", direction="up")), GEMINI).actions[0]
    assert (whole.point, whole.inferred, scroll_px(whole, CANVAS)) == (Point(x=640, y=400), True, (0, -640))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (candidate(call("click_at", x=1, y=1), call("click_at", x=2, y=2)), "one computer call a response"),
        (candidate(call("click_at", x=1, y=1), finishReason="MAX_TOKENS"), "finishReason: one of STOP"),
        (candidate(call("click_at", x=1)), "args.y: given"),
        (candidate(call("click_at", x=1, y=True)), "args.y: a whole number"),
        (candidate(call("click_at", x=1, y=1, force=1)), "args.force: no such key"),
        (candidate(call("run_shell", command="x")), "name: one of"),
        (candidate(call("navigate", url="http://evil.example")), "actions[0].type: one of click"),
        (candidate({"executableCode": {"code": "x"}}), "executableCode: no such key"),
        (candidate({"text": 1}), "text: a text"),
        ({**candidate(), "candidates": []}, "candidates: one candidate"),
        ({**candidate(), "responseId": ""}, "responseId"),
    ],
)
def test_gemini_refusals_name_field_value_and_rule(body: dict[str, Any], words: str) -> None:
    assert words in refused(body, GEMINI)


def test_gemini_waits_for_a_person_and_tells_what_they_said() -> None:
    decision = {"decision": "require_confirmation", "explanation": "cookies"}
    turn = sound(candidate(call("click_at", x=1, y=1, safety_decision=decision)), GEMINI)
    assert [(check.code, check.message) for check in turn.safety] == [("require_confirmation", "cookies")]
    dialect = GeminiDialect(model="g")
    dialect.opening("goal", SCREEN)
    body = dialect.answer(turn, Reply(screen=SCREEN, acknowledged=turn.safety))
    answer = body["contents"][2]["parts"][0]["functionResponse"]
    assert answer["name"] == "click_at"
    assert answer["response"] == {"url": "http://vendor.test/bills", "safety_acknowledgement": "true"}
    odd = candidate(call("click_at", x=1, y=1, safety_decision={"decision": "allow_all"}))
    assert "safety_decision.decision: one of regular, require_confirmation" in refused(odd, GEMINI)


# -- ids, limits, pictures ---------------------------------------------------------------------------------


def test_ids_are_used_once_whichever_field_they_came_in() -> None:
    talk = Talk(seen=frozenset({"a", "b"}))
    for response, named in (("a", "c"), ("c", "b")):
        assert isinstance(follow(talk, response_id=response, call_id=named, limits=Limits()), Refusal)
    after = follow(talk, response_id="c", call_id="d", limits=Limits())
    assert isinstance(after, Talk)
    assert (after.response_id, after.call_id, after.seen) == ("c", "d", frozenset("abcd"))


def test_limits_are_defaults_and_can_be_changed() -> None:
    long = Action(kind="type", provider="p", native="type", arguments="{}", text="x" * 300)
    assert judge_batch([long], Limits(max_text=300), CANVAS) is None
    assert judge_batch([long] * 13, Limits(max_text=300, max_actions=13), CANVAS) is None
    pull = Action(kind="drag", provider="p", native="drag", arguments="{}")
    assert judge_batch([pull], Limits(kinds=frozenset({"drag"})), CANVAS) is None
    assert judge_batch([pull], Limits(), CANVAS) is not None
    control = Action(kind="type", provider="p", native="type", arguments="{}", text="a\x1bb")
    assert "no control characters" in str(judge_batch([control], Limits(), CANVAS))


def test_enter_and_a_newline_act() -> None:
    typed = Action(kind="type", provider="p", native="type", arguments="{}", text="a\n")
    assert reach(typed) == "act"
    assert reach(Action(kind="type", provider="p", native="type", arguments="{}", text="a")) == "input"
    assert reach(Action(kind="scroll", provider="p", native="scroll", arguments="{}")) == "local"


def test_a_picture_is_scaled_and_mapped_back_explicitly() -> None:
    data = draw("heading", "", "", BUTTON, "")
    frame = Frame(data=data, sha256="0" * 64, width=1280, height=800, captured_at_us=0)  # type: ignore[arg-type]
    whole, small = screen_of(frame), screen_of(frame, longest_px=640)
    assert whole.image == data
    assert (small.canvas.image_width, small.canvas.image_height, small.canvas.page_width) == (640, 400, 1280)
    assert small.canvas.on_page(639, 399, "px") == Point(x=1278, y=798)
    assert not small.canvas.holds(640, 0, "px")
    assert small.canvas.holds(999, 999, "norm_1000")


def test_a_final_answer_has_words_and_no_call() -> None:
    for provider, body in (
        (
            "openai",
            openai_response(
                output=[{"type": "message", "content": [{"type": "output_text", "text": "Done"}]}]
            ),
        ),
        ("anthropic", message({"type": "text", "text": "Done"})),
        ("gemini", candidate({"text": "Done"})),
    ):
        turn = sound(body, dialect_of(provider))  # type: ignore[arg-type]
        assert (turn.final, turn.said, turn.actions) == (True, "Done", ())
