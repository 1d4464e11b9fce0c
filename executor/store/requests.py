"""What one append asks of the database, and what it gets back; the same for both databases."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from domain.errors import ClaimTaken, CommandRefused, VersionConflict


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One event on its way in: its place, its name, its bytes."""

    stream: str
    version: int
    event_id: str
    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A business effect to be taken together with the events."""

    effect_key: str
    stream: str
    principal: str
    event_id: str
    """The event that says so."""


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A business effect to be given back together with the events."""

    effect_key: str
    stream: str
    event_id: str


class Request(msgspec.Struct, frozen=True, gc=False):
    """Events of one tenant, all or nothing."""

    tenant: str
    entries: tuple[Entry, ...]
    claim: ClaimRequest | None = None
    release: ReleaseRequest | None = None
    tracking: tuple[str, int] | None = None
    """Consumer and position that move forwards in the same transaction (``eventsourcing``'s process recorder)."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """Where the events of a request stand, and the log with them."""

    first_position: int
    last_position: int
    recorded_at_us: int
    frontier: bytes
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule that the request broke, as the database found it; ``error`` turns it into the domain's word."""

    rule: str
    """``version``, ``claim``, ``release``, ``tracking`` or ``event_id``."""
    subject: str
    """Stream, effect key or event id."""
    expected: int = 0
    found: int = 0
    holder_stream: str = ""
    holder_principal: str = ""
    since_us: int = 0

    def error(self) -> CommandRefused:
        """The exception that callers see."""
        match self.rule:
            case "version":
                return VersionConflict(self.subject, expected=self.expected, found=self.found)
            case "claim":
                return ClaimTaken(
                    self.subject,
                    holder_stream=self.holder_stream,
                    holder_principal=self.holder_principal,
                    since_us=self.since_us,
                )
            case "release":
                return CommandRefused(
                    "not_the_holder",
                    f"effect {self.subject} is not claimed by this stream"
                    + (f" but by {self.holder_stream}" if self.holder_stream else ""),
                    remedy="only the task that holds a claim gives it back",
                )
            case "tracking":
                return CommandRefused("tracked_already", f"{self.subject} is not behind {self.expected}")
            case _:
                return CommandRefused(
                    "event_id_reused",
                    f"event id {self.subject} is taken by another event",
                    remedy="give each event an id of its own; only the same bytes may be sent again",
                )


class Refused(Exception):
    """Carries a refusal out of a transaction, so that it is rolled back."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.rule)
