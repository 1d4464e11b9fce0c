"""What a rule is asked, and the words it answers with.

Rules enforced here: a finding is ``proven`` only with a verified chain, gapless streams and a record from outside the
executor; evidence always has a place (event position, file line).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId, PrincipalId
from domain.values import Verdict, format_minor
from projections.settlement.casefile import Casebook, TaskCase, WriteAttempt, bill_key
from projections.settlement.causes import CauseVerdict, CounterEvidence, Evidence, Finding
from projections.settlement.expected import Expected, basis_of
from projections.settlement.lines import RefusedRow, SettlementFile, SettlementLine
from projections.settlement.matching import Difference, Matching
from projections.views.sentences import sentence

WRONG_TARGET: frozenset[Verdict] = frozenset(
    {"target_changed", "stale_local", "intent_mismatch", "request_mismatch", "precondition_failed"}
)
"""Verdicts by which a guard says that the click, the form or the request is not the planned one."""
_WORD = re.compile(r"[0-9A-Z_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A write attempt that names a bill which is not the one it was meant for."""

    case: TaskCase
    attempt: WriteAttempt


@dataclass(slots=True, kw_only=True)
class Month:
    """Everything that the questions of one month share."""

    book: Casebook
    file: SettlementFile
    month: str
    chain_verified: bool
    matching: Matching
    lines: dict[str, list[SettlementLine]] = field(default_factory=dict)
    strays: dict[str, list[Stray]] = field(default_factory=dict)
    missing: dict[str, list[Difference]] = field(default_factory=dict)
    extra: dict[str, list[Difference]] = field(default_factory=dict)
    """Lines too many by bill, duplicates included."""
    strayed_to: dict[ActionId, list[str]] = field(default_factory=dict)
    """Write attempt → bills that it names and was not meant for."""
    _spent: dict[ActionId, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index lines, strays and missing lines by bill."""
        for line in self.file.lines:
            self.lines.setdefault(bill_key(line.bill_id), []).append(line)
        for difference in self.matching.differences:
            if difference.kind == "missing_in_file":
                self.missing.setdefault(bill_key(difference.bill_id), []).append(difference)
            elif difference.kind in {"extra_in_file", "duplicate_in_file"}:
                self.extra.setdefault(bill_key(difference.bill_id), []).append(difference)
        bills = self.lines.keys() | self.book.by_bill.keys()
        for case in self.book.tasks.values():
            for attempt in case.attempts.values():
                for word in sorted((_named(attempt) & bills) - {bill_key(case.intent.bill_id)}):
                    self.strays.setdefault(word, []).append(Stray(case=case, attempt=attempt))
                    self.strayed_to.setdefault(attempt.action_id, []).append(word)

    def explains(self, attempt: WriteAttempt, line: SettlementLine) -> bool:
        """True if the attempt may account for this line: one request leaves one line, and the first asked has it."""
        lines = self._spent.setdefault(attempt.action_id, [])
        if line.line in lines:
            return True
        if len(lines) >= max(1, len(attempt.executed.requests) if attempt.executed else 1):
            return False
        lines.append(line.line)
        return True

    def ours(self, line: SettlementLine) -> bool:
        """True if we could have brought the line about: an account of ours or none named, and no vendor's own kind."""
        if line.kind in self.file.vendor_kinds:
            return False
        return not line.account or line.account in self.book.accounts

    def meant(self, case: TaskCase, line: SettlementLine) -> bool:
        """True if the line is of the kind that the task's action leaves."""
        rule = self.file.effects.get(case.intent.action)
        return rule is not None and rule.kind == line.kind


def _named(attempt: WriteAttempt) -> set[str]:
    """Words of the requests that left, and of what the guards found instead of the target."""
    texts = list(attempt.executed.requests) if attempt.executed else []
    texts += [check.found for _, fact in attempt.objections() for check in fact.checks if check.decisive]
    return {word for text in texts for word in _WORD.findall(bill_key(text))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One break, and what is still unexplained of it."""

    month: Month
    difference: Difference
    remaining: int

    @property
    def expected(self) -> Expected | None:
        """The line that the record leads one to expect."""
        return self.difference.expected

    @property
    def line(self) -> SettlementLine | None:
        """The line of the file that the break is about."""
        return self.difference.line

    @property
    def tasks(self) -> list[TaskCase]:
        """All tasks about the bill, of any month, in order of the record."""
        return self.month.book.of_bill(self.difference.bill_id)

    @property
    def missing(self) -> bool:
        """True if the record leads one to expect a line that the file lacks."""
        return self.difference.kind == "missing_in_file" or (
            self.difference.kind == "status_mismatch" and self.line is not None and not self.line.booked
        )

    @property
    def surplus(self) -> bool:
        """True if the file has a line that the record doesn't lead one to expect."""
        return self.difference.kind in {"extra_in_file", "duplicate_in_file"}

    def writes(self) -> list[tuple[TaskCase, WriteAttempt]]:
        """Writes that pursued the expected line, or any write on the bill when none is expected."""
        if self.expected is not None:
            cases, undoing = self.expected.tasks, self.expected.undoing
            return [(case, a) for case in cases for a in case.writes(compensating=undoing)]
        return [(case, a) for case in self.tasks for a in (*case.writes(), *case.writes(compensating=True))]

    def strength(self, *cases: TaskCase, outside: bool = True) -> CauseVerdict:
        """``proven`` if chain and streams are whole and an outside record agrees, else ``supported``."""
        whole = self.month.chain_verified and not any(case.gaps for case in cases)
        return "proven" if whole and outside else "supported"

    def only_if_whole(self, finding: Finding, *cases: TaskCase, verified: bool = True) -> Finding:
        """The finding if it may argue from what is *not* on record, else that it can't be decided.

        An absence shows something only where nothing is missing: positions and streams without gaps and, where the
        absence is all there is, a chain that somebody ``verified``.
        """
        missing = not self.month.book.whole or any(case.gaps for case in cases)
        if not missing and (self.month.chain_verified or not verified):
            return finding
        return replace(
            finding,
            verdict="undecidable",
            amount_minor=0,
            party="unknown",
            responsible=(),
            reason="events_missing" if missing else "chain_not_verified",
        )

    def surplus_writes(self) -> list[tuple[TaskCase, WriteAttempt]]:
        """Executed writes of the same effect beyond the first, over all tasks of the bill, in order of time."""
        item = self.expected
        if item is None:
            return []
        pursued = {case.task_id for case in item.tasks}
        same = [
            (case, a)
            for case in self.tasks
            if isinstance(case.first.event, e.TaskOpened) and case.first.event.effect_key == item.key
            if case.task_id in pursued
            or basis_of(case) is None  # what nobody was allowed to do counts as well
            for a in case.writes(compensating=item.undoing)
            if a.executed is not None and not astray(a)
        ]
        same.sort(key=lambda pair: pair[1].at.row.position)
        return same[1:]


def astray(attempt: WriteAttempt) -> tuple[Recorded, e.GuardJudged] | None:
    """The judgement by which a write went somewhere else than planned; None when no guard said so."""
    return next(((r, fact) for r, fact in attempt.objections() if fact.verdict in WRONG_TARGET), None)


Rule = Callable[[Question], Finding | None]


def event(recorded: Recorded, words: str = "") -> Evidence:
    """An event as evidence, in the record's plain sentence unless other words are given."""
    envelope = recorded.envelope
    return Evidence(
        kind="event",
        sentence=words or sentence(recorded.event),
        position=recorded.row.position,
        event_id=envelope.event_id,
        name=recorded.name,
        task_id=envelope.task_id or "",
        run_id=envelope.run_id or "",
        frames=tuple(frame.sha256 for frame in envelope.frames),
    )


def events_of(attempt: WriteAttempt) -> tuple[Evidence, ...]:
    """The attempt with what was planned, what guards said, and what came of it."""
    parts = (attempt.proposed, *(r for r, _ in attempt.objections()), attempt.attempted, attempt.outcome)
    return tuple(event(part) for part in parts if part is not None)


def events(recorded: Iterable[Recorded | None]) -> tuple[Evidence, ...]:
    """Several events, those that exist."""
    return tuple(event(part) for part in recorded if part is not None)


def line_of(line: SettlementLine) -> Evidence:
    """A line of the file as evidence."""
    who = f", operator “{line.account}”" if line.account else ""
    name = f" {line.line_id}" if line.line_id else ""
    words = (
        f"Line {line.line}{name} of the settlement file books “{line.kind}” of "
        f"{format_minor(line.amount_minor, line.currency)} {line.currency} on bill {line.bill_id}{who}."
    )
    return Evidence(kind="line", sentence=words, line=line.line)


def row_of(row: RefusedRow) -> Evidence:
    """A refused row as evidence."""
    where = f" in column “{row.column}”" if row.column else ""
    words = f"Line {row.line} of the settlement file was refused{where}: {row.reason}."
    return Evidence(kind="refused_row", sentence=words, line=row.line)


def file_of(words: str, line: int = 0) -> Evidence:
    """Something about the file as a whole."""
    return Evidence(kind="file", sentence=words, line=line)


def absent(question: Question) -> Evidence:
    """The file has no such line, said with what the file is."""
    item = question.expected
    kind = item.kind if item else "such"
    file = question.month.file
    words = (
        f"The settlement file ({file.counts.accepted} lines, SHA-256 {file.sha256[:12]}…) has no booked "
        f"“{kind}” line left for bill {question.difference.bill_id}."
    )
    return file_of(words)


def looked(what: str, where: str, found: Iterable[Evidence] = ()) -> CounterEvidence:
    """Counter-evidence that was looked for."""
    evidence = tuple(found)
    return CounterEvidence(looked_for=what, where=where, found=bool(evidence), evidence=evidence)


def conclusive(case: TaskCase, *, undoing: bool = False) -> Recorded | None:
    """The last readback that could read its source."""
    good = [
        r for r in case.readbacks(compensating=undoing) if not isinstance(r.event, e.ReadbackInconclusive)
    ]
    return good[-1] if good else None


def principals(pairs: Iterable[tuple[TaskCase, WriteAttempt]]) -> tuple[PrincipalId, ...]:
    """Who made these attempts, without repetition, in order."""
    return tuple(dict.fromkeys(attempt.at.envelope.principal for _, attempt in pairs))


def other_accounts(question: Question) -> Iterator[Evidence]:
    """Lines of the bill under operators that are not ours."""
    for line in question.month.lines.get(bill_key(question.difference.bill_id), []):
        if line.account and line.account not in question.month.book.accounts:
            yield line_of(line)
