"""What ought to be in the settlement file, by the record alone.

Rules: one line for each business effect (key) that was attempted, promised or is still open, however many tasks
pursued it; an effect that was refused, denied, blocked or failed is not expected; an effect that nobody was allowed
to bring about is not expected even when it happened; undoing is a line of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain import events as e
from domain.ids import EffectKey
from projections.settlement.casefile import Casebook, TaskCase, bill_key
from projections.settlement.lines import EffectRule, LineKind, SettlementFile

Basis = Literal["confirmed", "refuted", "executed", "attempted", "declared", "by_hand", "open"]
"""Strongest word of the record on the effect, from independent readback down to mere intention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One line that the file should have."""

    bill_id: str
    kind: LineKind
    amount_minor: int
    currency: str
    counterparty: str
    key: EffectKey
    basis: Basis
    undoing: bool
    """True if it is the undoing of the task's effect."""
    tasks: tuple[TaskCase, ...]
    """Tasks that pursued the effect, the one that got furthest first."""
    at_us: int


_STRENGTH: dict[Basis, int] = {
    "confirmed": 6,
    "refuted": 5,
    "executed": 4,
    "attempted": 3,
    "by_hand": 3,
    "declared": 2,
    "open": 1,
}


def basis_of(case: TaskCase) -> Basis | None:
    """The record's word on the task's own effect; None when there is nothing to expect."""
    resolved = case.fact(e.TakeoverResolved)
    if resolved is not None and isinstance(resolved.event, e.TakeoverResolved):
        match resolved.event.resolution:
            case "effect_present":
                return "confirmed"
            case "done_by_hand" | "undone_by_hand":
                return "by_hand"
            case "effect_absent" | "nothing_to_do":
                return None
    if case.fact(e.TaskRefused) or not authorised(case):
        return None
    writes = case.writes()
    readbacks = [r.event for r in case.readbacks()]
    if sources_disagree(case):
        return "executed" if any(a.executed for a in writes) else "attempted"
    if any(isinstance(fact, e.ReadbackConfirmed) for fact in readbacks):
        return "confirmed"  # it was there; a later reversal is another change, with a line of its own
    if writes:
        shown = [fact for fact in readbacks if isinstance(fact, e.ReadbackMismatched)]
        if shown and shown[-1].found.status != shown[-1].expected_status:
            undone = case.fact(e.CompensationConfirmed) and not case.writes(compensating=True)
            return None if undone else "refuted"
        return "executed" if any(a.executed for a in writes) else "attempted"
    if case.fact(e.TaskDeclaredDone):
        return "declared"
    return None if case.ended else "open"


def sources_disagree(case: TaskCase) -> bool:
    """True if of the sources that were read together last, one shows the effect and another its absence."""
    facts = [r.event for r in case.readbacks()]
    shown = [f for f in facts if isinstance(f, e.ReadbackConfirmed | e.ReadbackMismatched)]
    together = [f for f in shown if f.phase == shown[-1].phase]
    confirmed = any(isinstance(f, e.ReadbackConfirmed) for f in together)
    absent = any(
        isinstance(f, e.ReadbackMismatched) and f.found.status != f.expected_status for f in together
    )
    return confirmed and absent and len({f.source for f in together}) > 1


def authorised(case: TaskCase) -> bool:
    """False if an approval was asked for and refused or never given, or the guard called it out of scope."""
    requested = case.fact(e.ApprovalRequested)
    answered = case.fact(e.ApprovalGranted)
    turned_down = case.fact(e.ApprovalDenied, e.ApprovalLapsed)
    if requested and not answered and (turned_down or case.writes()):
        return False
    verdicts = {fact.verdict for a in case.writes() for _, fact in a.objections()}
    if "approval_required" in verdicts and not answered:
        return False
    return "out_of_scope" not in verdicts and "denied_by_policy" not in verdicts


def expected_lines(book: Casebook, file: SettlementFile, month: str) -> dict[str, list[Expected]]:
    """Expected lines of the month by bill key, in order of time."""
    groups: dict[EffectKey, list[TaskCase]] = {}
    for case in book.tasks.values():
        opened = case.first.event
        if case.intent.month == month and isinstance(opened, e.TaskOpened):
            groups.setdefault(opened.effect_key, []).append(case)
    by_bill: dict[str, list[Expected]] = {}
    for key, cases in groups.items():
        for tasks in _rounds(cases, book, file):
            bases = [(basis, case) for case in tasks if (basis := basis_of(case)) is not None]
            if not bases:
                continue
            bases.sort(key=lambda pair: (-_STRENGTH[pair[0]], pair[1].first.row.position))
            basis, lead = bases[0]
            rule = file.effects.get(lead.intent.action)
            if rule is None:
                continue  # an action that this vendor never settles leaves no line
            lines = by_bill.setdefault(bill_key(lead.intent.bill_id), [])
            main = _main(lead, rule, key, basis, tuple(case for _, case in bases), lines)
            lines.append(main)
            lines.extend(_undoings(main, file))
    return by_bill


