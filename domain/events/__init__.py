"""The vocabulary of the record: every fact there is, as one closed union.

A new event is one class in one of these modules and one line in ``Event``; ``tests/domain`` fails when the
registry and the union differ, and mypy when ``evolve`` forgets it.
"""

from __future__ import annotations

from domain.events.access import EvidenceOpened
from domain.events.action import (
    ActionAttempted,
    ActionBlocked,
    ActionExecuted,
    ActionFailed,
    ActionOutcomeUnknown,
    ActionProposed,
    GuardJudged,
)
from domain.events.approval import ApprovalDenied, ApprovalGranted, ApprovalLapsed, ApprovalRequested
from domain.events.base import all_names, fact, name_of, type_of
from domain.events.case import (
    CaseConcluded,
    CaseNoted,
    CaseOpened,
    CaseReopened,
    CaseSignedOff,
)
from domain.events.evidence import (
    BillListFetched,
    ObservationRecorded,
    ReadbackConfirmed,
    ReadbackInconclusive,
    ReadbackMismatched,
    SettlementImported,
    TraceAttached,
)
from domain.events.model import ModelRequested, ModelResponded, SafetyAcknowledged
from domain.events.privacy import (
    CommitmentsRecorded,
    DataDeleted,
    DeletionOrdered,
    HoldPlaced,
    HoldReleased,
    RedactionApproved,
    RedactionDenied,
    RedactionRequested,
)
from domain.events.recovery import (
    CompensationConfirmed,
    CompensationFailed,
    CompensationRegistered,
    CompensationStarted,
    TakeoverClaimed,
    TakeoverRequested,
    TakeoverResolved,
)
from domain.events.run import AlertRaised, RunEscalated, RunFinished, RunResumed, RunStarted
from domain.events.target import TargetAccepted
from domain.events.task import (
    TaskClaimDenied,
    TaskClaimed,
    TaskClaimReleased,
    TaskDeclaredDone,
    TaskFailed,
    TaskOpened,
    TaskRefused,
    TaskReopened,
    TaskSealed,
    TaskSucceeded,
)

TaskEvent = (
    TaskOpened
    | TaskRefused
    | TaskClaimed
    | TaskClaimDenied
    | TaskClaimReleased
    | TaskDeclaredDone
    | TaskSucceeded
    | TaskFailed
    | TaskReopened
    | TaskSealed
    | ActionProposed
    | GuardJudged
    | ActionBlocked
    | ActionAttempted
    | ActionExecuted
    | ActionFailed
    | ActionOutcomeUnknown
    | ApprovalRequested
    | ApprovalGranted
    | ApprovalDenied
    | ApprovalLapsed
    | ObservationRecorded
    | TraceAttached
    | ReadbackConfirmed
    | ReadbackMismatched
    | ReadbackInconclusive
    | CompensationRegistered
    | CompensationStarted
    | CompensationConfirmed
    | CompensationFailed
    | TakeoverRequested
    | TakeoverClaimed
    | TakeoverResolved
    | AlertRaised
    | ModelRequested
    | ModelResponded
    | SafetyAcknowledged
)
"""What a task's stream may hold."""

RunEvent = RunStarted | RunResumed | RunFinished | RunEscalated | AlertRaised | BillListFetched
"""What a run's stream may hold."""

CaseEvent = CaseOpened | CaseConcluded | CaseNoted | CaseSignedOff | CaseReopened
"""What a case's stream may hold."""

PrivacyEvent = (
    CommitmentsRecorded
    | RedactionRequested
    | RedactionApproved
    | RedactionDenied
    | HoldPlaced
    | HoldReleased
    | DeletionOrdered
    | DataDeleted
)
"""What streams about withholding, holding and deleting may hold."""

Event = TaskEvent | RunEvent | SettlementImported | EvidenceOpened | TargetAccepted | CaseEvent | PrivacyEvent
"""Every fact that this release can write."""

__all__ = [
    "ActionAttempted",
    "ActionBlocked",
    "ActionExecuted",
    "ActionFailed",
    "ActionOutcomeUnknown",
    "ActionProposed",
    "AlertRaised",
    "ApprovalDenied",
    "ApprovalGranted",
    "ApprovalLapsed",
    "ApprovalRequested",
    "BillListFetched",
    "CaseConcluded",
    "CaseEvent",
    "CaseNoted",
    "CaseOpened",
    "CaseReopened",
    "CaseSignedOff",
    "CommitmentsRecorded",
    "CompensationConfirmed",
    "CompensationFailed",
    "CompensationRegistered",
    "CompensationStarted",
    "DataDeleted",
    "DeletionOrdered",
    "Event",
    "EvidenceOpened",
    "GuardJudged",
    "HoldPlaced",
    "HoldReleased",
    "ModelRequested",
    "ModelResponded",
    "ObservationRecorded",
    "PrivacyEvent",
    "ReadbackConfirmed",
    "ReadbackInconclusive",
    "ReadbackMismatched",
    "RedactionApproved",
    "RedactionDenied",
    "RedactionRequested",
    "RunEscalated",
    "RunEvent",
    "RunFinished",
    "RunResumed",
    "RunStarted",
    "SafetyAcknowledged",
    "SettlementImported",
    "TakeoverClaimed",
    "TakeoverRequested",
    "TakeoverResolved",
    "TargetAccepted",
    "TaskClaimDenied",
    "TaskClaimReleased",
    "TaskClaimed",
    "TaskDeclaredDone",
    "TaskEvent",
    "TaskFailed",
    "TaskOpened",
    "TaskRefused",
    "TaskReopened",
    "TaskSealed",
    "TaskSucceeded",
    "TraceAttached",
    "all_names",
    "fact",
    "name_of",
    "type_of",
]
