"""How often the attribution is right, over made-up months whose truth is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from projections.views.reconciliation import Break, reconcile
from tests.support.events import TENANT
from tests.support.months import Truth, make_month
from tests.support.scenarios import SCENARIOS

UNDECIDED = "undecidable"
NOTHING = "no break"


@dataclass(slots=True)
class Score:
    """Counts over many breaks."""

    breaks: int = 0
    decidable: int = 0
    right_cause: int = 0
    """Of the decidable ones: the right cause, decided."""
    wrong_blame: list[str] = field(default_factory=list)
    """Breaks for which a principal was named who did not cause it."""
    unnamed: list[str] = field(default_factory=list)
    """Decidable breaks whose culprit was not named."""
    overconfident: list[str] = field(default_factory=list)
    """Decided although the decisive evidence was withheld."""
    timid: list[str] = field(default_factory=list)
    """Undecided although the evidence was there."""
    unexpected: list[str] = field(default_factory=list)
    """Breaks that are none, and breaks that were not found."""
    matrix: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(true cause, found cause), either ``undecidable`` when it is."""
    proven: int = 0


def measure(*, breaks: int, seed: int = 1) -> Score:
    """Make months from consecutive seeds until there are so many breaks."""
    score = Score()
    while score.breaks < breaks:
        events, file, truths = make_month(seed, SCENARIOS)
        result = reconcile(events, file, tenant=TENANT, month="2026-11", chain_verified=True)
        _compare(score, seed, truths, result.breaks)
        seed += 1
    return score


def _compare(score: Score, seed: int, truths: list[Truth], breaks: tuple[Break, ...]) -> None:
    open_truths: dict[tuple[str, str], list[Truth]] = {}
    for truth in truths:
        open_truths.setdefault((truth.bill, truth.kind), []).append(truth)
    for found in breaks:
        candidates = open_truths.get((found.bill, found.kind), [])
        if not candidates:
            score.unexpected.append(f"seed {seed}: {found.bill} {found.kind} is no break")
            score.matrix[NOTHING, found.findings[0].cause] += 1
            continue
        named = found.findings[0].cause
        lines = [t for t in candidates if t.amount_minor == found.amount_minor] or [
            t for t in candidates if t.amount_minor is None
        ]
        if not lines:
            score.unexpected.append(f"seed {seed}: {found.bill} {found.kind} of another amount")
            continue
        truth = next((t for t in lines if t.cause == named), lines[0])
        candidates.remove(truth)
        _judge(score, seed, truth, found)
    for (bill, kind), rest in open_truths.items():
        for truth in rest:
            score.unexpected.append(f"seed {seed}: {bill} {kind} ({truth.scenario}) was not found")
            score.matrix[truth.cause, NOTHING] += 1


def _judge(score: Score, seed: int, truth: Truth, found: Break) -> None:
    finding = found.findings[0]
    where = f"seed {seed}: {truth.scenario} {truth.bill} {truth.kind}: {finding.cause} {finding.verdict}"
    decided = finding.verdict != "undecidable"
    score.breaks += 1
    score.decidable += truth.decidable
    score.proven += finding.verdict == "proven"
    score.matrix[truth.cause if truth.decidable else UNDECIDED, finding.cause if decided else UNDECIDED] += 1
    if set(finding.responsible) - set(truth.to_blame):
        score.wrong_blame.append(where)
    if truth.decidable and set(truth.to_blame) - set(finding.responsible):
        score.unnamed.append(where)
    if decided and not truth.decidable:
        score.overconfident.append(where)
    if truth.decidable and not decided:
        score.timid.append(where)
    if truth.decidable and decided and finding.cause == truth.cause:
        score.right_cause += 1