def _rounds(cases: list[TaskCase], book: Casebook, file: SettlementFile) -> list[list[TaskCase]]:
    """Tasks of one effect by how often it was to be there: undone and done again is two lines, not a duplicate."""
    if len(cases) == 1:
        return [cases]
    undone = _undoing_positions(cases, book, file)
    rounds: list[list[TaskCase]] = []
    begun = 0
    for case in sorted(cases, key=_begin):
        if not rounds or any(begun < at < _begin(case) for at in undone):
            rounds.append([])
        rounds[-1].append(case)
        begun = _begin(case)
    return [part for tasks in rounds for part in _own_undoings(tasks)]


def _begin(case: TaskCase) -> int:
    """Position of its first write, else of its opening."""
    return min((a.at.row.position for a in case.writes()), default=case.first.row.position)


def _undoing_positions(cases: list[TaskCase], book: Casebook, file: SettlementFile) -> list[int]:
    """Where undoings of the effect began: the tasks' own, and tasks whose whole purpose it was."""
    own = [r.row.position for case in cases for r in case.facts(e.CompensationStarted)]
    others = [
        _begin(case)
        for case in book.of_bill(cases[0].intent.bill_id)
        if (rule := file.effects.get(case.intent.action)) is not None and rule.sign == 0 and case.writes()
    ]
    return [*own, *others]


def _own_undoings(tasks: list[TaskCase]) -> list[list[TaskCase]]:
    """A task that did again what was done, and undid that, is a line and its undoing beside the first."""
    acted = [case for case in tasks if case.writes()]
    undone = [case for case in acted if case.fact(e.CompensationStarted)]
    alone = undone if len(undone) < len(acted) else undone[1:]
    apart = {case.task_id for case in alone}
    rest = [case for case in tasks if case.task_id not in apart]
    return [rest, *([case] for case in alone)]


def _main(
    lead: TaskCase,
    rule: EffectRule,
    key: EffectKey,
    basis: Basis,
    tasks: tuple[TaskCase, ...],
    before: list[Expected],
) -> Expected:
    intent = lead.intent
    sign: int = rule.sign
    if sign == 0:  # the opposite of the last effect of the bill that still stands
        standing = [line for line in before if not line.undoing and line.kind != rule.kind]
        sign = -1 if not standing or standing[-1].amount_minor > 0 else 1
    return Expected(
        bill_id=intent.bill_id,
        kind=rule.kind,
        amount_minor=sign * intent.amount_minor,
        currency=intent.currency,
        counterparty=intent.counterparty,
        key=key,
        basis=basis,
        undoing=False,
        tasks=tasks,
        at_us=lead.first.row.recorded_at_us,
    )


def _undoings(main: Expected, file: SettlementFile) -> list[Expected]:
    """A line for each task whose undoing was ordered and may have reached the target."""
    found = []
    for case in main.tasks:
        started = case.fact(e.CompensationStarted)
        by_hand = case.fact(e.TakeoverResolved)
        undone_by_hand = (
            by_hand is not None
            and isinstance(by_hand.event, e.TakeoverResolved)
            and by_hand.event.resolution == "undone_by_hand"
        )
        if started is None and not undone_by_hand:
            continue
        action = (
            started.event.action if started and isinstance(started.event, e.CompensationStarted) else "undo"
        )
        rule = file.effects.get(action)
        if rule is None:
            continue
        confirmed = case.fact(e.CompensationConfirmed)
        writes = case.writes(compensating=True)
        basis: Basis = "confirmed" if confirmed else "open"
        if not confirmed and writes:
            basis = "executed" if any(a.executed for a in writes) else "attempted"
        anchor = started or by_hand
        found.append(
            Expected(
                bill_id=main.bill_id,
                kind=rule.kind,
                amount_minor=-main.amount_minor,
                currency=main.currency,
                counterparty=main.counterparty,
                key=main.key,
                basis="by_hand" if undone_by_hand and started is None else basis,
                undoing=True,
                tasks=(case,),
                at_us=anchor.row.recorded_at_us if anchor else main.at_us,
            )
        )
    return found
