"""The rules of a run that a model drives: what a batch may hold, and how one answer follows another.

Rules (published defaults; all configurable downwards and upwards): at most 12 actions a response, 4 model calls, 200
characters of text, single named keys, bounded scrolling, left clicks; the whole batch is judged before its first
action; one computer call a response, ids are never mixed up or used twice; anything unknown stops. Pure: the answer is
a ``Refusal`` that names the field, its value and the rule, never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from domain.actions import Action, Canvas, Kind, scroll_px
from domain.values import Check

MOST_SHOWN = 120
"""Characters of a refused value that are repeated in a refusal."""
NAMED_KEYS = frozenset(
    {
        "Enter",
        "Tab",
        "Escape",
        "Backspace",
        "Delete",
        "Space",
        "ArrowUp",
        "ArrowDown",
        "ArrowLeft",
        "ArrowRight",
        "Home",
        "End",
        "PageUp",
        "PageDown",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an answer of a model is not acted on."""

    field: str
    """Path in the answer: ``output[1].actions[0].x``."""
    value: str
    """What was there, shortened."""
    rule: str
    """What it should have been."""

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}, got {self.value}"


def shown(value: object) -> str:
    """A value for a refusal: short, on one line."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text)} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a model may ask for at all."""

    max_actions: int = 12
    """Atomic actions of one response, expansions counted."""
    max_calls: int = 4
    """Requests to the model in one run."""
    max_text: int = 200
    """Characters of one typed text."""
    max_scroll_px: int = 2_000
    """Pixels of the page, either way, of one scroll."""
    max_wait_ms: int = 10_000
    max_id: int = 200
    """Characters of an id."""
    kinds: frozenset[Kind] = frozenset({"screenshot", "wait", "move", "scroll", "click", "type", "key"})
    keys: frozenset[str] = NAMED_KEYS
    chords: frozenset[str] = frozenset({"Control+a"})
    """Key combinations that are let through beside single keys: selecting a field's text."""


def judge_batch(actions: Sequence[Action], limits: Limits, canvas: Canvas) -> Refusal | None:
    """The first thing that is wrong with a batch; ``None`` when all of it may be tried."""
    if len(actions) > limits.max_actions:
        return Refusal(
            field="actions", value=str(len(actions)), rule=f"at most {limits.max_actions} actions a response"
        )
    for action in actions:
        refusal = _judge(action, limits, canvas)
        if refusal is not None:
            return refusal
    return None


def _judge(action: Action, limits: Limits, canvas: Canvas) -> Refusal | None:
    place = f"actions[{action.batch_index}]"
    if action.kind not in limits.kinds:
        allowed = ", ".join(sorted(limits.kinds))
        return Refusal(field=f"{place}.type", value=shown(action.native), rule=f"one of {allowed}")
    if action.kind == "click" and (action.button, action.count) != ("left", 1):
        return Refusal(
            field=f"{place}.button", value=f"{action.button} x {action.count}", rule="one left click"
        )
    if action.kind == "click" and action.keys:
        return Refusal(
            field=f"{place}.keys", value=shown(action.chord), rule="a click without held-down keys"
        )
    if action.kind == "type" and not 0 < len(action.text) <= limits.max_text:
        return Refusal(
            field=f"{place}.text",
            value=f"{len(action.text)} characters",
            rule=f"1 to {limits.max_text} characters",
        )
    if action.kind == "type" and not all(
        character.isprintable() or character in "\n\r\t" for character in action.text
    ):
        return Refusal(field=f"{place}.text", value=shown(action.text), rule="no control characters")
    if action.kind == "key" and not _is_key(action, limits):
        return Refusal(field=f"{place}.keys", value=shown(action.chord), rule="one named key")
    if action.kind == "scroll" and max(map(abs, scroll_px(action, canvas))) > limits.max_scroll_px:
        return Refusal(
            field=f"{place}.scroll",
            value=f"{action.dx},{action.dy} {action.unit}",
            rule=f"at most {limits.max_scroll_px} px",
        )
    if action.duration_ms > limits.max_wait_ms:
        return Refusal(
            field=f"{place}.duration",
            value=f"{action.duration_ms} ms",
            rule=f"at most {limits.max_wait_ms} ms",
        )
    return _judge_point(action, place, canvas)


def _is_key(action: Action, limits: Limits) -> bool:
    if len(action.keys) == 1:
        return action.keys[0] in limits.keys
    return action.chord in limits.chords


def _judge_point(action: Action, place: str, canvas: Canvas) -> Refusal | None:
    if action.kind in {"click", "move", "scroll"} and action.point is None:
        return Refusal(field=f"{place}.x", value="nothing", rule="a point on the picture")
    point = action.point
    if point is not None and not (0 <= point.x < canvas.page_width and 0 <= point.y < canvas.page_height):
        return Refusal(
            field=f"{place}.x",
            value=f"{point.x},{point.y}",
            rule=f"within {canvas.page_width} x {canvas.page_height}",
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What has been said so far: which ids are used up, and what is being answered."""

    calls: int = 0
    """Requests sent."""
    response_id: str = ""
    """The response that the next request follows."""
    call_id: str = ""
    """The computer call that the next request answers."""
    seen: frozenset[str] = field(default_factory=frozenset)
    """Call and response ids so far."""


def asked(talk: Talk) -> Talk:
    """One more request was sent."""
    return replace(talk, calls=talk.calls + 1)


def used_up(talk: Talk, limits: Limits) -> Check | None:
    """The budget of model calls, as a finding; ``None`` while there is some left (G7)."""
    if talk.calls < limits.max_calls:
        return None
    return Check(
        guard="budget",
        verdict="budget_exhausted",
        expected=f"at most {limits.max_calls} model calls",
        found=f"{talk.calls} made, and the goal is not reached",
        measures={"model_calls": talk.calls},
    )


def follow(talk: Talk, *, response_id: str, call_id: str, limits: Limits) -> Talk | Refusal:
    """The talk after one more answer; ids that were seen before, or are none, are refused (C1, C3)."""
    for name, value in (("id", response_id), ("call_id", call_id)):
        if name == "call_id" and not value:
            continue  # a final answer calls for nothing
        if not value or len(value) > limits.max_id or not value.isprintable():
            return Refusal(field=name, value=shown(value), rule=f"an id of 1 to {limits.max_id} characters")
        if value in talk.seen:
            return Refusal(field=name, value=shown(value), rule="an id that was not used before")
    seen = talk.seen | {response_id} | ({call_id} if call_id else set())
    return replace(talk, response_id=response_id, call_id=call_id, seen=seen)
