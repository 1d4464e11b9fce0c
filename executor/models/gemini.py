"""Google's generateContent protocol: one function call an answer, coordinates from 0 to 999.

Rules (published shapes): a pixel is ``int(v / 1000 * size)``; a call that is several actions is taken apart, and each
part is judged and recorded on its own; ``safety_decision`` waits for a person; a call without an id gets one made of
the answer's id, because the id in the protocol is optional; only the finish reason ``STOP`` is an ending.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from domain.actions import Action, Canvas, Kind, key_name
from domain.values import Point
from executor.models.base import MOST_SAID, Declined, Reply, SafetyCheck, Screen, Turn, Usage
from executor.models.wire import Node, Refused, parse, refuse

NAMES: dict[str, frozenset[str]] = {
    "open_web_browser": frozenset(),
    "wait_5_seconds": frozenset(),
    "go_back": frozenset(),
    "go_forward": frozenset(),
    "search": frozenset(),
    "navigate": frozenset({"url"}),
    "click_at": frozenset({"x", "y"}),
    "hover_at": frozenset({"x", "y"}),
    "type_text_at": frozenset({"x", "y", "text", "press_enter", "clear_before_typing"}),
    "key_combination": frozenset({"keys"}),
    "scroll_document": frozenset({"direction"}),
    "scroll_at": frozenset({"x", "y", "direction", "magnitude"}),
    "drag_and_drop": frozenset({"x", "y", "destination_x", "destination_y"}),
}
EXCLUDED = ("open_web_browser", "go_back", "go_forward", "search", "navigate", "drag_and_drop")
"""Asked not to be used: the run has one page of one origin."""
PLAIN: dict[str, Kind] = {
    "open_web_browser": "screenshot",
    "wait_5_seconds": "wait",
    "go_back": "go_back",
    "go_forward": "go_forward",
    "search": "search",
}
WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
USUAL_MAGNITUDE = 800
WAIT_MS = 5_000
NORM_MAX = 999
MIDDLE = 500
PART_KEYS = frozenset({"text", "functionCall", "thought", "thoughtSignature"})


def read_usage(root: Node) -> Usage:
    """``usageMetadata`` of an answer."""
    usage = root.get("usageMetadata")
    if usage is None:
        return Usage()
    given, made = usage.get("promptTokenCount"), usage.get("candidatesTokenCount")
    cached = usage.get("cachedContentTokenCount")
    return Usage(
        input_tokens=given.count() if given is not None else -1,
        output_tokens=made.count() if made is not None else -1,
        cached_tokens=cached.count() if cached is not None else -1,
    )


@dataclass(slots=True)
class GeminiDialect:
    """See the module."""

    model: str
    name: str = field(default="gemini", init=False)
    _contents: list[dict[str, Any]] = field(default_factory=list, init=False)

    def path(self, base: str) -> str:
        """See ``Dialect``."""
        return f"{base.rstrip('/')}/v1beta/models/{self.model}:generateContent"

    def headers(self, key: str) -> dict[str, str]:
        """See ``Dialect``; the key never goes into the address."""
        return {"x-goog-api-key": key}

    def opening(self, goal: str, screen: Screen) -> dict[str, Any]:
        """See ``Dialect``."""
        self._contents = [{"role": "user", "parts": [{"text": goal}, _image(screen)]}]
        return self._body()

    def answer(self, turn: Turn, reply: Reply) -> dict[str, Any]:
        """See ``Dialect``."""
        response: dict[str, Any] = {"url": reply.screen.url}
        if reply.note:
            response["error"] = reply.note
        if reply.acknowledged:
            response["safety_acknowledgement"] = "true"
        answer: dict[str, Any] = {
            "name": turn.actions[0].native,
            "response": response,
            "parts": [_image(reply.screen)],
        }
        called = next(part["functionCall"] for part in turn.raw["parts"] if "functionCall" in part)
        if called.get("id"):
            answer["id"] = called["id"]
        self._contents += [turn.raw, {"role": "user", "parts": [{"functionResponse": answer}]}]
        return self._body()

    def _body(self) -> dict[str, Any]:
        tool = {"environment": "ENVIRONMENT_BROWSER", "excludedPredefinedFunctions": list(EXCLUDED)}
        return {"contents": list(self._contents), "tools": [{"computerUse": tool}]}

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
            response_id = root.key("responseId").name()
            named = root.get("modelVersion")
            model = named.name() if named is not None else ""
            return self._read(
                root, canvas, Turn(response_id=response_id, call_id="", usage=usage, model=model)
            )
        except Refused as stop:
            return Declined(refusal=stop.refusal, usage=usage, response_id=response_id, model=model)

    @staticmethod
    def _read(root: Node, canvas: Canvas, head: Turn) -> Turn:
        candidates = list(root.key("candidates").items(1))
        if not candidates:
            root.key("candidates").refuse("one candidate")
        candidate = candidates[0]
        candidate.key("finishReason").one_of("STOP")
        content = candidate.key("content")
        content.fields({"role", "parts"})
        content.key("role").one_of("model")
        call: Node | None = None
        said = ""
        for part in content.key("parts").items():
            part.fields(PART_KEYS)
            text, called = part.get("text"), part.get("functionCall")
            if text is not None and called is None:
                thought = part.get("thought")
                said += text.text() if thought is None or not thought.flag() else ""
            elif called is not None and text is None and call is None:
                call = called
            elif called is not None and call is not None:
                refuse(called.path, "a second function call", "one computer call a response")
            else:
                part.refuse("a text or a call")
        call_id, actions, safety = _call(call, canvas, head.response_id) if call is not None else ("", (), ())
        return Turn(
            response_id=head.response_id,
            call_id=call_id,
            actions=actions,
            safety=safety,
            said=said[:MOST_SAID],
            usage=head.usage,
            model=head.model,
            raw=content.value,
        )


def _call(
    call: Node, canvas: Canvas, response_id: str
) -> tuple[str, tuple[Action, ...], tuple[SafetyCheck, ...]]:
    call.fields({"name", "args", "id"})
    own = call.get("id")
    call_id = own.name() if own is not None else f"{response_id}#0"
    native = call.key("name").one_of(*NAMES)
    args = call.get("args") or Node({}, f"{call.path}.args")
    args.fields(NAMES[native] | {"safety_decision"})
    return call_id, _actions(native, args, call_id, canvas), _safety(args, call_id)


def _safety(args: Node, call_id: str) -> tuple[SafetyCheck, ...]:
    decision = args.get("safety_decision")
    if decision is None:
        return ()
    decision.fields({"decision", "explanation"})
    word = decision.key("decision").one_of("regular", "require_confirmation")
    why = decision.get("explanation")
    message = why.text(most=2_000) if why is not None else ""
    return () if word == "regular" else (SafetyCheck(check_id=call_id, code=word, message=message),)


def _actions(native: str, args: Node, call_id: str, canvas: Canvas) -> tuple[Action, ...]:
    common: dict[str, Any] = {
        "provider": "gemini",
        "native": native,
        "arguments": args.verbatim(),
        "call_id": call_id,
        "space": "norm_1000",
    }
    if native in PLAIN:
        return (
            Action(kind=PLAIN[native], duration_ms=WAIT_MS if native == "wait_5_seconds" else 0, **common),
        )
    if native == "navigate":
        return (Action(kind="navigate", url=args.key("url").text(most=2_000, empty=False), **common),)
    if native == "key_combination":
        parts = args.key("keys").name(80).split("+")
        if not all(parts):
            args.key("keys").refuse("key names joined by +")
        return (Action(kind="key", keys=tuple(key_name(part.strip()) for part in parts), **common),)
    if native == "scroll_document":
        way = WAYS[args.key("direction").one_of(*WAYS)]
        middle = canvas.on_page(MIDDLE, MIDDLE, "norm_1000")
        common |= {"dx": way[0] * USUAL_MAGNITUDE, "dy": way[1] * USUAL_MAGNITUDE}
        return (Action(kind="scroll", unit="norm", point=middle, inferred=True, **common),)
    return _pointed(native, args, canvas, common)


def _pointed(native: str, args: Node, canvas: Canvas, common: dict[str, Any]) -> tuple[Action, ...]:
    common |= _point(args, "x", "y", canvas)
    if native == "scroll_at":
        way = WAYS[args.key("direction").one_of(*WAYS)]
        far = args.get("magnitude")
        size = far.integer(0, NORM_MAX) if far is not None else USUAL_MAGNITUDE
        return (Action(kind="scroll", unit="norm", dx=way[0] * size, dy=way[1] * size, **common),)
    if native == "drag_and_drop":
        end = _point(args, "destination_x", "destination_y", canvas)["point"]
        return (Action(kind="drag", path=(common["point"], end), **common),)
    if native == "type_text_at":
        return _typed(args, common)
    return (Action(kind="click" if native == "click_at" else "move", **common),)


def _typed(args: Node, common: dict[str, Any]) -> tuple[Action, ...]:
    """Click, select all, type, Enter: each part is an action of its own."""
    clear, enter = args.get("clear_before_typing"), args.get("press_enter")
    text = args.key("text").text()
    pointless = {key: value for key, value in common.items() if key not in {"raw_point", "point"}}
    parts = [Action(kind="click", part=0, **common)]
    if clear is None or clear.flag():
        parts.append(Action(kind="key", keys=("Control", "a"), part=len(parts), **pointless))
    parts.append(Action(kind="type", text=text, part=len(parts), **pointless))
    if enter is None or enter.flag():
        parts.append(Action(kind="key", keys=("Enter",), part=len(parts), **pointless))
    return tuple(parts)


def _point(args: Node, across: str, down: str, canvas: Canvas) -> dict[str, Any]:
    x, y = args.key(across).integer(0, NORM_MAX), args.key(down).integer(0, NORM_MAX)
    return {"raw_point": Point(x=x, y=y), "point": canvas.on_page(x, y, "norm_1000")}


def _image(screen: Screen) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(screen.image).decode()}}
