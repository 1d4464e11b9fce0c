"""Text as a business reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.values import format_minor
from executor.guards import texts


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("1,434.74", "EUR", 143474),
        ("1.434,74", "EUR", 143474),
        ("1434,74", "EUR", 143474),
        ("1,434", "EUR", 143400),
        ("¥ 2,641.99", "CNY", 264199),
        ("JPY 12,345", "JPY", 12345),
        ("−5.00 EUR", "EUR", -500),
        ("１４３４．７４", "EUR", 143474),  # noqa: RUF001 - full-width digits as screens draw them
    ],
)
def test_amounts_are_read_as_screens_write_them(text: str, currency: str, minor: int) -> None:
    assert texts.parse_amount(text, currency) == minor


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "12,34,5", "0.001", "INV-4114"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"amount|digits"):
        texts.parse_amount(text, "EUR")


@given(st.integers(0, 10**12), st.sampled_from(["EUR", "JPY", "KWD"]))
def test_an_amount_that_is_written_is_read_back(minor: int, currency: str) -> None:
    assert texts.parse_amount(format_minor(minor, currency), currency) == minor


def test_a_value_is_found_only_as_a_whole() -> None:
    assert texts.holds("bill INV-4114, open", "INV-4114")
    assert texts.holds("差异单CY202611-0007を処理", "CY202611-0007")
    assert not texts.holds("bill INV-4114-A", "INV-4114")
    assert not texts.holds("bill XINV-4114", "INV-4114")
    assert not texts.holds("北京云汇有限公司分公司", "北京云汇有限公司")
    assert texts.holds("对方 北京云汇有限公司 金额", "北京云汇有限公司")


def test_numbers_of_dates_times_and_bill_ids_are_no_amounts() -> None:
    text = "CY202611-0700 金额 CNY 1,434.74 账期 2026-11 2026-11-03 10:22:33"
    assert set(texts.amounts(text, "CNY")) == {143474}


def test_months_are_not_taken_out_of_full_dates() -> None:
    assert texts.months("账期 2026-11 更新 2026-12-03, 2026年3月, 2026/4") == (
        "2026-11",
        "2026-03",
        "2026-04",
    )


def test_invisible_characters_are_reported_by_code_point() -> None:
    assert texts.odd_characters("INV\u202e-41\u200b14") == ("U+202E", "U+200B")
    assert texts.odd_characters("a\tb\nc") == ()


@pytest.mark.parametrize(
    ("text", "intended"),
    [
        ("Boreaiis", "Borealis"),
        ("\u0410\u0441me Ltd", "Acme Ltd"),
        ("上海云汇贸易冇限公可", "上海云汇贸易有限公司"),
        ("INV-4ll4", "INV-4114"),
    ],
)
def test_look_alikes_are_told_apart_from_the_intended(text: str, intended: str) -> None:
    assert texts.looks_like(text, intended)
    assert not texts.same(text, intended)


def test_the_intended_and_the_unrelated_are_no_look_alikes() -> None:
    assert not texts.looks_like("Borealis", "borealis ")
    assert not texts.looks_like("Zephyr", "Borealis")


def test_labels_are_the_same_whatever_their_width_and_spacing() -> None:
    assert texts.same("确 定", "确定")
    assert texts.same("ＯＫ", "ok")  # noqa: RUF001 - full-width letters as screens draw them
    assert not texts.same("确定", "确认")
