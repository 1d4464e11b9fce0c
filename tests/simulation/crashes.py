"""A world that stops at a chosen moment: before or after any append to the record, and before or after any booking.

``Stopped`` derives from ``BaseException``: no product code catches it, as nothing catches a power cut. From then on the
dead process can neither append nor act, whatever its clean-up code tries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from domain.envelope import Draft, Recorded
from domain.ids import EffectKey, StreamId, TenantId
from domain.ports import ClaimInfo, EventLog, Receipt


class Stopped(BaseException):
    """The process is gone."""


@dataclass(slots=True)
class Fuse:
    """Counts moments and blows at one of them; never, when ``at`` is 0."""

    at: int = 0
    passed: int = 0
    blown: bool = False
    trace: list[str] = field(default_factory=list)

    def moment(self, name: str) -> None:
        """Something is about to happen, or has just happened."""
        if self.blown:
            raise Stopped(name)
        self.passed += 1
        self.trace.append(name)
        if self.passed == self.at:
            self.blown = True
            raise Stopped(name)


class StoppingLog:
    """The record as one process sees it until its fuse blows; implements ``domain.ports.EventLog``."""

    def __init__(self, log: EventLog, fuse: Fuse) -> None:
        self._log = log
        self._fuse = fuse

    def append(
        self, drafts: Sequence[Draft], *, claim: EffectKey | None = None, release: EffectKey | None = None
    ) -> Receipt:
        """Append, with a moment before it and one after it, when only the acknowledgement is lost."""
        name = ",".join(type(draft.event).__name__ for draft in drafts)
        self._fuse.moment(f"before {name}")
        receipt = self._log.append(drafts, claim=claim, release=release)
        self._fuse.moment(f"after {name}")
        return receipt

    def stream(self, tenant: TenantId, stream: StreamId, *, after: int = 0) -> Iterator[Recorded]:
        """Reading is free."""
        return self._log.stream(tenant, stream, after=after)

    def claim_of(self, tenant: TenantId, effect_key: EffectKey) -> ClaimInfo | None:
        """Reading is free."""
        return self._log.claim_of(tenant, effect_key)
