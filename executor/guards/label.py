"""Label precondition (G4): a destructive action needs the intended label on the element itself.

Rule: the element's own text or accessible name, not the neighbourhood of the point: measured, text within 64 px
passes a wrong neighbour in 23 to 29 cases of 30.
"""

from __future__ import annotations

from domain.values import Check
from executor.guards import texts
from executor.tools.base import Step, Target


def check_label(step: Step, target: Target) -> Check:
    """Compare the planned label with the one on the element; only destructive steps are stopped by it."""
    decisive = step.destructive or step.writes
    if not step.label:
        return Check(
            guard="label",
            verdict="precondition_failed" if decisive else "pass",
            decisive=decisive,
            expected="a planned label" if decisive else "",
            found="none in the plan" if decisive else "",
        )
    odd = texts.odd_characters(target.label)
    if texts.same(step.label, target.label) and not odd:
        return Check(guard="label", verdict="pass", decisive=decisive)
    found = target.label or ("no text to read" if target.opaque else "no label")
    if odd:
        found = f"{found} (holds {', '.join(odd)})"
    elif texts.looks_like(target.label, step.label):
        found = f"{found} (a look-alike)"
    return Check(
        guard="label", verdict="precondition_failed", decisive=decisive, expected=step.label, found=found
    )
