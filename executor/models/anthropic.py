"""Anthropic's Messages protocol: one ``tool_use`` a message, answered by a ``tool_result`` with the same id.

Rules (published shapes): the three tool versions each have their own actions; in the first one a click has no point and
happens where the pointer was moved last, which is kept as an inferred point; several calls in one message are asked not
to come and are refused; only ``tool_use`` and ``end_turn`` are endings.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Literal

from domain.actions import Action, Button, Canvas, key_name
from domain.values import Point
from executor.models.base import MOST_SAID, Declined, Reply, Screen, Turn, Usage
from executor.models.wire import Node, Refused, parse, refuse

Version = Literal["20241022", "20250124", "20251124"]
BETA: dict[Version, str] = {
    "20241022": "computer-use-2024-10-22",
    "20250124": "computer-use-2025-01-24",
    "20251124": "computer-use-2025-11-24",
}
API_VERSION = "2023-06-01"
MAX_TOKENS = 4_096
FIRST = frozenset(
    {
        "key",
        "type",
        "mouse_move",
        "left_click",
        "left_click_drag",
        "right_click",
        "middle_click",
        "double_click",
        "screenshot",
        "cursor_position",
    }
)
SECOND = FIRST | {"triple_click", "left_mouse_down", "left_mouse_up", "scroll", "hold_key", "wait"}
ACTIONS: dict[Version, frozenset[str]] = {
    "20241022": FIRST,
    "20250124": SECOND,
    "20251124": SECOND | {"zoom"},
}
CLICKS: dict[str, tuple[Button, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
KEYS: dict[str, frozenset[str]] = {
    "key": frozenset({"text"}),
    "type": frozenset({"text"}),
    "mouse_move": frozenset({"coordinate"}),
    "left_click_drag": frozenset({"coordinate", "start_coordinate"}),
    "scroll": frozenset({"coordinate", "scroll_direction", "scroll_amount", "text"}),
    "hold_key": frozenset({"text", "duration"}),
    "wait": frozenset({"duration"}),
    "zoom": frozenset({"region"}),
    **{click: frozenset({"coordinate", "text"}) for click in CLICKS},
}
WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
MAX_NOTCHES = 1_000
MAX_SECONDS = 100
BLOCKS = ("text", "thinking", "redacted_thinking", "tool_use")


def read_usage(root: Node) -> Usage:
    """``usage`` of a message."""
    usage = root.get("usage")
    if usage is None:
        return Usage()
    given, made = usage.get("input_tokens"), usage.get("output_tokens")
    cached = usage.get("cache_read_input_tokens")
    return Usage(
        input_tokens=given.count() if given is not None else -1,
        output_tokens=made.count() if made is not None else -1,
        cached_tokens=cached.count() if cached is not None else -1,
    )


@dataclass(slots=True)
class AnthropicDialect:
    """See the module. The pointer's last position is part of the protocol, so it is kept here."""

    model: str
    version: Version = "20250124"
    name: str = field(default="anthropic", init=False)
    _messages: list[dict[str, Any]] = field(default_factory=list, init=False)
    _pointer: Point | None = field(default=None, init=False)

    def path(self, base: str) -> str:
        """See ``Dialect``."""
        return f"{base.rstrip('/')}/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        """See ``Dialect``."""
        return {
            "x-api-key": key,
            "anthropic-version": API_VERSION,
            "anthropic-beta": BETA[self.version],
        }

    def opening(self, goal: str, screen: Screen) -> dict[str, Any]:
        """See ``Dialect``."""
        self._pointer = None
        self._messages = [{"role": "user", "content": [{"type": "text", "text": goal}, _image(screen)]}]
        return self._body(screen.canvas)

    def answer(self, turn: Turn, reply: Reply) -> dict[str, Any]:
        """See ``Dialect``."""
        content: list[dict[str, Any]] = [_image(reply.screen)]
        if reply.note:
            content.insert(0, {"type": "text", "text": reply.note})
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": turn.call_id, "content": content}
        if reply.note:
            result["is_error"] = True
        self._messages += [
            {"role": "assistant", "content": turn.raw},
            {"role": "user", "content": [result]},
        ]
        for action in turn.actions:
            self._pointer = action.point or self._pointer
        return self._body(reply.screen.canvas)

    def _body(self, canvas: Canvas) -> dict[str, Any]:
        tool = {
            "type": f"computer_{self.version}",
            "name": "computer",
            "display_width_px": canvas.image_width,
            "display_height_px": canvas.image_height,
        }
        return {
            "model": self.model,
            "max_tokens": MAX_TOKENS,
            "tools": [tool],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            "messages": list(self._messages),
        }

    def usage_of(self, body: bytes) -> Usage:
        """See ``Dialect``."""
        try:
            return read_usage(parse(body))
        except Refused:
            return Usage()

    def read(self, body: bytes, canvas: Canvas) -> Turn | Declined:
        """See ``Dialect``."""
        usage, response_id, model = Usage(), "", ""
        try:
            root = parse(body)
            usage = read_usage(root)
            response_id = root.key("id").name()
            model = root.key("model").name()
            return self._read(root, canvas, response_id, usage, model)
        except Refused as stop:
            return Declined(refusal=stop.refusal, usage=usage, response_id=response_id, model=model)

    def _read(self, root: Node, canvas: Canvas, response_id: str, usage: Usage, model: str) -> Turn:
        root.key("type").one_of("message")
        root.key("role").one_of("assistant")
        ending = root.key("stop_reason").one_of("tool_use", "end_turn")
        call: Node | None = None
        said = ""
        content = root.key("content")
        for block in content.items():
            kind = block.key("type").one_of(*BLOCKS)
            if kind == "text":
                said += block.key("text").text()
            elif kind == "tool_use" and call is not None:
                refuse(block.path, "a second tool_use", "one computer call a response")
            elif kind == "tool_use":
                call = block
        if (call is not None) != (ending == "tool_use"):
            root.key("stop_reason").refuse("tool_use exactly when there is a call")
        actions: tuple[Action, ...] = ()
        call_id = ""
        if call is not None:
            call.fields({"type", "id", "name", "input", "caller"})
            call.key("name").one_of("computer")
            call_id = call.key("id").name()
            actions = (self._action(call.key("input"), call_id, canvas),)
        return Turn(
            response_id=response_id,
            call_id=call_id,
            actions=actions,
            said=said[:MOST_SAID],
            usage=usage,
            model=model,
            raw=content.value,
        )

    def _action(self, node: Node, call_id: str, canvas: Canvas) -> Action:
        native = node.key("action").one_of(*sorted(ACTIONS[self.version]))
        node.fields(KEYS.get(native, frozenset()) | {"action"})
        common: dict[str, Any] = {
            "provider": "anthropic",
            "native": native,
            "arguments": node.verbatim(),
            "call_id": call_id,
        }
        if native in {"screenshot", "cursor_position"}:
            return Action(kind=native, **common)  # type: ignore[arg-type]
        if native == "type":
            return Action(kind="type", text=node.key("text").text(), **common)
        if native == "key":
            return Action(kind="key", keys=_chord(node.key("text")), **common)
        if native in {"wait", "hold_key"}:
            lasting = node.key("duration").seconds(MAX_SECONDS)
            keys = _chord(node.key("text")) if native == "hold_key" else ()
            return Action(kind=native, keys=keys, duration_ms=lasting, **common)  # type: ignore[arg-type]
        if native == "zoom":
            region = [item.integer(0, 100_000) for item in node.key("region").items(4)]
            if len(region) != 4:  # noqa: PLR2004 - two corners
                node.key("region").refuse("four numbers")
            return Action(kind="zoom", **common)
        if native in CLICKS:
            return self._click(native, node, canvas, common)
        return self._pointed(native, node, canvas, common)

    def _click(self, native: str, node: Node, canvas: Canvas, common: dict[str, Any]) -> Action:
        button, count = CLICKS[native]
        where = node.get("coordinate")
        if where is not None and self.version == "20241022":
            where.refuse("no point: this version clicks where the pointer is")
        held = node.get("text")
        if where is not None:
            common |= _said_point(where, canvas)
        else:
            common |= {"point": self._last(node), "inferred": True}
        keys = _chord(held) if held is not None else ()
        return Action(kind="click", button=button, count=count, keys=keys, **common)

    def _last(self, node: Node) -> Point:
        if self._pointer is None:
            refuse(f"{node.path}.coordinate", None, "a point: the pointer was not moved yet")
        return self._pointer

    def _pointed(self, native: str, node: Node, canvas: Canvas, common: dict[str, Any]) -> Action:
        if native in {"left_mouse_down", "left_mouse_up"}:
            common |= {"point": self._last(node), "inferred": True}
            return Action(kind="mouse_down" if native.endswith("down") else "mouse_up", **common)
        common |= _said_point(node.key("coordinate"), canvas)
        if native == "mouse_move":
            return Action(kind="move", **common)
        if native == "left_click_drag":
            start = node.get("start_coordinate")
            begin = _said_point(start, canvas)["point"] if start is not None else self._last(node)
            return Action(kind="drag", path=(begin, common["point"]), **common)
        way = WAYS[node.key("scroll_direction").one_of(*WAYS)]
        amount = node.key("scroll_amount").integer(0, MAX_NOTCHES)
        held = node.get("text")
        keys = _chord(held) if held is not None else ()
        return Action(
            kind="scroll", dx=way[0] * amount, dy=way[1] * amount, unit="notch", keys=keys, **common
        )


def _chord(node: Node) -> tuple[str, ...]:
    parts = node.name(80).split("+")
    if not all(parts):
        node.refuse("key names joined by +")
    return tuple(key_name(part.strip()) for part in parts)


def _said_point(node: Node, canvas: Canvas) -> dict[str, Any]:
    items = list(node.items(2))
    if len(items) != 2:  # noqa: PLR2004 - x and y
        node.refuse("two numbers")
    x = items[0].integer(0, canvas.image_width - 1)
    y = items[1].integer(0, canvas.image_height - 1)
    return {"raw_point": Point(x=x, y=y), "point": canvas.on_page(x, y, "px")}


def _image(screen: Screen) -> dict[str, Any]:
    return {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(screen.image).decode(),
        },
    }
