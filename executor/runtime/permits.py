"""The write policy's word on one action on one rung, now; asked again right before each write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from domain.policy import Decision, RungName, grade
from domain.policy_rules import Effect, WriteCase, decide_write
from domain.values import Check, Intent
from executor.readback import Readback
from executor.runtime.kit import Kit
from executor.write_rules import local_minute

STRICTNESS: Mapping[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


def permit(kit: Kit, intent: Intent, rung: RungName) -> Decision:
    """Does this write run on this rung, wait for people, or not run at all? The stricter word counts."""
    general = grade(kit.policy, kit.rules.get(intent.action), intent)
    if not kit.write_rules or general.effect == "deny":
        return general
    day, minute = local_minute(kit.clock.now_us(), kit.zone)
    case = WriteCase(
        action=intent.action,
        tenant=kit.tenant,
        principal=kit.identity.principal,
        rung=rung,
        currency=intent.currency,
        amount_minor=intent.amount_minor,
        day=day,
        minute=minute,
    )
    ruled = decide_write(kit.write_rules, case)
    return general if STRICTNESS[general.effect] > STRICTNESS[ruled.effect] else ruled


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
