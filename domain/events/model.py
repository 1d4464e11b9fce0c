"""Facts about the talk with a model: what was sent, what came back, its cost, who let a warning pass (C6, C9)."""

from __future__ import annotations

from typing import Literal

from domain.events.base import fact
from domain.ids import PrincipalId, Sha256


@fact("model.requested")
class ModelRequested:
    """A request is about to be sent; its screen is in the envelope. It is never sent again by itself."""

    provider: str
    model: str
    host: str
    """Host and port of the endpoint; never its key."""
    call: int
    """1 for the run's first request."""
    image_width: int
    """Pixels of the picture that was sent; points of the answer are in its space."""
    image_height: int
    page_width: int
    """Pixels of the page that the picture stands for."""
    page_height: int
    previous_response: str = ""
    """The response that this one follows."""
    answers: tuple[str, ...] = ()
    """Call ids that this request answers."""
    acknowledged: tuple[str, ...] = ()
    """Safety checks that a person let pass."""
    page_instructions: tuple[str, ...] = ()
    """Text on the page that speaks to the model; kept as evidence, it decides nothing."""


@fact("model.responded")
class ModelResponded:
    """What came of one request, failures and time-outs included."""

    provider: str
    model: str
    """As the answer names it; as it was asked for when it names none."""
    host: str
    call: int
    outcome: Literal["actions", "final", "refused", "failed", "timed_out"]
    status: int = 0
    """HTTP status; 0 when there was no answer."""
    response_id: str = ""
    call_ids: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    """Kinds in order, none of them tried yet."""
    said: str = ""
    """The model's own words; evidence, never a verdict."""
    safety: tuple[str, ...] = ()
    """Pending safety checks: ``id: code: message``."""
    reason: str = ""
    """Why it was refused or failed: field, value and rule, or the error's kind."""
    response: Sha256 | None = None
    """The answer's bytes with secrets removed."""
    input_tokens: int = -1
    """-1 where the answer does not say."""
    output_tokens: int = -1
    cached_tokens: int = -1
    cost_micros: int = -1
    """Millionths of the price list's currency; -1 without a price list or usage."""
    possibly_billed: bool = False
    """No usage came, and the provider may have counted it all the same (time-out, lost answer)."""
    latency_us: int = 0


@fact("safety.acknowledged")
class SafetyAcknowledged:
    """A person let this one safety check of a provider pass; nobody else and nothing else can."""

    provider: str
    call_id: str
    check_id: str
    code: str
    message: str
    by: PrincipalId
