"""Amounts are read as the profile says, or refused; never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.values import format_minor
from projections.settlement.amounts import AmountRefused, parse_amount


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("1434.74", "CNY", 143474),
        ("1,434.74", "CNY", 143474),
        ("-20", "CNY", -2000),
        ("(20.00)", "CNY", -2000),
        ("20.00-", "CNY", -2000),
        ("\u221220.00", "CNY", -2000),
        ("+20.00", "CNY", 2000),
        ("¥-20.00", "CNY", -2000),
        ("-¥20.00", "CNY", -2000),
        ("￥20.00", "CNY", 2000),
        ("20.00元", "CNY", 2000),
        ("CNY 20.00", "CNY", 2000),
        ("1\uff0c434\uff0e74", "CNY", 143474),
        ("\uff11\uff12", "CNY", 1200),
        ("98000", "JPY", 98000),
        ("98,000", "JPY", 98000),
        ("12.345", "KWD", 12345),
        ("0.00000", "CNY", 0),
        ("\ufeff`5.00\t", "CNY", 500),
        ("\u00a05.00\u00a0", "CNY", 500),
    ],
)
def test_an_amount_is_read_in_the_minor_units_of_its_currency(text: str, currency: str, minor: int) -> None:
    assert parse_amount(text, currency) == minor


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("1'000'000,00", 100_000_000),
        ("-110,7 €", -11070),
        ("7\u00a0000,00", 700_000),
        ("7\u202f000,00", 700_000),
        ("-3.000", -300_000),
    ],
)
def test_the_profile_says_which_mark_groups(text: str, minor: int) -> None:
    assert parse_amount(text, "EUR", decimal=",", grouping=".' ") == minor


@pytest.mark.parametrize(
    ("text", "currency", "why"),
    [
        ("-3.000", "CNY", "ambiguous"),
        ("3.000", "JPY", "ambiguous"),
        ("1.5", "JPY", "more decimals"),
        ("1.234567", "CNY", "more decimals"),
        ("10,00", "CNY", "thousands"),
        ("1,43,474", "CNY", "thousands"),
        ("1.5E+3", "CNY", "scientific"),
        ("€10.00", "CNY", "currency sign"),
        ("USD 10.00", "CNY", "currency USD"),
        ("(-10.00)", "CNY", "two minus"),
        ("", "CNY", "no amount"),
        ("-", "CNY", "no amount"),
        ("10.0.0", "CNY", "decimal mark"),
        ("\uff17 000", "CNY", "whole number"),
        ("٣", "CNY", "whole number"),
        ("1" * 16, "CNY", "digits"),
        ("nan", "CNY", "whole number"),
    ],
)
def test_an_amount_that_could_be_another_is_refused_with_its_reason(
    text: str, currency: str, why: str
) -> None:
    with pytest.raises(AmountRefused, match=why):
        parse_amount(text, currency)


@given(st.integers(-(10**14), 10**14), st.sampled_from(["CNY", "JPY", "KWD"]))
def test_reading_what_was_written_gives_the_same_amount(minor: int, currency: str) -> None:
    assert parse_amount(format_minor(minor, currency), currency, extra_digits=True) == minor
