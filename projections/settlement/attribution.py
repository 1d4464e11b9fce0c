"""Asks the rules about one break until nothing is left to explain.

Rules: attributed amounts plus the residual are the break, asserted; the first undecidable finding ends the inquiry,
because what comes later would argue from what is missing; a break that no rule explains is undecidable, not external.
"""

from __future__ import annotations

from projections.settlement.causes import Finding
from projections.settlement.matching import Difference
from projections.settlement.rules import RULES, Month, Question
from projections.settlement.rules.base import absent, line_of, looked


def attribute(month: Month, difference: Difference) -> tuple[tuple[Finding, ...], int]:
    """Findings in the order of the rules, and the residual in minor units."""
    findings: list[Finding] = []
    remaining = difference.amount_minor
    for rule in RULES:
        finding = rule(Question(month=month, difference=difference, remaining=remaining))
        if finding is None:
            continue
        findings.append(finding)
        remaining -= finding.amount_minor
        if finding.verdict == "undecidable" or remaining == 0:
            break
    if not findings:
        findings.append(_unexplained(Question(month=month, difference=difference, remaining=remaining)))
    attributed = sum(finding.amount_minor for finding in findings)
    assert attributed + remaining == difference.amount_minor, "attributed and residual make the break"  # noqa: S101
    return tuple(findings), remaining


def _unexplained(question: Question) -> Finding:
    return Finding(
        cause="missing_evidence",
        verdict="undecidable",
        amount_minor=0,
        summary="Nothing in the record or the file explains this difference.",
        reason="nothing_explains_it",
        decisive=(line_of(question.line) if question.line else absent(question),),
        counter_evidence=(
            looked("a write of ours on the bill", "all tasks of the bill"),
            looked("an operator that is not ours", "the settlement file"),
        ),
    )
