"""Label precondition (G4): a destructive action needs the intended label on the element itself.

Rules: the element's own text or accessible name, not the neighbourhood of the point: measured, text within 64 px
passes a wrong neighbour in 23 to 29 cases of 30. Where the document has neither, the pixels of the element's own box
are read; where nobody can read them, the step stops and says what would help.
"""

from __future__ import annotations

from collections.abc import Callable

from domain.values import Check
from executor.guards import texts
from executor.guards.ocr import Reading
from executor.tools.base import Step, Target


def check_label(step: Step, target: Target, *, read: Callable[[], Reading] | None = None) -> Check:
    """Compare the planned label with the one on the element; only destructive steps are stopped by it.

    Args:
        step: what is about to be done.
        target: the element.
        read: reads the label off the screen; asked only when the step is destructive and the document has none.
    """
    decisive = step.destructive or step.writes
    if not step.label:
        return Check(
            guard="label",
            verdict="precondition_failed" if decisive else "pass",
            decisive=decisive,
            expected="a planned label" if decisive else "",
            found="none in the plan" if decisive else "",
        )
    if not target.label and decisive and read is not None:
        return _check_drawn(step, read())
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


def _check_drawn(step: Step, reading: Reading) -> Check:
    """What was read off the screen; spaces are drawn by width and don't count."""
    measures = {"read_off_the_screen": 1}
    if not reading.problem and texts.same("".join(step.label.split()), "".join(reading.text.split())):
        return Check(
            guard="label", verdict="pass", found=f"{reading.text} ({reading.engine})", measures=measures
        )
    found = reading.problem or f"{reading.text or 'nothing legible'} ({reading.engine})"
    return Check(
        guard="label", verdict="precondition_failed", expected=step.label, found=found, measures=measures
    )
