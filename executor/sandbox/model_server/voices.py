"""The three protocols from the provider's side: how a turn is said, and what a well-behaved client must have sent.

Rules: the client's discipline is checked as the real services do (an output must name the pending call, a request must
follow the last response); coordinates are said in the picture's own space, whatever size it was sent in.
"""

from __future__ import annotations

import base64
import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from PIL import Image

from executor.models.transport import answered_call
from executor.sandbox.model_server.scenario import Move

USAGE = (1_200, 40)
"""Tokens of every answer."""


class Undisciplined(Exception):
    """The client broke the protocol; the service answers 400."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer on its way out."""

    response_id: str
    call_id: str
    body: dict[str, Any]


def picture_size(encoded: str) -> tuple[int, int]:
    """Width and height of a base64 picture; refuses what is none."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(encoded.rpartition(",")[2], validate=True))) as image:
            return image.size
    except (OSError, ValueError) as error:
        raise Undisciplined(f"no picture: {type(error).__name__}") from None


class Voice(ABC):
    """One protocol."""

    one_move_a_turn = True
    """The protocol has one action a call; a turn of several becomes several turns."""

    @abstractmethod
    def size(self, body: dict[str, Any]) -> tuple[int, int]:
        """Size of the newest picture of a request."""

    @abstractmethod
    def say(self, moves: list[Move], text: str, said: Said, scale: tuple[float, float]) -> dict[str, Any]:
        """The answer's body. ``scale``: picture pixels for a page pixel."""

    def check(self, body: dict[str, Any], last: Said | None) -> None:
        """Did the client answer the pending call?"""
        pending = last.call_id if last is not None else ""
        if answered_call(body) != pending:
            raise Undisciplined(f"No tool output found for call {pending or 'none'}.")


