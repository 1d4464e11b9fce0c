"""Who may do what, and what a write needs: decided here, configured in YAML, denied by default.

``route`` is the router's word before anything runs (B8); ``grade`` is the write policy's word on one action (B3,
B10). Both are pure and say which rule spoke.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.ids import PrincipalId, TenantId
from domain.values import Intent, Verdict

ReadbackSource = Literal["list", "detail", "api", "settlement_file"]
RungName = Literal["api", "mcp", "browser", "computer_use"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A service identity or a person, with tenant scope and allowed business actions."""

    principal: PrincipalId
    kind: Literal["service", "person"]
    tenants: tuple[TenantId, ...]
    actions: tuple[str, ...]
    """Business actions it may perform; approving is ``approve:<action>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRule:
    """What the business action is like: how it is reached, undone, and how bad it is."""

    action: str
    target_status: str
    irreversible: bool = False
    compensation: str = ""
    residual_effects: tuple[str, ...] = ()
    rungs: tuple[RungName, ...] = ("browser",)
    """Allowed rungs, best first; ``computer_use`` is never allowed for an irreversible action (B2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePolicy:
    """B3: what every write needs."""

    require_readback: bool = True
    readback_sources: tuple[ReadbackSource, ...] = ("detail",)
    forbid_visual_verdict: bool = True
    approval_required: tuple[str, ...] = ()
    """Business actions that wait for another principal."""
    approval_above_minor: dict[str, int] | None = None
    """Currency → amount in minor units, whatever its sign, above which any action waits for approval. Where there are
    limits, a currency without one always waits: a limit in CNY says nothing about USD."""
    approval_valid_s: int = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A policy's word and the rule that spoke."""

    effect: Literal["allow", "ask", "deny"]
    rule: str
    verdict: Verdict
    reason: str
    approvers: int = 1
    """How many people must allow it, when ``effect`` is ask."""


def route(identity: Identity, tenant: TenantId, bill_tenant: TenantId, intent: Intent) -> Decision:
    """May this identity take on this work at all? Nothing has run yet."""
    if tenant not in identity.tenants:
        return Decision(
            effect="deny",
            rule="scope.tenant",
            verdict="out_of_scope",
            reason=f"{identity.principal} does not act for tenant {tenant}",
        )
    if bill_tenant != tenant:
        return Decision(
            effect="deny",
            rule="scope.bill",
            verdict="out_of_scope",
            reason=f"bill {intent.bill_id} belongs to {bill_tenant}, this run acts for {tenant}",
        )
    if intent.action not in identity.actions:
        return Decision(
            effect="deny",
            rule="scope.action",
            verdict="out_of_scope",
            reason=f"{intent.action} is not on the allow-list of {identity.principal}",
        )
    return Decision(effect="allow", rule="scope.allow", verdict="pass", reason="in scope")


def grade(policy: WritePolicy, rule: ActionRule | None, intent: Intent) -> Decision:
    """Does this write run, wait for a person, or not run at all? Unknown actions are denied."""
    if rule is None:
        return Decision(
            effect="deny",
            rule="write.unlisted",
            verdict="denied_by_policy",
            reason=f"no action {intent.action!r} is configured",
        )
    if rule.irreversible and not (policy.require_readback and policy.readback_sources):
        return Decision(
            effect="deny",
            rule="write.no_readback",
            verdict="denied_by_policy",
            reason=f"{intent.action} can't be undone and has no independent readback",
        )
    if intent.action in policy.approval_required:
        return Decision(
            effect="ask",
            rule="write.approval_required",
            verdict="approval_required",
            reason=f"{intent.action} always waits for another principal",
        )
    if policy.approval_above_minor is not None:
        limit = policy.approval_above_minor.get(intent.currency)
        if limit is None:
            return Decision(
                effect="ask",
                rule="write.approval_currency",
                verdict="approval_required",
                reason=f"no limit is set for {intent.currency}",
            )
        if abs(intent.amount_minor) > limit:
            return Decision(
                effect="ask",
                rule="write.approval_above",
                verdict="approval_required",
                reason=f"amount {intent.amount_minor} is above {limit} {intent.currency} (minor units)",
            )
    return Decision(effect="allow", rule="write.allow", verdict="pass", reason="within the write policy")
