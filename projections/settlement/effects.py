"""What a month end needs of the record, kept as it grows, so that the month end need not read the record again.

Three stored views (``MONTH_VIEWS``): each task's effect in one line, the tasks of each bill, and where runs begin and
end with the accounts they were seen under. They conclude nothing that ``expected`` or the rules conclude: an effect is
``plain`` only where the record leads to one ordinary expected line whatever else is on record; everything else is odd
and is judged from its events. ``at_scale`` puts both together.

Rules enforced here:

* Doubt makes odd: refused, approved, objected, refuted, undone, resolved by a person, unknown, or with a gap.
* A plain effect has the basis that ``expected.basis_of`` gives it (a property test compares whole months).
* Words of requests that may be another bill's number put a task among those that are asked about at every month end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from domain import events as e
from domain.envelope import Recorded
from domain.idempotency import effect_key
from domain.ids import ActionId
from domain.values import Intent
from projections.fold import FoldedSingly, Partitioned, Row
from projections.settlement.casefile import ReadbackFact, bill_key, refused_by_target
from projections.views.common import own_task

ASTRAY: Final = "astray"
"""Group of the tasks whose requests name something that could be another bill."""
BLOCK: Final = 1 << 16
"""Positions of one block: plain effects are read a block at a time, and a block that is past only loses some."""
MAX_BILL: Final = 40
"""Characters of a bill number that is compared in bulk; longer ones are looked at one by one."""
_WORD = re.compile(r"[0-9A-Z_-]+")
_QUIET = re.compile(r"[^0-9]+|[1-5][0-9][0-9]")
"""Words that are in every request: of a path without digits, or an HTTP status."""


def quiet(word: str) -> bool:
    """True for a word that says nothing about which bill a request was for, unless a bill is really called that."""
    return _QUIET.fullmatch(word) is not None


def odd_group(month: str) -> str:
    """Group of the month's tasks that are judged from their events."""
    return f"{month} odd"


def plain_group(month: str, block: int) -> str:
    """Group of the month's plain effects whose last event lies in a block of the log."""
    return f"{month}#{block:09d}"


def block_of(position: int) -> int:
    """Block of ``BLOCK`` positions in which a position lies."""
    return (position - 1) // BLOCK


class Effect(Row, frozen=True, array_like=True):
    """A task as the month end sees it; bill, amount and tail are what a line of the file is compared with."""

    bill: str = ""
    """Bill number for comparison; empty while the opening was not read."""
    amount_minor: int = 0
    """As wanted, unsigned by the vendor's rule."""
    tail: str = ""
    """Action, currency and counterparty, joined by NUL: few distinct ones in a month."""
    bill_id: str = ""
    key: str = ""
    task: str = ""
    month: str = ""
    at_us: int = 0
    """When the opening was recorded."""
    version: int = 0
    position: int = 0
    """Of its last event."""
    odd: bool = False
    doubt: str = ""
    """Action that a guard objected to and of which it is not yet known that it was stopped."""
    stopped: tuple[str, ...] = ()
    """Actions that a guard objected to and that were stopped."""
    wrote: str = ""
    """First action of which a request left that was not refused."""
    torn: bool = False
    """True if there is a second outcome of that action."""
    confirmed: bool = False
    others: tuple[str, ...] = ()
    """Words of requests and of what guards found that could be another bill's number."""

    @property
    def plain(self) -> bool:
        """True if one ordinary line is expected."""
        wrote = bool(self.wrote) and not self.torn
        return not self.odd and not self.doubt and (self.confirmed or wrote)


