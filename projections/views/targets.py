"""Targets that people accepted for the four metrics, and how a period stands to them (B13).

Rules enforced here:

* The newest accepted target of a metric is the one that holds; earlier ones stay listed.
* A period meets a target, or misses it, only when its whole 95 % interval lies on one side; else it is ``open``.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from projections.fold import FoldedSingly, Row
from projections.views.interval import Rate

Standing = Literal["met", "missed", "open", "no_target"]


class Accepted(Row, frozen=True):
    """One acceptance."""

    position: int
    at_us: int
    """Clock of the appender, microseconds since 1970 (UTC)."""
    by: str
    fact: e.TargetAccepted


class TargetRow(Row, frozen=True):
    """Every target of one metric, in order of the log."""

    metric: str = ""
    accepted: tuple[Accepted, ...] = ()

    @property
    def holds(self) -> Accepted | None:
        """The target that holds now."""
        return self.accepted[-1] if self.accepted else None


class Targets(FoldedSingly[TargetRow]):
    """Fold into ``TargetRow``, by metric."""

    name = "targets"
    version = 1
    row_type = TargetRow
    by_place = False
    facts = frozenset({e.TargetAccepted})

    def key(self, recorded: Recorded) -> str | None:
        """The metric; None for every other fact."""
        event = recorded.event
        return event.metric if isinstance(event, e.TargetAccepted) else None

    def group(self, view: TargetRow) -> str:  # noqa: ARG002 - rows are few
        """All together."""
        return ""

    def initial(self) -> TargetRow:
        """No target."""
        return TargetRow()

    def apply(self, view: TargetRow, recorded: Recorded) -> TargetRow:
        """Row after one more acceptance."""
        event = recorded.event
        if not isinstance(event, e.TargetAccepted):
            return view
        one = Accepted(
            position=recorded.row.position,
            at_us=recorded.envelope.occurred_at_us,
            by=recorded.envelope.principal,
            fact=event,
        )
        return replace(view, metric=event.metric, accepted=(*view.accepted, one))


def standing(target: Accepted | None, rate: Rate | None) -> Standing:
    """How a rate stands to a target; ``open`` while the interval contains it or no rate is stated."""
    if target is None:
        return "no_target"
    if rate is None:
        return "open"
    at = target.fact.target_permille
    low, high = rate.low_permille, rate.high_permille
    if target.fact.direction == "at_least":
        return "met" if low >= at else "missed" if high < at else "open"
    return "met" if high <= at else "missed" if low > at else "open"
