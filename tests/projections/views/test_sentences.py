"""A sentence for every fact; what the target system said stands in quotation marks."""

from __future__ import annotations

import pytest

from domain import events as e
from domain.events import all_names, name_of
from domain.ids import ActionId
from domain.values import Check
from projections.views.sentences import sentence
from tests.support.events import PERSON, SERVICE, intent, sha
from tests.support.examples import one_of_each


def test_the_examples_leave_no_fact_out() -> None:
    assert sorted(name_of(event)[0] for event in one_of_each()) == sorted(all_names())


@pytest.mark.parametrize("event", one_of_each(), ids=lambda event: name_of(event)[0])
def test_every_fact_is_said_in_one_sentence(event: e.Event) -> None:
    said = sentence(event)
    assert said[0].isupper() or said.startswith((PERSON, SERVICE, "detail", "svc:month-end", "proofreel"))
    assert said.endswith(".")
    assert "\n" not in said
    assert "None" not in said


def test_no_two_facts_are_said_alike() -> None:
    assert len({sentence(event) for event in one_of_each()}) == len(one_of_each())


def test_a_toast_is_a_claim_in_quotation_marks() -> None:
    said = sentence(e.ActionExecuted(action_id=ActionId("a"), latency_us=1, toast="处理成功"))
    assert said == "The tool reported that it performed the action; the screen claimed “处理成功”."


def test_what_nobody_enforced_is_said_as_what_would_have_been() -> None:
    judged = e.GuardJudged(
        action_id=ActionId("a"),
        phase="event",
        verdict="target_changed",
        enforced=False,
        checks=(
            Check(guard="frame", verdict="stale", decisive=False, expected="x", found="y"),
            Check(guard="target", verdict="target_changed", expected="标记处理", found="退款"),
        ),
    )
    assert sentence(judged) == (
        "The guards would have objected at the click itself (target_changed): "
        "expected “标记处理”, found “退款”."
    )


def test_money_is_said_in_units_of_its_currency() -> None:
    opened = e.TaskRefused(
        intent=intent(amount_minor=143474),
        rule="scope.tenant",
        verdict="out_of_scope",
        reason="bill of another tenant",
        requested_by=SERVICE,
    )
    assert "1434.74 CNY" in sentence(opened)


def test_an_approval_names_its_approver() -> None:
    granted = e.ApprovalGranted(approval_id="a", digest=sha("d"), approver=PERSON, note="checked by phone")
    assert sentence(granted) == "person:li.na approved exactly this action: checked by phone."
