"""Intent binding: what a wrong row or form says, with expected and found."""

from __future__ import annotations

from typing import Any

import pytest

from domain.values import Check
from executor.guards.intent import check_intent
from executor.tools.base import FieldMap, Target
from tests.executor.guards.support import FIELDS, FORM, INTENT, KNOWN, ROW, target


def judged(seen: Target, fields: FieldMap = FIELDS) -> Check:
    return check_intent(INTENT, seen, fields, known=KNOWN)


def test_the_row_of_the_intended_bill_passes() -> None:
    check = judged(target())
    assert check.verdict == "pass"
    assert check.measures == {"compared_fields": 7, "mismatches": 0}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", "143474.00"),
        ("amount", "not a number"),
        ("currency", "USD"),
        ("month", "2026-12"),
        ("bill_id", "INV-4114-A"),
        ("counterparty_id", "V777"),
    ],
)
def test_a_wrong_form_field_is_named_with_expected_and_found(field: str, value: str) -> None:
    check = judged(target(form={**FORM, field: value}))
    assert check.verdict == "intent_mismatch"
    assert check.expected.startswith(f"{field}=")
    assert value in check.found


@pytest.mark.parametrize(
    "row",
    [
        ROW.replace("INV-4114", "INV-4115"),
        ROW.replace("INV-4114", "INV-4114-A"),
        ROW.replace("Borealis", "Boreaiis"),
        ROW.replace("1,434.74", "143,474.00"),
    ],
)
def test_the_row_of_another_bill_does_not_pass(row: str) -> None:
    check = judged(target(scope_text=row))
    assert check.verdict == "intent_mismatch"
    assert "drawn" in check.found


def test_an_amount_is_compared_as_a_number_of_minor_units() -> None:
    assert judged(target(form={**FORM, "amount": "1,434.741"})).verdict == "intent_mismatch"
    assert judged(target(form={**FORM, "amount": "1,434.74"})).verdict == "pass"
    minor = FieldMap(form={"amount": "amount"}, drawn=(), amount_unit="minor")
    assert judged(target(form={"amount": "143474"}), minor).verdict == "pass"
    assert judged(target(form={"amount": "1434.74"}), minor).verdict == "intent_mismatch"


def test_a_look_alike_counterparty_is_called_one() -> None:
    fields = FieldMap(form={"payee": "counterparty"}, drawn=())
    check = judged(target(form={"payee": "Boreaiis GmbH"}), fields)
    assert check.found == "payee=Boreaiis GmbH (a look-alike)"


@pytest.mark.parametrize("odd", ["\u202e", "\u200b", "\u2066"])
def test_invisible_characters_in_a_value_are_a_mismatch(odd: str) -> None:
    check = judged(target(form={**FORM, "bill_id": f"INV-4114{odd}"}))
    assert check.verdict == "intent_mismatch"
    assert f"U+{ord(odd):04X}" in check.found


def test_bidirectional_characters_in_the_drawn_row_are_a_mismatch() -> None:
    assert judged(target(scope_text=f"{ROW} \u202e")).verdict == "intent_mismatch"


def test_a_field_with_its_own_drawn_text_must_say_exactly_that() -> None:
    page: dict[str, Any] = {"scope": "form", "scope_text": "Approve Back", "form": {}}
    fields = FieldMap(drawn=("bill_id",))
    right = target(**page, drawn={"bill_id": "INV-4114", "amount": "EUR 1,434.74", "month": "2026-11"})
    assert judged(right, fields).verdict == "pass"
    wrong = target(**page, drawn={"bill_id": "INV-4114", "amount": "EUR 143,474.00"})
    assert judged(wrong, fields).found == "drawn amount=EUR 143,474.00"


def test_a_dialog_must_name_the_bill_itself_whatever_the_page_behind_it_says() -> None:
    behind = {"bill_id": "INV-4114"}
    other = target(scope="dialog", scope_text="Approve INV-9999?", drawn=behind, form={})
    assert judged(other, FieldMap(drawn=("bill_id",))).verdict == "intent_mismatch"
    own = target(scope="dialog", scope_text="Approve INV-4114?", drawn=behind, form={})
    assert judged(own, FieldMap(drawn=("bill_id",))).verdict == "pass"
