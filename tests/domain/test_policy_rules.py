"""The write rules: who decides, and which rules can't be right; flaws are compared with asking about every case."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.policy import RungName
from domain.policy_rules import MAX_RULES, When, WriteCase, WriteRule, decide_write, flaws

CASE = WriteCase(
    action="refund",
    tenant="acme",
    principal="svc:batch",
    rung="api",
    currency="CNY",
    amount_minor=50_000,
    day=2,
    minute=10 * 60,
)


def allow(name: str, **when: object) -> WriteRule:
    return WriteRule(id=name, then="allow", when=When(**when))  # type: ignore[arg-type]


def deny(name: str, **when: object) -> WriteRule:
    return replace(allow(name, **when), then="deny")


def ask(name: str, approvers: int = 1, **when: object) -> WriteRule:
    return replace(allow(name, **when), then="ask", approvers=approvers)


def test_what_no_rule_allows_is_denied() -> None:
    decision = decide_write([allow("marks", actions=("mark_processed",))], CASE)
    assert (decision.effect, decision.rule, decision.verdict) == (
        "deny",
        "write.default_deny",
        "denied_by_policy",
    )


def test_the_first_rule_that_fits_decides_and_its_id_is_kept() -> None:
    rules = [ask("big", 2, currencies=("CNY",), above_minor=49_999), allow("rest")]
    decision = decide_write(rules, CASE)
    assert (decision.effect, decision.rule, decision.approvers) == ("ask", "big", 2)
    assert decide_write(rules, replace(CASE, amount_minor=49_999)).rule == "rest"


def test_an_amount_is_compared_without_its_sign() -> None:
    rules = [deny("big", currencies=("CNY",), above_minor=49_999), allow("rest")]
    assert decide_write(rules, replace(CASE, amount_minor=-50_000)).rule == "big"


@pytest.mark.parametrize(
    ("when", "other"),
    [
        ({"actions": ("refund",)}, {"action": "undo"}),
        ({"tenants": ("acme",)}, {"tenant": "globex"}),
        ({"principals": ("svc:batch",)}, {"principal": "svc:other"}),
        ({"rungs": ("api",)}, {"rung": "browser"}),
        ({"currencies": ("CNY",)}, {"currency": "USD"}),
        ({"currencies": ("CNY",), "up_to_minor": 50_000}, {"amount_minor": 50_001}),
        ({"currencies": ("CNY",), "above_minor": 49_999}, {"amount_minor": 49_999}),
        ({"days": (2,)}, {"day": 3}),
        ({"from_minute": 600, "until_minute": 601}, {"minute": 601}),
        ({"from_minute": 1320, "until_minute": 601}, {"minute": 1319}),
    ],
)
def test_a_rule_fits_its_own_cases_and_no_others(when: dict[str, object], other: dict[str, object]) -> None:
    assert decide_write([allow("one", **when)], CASE).rule == "one"
    assert decide_write([allow("one", **when)], replace(CASE, **other)).effect == "deny"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        (allow(""), "no id"),
        (allow("write.mine"), "reserved"),
        (replace(allow("a"), approvers=2), "2 approvers and says allow"),
        (ask("a", 0), "0 approvers"),
        (allow("a", up_to_minor=5), "without a currency"),
        (allow("a", currencies=("CNY",), above_minor=5, up_to_minor=5), "fits no amount"),
        (allow("a", currencies=("CNY",), above_minor=-5), "negative"),
        (allow("a", from_minute=60, until_minute=60), "no time of day"),
        (allow("a", days=(7,)), "a day that there isn't"),
    ],
)
def test_a_rule_that_is_wrong_by_itself_is_a_flaw(rule: WriteRule, what: str) -> None:
    (flaw,) = flaws([rule])
    assert what in flaw.what


def test_an_id_that_stands_twice_is_a_flaw() -> None:
    (flaw,) = flaws([allow("a", actions=("x",)), allow("a", actions=("y",))])
    assert (flaw.rule, "twice" in flaw.what) == (1, True)


def test_a_rule_behind_one_that_says_the_opposite_about_all_its_cases_contradicts_it() -> None:
    (flaw,) = flaws([allow("all", actions=("refund",)), deny("acme", actions=("refund",), tenants=("acme",))])
    assert (flaw.rule, flaw.what) == (1, "rule acme says deny, which rule all contradicts in all its cases")


def test_the_narrower_rule_first_is_no_contradiction() -> None:
    assert (
        flaws([deny("acme", actions=("refund",), tenants=("acme",)), allow("all", actions=("refund",))]) == ()
    )


def test_a_rule_whose_cases_several_earlier_ones_share_out_is_unreachable() -> None:
    rules = [
        allow("small", currencies=("CNY",), up_to_minor=100),
        ask("big", currencies=("CNY",), above_minor=100),
        deny("yuan", currencies=("CNY",)),
    ]
    (flaw,) = flaws(rules)
    assert flaw.what == "rule yuan is unreachable: the rules before it take all its cases"
    assert flaws(rules[:2]) == ()


def test_hours_over_midnight_share_out_the_day_with_the_rest() -> None:
    night = allow("night", from_minute=1320, until_minute=360)
    day = ask("day", from_minute=360, until_minute=1320)
    assert flaws([night, day]) == ()
    assert [flaw.rule for flaw in flaws([night, day, deny("late", from_minute=1300, until_minute=1400)])] == [
        2
    ]


def test_a_value_that_no_rule_names_is_a_case_of_its_own() -> None:
    named = [allow("a", actions=("x",)), ask("b", actions=("y",))]
    assert flaws([*named, deny("others")]) == ()


def test_too_many_rules_are_refused() -> None:
    (flaw,) = flaws([allow(f"r{number}", actions=(str(number),)) for number in range(MAX_RULES + 1)])
    assert "more than" in flaw.what


# -- against asking about every case ---------------------------------------------------------------------------

RUNGS: tuple[RungName, ...] = ("api", "browser")
whens = st.builds(
    lambda actions, rungs, money, days, hours: When(
        actions=tuple(actions),
        rungs=tuple(rungs),
        currencies=("CNY",) if money else (),
        above_minor=money[0] if money else None,
        up_to_minor=money[1] if money else None,
        days=tuple(days),
        from_minute=hours[0],
        until_minute=hours[1],
    ),
    st.sets(st.sampled_from(["x", "y"])),
    st.sets(st.sampled_from(RUNGS)),
    st.sampled_from([None, (None, 10), (10, None), (10, 20), (20, None)]),
    st.sets(st.sampled_from([0, 1])),
    st.sampled_from([(0, 1440), (0, 600), (600, 1440), (1200, 300)]),
)


def every_case() -> list[WriteCase]:
    return [
        replace(
            CASE, action=action, rung=rung, currency=currency, amount_minor=amount, day=day, minute=minute
        )
        for action, rung, currency, amount, day, minute in itertools.product(
            ("x", "y", "z"), (*RUNGS, "mcp"), ("CNY", "USD"), (5, 15, 25), (0, 1, 6), (100, 400, 700, 1300)
        )
    ]


CASES = every_case()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["allow", "ask", "deny"]), whens), min_size=1, max_size=5))
def test_a_rule_is_flawed_exactly_when_it_decides_no_case(drawn: list[tuple[str, When]]) -> None:
    rules = [
        WriteRule(id=f"r{number}", then=then, when=when)  # type: ignore[arg-type]
        for number, (then, when) in enumerate(drawn)
    ]
    deciding = {decide_write(rules, case).rule for case in CASES}
    silent = [number for number, rule in enumerate(rules) if rule.id not in deciding]
    assert [flaw.rule for flaw in flaws(rules)] == silent
