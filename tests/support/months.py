"""Months of business with injected causes: what the vendor did, what was recorded, what the file says, and the truth.

Every scenario plays one bill (or two) in the vendor's world first, writes down what an executor would have recorded of
it, and keeps beside it who really caused what; evidence may be withheld, and then the truth is that nobody can tell.
The rules under test are not used here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import replace as changed

from msgspec.structs import replace as changed_struct

from domain import events as e
from domain.envelope import Recorded
from domain.ids import PrincipalId
from domain.values import BusinessState, Check, Intent, Verdict
from projections.settlement.causes import BreakKind, Cause
from projections.settlement.lines import SettlementFile
from tests.support.events import SERVICE, Book, RunBook, TaskBook, frame, intent
from tests.support.settlement import FileLine, month_file

LOOPS = tuple(PrincipalId(f"svc:loop-{n}") for n in (1, 2, 3))
PEOPLE = ("wang.li", "zhao.min", "system")
OURS = "acme-bot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What really happened about one break."""

    bill: str
    kind: BreakKind
    cause: Cause
    decidable: bool = True
    to_blame: tuple[PrincipalId, ...] = ()
    amount_minor: int | None = None
    """Of the line, where one bill has several."""
    needs_file: bool = False
    """Only a file that adds up shows it: nothing in the record speaks of it."""
    scenario: str = ""


@dataclass(slots=True)
class Month:
    """One month being made."""

    random: random.Random
    book: Book = field(default_factory=Book)
    lines: list[FileLine] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)
    runs: dict[str, RunBook] = field(default_factory=dict)
    bills: int = 0
    tasks: int = 0
    late: set[str] = field(default_factory=set)
    """Tasks whose clocks disagree about the month."""
    undoing: set[str] = field(default_factory=set)
    """Bills on which an undoing is expected."""

    def bill(self) -> Intent:
        """A new bill with an amount of its own."""
        self.bills += 1
        return intent(f"CY202611-{self.bills:04d}", amount_minor=self.random.randrange(1_000, 900_000))

    def task(self, wanted: Intent, run: str = "guarded") -> TaskBook:
        """A new task in the guarded run or in a watched loop's."""
        mode: e.task.RunMode = "guarded" if run.startswith("guarded") else "record_only"
        if run not in self.runs:
            self.runs[run] = self.book.run(run, mode=mode)
        self.tasks += 1
        return self.runs[run].task(f"task-{self.tasks}", wanted, mode=mode)

    def pays(self, wanted: Intent, **changes: object) -> int:
        """The vendor books a line; returns its amount."""
        sign = -1 if wanted.action == "refund" else 1
        kind = "refund" if wanted.action == "refund" else "process"
        line = FileLine(bill=wanted.bill_id, amount_minor=sign * wanted.amount_minor, kind=kind)
        self.lines.append(changed(line, **changes))  # type: ignore[arg-type]
        return self.lines[-1].amount_minor

    def says(self, wanted: Intent, kind: BreakKind, cause: Cause, **more: object) -> None:
        """Keep the truth about a break."""
        self.truths.append(Truth(bill=wanted.bill_id, kind=kind, cause=cause, **more))  # type: ignore[arg-type]


Scenario = Callable[[Month, bool], None]
"""Plays itself into the month; True withholds the evidence that would decide."""


def guarded(month: Month, wanted: Intent, *, outcome: bool = True) -> TaskBook:
    """A guarded write up to the tool's report."""
    task = month.task(wanted)
    task.claim()
    task.register()
    task.observe(f"{task.task}-list")
    action = task.propose(on=f"{task.task}-list", writes=True)
    check = Check(guard="request", verdict="pass")
    task.add(
        e.GuardJudged(action_id=action, phase="request", verdict="pass", enforced=True, checks=(check,)),
        frames=[frame(f"{task.task}-click", "before")],
    )
    task.attempt(action)
    if outcome:
        request = f"POST /bills/{wanted.bill_id}/actions 200"
        task.add(
            e.ActionExecuted(action_id=action, latency_us=900, toast="操作成功", requests=(request,)),
            frames=[frame(f"{task.task}-after", "after")],
        )
    return task


def watched(
    month: Month,
    wanted: Intent,
    loop: PrincipalId,
    *,
    verdict: Verdict | None = "pass",
    guard: str = "gate",
    found: str = "",
    sent: str | None = "",
    outcome: bool = True,
    status: int = 200,
) -> TaskBook:
    """A wrapped loop's write: what the guard would have said, and what left (``sent`` None: not recorded)."""
    task = month.task(wanted, run=str(loop))
    task.observe(f"{task.task}-list")
    action = task.propose(on=f"{task.task}-list", writes=True)
    if verdict is not None:
        check = Check(guard=guard, verdict=verdict, expected=wanted.bill_id if found else "", found=found)
        task.add(
            e.GuardJudged(action_id=action, phase="event", verdict=verdict, enforced=False, checks=(check,)),
            frames=[frame(f"{task.task}-click", "before")],
            principal=loop,
        )
    task.add(e.ActionAttempted(action_id=action, writes=True, effect_key=task.key), principal=loop)
    if outcome:
        requests = () if sent is None else (f"POST /bills/{sent or wanted.bill_id}/actions {status}",)
        task.add(
            e.ActionExecuted(action_id=action, latency_us=900, toast="操作成功", requests=requests),
            frames=[frame(f"{task.task}-after", "after")],
            principal=loop,
        )
        task.add(e.TaskDeclaredDone(claim="done"), principal=loop)
    return task


