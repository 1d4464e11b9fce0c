"""Commands of a task: imperative, each carrying the fact it wants recorded and what a decision needs beside it.

Times, ids and random values are in the command, never read while deciding. ``domain.task.decide`` says yes (facts) or
raises ``CommandRefused`` with the rule; a refused command records nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain import events as e
from domain.ids import PrincipalId


@dataclass(frozen=True, slots=True)
class Open:
    """Accept a piece of work."""

    fact: e.TaskOpened


@dataclass(frozen=True, slots=True)
class Refuse:
    """Turn it down at the router."""

    fact: e.TaskRefused


@dataclass(frozen=True, slots=True)
class Claim:
    """Take the business effect (the store decides who wins)."""

    fact: e.TaskClaimed


@dataclass(frozen=True, slots=True)
class DenyClaim:
    """Somebody else holds the effect."""

    fact: e.TaskClaimDenied


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Give the claim back and leave the task open: the world is gone, and nothing was attempted."""

    fact: e.TaskClaimReleased


@dataclass(frozen=True, slots=True)
class Observe:
    """Keep what the screen showed."""

    fact: e.ObservationRecorded


@dataclass(frozen=True, slots=True)
class Propose:
    """Plan one step."""

    fact: e.ActionProposed


@dataclass(frozen=True, slots=True)
class Judge:
    """Keep what the guards found."""

    fact: e.GuardJudged


@dataclass(frozen=True, slots=True)
class RequestApproval:
    """Ask another principal."""

    fact: e.ApprovalRequested


@dataclass(frozen=True, slots=True)
class Grant:
    """Allow the requested action, now."""

    fact: e.ApprovalGranted
    at_us: int


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the requested action."""

    fact: e.ApprovalDenied
    at_us: int


@dataclass(frozen=True, slots=True)
class Lapse:
    """Close a request that nobody answered in time."""

    fact: e.ApprovalLapsed
    at_us: int


@dataclass(frozen=True, slots=True)
class RegisterCompensation:
    """Write down the way back before the write."""

    fact: e.CompensationRegistered


@dataclass(frozen=True, slots=True)
class Attempt:
    """Make the attempt durable before touching the world."""

    fact: e.ActionAttempted
    at_us: int


@dataclass(frozen=True, slots=True)
class Report:
    """Say what came of the attempt."""

    fact: e.ActionExecuted | e.ActionBlocked | e.ActionFailed | e.ActionOutcomeUnknown


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Keep what an independent source shows."""

    fact: e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive


@dataclass(frozen=True, slots=True)
class DeclareDone:
    """Keep the claim of a wrapped, unguarded loop."""

    fact: e.TaskDeclaredDone


@dataclass(frozen=True, slots=True)
class Succeed:
    """End well; only after a confirming readback."""

    fact: e.TaskSucceeded


@dataclass(frozen=True, slots=True)
class Fail:
    """End without an effect outstanding; gives the claim back."""

    fact: e.TaskFailed


@dataclass(frozen=True, slots=True)
class Reopen:
    """A later readback disagrees."""

    fact: e.TaskReopened


@dataclass(frozen=True, slots=True)
class HandOver:
    """Give the task to a person."""

    fact: e.TakeoverRequested


@dataclass(frozen=True, slots=True)
class TakeOver:
    """A person takes the task."""

    fact: e.TakeoverClaimed


@dataclass(frozen=True, slots=True)
class Resolve:
    """The owner closes the takeover."""

    fact: e.TakeoverResolved


@dataclass(frozen=True, slots=True)
class Compensate:
    """Start undoing the effect."""

    fact: e.CompensationStarted


@dataclass(frozen=True, slots=True)
class ReportCompensation:
    """Say whether the state is back."""

    fact: e.CompensationConfirmed | e.CompensationFailed


@dataclass(frozen=True, slots=True)
class RaiseAlert:
    """Keep that a person was told."""

    fact: e.AlertRaised


@dataclass(frozen=True, slots=True)
class Attach:
    """Keep the browser's own trace with the task."""

    fact: e.TraceAttached


@dataclass(frozen=True, slots=True)
class Converse:
    """Keep what was said to a model, what it said, and who let its warning pass."""

    fact: e.ModelRequested | e.ModelResponded | e.SafetyAcknowledged


@dataclass(frozen=True, slots=True)
class Seal:
    """Close the stream with its count."""

    by: PrincipalId


Command = (
    Open
    | Refuse
    | Claim
    | DenyClaim
    | GiveBack
    | Observe
    | Propose
    | Judge
    | RequestApproval
    | Grant
    | Deny
    | Lapse
    | RegisterCompensation
    | Attempt
    | Report
    | ReadBack
    | DeclareDone
    | Succeed
    | Fail
    | Reopen
    | HandOver
    | TakeOver
    | Resolve
    | Compensate
    | ReportCompensation
    | RaiseAlert
    | Attach
    | Converse
    | Seal
)
