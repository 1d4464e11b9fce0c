"""What the protocols, the transports and the loop hand to each other.

Rules: a protocol turns bytes into a ``Turn`` or into a ``Declined`` and never raises; it knows nothing of the page, the
task or the record; a key is only ever in the headers of a request, and a request's ``repr`` does not show them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from PIL import Image

from domain.actions import Action, Canvas
from domain.run import Limits, Refusal, Talk, follow, judge_batch
from executor.guards.pictures import as_png
from executor.tools.base import Frame

MOST_SAID = 2_000
"""Characters of a model's words that are kept in an event; the whole answer is kept as a blob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a model is shown: the picture, what it stands for, and where it was taken."""

    image: bytes = field(repr=False)
    """PNG."""
    canvas: Canvas
    url: str = ""


def screen_of(frame: Frame, *, url: str = "", longest_px: int = 0) -> Screen:
    """A frame as it is sent; scaled down (and mapped back explicitly) when it is longer than ``longest_px``."""
    longest = max(frame.width, frame.height)
    if not longest_px or longest <= longest_px:
        canvas = Canvas(
            image_width=frame.width,
            image_height=frame.height,
            page_width=frame.width,
            page_height=frame.height,
        )
        return Screen(image=as_png(frame.data), canvas=canvas, url=url)
    size = (max(1, frame.width * longest_px // longest), max(1, frame.height * longest_px // longest))
    out = io.BytesIO()
    with Image.open(io.BytesIO(frame.data)) as image:
        image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(out, "PNG")
    canvas = Canvas(
        image_width=size[0], image_height=size[1], page_width=frame.width, page_height=frame.height
    )
    return Screen(image=out.getvalue(), canvas=canvas, url=url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the answer counts them; -1 where it does not say."""

    input_tokens: int = -1
    output_tokens: int = -1
    cached_tokens: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyCheck:
    """A provider's warning that waits for a person."""

    check_id: str
    code: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.check_id, self.code, self.message) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A sound answer: actions to try in order, or the model's last word."""

    response_id: str
    call_id: str
    """Empty when nothing is asked for any more."""
    actions: tuple[Action, ...] = ()
    safety: tuple[SafetyCheck, ...] = ()
    said: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    raw: Any = field(default=None, repr=False)
    """What the protocol must repeat in its next request (content blocks)."""

    @property
    def final(self) -> bool:
        """The model has nothing more to do."""
        return not self.call_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """An answer that is not acted on; what it cost is known all the same (C6)."""

    refusal: Refusal
    usage: Usage = field(default_factory=Usage)
    response_id: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the next request tells the model about its last call."""

    screen: Screen
    note: str = ""
    """Why the rest of the batch was dropped, in words."""
    acknowledged: tuple[SafetyCheck, ...] = ()
    """Let pass by a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One HTTP POST."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    """The key is in here and nowhere else."""
    body: Mapping[str, Any] = field(repr=False)


class Dialect(Protocol):
    """One provider's protocol, with the history that its requests must repeat."""

    name: str
    model: str

    def path(self, base: str) -> str:
        """Where requests go."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """Headers with the key."""
        ...

    def opening(self, goal: str, screen: Screen) -> dict[str, Any]:
        """Body of the first request."""
        ...

    def answer(self, turn: Turn, reply: Reply) -> dict[str, Any]:
        """Body of the request that answers a call."""
        ...

    def read(self, body: bytes, canvas: Canvas) -> Turn | Declined:
        """An answer's bytes; never raises."""
        ...

    def usage_of(self, body: bytes) -> Usage:
        """What an answer of any status says about usage; never raises."""
        ...


def understand(
    dialect: Dialect, body: bytes, canvas: Canvas, talk: Talk, limits: Limits
) -> tuple[Turn, Talk] | Declined:
    """An answer, wholly judged: shape, ids, and every action of the batch, before the first of them runs (C2)."""
    turn = dialect.read(body, canvas)
    if isinstance(turn, Declined):
        return turn
    followed = follow(talk, response_id=turn.response_id, call_id=turn.call_id, limits=limits)
    refusal = followed if isinstance(followed, Refusal) else judge_batch(turn.actions, limits, canvas)
    if refusal is not None or isinstance(followed, Refusal):
        assert refusal is not None, "a refused id is a refusal"  # noqa: S101 - invariant, stays on
        return Declined(
            refusal=refusal, usage=turn.usage, response_id=turn.response_id[: limits.max_id], model=turn.model
        )
    return turn, followed