def state(wanted: Intent, status: str, *, lines: int = 1, actor: str = OURS) -> BusinessState:
    """The bill as the vendor shows it."""
    return BusinessState(
        bill_id=wanted.bill_id,
        status=status,
        amount_minor=wanted.amount_minor,
        currency=wanted.currency,
        counterparty=wanted.counterparty,
        month=wanted.month,
        history_length=lines,
        ledger_lines=lines,
        last_actor=actor,
    )


def read_back(
    task: TaskBook,
    status: str,
    *,
    phase: e.evidence.ReadbackPhase = "first",
    lines: int = 1,
    actor: str = OURS,
    expected: str = "",
) -> None:
    """An independent source is asked and says what it shows."""
    want, found = (
        expected or task.intent.expected_status,
        state(task.intent, status, lines=lines, actor=actor),
    )
    if status == want and lines <= 1:
        task.add(
            e.ReadbackConfirmed(
                source="api", phase=phase, account="acme-reader", expected_status=want, found=found
            )
        )
        return
    task.add(
        e.ReadbackMismatched(
            source="api",
            phase=phase,
            account="acme-reader",
            expected_status=want,
            found=found,
            differences={"status": f"{want} → {status}"},
        )
    )


def done(month: Month, wanted: Intent) -> TaskBook:
    """A guarded write that went well, in record and file."""
    task = guarded(month, wanted)
    read_back(task, wanted.expected_status)
    task.succeed()
    month.pays(wanted)
    return task


def refuted(month: Month, wanted: Intent) -> TaskBook:
    """A guarded write that the vendor claimed and a readback refuted."""
    task = guarded(month, wanted)
    read_back(task, "pending", lines=0)
    task.hand_over()
    return task


def make_month(
    seed: int, scenarios: dict[str, Scenario], *, bills: int = 60, withheld: float = 0.25, cut: float = 0.1
) -> tuple[list[Recorded], SettlementFile, list[Truth]]:
    """Events, imported file and truths of one month; ``cut`` is the share of months whose file lost a line."""
    month = Month(random.Random(seed))
    names = sorted(scenarios)
    for _ in range(bills * 20):
        if month.bills >= bills:
            break
        name = month.random.choice(names)
        first = len(month.truths)
        scenarios[name](month, month.random.random() < withheld)
        month.truths[first:] = [changed(t, scenario=name) for t in month.truths[first:]]
    done(month, month.bill())  # an account of ours is seen at work at least once
    month.random.shuffle(month.lines)
    damaged = month.random.random() < cut
    file = month_file(*month.lines, declared=len(month.lines) + 1 if damaged else None)
    truths = [_damaged(t) for t in month.truths] if damaged else month.truths
    return [_skewed(r, month.late) for r in month.book.events], file, truths


_NEEDS_WHOLE_FILE = frozenset({"settlement_omission", "missing_evidence", "delayed_posting"})


def _damaged(truth: Truth) -> Truth:
    """A file that lost a line can't decide about lines that are missing and that nothing in the record explains."""
    needs = truth.needs_file or truth.cause in _NEEDS_WHOLE_FILE
    return changed(truth, decidable=False) if needs and truth.kind == "missing_in_file" else truth


LAST_MINUTE_US = 1_796_054_340_000_000
"""2026-11-30 23:59 in Beijing."""


def _skewed(recorded: Recorded, late: set[str]) -> Recorded:
    if recorded.envelope.task_id not in late or not isinstance(recorded.event, e.ActionAttempted):
        return recorded
    envelope = changed_struct(recorded.envelope, occurred_at_us=LAST_MINUTE_US)
    row = changed_struct(recorded.row, recorded_at_us=LAST_MINUTE_US + 600_000_000)
    return changed_struct(recorded, envelope=envelope, row=row)


def loop_of(month: Month) -> PrincipalId:
    """Some unguarded loop."""
    return month.random.choice(LOOPS)


__all__ = [
    "LOOPS",
    "OURS",
    "PEOPLE",
    "SERVICE",
    "Month",
    "Scenario",
    "Truth",
    "changed",
    "done",
    "guarded",
    "loop_of",
    "make_month",
    "read_back",
    "refuted",
    "state",
    "watched",
]
