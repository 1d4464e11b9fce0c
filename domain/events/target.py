"""Facts about what the desk is measured against: targets that a person accepted (B13)."""

from __future__ import annotations

from typing import Literal

from domain.events.base import fact

TargetMetric = Literal["mis_operation", "completion", "takeover", "rollback"]
"""One of the four metrics; their definitions are in ``projections.views.metrics``."""


@fact("target.accepted")
class TargetAccepted:
    """A person accepts a target for a metric, on the ground of a sampled period; the envelope's principal is who.

    The sample can be drawn again from the record: period, share and seed are in here, the rule is in
    ``projections.canary``.
    """

    metric: TargetMetric
    direction: Literal["at_most", "at_least"]
    target_permille: int
    """What was accepted."""
    proposed_permille: int
    """What the sample proposed: the end of its interval that claims least."""
    low_permille: int
    """Wilson's interval of the sample at 95 %."""
    high_permille: int
    hits: int
    trials: int
    since_us: int
    """Begin of the sampled period, microseconds since 1970 (UTC)."""
    until_us: int
    """End of it, not included."""
    share_permille: int
    """Share of the period's tasks that the sample draws."""
    seed: str
    through_position: int
    """Newest event of the tenant's log that the sample was drawn from."""
    note: str = ""
