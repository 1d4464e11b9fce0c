"""Before anything runs: the router, the write policy and the claim on the effect (B5, B8)."""

from __future__ import annotations

from domain import commands as c
from domain import events as e
from domain.errors import ClaimTaken
from domain.idempotency import effect_key
from domain.ids import PrincipalId
from domain.policy import Decision, grade, route
from domain.values import Intent
from executor.orders import WorkOrder
from executor.runtime.climbing import usable_rungs
from executor.runtime.endings import Endings
from executor.runtime.kit import Kit
from executor.runtime.permits import permit
from executor.runtime.streams import TaskStream


class Admission:
    """Lets an order in, or writes down why not."""

    def __init__(self, kit: Kit, endings: Endings) -> None:
        self._kit = kit
        self._endings = endings

    def admit(self, stream: TaskStream, order: WorkOrder) -> bool:
        """Route, open and claim; False when the task ended there."""
        kit, intent = self._kit, order.intent
        decision = route(kit.identity, kit.tenant, order.bill_tenant, intent)
        if decision.effect != "deny":
            decision = self._denied(intent) or decision
        if decision.effect == "deny":
            refused = e.TaskRefused(
                intent=intent,
                rule=decision.rule,
                verdict=decision.verdict,
                reason=decision.reason,
                requested_by=kit.identity.principal,
                bill_tenant=order.bill_tenant,
            )
            stream.stage(c.Refuse(refused))
            self._endings.seal(stream)
            return False
        key = effect_key(kit.tenant, intent)
        opened = e.TaskOpened(
            intent=intent, effect_key=key, requested_by=kit.identity.principal, reference=order.reference
        )
        stream.submit(c.Open(opened))
        return self.claim(stream)

    def claim(self, stream: TaskStream) -> bool:
        """Take the effect; False when another task holds it."""
        key = stream.state.effect_key
        assert key is not None, "an opened task has a key"  # noqa: S101 - invariant, stays on
        try:
            stream.submit(c.Claim(e.TaskClaimed(effect_key=key)), claim=key)
        except ClaimTaken as taken:
            denied = e.TaskClaimDenied(
                effect_key=key,
                holder_stream=taken.holder_stream,
                holder_principal=PrincipalId(taken.holder_principal),
                since_us=taken.since_us,
            )
            stream.stage(c.DenyClaim(denied))
            self._endings.seal(stream)
            return False
        return True

    def _denied(self, intent: Intent) -> Decision | None:
        """The policy's refusal, when no rung of the ladder may ever perform the action."""
        kit = self._kit
        if intent.action not in kit.rules:
            return grade(kit.policy, None, intent)
        decisions = [permit(kit, intent, rung) for rung in kit.ladder]
        if decisions and all(decision.effect == "deny" for decision in decisions):
            return decisions[0]
        rungs = usable_rungs(kit, intent)
        if rungs.usable:
            return None
        why = "; ".join(f"{rung}: {reason}" for rung, reason in rungs.left_out.items())
        return Decision(effect="deny", rule="write.no_rung", verdict="denied_by_policy", reason=why)
