"""Write rules in the configuration file, and what they make of an order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from domain import events as e
from domain.errors import ConfigError
from domain.ids import PrincipalId
from domain.policy import WritePolicy
from domain.policy_rules import When, WriteRule
from executor.approvals import answer
from executor.config import load_config
from executor.sandbox import story
from executor.wiring import open_target
from executor.write_rules import local_minute
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, PERSON, Bench

Benches = Callable[..., Bench]
ALLOW_ALL = WriteRule(id="all", then="allow")


def load(folder: Path, monkeypatch: pytest.MonkeyPatch, rules: list[Any], **policy: Any) -> Any:  # noqa: ANN401
    path = folder / "proofreel.yaml"
    story.write_config(path, origin="http://127.0.0.1:1", language="zh")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["write_policy"] |= {"rules": rules, **policy}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    for variable in story.SECRETS.values():
        monkeypatch.setenv(variable, "x")
    return open_target(load_config(path), path)


def test_rules_are_read_with_their_hours_and_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [
        {
            "id": "office",
            "when": {"actions": ["undo"], "days": ["mon", "fri"], "hours": "08:30-18:00"},
            "then": "allow",
        },
    ]
    target = load(tmp_path, monkeypatch, rules, timezone="Asia/Shanghai")
    (rule,) = target.write_rules
    assert rule.when == When(actions=("undo",), days=(0, 4), from_minute=510, until_minute=1080)
    assert target.zone == ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"when": {"actions": ["undue"]}, "then": "allow"}, "unknown action 'undue'"),
        ({"when": {"hours": "8-20"}, "then": "allow"}, "has hours '8-20'"),
        ({"when": {"up_to_minor": 5}, "then": "allow"}, "amount without a currency"),
        (
            {"when": {"actions": ["refund"], "rungs": ["computer_use"]}, "then": "allow"},
            "lets vision perform refund",
        ),
        (
            {"when": {"actions": ["refund"]}, "then": "ask", "approvers": 2},
            "asks 2 people about refund, and 1 may",
        ),
        ({"when": {"actions": ["undo"]}, "then": "ask"}, "asks 1 people about undo, and 0 may"),
        ({"when": {"actions": ["mark_processed"]}, "then": "deny"}, "contradicts in all its cases"),
        ({"when": {"action": ["refund"]}, "then": "deny"}, "unknown key 'action'"),
        ({"then": "maybe"}, "Invalid enum value 'maybe'"),
    ],
)
def test_a_rule_that_can_not_be_meant_is_refused_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Mapping[str, Any], what: str
) -> None:
    first = {"id": "marks", "when": {"actions": ["mark_processed"]}, "then": "allow"}
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, monkeypatch, [first, {"id": "wrong", **wrong}])
    assert what in refusal.value.what
    lines = (tmp_path / "proofreel.yaml").read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines, 1) if "id: wrong" in line)
    assert begin <= refusal.value.line <= begin + 8


def test_an_unknown_time_zone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no time zone 'Mars/Base'"):
        load(tmp_path, monkeypatch, [], timezone="Mars/Base")


def test_local_time_follows_the_zone() -> None:
    friday_23 = 1_764_370_800 * 1_000_000  # 2025-11-28 23:00 UTC
    assert local_minute(friday_23, ZoneInfo("UTC")) == (4, 1380)
    assert local_minute(friday_23, ZoneInfo("Asia/Shanghai")) == (5, 420)


# -- what they make of an order ----------------------------------------------------------------------------------


def ruled(make_bench: Benches, *rules: WriteRule, **policy: Any) -> Bench:  # noqa: ANN401 - passed on
    bench = make_bench(policy=WritePolicy(readback_sources=("api", "detail"), **policy))
    bench.kit = replace(bench.kit, write_rules=rules)
    return bench


def test_an_order_that_no_rule_allows_is_refused_before_anything_runs(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench = ruled(make_bench, WriteRule(id="undo-only", then="allow", when=When(actions=("undo",))))
    order = bench.order()
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("refused", "denied_by_policy")
    assert bench.facts(order, e.TaskRefused)[0].rule == "write.default_deny"
    assert (vendor.posts, bench.opened) == ([], 0)


def test_the_rule_that_allowed_a_write_is_in_its_record(make_bench: Benches) -> None:
    bench = ruled(make_bench, ALLOW_ALL)
    order = bench.order()
    assert bench.run(order).status == "succeeded"
    checks = [check for fact in bench.facts(order, e.GuardJudged) for check in fact.checks]
    (policy,) = [check for check in checks if check.guard == "policy"]
    assert (policy.expected, policy.verdict) == ("rule all", "pass")


def test_a_rule_that_asks_two_people_waits_for_both(make_bench: Benches, vendor: FakeVendor) -> None:
    bench = ruled(make_bench, WriteRule(id="two", then="ask", approvers=2))
    order = bench.order()
    assert bench.run(order).status == "awaiting_approval"
    (request,) = bench.facts(order, e.ApprovalRequested)
    assert (request.rule, request.approvers_needed) == ("two", 2)
    answer(bench.stream(order), PERSON, "grant", note="", now_us=bench.clock.now_us())
    assert bench.run(order).status == "awaiting_approval"
    assert vendor.posts == []
    second = replace(PERSON, principal=PrincipalId("person:wang.wu"))
    answer(bench.stream(order), second, "grant", note="", now_us=bench.clock.now_us())
    assert bench.run(order).status == "succeeded"
    assert len(vendor.posts) == 1


def test_the_policy_s_other_keys_keep_working_and_the_stricter_word_counts(make_bench: Benches) -> None:
    bench = ruled(make_bench, ALLOW_ALL, approval_required=("mark_processed",))
    order = bench.order()
    assert bench.run(order).status == "awaiting_approval"
    assert bench.facts(order, e.ApprovalRequested)[0].rule == "write.approval_required"


def test_a_write_outside_the_hours_is_denied_even_if_it_was_approved_within_them(
    make_bench: Benches, vendor: FakeVendor
) -> None:
    bench = make_bench()
    minute = local_minute(bench.clock.now_us(), ZoneInfo("UTC"))[1]
    until = (minute + 10) % 1440
    now = WriteRule(id="now", then="ask", when=When(from_minute=minute, until_minute=until))
    bench = ruled(make_bench, now)
    order = bench.order(BILL)
    assert bench.run(order).status == "awaiting_approval"
    answer(bench.stream(order), PERSON, "grant", note="", now_us=bench.clock.now_us())
    bench.clock.value_us += 20 * 60 * 1_000_000
    outcome = bench.run(order)
    assert (outcome.status, outcome.verdict) == ("failed", "denied_by_policy")
    assert vendor.posts == []