class Effects(FoldedSingly[Effect]):
    """Fold of a task into ``Effect``; grouped by month and block (plain ones), month and ``odd``, or ``astray``."""

    name = "month_effects"
    version = 1
    row_type = Effect

    key = staticmethod(own_task)
    """The task in whose stream the event stands."""

    def group(self, view: Effect) -> str:
        """See the class; empty while the opening was not read."""
        if view.others:
            return ASTRAY
        if not view.bill and not view.month:
            return ""
        return plain_group(view.month, block_of(view.position)) if view.plain else odd_group(view.month)

    def initial(self) -> Effect:
        """Nothing was read."""
        return Effect()

    def apply(self, view: Effect, recorded: Recorded) -> Effect:
        """Effect after one more event of the task."""
        event, version = recorded.event, recorded.row.version
        if not view.task:
            if isinstance(event, e.TaskOpened | e.TaskRefused):
                return _opened(recorded, event, event.intent)
            return view  # a task whose opening was not read can't be said to be about any bill
        position = recorded.row.position
        odd = view.odd or version != view.version + 1
        view = replace(view, version=version, position=position, odd=odd)
        match event:
            case e.ActionExecuted():
                return _executed(view, event)
            case e.GuardJudged():
                return view if event.verdict == "pass" else _objected(view, event)
            case e.ActionBlocked() | e.ActionFailed():
                return _stopped(view, event.action_id)
            case e.ReadbackConfirmed() | e.ReadbackMismatched() | e.ReadbackInconclusive():
                return _read_back(view, event)
            case (
                e.ActionOutcomeUnknown()
                | e.ApprovalRequested()
                | e.ApprovalGranted()
                | e.ApprovalDenied()
                | e.ApprovalLapsed()
                | e.CompensationStarted()
                | e.CompensationConfirmed()
                | e.CompensationFailed()
                | e.TakeoverResolved()
                | e.TaskRefused()
                | e.TaskOpened()
            ):
                return replace(view, odd=True)
            case _:
                return view


def _opened(recorded: Recorded, event: e.TaskOpened | e.TaskRefused, intent: Intent) -> Effect:
    key = event.effect_key if isinstance(event, e.TaskOpened) else ""
    bill = bill_key(intent.bill_id)
    return Effect(
        bill=bill,
        amount_minor=intent.amount_minor,
        tail=f"{intent.action}\0{intent.currency}\0{intent.counterparty}",
        bill_id=intent.bill_id,
        key=key,
        task=own_task(recorded) or "",
        month=intent.month,
        at_us=recorded.row.recorded_at_us,
        version=recorded.row.version,
        position=recorded.row.position,
        odd=recorded.row.version != 1
        or not key
        or key != effect_key(recorded.row.tenant, intent)
        or len(bill) > MAX_BILL
        or "\0" in intent.bill_id + intent.action + intent.currency + intent.counterparty,
    )


def _executed(view: Effect, event: e.ActionExecuted) -> Effect:
    action = event.action_id
    odd = view.odd or action in view.stopped  # an objection that stands is doubt enough
    wrote = view.wrote
    if not wrote and event.requests and not all(map(refused_by_target, event.requests)):
        wrote = action
    torn = view.torn or view.wrote == action
    return replace(view, odd=odd, wrote=wrote, torn=torn, others=_others(view, _texts(event)))


def _stopped(view: Effect, action: ActionId) -> Effect:
    if view.doubt == action:
        view = replace(view, doubt="", stopped=(*view.stopped, action))
    return replace(view, torn=True) if view.wrote == action else view


def _objected(view: Effect, event: e.GuardJudged) -> Effect:
    other = view.doubt not in {"", event.action_id}
    return replace(view, odd=view.odd or other, doubt=event.action_id, others=_others(view, _texts(event)))


def _others(view: Effect, texts: Iterable[str]) -> tuple[str, ...]:
    words = {word for word in _words(texts) if not quiet(word)}
    words.discard(view.bill)
    return view.others if words <= set(view.others) else tuple(sorted(words.union(view.others)))


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(bill_key(text))}


def _texts(event: e.Event) -> Iterable[str]:
    """Where a fact may name a bill that it was not meant for."""
    match event:
        case e.ActionExecuted():
            return event.requests
        case e.GuardJudged() if event.verdict != "pass":
            return [check.found for check in event.checks if check.decisive]
        case _:
            return ()


