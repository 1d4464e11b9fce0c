"""Who may do what, and what a write needs: denied by default, and every word names its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.ids import PrincipalId, TenantId
from domain.policy import ActionRule, Identity, WritePolicy, grade, route
from tests.support.events import intent

ACME, BETA = TenantId("acme"), TenantId("beta")
BATCH = Identity(
    principal=PrincipalId("svc:acme-batch"), kind="service", tenants=(ACME,), actions=("mark_processed",)
)
MARK = ActionRule(action="mark_processed", target_status="processed", compensation="undo")
REFUND = ActionRule(action="refund", target_status="refunded", irreversible=True)


def test_work_within_the_scope_is_allowed() -> None:
    decision = route(BATCH, ACME, ACME, intent())
    assert (decision.effect, decision.rule, decision.verdict) == ("allow", "scope.allow", "pass")


@pytest.mark.parametrize(
    ("identity", "tenant", "bill_tenant", "action", "rule"),
    [
        (BATCH, BETA, BETA, "mark_processed", "scope.tenant"),
        (replace(BATCH, tenants=()), ACME, ACME, "mark_processed", "scope.tenant"),
        (BATCH, ACME, BETA, "mark_processed", "scope.bill"),
        (replace(BATCH, tenants=(ACME, BETA)), ACME, BETA, "mark_processed", "scope.bill"),
        (BATCH, ACME, TenantId(""), "mark_processed", "scope.bill"),
        (BATCH, ACME, ACME, "refund", "scope.action"),
        (replace(BATCH, actions=("approve:mark_processed",)), ACME, ACME, "mark_processed", "scope.action"),
        (replace(BATCH, actions=("mark",)), ACME, ACME, "mark_processed", "scope.action"),
    ],
)
def test_work_outside_the_scope_is_refused_before_anything_runs(
    identity: Identity, tenant: TenantId, bill_tenant: TenantId, action: str, rule: str
) -> None:
    decision = route(identity, tenant, bill_tenant, intent(action=action))
    assert (decision.effect, decision.rule, decision.verdict) == ("deny", rule, "out_of_scope")
    assert decision.reason


def test_the_refusal_of_another_tenants_bill_says_whose_it_is() -> None:
    assert route(BATCH, ACME, BETA, intent("B7")).reason == "bill B7 belongs to beta, this run acts for acme"


def test_an_ordinary_write_runs() -> None:
    assert grade(WritePolicy(), MARK, intent()).effect == "allow"


def test_an_action_that_nobody_configured_is_denied() -> None:
    decision = grade(WritePolicy(), None, intent(action="reclassify"))
    assert (decision.effect, decision.rule) == ("deny", "write.unlisted")


@pytest.mark.parametrize("policy", [WritePolicy(require_readback=False), WritePolicy(readback_sources=())])
def test_what_cannot_be_undone_and_not_read_back_is_denied(policy: WritePolicy) -> None:
    decision = grade(policy, REFUND, intent(action="refund"))
    assert (decision.effect, decision.rule, decision.verdict) == (
        "deny",
        "write.no_readback",
        "denied_by_policy",
    )
    asking = replace(policy, approval_required=("refund",))
    assert grade(asking, REFUND, intent(action="refund")).effect == "deny"


def test_a_listed_action_waits_for_another_principal_whatever_the_amount() -> None:
    decision = grade(
        WritePolicy(approval_required=("refund",)), REFUND, intent(action="refund", amount_minor=1)
    )
    assert (decision.effect, decision.rule) == ("ask", "write.approval_required")


@pytest.mark.parametrize(
    ("amount_minor", "effect"), [(100_000, "allow"), (100_001, "ask"), (-100_000, "allow"), (-100_001, "ask")]
)
def test_an_amount_above_the_limit_waits_whichever_way_it_goes(amount_minor: int, effect: str) -> None:
    policy = WritePolicy(approval_above_minor={"CNY": 100_000})
    decision = grade(policy, MARK, intent(amount_minor=amount_minor))
    assert decision.effect == effect
    assert decision.rule == ("write.allow" if effect == "allow" else "write.approval_above")


def test_a_limit_in_one_currency_says_nothing_about_another() -> None:
    policy = WritePolicy(approval_above_minor={"CNY": 100_000})
    decision = grade(policy, MARK, replace(intent(amount_minor=1), currency="USD"))
    assert (decision.effect, decision.rule) == ("ask", "write.approval_currency")


def test_without_limits_no_amount_waits() -> None:
    assert grade(WritePolicy(), MARK, intent(amount_minor=10**12)).effect == "allow"


def test_the_policy_as_it_comes_wants_readback_and_no_verdict_from_a_screen() -> None:
    policy = WritePolicy()
    assert policy.require_readback
    assert policy.forbid_visual_verdict
    assert policy.readback_sources == ("detail",)
