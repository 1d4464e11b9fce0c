"""What the record says about each task, sorted for the questions that the month end asks.

Rules: one pass over the tenant's events in order; nothing is concluded here; a stream with missing versions is marked
incomplete, because what was not seen can't be argued from. Which accounts at the target are ours is read from the
events that name them (observations and readbacks).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId, PrincipalId, RunId, TaskId, TenantId
from domain.state import TERMINAL, Status, fold
from domain.values import Intent
from projections.views.common import own_task

ReadbackFact = e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive
_KEPT = (
    e.TaskOpened
    | e.TaskRefused
    | e.TaskClaimed
    | e.TaskClaimDenied
    | e.TaskDeclaredDone
    | e.TaskSucceeded
    | e.TaskFailed
    | e.TaskReopened
    | e.ApprovalRequested
    | e.ApprovalGranted
    | e.ApprovalDenied
    | e.ApprovalLapsed
    | e.CompensationRegistered
    | e.CompensationStarted
    | e.CompensationConfirmed
    | e.CompensationFailed
    | e.TakeoverRequested
    | e.TakeoverResolved
    | ReadbackFact
)
_REFUSED = re.compile(r" 4[0-9][0-9]$")


def bill_key(text: str) -> str:
    """Bill number for comparison: width and case folded, nothing else."""
    return unicodedata.normalize("NFKC", text).strip().upper()


@dataclass(slots=True, kw_only=True)
class WriteAttempt:
    """One step that may have changed the business, with all that was recorded about it."""

    action_id: ActionId
    proposed: Recorded | None = None
    judged: list[Recorded] = field(default_factory=list)
    attempted: Recorded | None = None
    outcome: Recorded | None = None
    """Executed, blocked, failed or outcome unknown; None: the record stops at the attempt."""
    compensating: bool = False

    @property
    def executed(self) -> e.ActionExecuted | None:
        """The tool's report that it acted, if there is one."""
        fact = self.outcome.event if self.outcome else None
        return fact if isinstance(fact, e.ActionExecuted) else None

    @property
    def rejected(self) -> bool:
        """True if every request that left was refused by the target (4xx): it had no effect."""
        fact = self.executed
        return fact is not None and bool(fact.requests) and all(map(refused_by_target, fact.requests))

    @property
    def open(self) -> bool:
        """True if nobody knows whether it took effect."""
        return self.attempted is not None and (
            self.outcome is None or isinstance(self.outcome.event, e.ActionOutcomeUnknown)
        )

    @property
    def at(self) -> Recorded:
        """The event that stands for it in time: the attempt, else its outcome."""
        event = self.attempted or self.outcome
        assert event is not None, "an attempt is kept for its events"  # noqa: S101 - invariant, stays on
        return event

    def objections(self) -> Iterator[tuple[Recorded, e.GuardJudged]]:
        """Judgements that did not let it pass."""
        for recorded in self.judged:
            fact = recorded.event
            if isinstance(fact, e.GuardJudged) and fact.verdict != "pass":
                yield recorded, fact

    def wrote_to(self, bill: str) -> bool:
        """True if a request that left the browser names the bill."""
        fact = self.executed
        return fact is not None and any(names_bill(request, bill) for request in fact.requests)


def refused_by_target(request: str) -> bool:
    """True if the request was answered with a 4xx: it had no effect."""
    return _REFUSED.search(request) is not None


def names_bill(text: str, bill: str) -> bool:
    """True if ``text`` holds the bill number as a whole word."""
    pattern = rf"(?<![0-9A-Za-z_-]){re.escape(bill_key(bill))}(?![0-9A-Za-z_-])"
    return bool(bill) and re.search(pattern, bill_key(text)) is not None


@dataclass(slots=True, kw_only=True)
class TaskCase:
    """Everything kept about one task."""

    task_id: TaskId
    intent: Intent
    first: Recorded
    run_id: RunId | None = None
    principal: PrincipalId
    """Who acted in it: the identity that appended its first event."""
    compensating: bool = False
    """True between the order to undo and its end."""
    history: list[e.Event] = field(default_factory=list)
    """Facts that its status depends on; what was merely seen or judged in between does not end a task."""
    kept: list[Recorded] = field(default_factory=list)
    attempts: dict[ActionId, WriteAttempt] = field(default_factory=dict)
    """Write attempts by action, in order."""
    last: Recorded
    gaps: bool = False
    """True if versions of its stream are missing from what was read."""
    skew_us: int = 0
    """Largest distance between the appender's and the store's clock."""

    def facts(self, *kinds: type) -> list[Recorded]:
        """Kept events of these kinds, in order."""
        return [recorded for recorded in self.kept if isinstance(recorded.event, kinds)]

    def fact(self, *kinds: type) -> Recorded | None:
        """The last of them."""
        found = self.facts(*kinds)
        return found[-1] if found else None

    def writes(self, *, compensating: bool = False) -> list[WriteAttempt]:
        """Write attempts of the task itself, or of its undoing, that reached the world or may have."""
        return [
            a
            for a in self.attempts.values()
            if a.compensating is compensating and (a.open or (a.executed is not None and not a.rejected))
        ]

    def readbacks(self, *, compensating: bool = False) -> list[Recorded]:
        """Readbacks about the effect, or about its undoing, in order.

        What was read from a settlement file is left out: the file is what is being judged, not a witness about itself.
        """
        found = []
        for recorded in self.kept:
            fact = recorded.event
            if not isinstance(fact, ReadbackFact) or fact.source == "settlement_file":
                continue
            if (fact.phase == "compensation") is compensating:
                found.append(recorded)
        return found

    @property
    def status(self) -> Status:
        """Where the task stands; folded when it is asked for, since most tasks of a month never are."""
        return fold(self.history).status

    @property
    def ended(self) -> bool:
        """True if the executor had nothing more to do."""
        return self.status in TERMINAL


