"""Confirmation screens (G5): what can't be undone runs only where the page asks about this very bill.

Rules: a confirmation screen is a visible pair of a verb and a way out, or a dialog by role; it counts only if its
own text names the bill and the target is its verb; the browser's native dialogs are dismissed and recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.values import Check, Intent
from executor.guards import texts
from executor.tools.base import ConfirmScreen, Step, Target

LIMIT_TEXT = 200


def is_bound(screen: ConfirmScreen, target: Target, intent: Intent) -> bool:
    """True if the screen asks about the intent's bill and the target is the button that goes ahead."""
    if not texts.holds(screen.text, intent.bill_id):
        return False
    if screen.verb:
        return texts.same(screen.verb, target.label)
    return target.scope == "dialog" and texts.plain(target.scope_text) == texts.plain(screen.text)


def check_confirm(
    step: Step, target: Target, intent: Intent | None, screens: Sequence[ConfirmScreen]
) -> Check:
    """Is this step on a confirmation screen of its own bill? Steps that need none pass."""
    measures = {"screens": len(screens)}
    if not (step.needs_confirm or step.irreversible):
        return Check(guard="confirm", verdict="pass", decisive=False, measures=measures)
    if intent is not None and any(is_bound(screen, target, intent) for screen in screens):
        return Check(guard="confirm", verdict="pass", measures=measures)
    found = "; ".join(f"{screen.role}: {screen.text}" for screen in screens)[:LIMIT_TEXT]
    bill = intent.bill_id if intent is not None else "the intended bill"
    return Check(
        guard="confirm",
        verdict="needs_confirm_screen",
        expected=f"a question about {bill} answered by {step.label or target.label}",
        found=found or "no confirmation screen",
        measures=measures,
    )
