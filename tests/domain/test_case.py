"""A case: what is concluded, kept, signed off and taken back, and by which rule each of it is forbidden."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import case
from domain import events as e
from domain.case import CaseState, Conclude, Note, OpenCase, ReopenCase, SignOff, decide, digest_of, evolve
from domain.errors import CommandRefused
from domain.events.case import CauseFound, CauseVerdict
from domain.ids import PrincipalId
from tests.support.events import PERSON, SERVICE, sha
from tests.support.examples import one_of_each

OPENED = e.CaseOpened(
    break_id="0f1e2d3c4b5a6978", month="2026-11", bill_id="B1", kind="extra_in_file", currency="CNY"
)
OTHER = PrincipalId("person:wang.li")


def cause(
    amount_minor: int = 12_000,
    *,
    verdict: CauseVerdict = "proven",
    responsible: tuple[PrincipalId, ...] = (SERVICE,),
    reason: str = "",
    evidence: tuple[int, ...] = (4, 9),
) -> CauseFound:
    return CauseFound(
        cause="duplicate_across_tasks",
        verdict=verdict,
        amount_minor=amount_minor,
        summary="Two tasks wrote one effect.",
        party="executor",
        responsible=responsible,
        reason=reason,
        evidence=evidence,
    )


UNDECIDED = cause(0, verdict="undecidable", responsible=(), reason="shared_account")


def concluded(
    *causes: CauseFound, amount_minor: int = 12_000, residual_minor: int = 0, file: str = "file"
) -> e.CaseConcluded:
    return e.CaseConcluded(
        standing=True,
        amount_minor=amount_minor,
        currency="CNY",
        residual_minor=residual_minor,
        causes=causes or (cause(),),
        file_sha256=sha(file),
        events_read=40,
        chain_verified=True,
    )


GONE = e.CaseConcluded(
    standing=False,
    amount_minor=0,
    currency="CNY",
    residual_minor=0,
    causes=(),
    file_sha256=sha("late file"),
    events_read=41,
    chain_verified=True,
)
FIRST = concluded()
SIGNED = e.CaseSignedOff(by=PERSON, digest=digest_of(FIRST))
CLOSED = (OPENED, FIRST, SIGNED)


def fold(facts: Iterable[e.Event]) -> CaseState:
    state = CaseState()
    for fact in facts:
        state = evolve(state, fact)
    return state


def refused(rule: str, command: case.CaseCommand, *past: e.Event) -> None:
    with pytest.raises(CommandRefused) as refusal:
        decide(command, fold(past))
    assert refusal.value.rule == rule


def conclude(fact: e.CaseConcluded) -> Conclude:
    return Conclude(fact, by=SERVICE)


def test_a_difference_becomes_a_case_once() -> None:
    assert decide(OpenCase(OPENED), CaseState()) == (OPENED,)
    refused("case.exists", OpenCase(OPENED), OPENED)


def test_nothing_is_said_about_a_case_that_was_not_opened() -> None:
    refused("case.unknown", conclude(FIRST))
    refused("case.unknown", Note(e.CaseNoted(by=PERSON, text="hm")))


def test_a_conclusion_accounts_for_the_whole_difference_in_its_currency() -> None:
    assert decide(conclude(FIRST), fold([OPENED])) == (FIRST,)
    partly = concluded(cause(11_000), residual_minor=1_000)
    assert decide(conclude(partly), fold([OPENED])) == (partly,)
    refused("case.sum", conclude(concluded(cause(11_000))), OPENED)
    refused("case.currency", conclude(replace(FIRST, currency="USD")), OPENED)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(UNDECIDED, amount_minor=12_000),
        replace(UNDECIDED, responsible=(SERVICE,)),
        replace(UNDECIDED, reason=""),
    ],
)
def test_what_cant_be_decided_explains_nothing_and_blames_nobody(wrong: CauseFound) -> None:
    right = concluded(UNDECIDED, residual_minor=12_000)
    assert decide(conclude(right), fold([OPENED])) == (right,)
    refused("case.blame", conclude(concluded(wrong, residual_minor=12_000 - wrong.amount_minor)), OPENED)


def test_a_difference_that_is_gone_has_neither_amount_nor_cause() -> None:
    (fact,) = decide(conclude(GONE), fold([OPENED, FIRST]))
    assert isinstance(fact, e.CaseConcluded)
    assert fact.changes == ("standing", "amount", "causes", "verdicts", "responsible", "file", "evidence")
    refused("case.gone", conclude(replace(FIRST, standing=False)), OPENED)


def test_the_same_conclusion_again_is_not_recorded_however_much_more_was_read() -> None:
    assert decide(conclude(replace(FIRST, events_read=400)), fold(CLOSED)) == ()


def test_what_was_concluded_before_stays_beside_what_is_concluded_now() -> None:
    second = concluded(cause(7_000), residual_minor=5_000)
    (fact,) = decide(conclude(second), fold([OPENED, FIRST]))
    assert fact == replace(second, changes=("residual", "causes"))
    assert fold([OPENED, FIRST, fact]).conclusion == fact


@pytest.mark.parametrize(
    ("second", "changes"),
    [
        (concluded(UNDECIDED, residual_minor=12_000), "residual, causes, verdicts, responsible"),
        (concluded(cause(verdict="supported")), "verdicts"),
        (concluded(cause(responsible=(OTHER,))), "responsible"),
        (GONE, "standing, amount, causes, verdicts, responsible, file, evidence"),
    ],
)
def test_a_conclusion_that_must_be_read_again_takes_the_sign_off_away(
    second: e.CaseConcluded, changes: str
) -> None:
    reopened, fact = decide(conclude(second), fold(CLOSED))
    assert isinstance(reopened, e.CaseReopened)
    assert (reopened.by, reopened.reason) == (SERVICE, f"concluded anew: {changes} changed")
    state = fold([*CLOSED, reopened, fact])
    assert (state.status, state.signed, state.conclusion) == ("concluded", None, fact)


@pytest.mark.parametrize("second", [concluded(file="corrected"), concluded(cause(evidence=(4, 9, 12)))])
def test_the_same_findings_over_another_file_or_more_evidence_keep_the_sign_off(
    second: e.CaseConcluded,
) -> None:
    (fact,) = decide(conclude(second), fold(CLOSED))
    state = fold([*CLOSED, fact])
    assert (state.status, state.signed, state.conclusion) == ("signed_off", SIGNED, fact)


def test_a_note_says_something_and_decides_nothing() -> None:
    note = e.CaseNoted(by=PERSON, text="asked the vendor")
    assert decide(Note(note), fold(CLOSED)) == (note,)
    assert fold([*CLOSED, note]).status == "signed_off"
    refused("case.note", Note(e.CaseNoted(by=PERSON, text=" \n")), *CLOSED)


def test_a_person_signs_off_the_newest_conclusion_once() -> None:
    assert decide(SignOff(SIGNED, kind="person"), fold([OPENED, FIRST])) == (SIGNED,)
    refused("case.sign_off_order", SignOff(SIGNED, kind="person"), OPENED)
    refused("case.sign_off_order", SignOff(SIGNED, kind="person"), *CLOSED)
    second = concluded(cause(7_000), residual_minor=5_000)
    refused("case.sign_off_digest", SignOff(SIGNED, kind="person"), OPENED, FIRST, second)


def test_a_service_signs_nothing_off() -> None:
    refused("case.sign_off_person", SignOff(SIGNED, kind="service"), OPENED, FIRST)


def test_nobody_signs_off_a_conclusion_that_names_them() -> None:
    theirs = concluded(cause(responsible=(SERVICE, PERSON)))
    word = e.CaseSignedOff(by=PERSON, digest=digest_of(theirs))
    refused("case.sign_off_self", SignOff(word, kind="person"), OPENED, theirs)
    other = replace(word, by=OTHER)
    assert decide(SignOff(other, kind="person"), fold([OPENED, theirs])) == (other,)


def test_a_person_reopens_what_was_signed_off_for_a_reason() -> None:
    again = e.CaseReopened(by=PERSON, reason="the vendor called")
    assert decide(ReopenCase(again), fold(CLOSED)) == (again,)
    assert fold([*CLOSED, again]).status == "concluded"
    refused("case.reopen_order", ReopenCase(again), OPENED, FIRST)
    refused("case.reopen_reason", ReopenCase(replace(again, reason="")), *CLOSED)


def test_a_sign_off_is_bound_to_every_word_of_the_conclusion() -> None:
    others = [
        replace(FIRST, events_read=41),
        replace(FIRST, chain_verified=False),
        replace(FIRST, file_sha256=sha("other")),
        replace(FIRST, causes=(replace(cause(), summary="Something else."),)),
    ]
    assert len({digest_of(fact) for fact in (FIRST, *others)}) == 1 + len(others)


@given(st.lists(st.sampled_from(one_of_each()), max_size=12))
def test_any_facts_in_any_order_are_folded_and_each_counts(facts: list[e.Event]) -> None:
    assert fold(facts).version == len(facts)


def _names(source: str, function: str, position: int) -> set[str]:
    calls = (
        call
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == function
    )
    found = (call.args[position] for call in calls)
    return {rule.value for rule in found if isinstance(rule, ast.Constant) and isinstance(rule.value, str)}


def test_every_rule_is_reached_by_a_test_and_stands_in_the_list() -> None:
    rules = _names(inspect.getsource(case), "_require", 2)
    with open(__file__, encoding="utf-8") as own:  # noqa: PTH123 - one read
        assert rules == _names(own.read(), "refused", 0)
    assert all(f"``{rule}``" in (case.__doc__ or "") for rule in rules)
