"""Targets out of a sampled canary period, never out of a guess (B13).

Rules enforced here:

* The sample is drawn by hash: a task is in it when SHA-256 over seed, NUL and task id, as a number, leaves less than
  the share modulo 1000. Whoever has the record, the seed and the share draws the same sample; nobody can pick tasks.
* What is proposed is the end of the 95 % interval that claims least: the upper one for rates that should be low, the
  lower one for those that should be high. Small samples therefore propose modest targets.
* Under ``CANARY_ENOUGH`` trials nothing is proposed.
* Proposing changes nothing. A target holds when a person has accepted it, which is an event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from domain import events as e
from domain.errors import ConfigError
from domain.events.target import TargetMetric
from domain.ids import PrincipalId
from projections.views.metrics import NAMES, Metric, metric_of, select, trials_of
from projections.views.tallies import Tally

CANARY_ENOUGH = 30
"""Trials in the sample below which no target is proposed."""
WHOLE = 1000
"""Share that draws every task."""
PERSON = "person:"

Direction = Literal["at_most", "at_least"]
DIRECTIONS: dict[TargetMetric, Direction] = {
    "mis_operation": "at_most",
    "completion": "at_least",
    "takeover": "at_most",
    "rollback": "at_least",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What is sampled."""

    since_us: int
    """Microseconds since 1970 (UTC)."""
    until_us: int
    """Not included."""
    share_permille: int
    seed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A target for one metric, or why there is none."""

    metric: TargetMetric
    direction: Direction
    proposed_permille: int | None
    """None under ``CANARY_ENOUGH`` trials."""
    sample: Metric
    """The metric over the sampled tasks, with the events it counts."""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """A canary period and what it proposes."""

    canary: Canary
    eligible: int
    """Tasks opened in the period."""
    sampled: tuple[str, ...]
    """Tasks drawn, in order of opening."""
    through_position: int
    proposals: tuple[Proposal, ...]

    def of(self, metric: TargetMetric) -> Proposal:
        """The proposal for one metric."""
        return next(proposal for proposal in self.proposals if proposal.metric == metric)


def drawn(task_id: str, canary: Canary) -> bool:
    """Whether the sample holds a task."""
    digest = hashlib.sha256(f"{canary.seed}\0{task_id}".encode()).digest()
    return int.from_bytes(digest, "big") % WHOLE < canary.share_permille


def propose(tallies: Iterable[Tally], canary: Canary, *, through_position: int) -> Proposals:
    """Targets for the four metrics from the sampled tasks of a period.

    Args:
        tallies: rows of the view ``metrics``, all of the tenant.
        canary: period, share and seed.
        through_position: newest event that the rows know.

    Raises:
        ConfigError: the period is empty or backwards, or the share is no share.
    """
    if canary.until_us <= canary.since_us:
        raise ConfigError(
            "the canary period ends before it begins", remedy="give --since and --until in order"
        )
    if not 0 < canary.share_permille <= WHOLE:
        raise ConfigError(
            f"{canary.share_permille} per mille is no share of the tasks", remedy="give 1 to 1000"
        )
    everything = sorted((tally for tally in tallies if tally.opened), key=lambda tally: tally.opened)
    eligible = select(everything, since_us=canary.since_us, until_us=canary.until_us)
    sampled = [tally for tally in eligible if drawn(tally.task_id, canary)]
    trials = trials_of(sampled, everything)
    return Proposals(
        canary=canary,
        eligible=len(eligible),
        sampled=tuple(tally.task_id for tally in sampled),
        through_position=through_position,
        proposals=tuple(_proposal(name, metric_of(name, trials)) for name in NAMES),
    )


def _proposal(name: TargetMetric, sample: Metric) -> Proposal:
    direction, count = DIRECTIONS[name], len(sample.denominator)
    if sample.rate is None or count < CANARY_ENOUGH:
        note = f"not enough data ({count} of at least {CANARY_ENOUGH})"
        return Proposal(metric=name, direction=direction, proposed_permille=None, sample=sample, note=note)
    rate = sample.rate
    if direction == "at_most" and sample.worst is not None:
        rate = sample.worst  # what nobody decided counts against the target, not for it
    end = rate.high_permille if direction == "at_most" else rate.low_permille
    return Proposal(metric=name, direction=direction, proposed_permille=end, sample=sample, note="")


def acceptance(
    found: Proposals,
    metric: TargetMetric,
    *,
    by: PrincipalId,
    target_permille: int | None = None,
    note: str = "",
) -> e.TargetAccepted:
    """The fact that a person accepts a target; their own figure, or the proposed one.

    Args:
        found: what the sample proposed.
        metric: which.
        by: who accepts.
        target_permille: what is accepted instead of the proposal; a reason must be noted.
        note: the person's words.

    Raises:
        ConfigError: no person accepts, the sample is too small, or another figure comes without a reason.
    """
    proposal = found.of(metric)
    if not by.startswith(PERSON):
        raise ConfigError(f"{by} is no person who may accept a target", remedy=f"give --as {PERSON}<name>")
    if proposal.proposed_permille is None or proposal.sample.rate is None:
        raise ConfigError(f"no target for {metric}: {proposal.note}", remedy="sample a longer period")
    target = proposal.proposed_permille if target_permille is None else target_permille
    if not 0 <= target <= WHOLE:
        raise ConfigError(f"{target} per mille is no rate", remedy="give 0 to 1000")
    if target != proposal.proposed_permille and not note:
        raise ConfigError("another target than the sample proposes needs its reason", remedy="give --note")
    return e.TargetAccepted(
        metric=metric,
        direction=proposal.direction,
        target_permille=target,
        proposed_permille=proposal.proposed_permille,
        low_permille=proposal.sample.rate.low_permille,
        high_permille=proposal.sample.rate.high_permille,
        hits=len(proposal.sample.numerator),
        trials=len(proposal.sample.denominator),
        since_us=found.canary.since_us,
        until_us=found.canary.until_us,
        share_permille=found.canary.share_permille,
        seed=found.canary.seed,
        through_position=found.through_position,
        note=note,
    )