@dataclass(slots=True, kw_only=True)
class RunCase:
    """Beginning and end of a run."""

    run_id: RunId
    started: Recorded | None = None
    ended: Recorded | None = None
    """Finished or escalated, whichever came last; None: the record of the run has no end."""
    last: Recorded | None = None


@dataclass(slots=True, kw_only=True)
class Casebook:
    """The tenant's record, sorted."""

    tenant: TenantId
    tasks: dict[TaskId, TaskCase] = field(default_factory=dict)
    runs: Mapping[RunId, RunCase] = field(default_factory=dict)
    accounts: dict[str, set[PrincipalId]] = field(default_factory=dict)
    """Account at the target → principals that were seen using it."""
    by_bill: dict[str, list[TaskCase]] = field(default_factory=dict)
    events: int = 0
    whole: bool = True
    """True if the positions of the tenant's log ran from 1 without a gap in what was read."""

    def of_bill(self, bill: str) -> list[TaskCase]:
        """Tasks about a bill in order of the record."""
        return self.by_bill.get(bill_key(bill), [])


def sort_record(events: Iterable[Recorded], tenant: TenantId) -> Casebook:
    """Read the events of one tenant once; those of others are left out."""
    runs: dict[RunId, RunCase] = {}
    book = Casebook(tenant=tenant, runs=runs)
    next_version: dict[TaskId, int] = {}
    for recorded in events:
        if recorded.envelope.tenant != tenant:
            continue
        book.events += 1
        book.whole = book.whole and recorded.row.position == book.events
        _note_run(runs, recorded)
        _note_account(book, recorded)
        task_id = own_task(recorded)
        if task_id is None:
            continue
        case = book.tasks.get(task_id) or _open_case(book, task_id, recorded)
        if case is None:
            continue
        if recorded.row.version != next_version.get(task_id, 1):
            case.gaps = True
        next_version[task_id] = recorded.row.version + 1
        _note(case, recorded)
    return book


def _open_case(book: Casebook, task_id: TaskId, recorded: Recorded) -> TaskCase | None:
    fact = recorded.event
    if not isinstance(fact, e.TaskOpened | e.TaskRefused):
        return None  # a task whose opening was not read can't be said to be about any bill
    case = TaskCase(
        task_id=task_id,
        intent=fact.intent,
        first=recorded,
        last=recorded,
        run_id=recorded.envelope.run_id,
        principal=recorded.envelope.principal,
    )
    book.tasks[task_id] = case
    book.by_bill.setdefault(bill_key(fact.intent.bill_id), []).append(case)
    return case


def _note(case: TaskCase, recorded: Recorded) -> None:
    fact = recorded.event
    case.last = recorded
    case.skew_us = max(case.skew_us, abs(recorded.row.recorded_at_us - recorded.envelope.occurred_at_us))
    if isinstance(fact, e.ObservationRecorded):
        return
    if not isinstance(fact, e.GuardJudged):
        case.history.append(fact)
    if isinstance(fact, _KEPT):
        case.kept.append(recorded)
        if isinstance(fact, e.CompensationStarted):
            case.compensating = True
        elif isinstance(fact, e.CompensationConfirmed | e.CompensationFailed):
            case.compensating = False
    else:
        _note_step(case, recorded)


def _note_step(case: TaskCase, recorded: Recorded) -> None:
    fact = recorded.event
    match fact:
        case e.ActionProposed():
            if fact.writes:
                _attempt(case, fact.action_id).proposed = recorded
        case e.GuardJudged():
            if judged := case.attempts.get(fact.action_id):
                judged.judged.append(recorded)
        case e.ActionAttempted():
            if fact.writes or fact.action_id in case.attempts:
                _attempt(case, fact.action_id).attempted = recorded
        case e.ActionExecuted():
            if fact.action_id in case.attempts or fact.requests:
                # A wrapped loop may not know which click writes; a request that left says so.
                _attempt(case, fact.action_id).outcome = recorded
        case e.ActionBlocked() | e.ActionFailed() | e.ActionOutcomeUnknown():
            if ended := case.attempts.get(fact.action_id):
                ended.outcome = recorded
        case _:
            return


def _attempt(case: TaskCase, action_id: ActionId) -> WriteAttempt:
    made = WriteAttempt(action_id=action_id, compensating=case.compensating)
    return case.attempts.setdefault(action_id, made)


def _note_run(runs: dict[RunId, RunCase], recorded: Recorded) -> None:
    run_id = recorded.envelope.run_id
    if run_id is None:
        return
    run = runs.setdefault(run_id, RunCase(run_id=run_id))
    run.last = recorded
    match recorded.event:
        case e.RunStarted():
            run.started = recorded
        case e.RunResumed():
            run.ended = None
        case e.RunFinished() | e.RunEscalated():
            run.ended = recorded
        case _:
            return


def _note_account(book: Casebook, recorded: Recorded) -> None:
    match recorded.event:
        case (
            e.ObservationRecorded()
            | e.ReadbackConfirmed()
            | e.ReadbackMismatched()
            | e.ReadbackInconclusive()
        ):
            account = recorded.event.account
        case e.BillListFetched():
            account = recorded.event.account
        case _:
            return
    if account:
        book.accounts.setdefault(account, set()).add(recorded.envelope.principal)
