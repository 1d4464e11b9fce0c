"""The write policy's word on one action on one rung, now; asked again right before each write."""

from __future__ import annotations

from collections.abc import Sequence

from domain.policy import Decision, RungName, grade
from domain.values import Check, Intent
from executor.readback import Readback
from executor.runtime.kit import Kit


def permit(kit: Kit, intent: Intent, rung: RungName) -> Decision:
    """Does this write run on this rung, wait for people, or not run at all?"""
    del rung
    return grade(kit.policy, kit.rules.get(intent.action), intent)


def sources_for(kit: Kit, action: str) -> Sequence[Readback]:
    """The configured sources that decide about an action: all, or those that the recipe names for it."""
    section = kit.recipe.actions.get(action)
    if section is None or not section.readback:
        return kit.readbacks
    return [source for source in kit.readbacks if source.source in section.readback]


def policy_check(decision: Decision) -> Check:
    """The decision as a finding of the write's record; waiting for a person is no objection."""
    return Check(
        guard="policy",
        verdict=decision.verdict,
        decisive=decision.effect == "deny",
        expected=f"rule {decision.rule}",
        found=decision.reason,
    )
