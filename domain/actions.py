"""One normalised vocabulary for what a model asks of a screen; one value is one atomic action.

Rules: the provider's own name and arguments are kept verbatim beside the normalised form; a point is kept as it was
said and as a pixel of the page, with the space it was said in; a point that nobody said is marked as inferred; what an
action may do never follows from its kind alone (Enter, a newline in typed text). Shapes: ``findings`` on the providers'
published computer-use protocols (OpenAI, Anthropic, Gemini).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.values import Point

Kind = Literal[
    "screenshot",
    "zoom",
    "cursor_position",
    "wait",
    "move",
    "scroll",
    "go_back",
    "go_forward",
    "type",
    "key",
    "hold_key",
    "click",
    "mouse_down",
    "mouse_up",
    "drag",
    "navigate",
    "search",
]
Space = Literal["px", "norm_1000", "norm_1", "element"]
ScrollUnit = Literal["px", "notch", "norm"]
Button = Literal["left", "right", "middle", "back", "forward"]
Reach = Literal["read", "local", "input", "act"]
"""How far an action may reach: nothing, the view, a field that is not yet submitted, or the business."""

NORM_STEPS = 1000
"""Gemini's coordinates run from 0 to 999; a pixel is ``int(v / 1000 * size)`` (published)."""
NOTCH_PX = 100
"""Pixels that a browser scrolls for one notch of a wheel."""

_REACH: dict[Kind, Reach] = {
    "screenshot": "read",
    "zoom": "read",
    "cursor_position": "read",
    "wait": "read",
    "move": "local",
    "scroll": "local",
    "go_back": "act",
    "go_forward": "act",
    "type": "input",
    "key": "input",
    "hold_key": "input",
    "click": "act",
    "mouse_down": "act",
    "mouse_up": "act",
    "drag": "act",
    "navigate": "act",
    "search": "act",
}

KEY_NAMES: dict[str, str] = {
    "enter": "Enter",
    "return": "Enter",
    "kp_enter": "Enter",
    "tab": "Tab",
    "esc": "Escape",
    "escape": "Escape",
    "backspace": "Backspace",
    "delete": "Delete",
    "del": "Delete",
    "space": "Space",
    "up": "ArrowUp",
    "arrowup": "ArrowUp",
    "down": "ArrowDown",
    "arrowdown": "ArrowDown",
    "left": "ArrowLeft",
    "arrowleft": "ArrowLeft",
    "right": "ArrowRight",
    "arrowright": "ArrowRight",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "page_up": "PageUp",
    "prior": "PageUp",
    "pagedown": "PageDown",
    "page_down": "PageDown",
    "next": "PageDown",
    "ctrl": "Control",
    "control": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "option": "Alt",
    "cmd": "Meta",
    "meta": "Meta",
    "super": "Meta",
    "win": "Meta",
}
"""The providers' names for keys, in lower case → the one name used here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """The image that a model is shown, and the page that it stands for; they may differ in size."""

    image_width: int
    image_height: int
    page_width: int
    page_height: int

    def holds(self, x: int, y: int, space: Space) -> bool:
        """Is the point on the picture? The right and the bottom edge are not."""
        width, height = (
            (NORM_STEPS, NORM_STEPS) if space == "norm_1000" else (self.image_width, self.image_height)
        )
        return 0 <= x < width and 0 <= y < height

    def on_page(self, x: int, y: int, space: Space) -> Point:
        """The pixel of the page that a point of the picture names; rounded down, so it stays on the page."""
        width, height = (
            (NORM_STEPS, NORM_STEPS) if space == "norm_1000" else (self.image_width, self.image_height)
        )
        return Point(x=x * self.page_width // width, y=y * self.page_height // height)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One atomic action as it was proposed, before anybody judged it."""

    kind: Kind
    provider: str
    native: str
    """The provider's own name of the action."""
    arguments: str
    """The provider's own arguments as JSON, verbatim."""
    call_id: str = ""
    batch_index: int = 0
    """Place in the response, from 0."""
    part: int = 0
    """Place in the expansion of one action that is several (Gemini's ``type_text_at``), from 0."""
    space: Space = "px"
    raw_point: Point | None = None
    """As the model said it, in ``space``."""
    point: Point | None = None
    """Pixel of the page."""
    inferred: bool = False
    """The point is the last pointer position, or the middle of the page: the model did not say it."""
    path: tuple[Point, ...] = ()
    """Pixels of the page that a drag goes through."""
    button: Button = "left"
    count: int = 1
    text: str = ""
    keys: tuple[str, ...] = ()
    """Normalised key names that are pressed together."""
    dx: int = 0
    dy: int = 0
    unit: ScrollUnit = "px"
    duration_ms: int = 0
    url: str = ""

    @property
    def chord(self) -> str:
        """Keys joined as one name: ``Control+a``."""
        return "+".join(self.keys)


def reach(action: Action) -> Reach:
    """How far the action may reach; Enter and a newline in a text submit forms, so they act."""
    if action.kind == "type" and ("\n" in action.text or "\r" in action.text):
        return "act"
    if action.kind in {"key", "hold_key"} and {"Enter", "Space"} & set(action.keys):
        return "act"
    return _REACH[action.kind]


def key_name(name: str) -> str:
    """The one name of a key; a letter in lower case; any other name as it was said."""
    return KEY_NAMES.get(name.lower(), name.lower() if len(name) == 1 else name)


def scroll_px(action: Action, canvas: Canvas) -> tuple[int, int]:
    """A scroll in pixels of the page, whatever unit it was said in."""
    match action.unit:
        case "px":
            return (
                action.dx * canvas.page_width // canvas.image_width,
                action.dy * canvas.page_height // canvas.image_height,
            )
        case "notch":
            return action.dx * NOTCH_PX, action.dy * NOTCH_PX
        case "norm":
            return (
                action.dx * canvas.page_width // NORM_STEPS,
                action.dy * canvas.page_height // NORM_STEPS,
            )


def in_words(action: Action) -> str:
    """Where and how, for the record: ``click at 200,160 (said 100,80 px), call c1 #1``."""
    where = ""
    if action.point is not None:
        where = f" at {action.point.x},{action.point.y}"
        if action.inferred:
            where += " (inferred from the last position)"
        elif action.raw_point is not None:
            where += f" (said {action.raw_point.x},{action.raw_point.y} {action.space})"
    part = f".{action.part + 1}" if action.part else ""
    return f"{action.native}{where}, call {action.call_id} #{action.batch_index + 1}{part}"