class OpenAIVoice(Voice):
    """The Responses API."""

    one_move_a_turn = False

    def size(self, body: dict[str, Any]) -> tuple[int, int]:
        """See ``Voice``."""
        for item in body["input"]:
            if item.get("type") == "computer_call_output":
                return picture_size(item["output"]["image_url"])
            for part in item.get("content", ()):
                if part["type"] == "input_image":
                    return picture_size(part["image_url"])
        raise Undisciplined("the request has no picture")

    def check(self, body: dict[str, Any], last: Said | None) -> None:
        """See ``Voice``; the request must also follow the last response."""
        super().check(body, last)
        follows = body.get("previous_response_id", "")
        if follows != (last.response_id if last is not None else ""):
            raise Undisciplined(f"Previous response with id '{follows}' not found.")

    def say(self, moves: list[Move], text: str, said: Said, scale: tuple[float, float]) -> dict[str, Any]:
        """See ``Voice``."""
        output: list[dict[str, Any]] = [{"type": "reasoning", "id": f"rs_{said.response_id}", "summary": []}]
        if text:
            part = {"type": "output_text", "text": text, "annotations": []}
            output.append(
                {
                    "type": "message",
                    "id": f"msg_{said.response_id}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        if moves:
            output.append(
                {
                    "type": "computer_call",
                    "id": f"cu_{said.call_id}",
                    "call_id": said.call_id,
                    "status": "completed",
                    "action": None,
                    "actions": [self._action(move, scale) for move in moves],
                    "pending_safety_checks": [],
                }
            )
        return {
            "id": said.response_id,
            "object": "response",
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": "scripted-computer-use",
            "output": output,
            "usage": {
                "input_tokens": USAGE[0],
                "output_tokens": USAGE[1],
                "input_tokens_details": {"cached_tokens": 1_000},
            },
        }

    @staticmethod
    def _action(move: Move, scale: tuple[float, float]) -> dict[str, Any]:
        x, y = int(move.x * scale[0]), int(move.y * scale[1])
        match move.do:
            case "click":
                return {"type": "click", "button": "left", "x": x, "y": y}
            case "move":
                return {"type": "move", "x": x, "y": y}
            case "type":
                return {"type": "type", "text": move.text}
            case "key":
                return {"type": "keypress", "keys": move.text.split("+")}
            case "scroll":
                return {
                    "type": "scroll",
                    "x": x,
                    "y": y,
                    "scroll_x": int(move.dx * scale[0]),
                    "scroll_y": int(move.dy * scale[1]),
                }
            case "screenshot" | "wait":
                return {"type": move.do}


class AnthropicVoice(Voice):
    """The Messages API."""

    def size(self, body: dict[str, Any]) -> tuple[int, int]:
        """See ``Voice``."""
        for block in body["messages"][-1]["content"]:
            parts = block["content"] if block["type"] == "tool_result" else [block]
            for part in parts:
                if part["type"] == "image":
                    return picture_size(part["source"]["data"])
        raise Undisciplined("the request has no picture")

    def say(self, moves: list[Move], text: str, said: Said, scale: tuple[float, float]) -> dict[str, Any]:
        """See ``Voice``."""
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if moves:
            content.append(
                {
                    "type": "tool_use",
                    "id": said.call_id,
                    "name": "computer",
                    "input": self._action(moves[0], scale),
                }
            )
        return {
            "id": said.response_id,
            "type": "message",
            "role": "assistant",
            "model": "scripted-computer-use",
            "content": content,
            "stop_reason": "tool_use" if moves else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": USAGE[0],
                "output_tokens": USAGE[1],
                "cache_read_input_tokens": 1_000,
            },
        }

    @staticmethod
    def _action(move: Move, scale: tuple[float, float]) -> dict[str, Any]:
        point = [int(move.x * scale[0]), int(move.y * scale[1])]
        match move.do:
            case "click":
                return {"action": "left_click", "coordinate": point}
            case "move":
                return {"action": "mouse_move", "coordinate": point}
            case "type" | "key":
                return {"action": move.do, "text": move.text}
            case "scroll":
                way = "down" if move.dy > 0 else "up"
                return {
                    "action": "scroll",
                    "coordinate": point,
                    "scroll_direction": way,
                    "scroll_amount": abs(move.dy) // 100,
                }
            case "screenshot":
                return {"action": "screenshot"}
            case "wait":
                return {"action": "wait", "duration": 1}


class GeminiVoice(Voice):
    """The generateContent API; its space has 1000 steps, whatever the picture's size."""

    def __init__(self, page: tuple[int, int]) -> None:
        self._page = page

    def size(self, body: dict[str, Any]) -> tuple[int, int]:
        """See ``Voice``."""
        for part in body["contents"][-1]["parts"]:
            inner = part["functionResponse"]["parts"] if "functionResponse" in part else [part]
            for image in inner:
                if "inlineData" in image:
                    return picture_size(image["inlineData"]["data"])
        raise Undisciplined("the request has no picture")

    def say(self, moves: list[Move], text: str, said: Said, scale: tuple[float, float]) -> dict[str, Any]:
        """See ``Voice``."""
        del scale
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        if moves:
            name, args = self._call(moves[0])
            parts.append({"functionCall": {"name": name, "args": args, "id": said.call_id}})
        return {
            "responseId": said.response_id,
            "modelVersion": "scripted-computer-use",
            "candidates": [
                {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}
            ],
            "usageMetadata": {
                "promptTokenCount": USAGE[0],
                "candidatesTokenCount": USAGE[1],
                "cachedContentTokenCount": 1_000,
            },
        }

    def _call(self, move: Move) -> tuple[str, dict[str, Any]]:
        width, height = self._page
        # Rounded up, so that the client's rounding down lands on the very pixel or beyond it, never before it.
        point = {"x": -(-move.x * 1000 // width), "y": -(-move.y * 1000 // height)}
        match move.do:
            case "click":
                return "click_at", point
            case "move":
                return "hover_at", point
            case "type":
                return "type_text_at", {**point, "text": move.text, "press_enter": False}
            case "key":
                return "key_combination", {"keys": move.text.lower()}
            case "scroll":
                way = "down" if move.dy > 0 else "up"
                size = min(999, abs(move.dy) * 1000 // height)
                return "scroll_at", {**point, "direction": way, "magnitude": size}
            case "screenshot":
                return "hover_at", point
            case "wait":
                return "wait_5_seconds", {}
