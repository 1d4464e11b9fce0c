"""Which rung an action may use, and when the next one is tried."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from domain.policy import ActionRule, Decision, RungName
from domain.values import Check, Verdict
from executor.tools.ladder import Rungs, all_lost, is_lost, remark, rungs_for

ALL: Sequence[RungName] = ("api", "mcp", "browser", "computer_use")


def allow(rung: RungName) -> Decision:
    return Decision(effect="allow", rule="write.allow", verdict="pass", reason=f"{rung} is fine")


def deny_api(rung: RungName) -> Decision:
    if rung != "api":
        return allow(rung)
    return Decision(effect="deny", rule="no-api", verdict="denied_by_policy", reason="not by api")


def rule(
    *, irreversible: bool = False, compensation: str = "undo", rungs: Sequence[RungName] = ALL
) -> ActionRule:
    return ActionRule(
        action="mark_processed",
        target_status="processed",
        irreversible=irreversible,
        compensation=compensation,
        rungs=tuple(rungs),
    )


def test_the_configured_order_is_kept() -> None:
    assert rungs_for(rule(), ("browser", "api"), allow).usable == ("browser", "api")


def test_a_rung_without_a_path_for_the_action_is_left_out_with_its_reason() -> None:
    found = rungs_for(rule(rungs=("browser",)), ("api", "browser"), allow)
    assert found.usable == ("browser",)
    assert found.left_out == {"api": "mark_processed has no path there"}


@pytest.mark.parametrize("action", [rule(irreversible=True), rule(compensation="")])
def test_vision_never_performs_what_can_not_be_undone(action: ActionRule) -> None:
    found = rungs_for(action, ALL, allow)
    assert "computer_use" not in found.usable
    assert "can't be undone" in found.left_out["computer_use"]


def test_vision_may_perform_what_can_be_undone() -> None:
    assert rungs_for(rule(), ALL, allow).usable[-1] == "computer_use"


def test_a_rung_that_the_policy_denies_is_left_out_with_the_rule_that_spoke() -> None:
    assert rungs_for(rule(), ALL, deny_api).left_out == {"api": "no-api: not by api"}


@pytest.mark.parametrize("verdict", ["page_changed", "server_trouble"])
def test_a_rung_is_lost_when_it_is_unusable_and_nothing_took_effect(verdict: Verdict) -> None:
    check = Check(guard="tool", verdict=verdict)
    assert is_lost(check, effect="none")
    assert not is_lost(check, effect="unknown")


@pytest.mark.parametrize(
    "verdict",
    ["session_expired", "forbidden", "intent_mismatch", "request_mismatch", "already_in_progress", "stuck"],
)
def test_no_other_door_is_tried_when_the_work_itself_is_wrong(verdict: Verdict) -> None:
    assert not is_lost(Check(guard="tool", verdict=verdict), effect="none")


def test_the_remark_says_which_rung_and_why_not_the_others() -> None:
    rungs = Rungs(usable=("api", "browser"), left_out={"mcp": "no path"})
    check = remark("browser", rungs, [("api", "answers 404")])
    assert (check.expected, check.found) == ("api", "browser (api: answers 404; mcp: no path)")
    assert (check.decisive, check.measures) == (False, {"rung": 2, "rungs": 2})


def test_a_person_is_told_about_every_lost_rung() -> None:
    last = Check(guard="target", verdict="page_changed", found="nothing there")
    lost: list[tuple[RungName, str]] = [("api", "answers 404"), ("browser", "nothing there")]
    assert all_lost(lost, last).found == "api: answers 404; browser: nothing there"
    assert all_lost(lost[1:], last) == last
