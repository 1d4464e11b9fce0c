"""The closed taxonomy of causes, and what a finding about a break consists of.

Rules: every break has at least one finding; amounts attributed and the residual sum to the break, asserted; only
``proven`` and ``supported`` findings attribute an amount; ``proven`` needs a verified, gapless chain and a record
from outside the executor (settlement line or independent readback); the residual is never called external (X2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from domain.ids import PrincipalId

Cause = Literal[
    "settlement_file_error",
    "missing_evidence",
    "clock_skew",
    "delayed_posting",
    "cross_tenant_or_over_authority",
    "approval_missing_or_late",
    "duplicate_across_tasks",
    "partial_batch",
    "stale_frame_wrong_target",
    "false_success",
    "amount_mismatch",
    "compensation_failed_or_not_reflected",
    "settlement_omission",
    "external_change",
    "manual_actor_in_shared_session",
]
"""In the order of the rules: file, completeness, clock, authority, duplicates, execution, compensation, outside."""
CAUSES: tuple[Cause, ...] = get_args(Cause)
CauseVerdict = Literal["proven", "supported", "undecidable"]
Party = Literal["executor", "target_system", "settlement_issuer", "person", "unknown"]
"""Which side of the business caused it; ``executor`` alone comes with principals of ours."""
BreakKind = Literal[
    "missing_in_file",
    "extra_in_file",
    "duplicate_in_file",
    "amount_mismatch",
    "status_mismatch",
    "unmatched_counterparty",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that a statement rests on, with its place."""

    kind: Literal["event", "line", "refused_row", "file"]
    sentence: str
    position: int = 0
    """Position of the event in the tenant's log."""
    event_id: str = ""
    name: str = ""
    task_id: str = ""
    run_id: str = ""
    frames: tuple[str, ...] = ()
    """SHA-256 of the screens that belong to it."""
    line: int = 0
    """Line of the settlement file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterEvidence:
    """What would speak against the finding, where it was looked for, and whether it is there."""

    looked_for: str
    where: str
    found: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause of a break."""

    cause: Cause
    verdict: CauseVerdict
    amount_minor: int
    """Signed part of the break that it explains; 0 when undecidable."""
    summary: str
    party: Party = "unknown"
    responsible: tuple[PrincipalId, ...] = ()
    """Principals of ours who caused it; empty unless the evidence names them."""
    reason: str = ""
    """Why it can't be decided: ``attempt_without_outcome``, ``shared_account``, …"""
    decisive: tuple[Evidence, ...] = field(default=())
    counter_evidence: tuple[CounterEvidence, ...] = field(default=())
