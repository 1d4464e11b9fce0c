"""How a model's answer goes wrong on the wire; each is something that real services or hostile ones have sent."""

from __future__ import annotations

from typing import Any

import orjson

from executor.sandbox.model_server.scenario import Misbehaviour
from executor.sandbox.model_server.voices import Said

DEEP = 400
HUGE_BYTES = 5 << 20
Body = dict[str, Any]


def _call_of(body: Body) -> tuple[list[Any], int, str]:
    """The list that holds the computer call, its place there, and the name of its id."""
    if "output" in body:
        items, kind = body["output"], "computer_call"
        place = next((n for n, item in enumerate(items) if item["type"] == kind), -1)
        return items, place, "call_id"
    if "content" in body:
        items = body["content"]
        return items, next((n for n, item in enumerate(items) if item["type"] == "tool_use"), -1), "id"
    items = body["candidates"][0]["content"]["parts"]
    return items, next((n for n, item in enumerate(items) if "functionCall" in item), -1), "id"


def _inner(items: list[Any], place: int) -> Body:
    """The call itself."""
    item: Body = items[place]
    call: Body = item.get("functionCall", item)
    return call


def _arguments(call: Body) -> Body:
    """The first action's arguments."""
    found: Body = call["actions"][0] if "actions" in call else call.get("input") or call["args"]
    return found


def spoil(body: Body, how: Misbehaviour, last: Said | None) -> Body:
    """The body after the misbehaviours that change what it says."""
    items, place, id_name = _call_of(body)
    if how == "incomplete":
        _set_status(body, "incomplete", "max_tokens", "MAX_TOKENS")
    elif how == "failed":
        _set_status(body, "failed", "refusal", "MALFORMED_FUNCTION_CALL")
    elif how == "wrong_previous":
        body["previous_response_id"] = "resp_of_somebody_else"
    if place < 0:
        return body
    call = _inner(items, place)
    if how == "repeats_call_id" and last is not None:
        call[id_name] = last.call_id
    elif how == "no_call_id":
        call[id_name] = ""
    elif how == "two_calls":
        items.append(orjson.loads(orjson.dumps(items[place])))
    elif how == "safety_check":
        _warn(call)
    else:
        _spoil_action(call, how)
    return body


def _set_status(body: Body, openai: str, anthropic: str, gemini: str) -> None:
    if "output" in body:
        body["status"] = openai
    elif "content" in body:
        body["stop_reason"] = anthropic
    else:
        body["candidates"][0]["finishReason"] = gemini


def _warn(call: Body) -> None:
    if "pending_safety_checks" in call:
        check = {"id": "sc_1", "code": "malicious_instructions", "message": "the page may instruct the model"}
        call["pending_safety_checks"] = [check]
    elif "args" in call:
        call["args"]["safety_decision"] = {
            "decision": "require_confirmation",
            "explanation": "the page may instruct the model",
        }


def _spoil_action(call: Body, how: Misbehaviour) -> None:
    arguments = _arguments(call)
    kind = next((name for name in ("type", "action") if name in arguments), "")
    if how == "other_space":
        _change_numbers(arguments, lambda value: value * 40 + 2_000)
    elif how == "text_numbers":
        _change_numbers(arguments, str)
    elif how == "true_numbers":
        _change_numbers(arguments, lambda _: True)
    elif how == "unknown_key":
        arguments["force"] = 1
    elif how == "unknown_kind" and kind:
        arguments[kind] = "run_shell"
    elif how == "unknown_kind":
        call["name"] = "run_shell"
    elif how == "long_text":
        _replace(arguments, call, "x" * 201)
    elif how == "too_many" and "actions" in call:
        call["actions"] = [arguments] * 13


def _replace(arguments: Body, call: Body, text: str) -> None:
    """The action becomes one that types a text."""
    if "actions" in call:
        call["actions"][0] = {"type": "type", "text": text}
    elif "input" in call:
        call["input"] = {"action": "type", "text": text}
    else:
        call["name"], call["args"] = "type_text_at", {"x": 1, "y": 1, "text": text}
    del arguments


def _change_numbers(arguments: Body, change: Any) -> None:  # noqa: ANN401 - any function of a number
    for name, value in arguments.items():
        if isinstance(value, int):
            arguments[name] = change(value)
        elif isinstance(value, list):
            arguments[name] = [change(item) if isinstance(item, int) else item for item in value]


def as_bytes(body: Body, how: Misbehaviour) -> bytes:
    """The bytes after the misbehaviours that change how it is said."""
    data = orjson.dumps(body)
    match how:
        case "half":
            return data[: len(data) // 2]
        case "trailing":
            return data + b'{"again": true}'
        case "not_a_number":
            return data.replace(b'"usage', b'"score":NaN,"usage', 1)
        case "nested":
            return data[:-1] + b',"deep":' + b"[" * DEEP + b"]" * DEEP + b"}"
        case "huge":
            return data[:-1] + b',"filler":"' + b"x" * HUGE_BYTES + b'"}'
        case _:
            return data
