"""OpenAI's Responses protocol: one computer call a response, chained by ``previous_response_id``.

Rules (published shapes, preview and general release alike): ``action`` or ``actions``, and where both are given they
must say the same; the output carries the call's own ``call_id`` and the new picture; a pending safety check is handed
up and never acknowledged here; statuses other than ``completed`` stop; an item of another kind stops.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from domain.actions import Action, Button, Canvas, key_name
from domain.values import Point
from executor.models.base import MOST_SAID, Declined, Reply, SafetyCheck, Screen, Turn, Usage
from executor.models.wire import Node, Refused, parse, refuse

ITEMS = ("reasoning", "message", "computer_call")
CALL_KEYS = frozenset({"type", "id", "call_id", "status", "action", "actions", "pending_safety_checks"})
BUTTONS: dict[str, Button] = {
    "left": "left",
    "right": "right",
    "wheel": "middle",
    "back": "back",
    "forward": "forward",
}
SHAPES: dict[str, frozenset[str]] = {
    "click": frozenset({"type", "button", "x", "y", "keys"}),
    "double_click": frozenset({"type", "x", "y", "keys"}),
    "drag": frozenset({"type", "path", "keys"}),
    "keypress": frozenset({"type", "keys"}),
    "move": frozenset({"type", "x", "y", "keys"}),
    "screenshot": frozenset({"type"}),
    "scroll": frozenset({"type", "x", "y", "scroll_x", "scroll_y", "keys"}),
    "type": frozenset({"type", "text"}),
    "wait": frozenset({"type"}),
}
WAIT_MS = 1_000
MAX_SCROLL = 100_000


def read_usage(root: Node) -> Usage:
    """``usage`` of a response of any status."""
    usage = root.get("usage")
    if usage is None:
        return Usage()
    details = usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if details is not None else None
    given, made = usage.get("input_tokens"), usage.get("output_tokens")
    return Usage(
        input_tokens=given.count() if given is not None else -1,
        output_tokens=made.count() if made is not None else -1,
        cached_tokens=cached.count() if cached is not None else -1,
    )


def read_action(node: Node, index: int, call_id: str, canvas: Canvas) -> Action:
    """One action of a call."""
    kind = node.key("type").one_of(*SHAPES)
    node.fields(SHAPES[kind])
    common: dict[str, Any] = {
        "provider": "openai",
        "native": kind,
        "arguments": node.verbatim(),
        "call_id": call_id,
        "batch_index": index,
    }
    if kind in {"screenshot", "wait"}:
        return Action(kind=kind, duration_ms=WAIT_MS if kind == "wait" else 0, **common)  # type: ignore[arg-type]
    if kind == "type":
        return Action(kind="type", text=node.key("text").text(), **common)
    if kind == "keypress":
        return Action(kind="key", keys=_keys(node.key("keys"), least=1), **common)
    held = node.get("keys")
    common["keys"] = _keys(held) if held is not None else ()
    if kind == "drag":
        path = tuple(_point(step, canvas)[1] for step in node.key("path").items(64))
        return Action(kind="drag", path=path, **common)
    raw, point = _point(node, canvas, extra=True)
    common |= {"raw_point": raw, "point": point}
    if kind == "scroll":
        return Action(
            kind="scroll",
            dx=node.key("scroll_x").integer(-MAX_SCROLL, MAX_SCROLL),
            dy=node.key("scroll_y").integer(-MAX_SCROLL, MAX_SCROLL),
            **common,
        )
    if kind == "move":
        return Action(kind="move", **common)
    button = node.key("button").one_of(*BUTTONS) if kind == "click" else "left"
    return Action(kind="click", button=BUTTONS[button], count=2 if kind == "double_click" else 1, **common)


def _keys(node: Node, *, least: int = 0) -> tuple[str, ...]:
    keys = tuple(key_name(item.name(40)) for item in node.items(8))
    if len(keys) < least:
        node.refuse("at least one key")
    return keys


def _point(node: Node, canvas: Canvas, *, extra: bool = False) -> tuple[Point, Point]:
    if not extra:
        node.fields({"x", "y"})
    x = node.key("x").integer(0, canvas.image_width - 1)
    y = node.key("y").integer(0, canvas.image_height - 1)
    return Point(x=x, y=y), canvas.on_page(x, y, "px")


@dataclass(slots=True)
class OpenAIDialect:
    """See the module. ``tool`` is ``computer_use_preview`` or ``computer``."""

    model: str
    tool: str = "computer_use_preview"
    name: str = field(default="openai", init=False)
    _sent: str = field(default="", init=False)
    """The response that the last request followed."""

    def path(self, base: str) -> str:
        """The base is the whole address, as COMPUTER_RESPONSES_URL has it."""
        return base

    def headers(self, key: str) -> dict[str, str]:
        """See ``Dialect``."""
        return {"authorization": f"Bearer {key}"}

    def _tools(self, canvas: Canvas) -> list[dict[str, Any]]:
        if self.tool == "computer":
            return [{"type": "computer"}]
        return [
            {
                "type": "computer_use_preview",
                "display_width": canvas.image_width,
                "display_height": canvas.image_height,
                "environment": "browser",
            }
        ]

    def opening(self, goal: str, screen: Screen) -> dict[str, Any]:
        """See ``Dialect``."""
        self._sent = ""
        content = [
            {"type": "input_text", "text": goal},
            {"type": "input_image", "image_url": _image(screen)},
        ]
        return {
            "model": self.model,
            "tools": self._tools(screen.canvas),
            "input": [{"role": "user", "content": content}],
            "truncation": "auto",
            "parallel_tool_calls": False,
        }

    def answer(self, turn: Turn, reply: Reply) -> dict[str, Any]:
        """See ``Dialect``."""
        self._sent = turn.response_id
        output: dict[str, Any] = {
            "type": "computer_call_output",
            "call_id": turn.call_id,
            "output": {"type": "computer_screenshot", "image_url": _image(reply.screen)},
        }
        if reply.acknowledged:
            output["acknowledged_safety_checks"] = [
                {"id": check.check_id, "code": check.code, "message": check.message}
                for check in reply.acknowledged
            ]
        items: list[dict[str, Any]] = [output]
        if reply.note:
            items.append({"role": "user", "content": [{"type": "input_text", "text": reply.note}]})
        return {
            "model": self.model,
            "previous_response_id": turn.response_id,
            "tools": self._tools(reply.screen.canvas),
            "input": items,
            "truncation": "auto",
            "parallel_tool_calls": False,
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
            named = root.get("model")
            model = named.name() if named is not None else ""
            return self._read(
                root, canvas, Turn(response_id=response_id, call_id="", usage=usage, model=model)
            )
        except Refused as stop:
            return Declined(refusal=stop.refusal, usage=usage, response_id=response_id, model=model)

    def _read(self, root: Node, canvas: Canvas, head: Turn) -> Turn:
        root.key("status").one_of("completed")
        for name in ("error", "incomplete_details"):
            trouble = root.get(name)
            if trouble is not None:
                trouble.refuse("null")
        follows = root.get("previous_response_id")
        if follows is not None and follows.name() != self._sent:
            follows.refuse(f"the response that was answered ({self._sent or 'none'})")
        call: Node | None = None
        said = ""
        for item in root.key("output").items():
            kind = item.key("type").one_of(*ITEMS)
            if kind == "message":
                said += _said(item)
            elif kind == "computer_call" and call is not None:
                refuse(item.path, "a second computer call", "one computer call a response")
            elif kind == "computer_call":
                call = item
        if call is None:
            return Turn(
                response_id=head.response_id,
                call_id="",
                said=said[:MOST_SAID],
                usage=head.usage,
                model=head.model,
            )
        call.fields(CALL_KEYS)
        call.key("status").one_of("completed")
        call_id = call.key("call_id").name()
        own = call.get("id")
        if own is not None:
            own.name()
        return Turn(
            response_id=head.response_id,
            call_id=call_id,
            actions=_actions(call, call_id, canvas),
            safety=_safety(call),
            said=said[:MOST_SAID],
            usage=head.usage,
            model=head.model,
        )


def _image(screen: Screen) -> str:
    return f"data:image/png;base64,{base64.b64encode(screen.image).decode()}"


def _said(item: Node) -> str:
    texts = []
    for part in item.key("content").items():
        if part.key("type").one_of("output_text", "refusal") == "output_text":
            texts.append(part.key("text").text())
        else:
            texts.append(part.key("refusal").text())
    return "".join(texts)


def _actions(call: Node, call_id: str, canvas: Canvas) -> tuple[Action, ...]:
    one, many = call.get("action"), call.get("actions")
    if many is None and one is None:
        refuse(f"{call.path}.actions", None, "action or actions")
    if many is None:
        assert one is not None, "one of them is there"  # noqa: S101 - invariant, stays on
        return (read_action(one, 0, call_id, canvas),)
    nodes = list(many.items())
    if not nodes:
        many.refuse("at least one action")
    if one is not None and one.value != nodes[0].value:
        one.refuse("the first of actions, where both are given")
    return tuple(read_action(node, index, call_id, canvas) for index, node in enumerate(nodes))


def _safety(call: Node) -> tuple[SafetyCheck, ...]:
    pending = call.get("pending_safety_checks")
    if pending is None:
        return ()
    found = []
    for node in pending.items(16):
        node.fields({"id", "code", "message"})
        code, message = node.get("code"), node.get("message")
        found.append(
            SafetyCheck(
                check_id=node.key("id").name(),
                code=code.text(most=200) if code is not None else "",
                message=message.text(most=2_000) if message is not None else "",
            )
        )
    return tuple(found)