def _read_back(view: Effect, event: ReadbackFact) -> Effect:
    if event.source == "settlement_file":
        return view  # the file is no witness about itself
    if event.phase == "compensation" or isinstance(event, e.ReadbackMismatched):
        return replace(view, odd=True)
    return replace(view, confirmed=True) if isinstance(event, e.ReadbackConfirmed) else view


class BillTask(Row, frozen=True, array_like=True):
    """A task and its bill."""

    task: str = ""
    bill: str = ""


class BillTasks(FoldedSingly[BillTask]):
    """Tasks by bill, whatever their month; grouped by the bill's number for comparison."""

    name = "bill_tasks"
    version = 1
    row_type = BillTask
    by_place = False
    facts = frozenset({e.TaskOpened, e.TaskRefused})

    def key(self, recorded: Recorded) -> str | None:
        """The task that an opening opens."""
        opening = isinstance(recorded.event, e.TaskOpened | e.TaskRefused)
        return own_task(recorded) if opening else None

    def group(self, view: BillTask) -> str:
        """The bill."""
        return view.bill

    def initial(self) -> BillTask:
        """No task."""
        return BillTask()

    def apply(self, view: BillTask, recorded: Recorded) -> BillTask:
        """The first opening counts."""
        event = recorded.event
        if view.task or not isinstance(event, e.TaskOpened | e.TaskRefused):
            return view
        return BillTask(task=own_task(recorded) or "", bill=bill_key(event.intent.bill_id))


class RunEnds(Row, frozen=True):
    """Where a run's record begins and ends, and under which accounts its principals were seen."""

    run_id: str = ""
    first: int = 0
    started: int = 0
    """Position of the beginning; 0: none was read."""
    ended: int = 0
    """Position of the end; 0: none, or the run was resumed."""
    last: int = 0
    accounts: tuple[tuple[str, str], ...] = ()
    """Account at the target and principal, sorted."""
    quiet: tuple[str, ...] = ()
    """Words of requests that say nothing about a bill, unless one is called so; sorted."""


class RunsSeen(FoldedSingly[RunEnds]):
    """Fold into ``RunEnds``; events of no run share one row."""

    name = "runs_seen"
    version = 1
    row_type = RunEnds
    by_place = False

    def key(self, recorded: Recorded) -> str | None:
        """The run; ``-`` for what belongs to none and names an account or a request."""
        return recorded.envelope.run_id or (
            "-" if _account(recorded.event) or _texts(recorded.event) else None
        )

    def group(self, view: RunEnds) -> str:
        """All together."""
        del view
        return ""

    def initial(self) -> RunEnds:
        """Nothing was read."""
        return RunEnds()

    def apply(self, view: RunEnds, recorded: Recorded) -> RunEnds:
        """Row after one more event of the run."""
        event, position = recorded.event, recorded.row.position
        run_id = recorded.envelope.run_id
        if run_id is not None:
            view = replace(view, run_id=run_id, first=view.first or position, last=position)
        account = _account(event)
        seen = (account, str(recorded.envelope.principal))
        if account and seen not in view.accounts:
            view = replace(view, accounts=tuple(sorted((*view.accounts, seen))))
        if texts := _texts(event):
            view = _with_quiet(view, texts)
        match event:
            case e.RunStarted():
                return replace(view, started=position)
            case e.RunResumed():
                return replace(view, ended=0)
            case e.RunFinished() | e.RunEscalated():
                return replace(view, ended=position)
            case _:
                return view


def _with_quiet(view: RunEnds, texts: Iterable[str]) -> RunEnds:
    new = {word for word in _words(texts) if quiet(word)}.difference(view.quiet)
    return replace(view, quiet=tuple(sorted(new.union(view.quiet)))) if new else view


def _account(event: e.Event) -> str:
    match event:
        case (
            e.ObservationRecorded()
            | e.ReadbackConfirmed()
            | e.ReadbackMismatched()
            | e.ReadbackInconclusive()
            | e.BillListFetched()
        ):
            return event.account
        case _:
            return ""


MONTH_VIEWS: tuple[Partitioned[Any], ...] = (Effects(), BillTasks(), RunsSeen())
"""What ``at_scale`` reads; caught up by it, beside the desk's views."""
