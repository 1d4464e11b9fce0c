"""Amounts are integers in minor units, whatever the currency; values are immutable."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.values import MINOR_DIGITS, Check, FrameRef, Point, exponent, format_minor, to_minor
from tests.support.events import business, intent, sha

CURRENCIES = st.sampled_from(("CNY", "EUR", "USD", *sorted(MINOR_DIGITS)))


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("1434.74", "CNY", 143_474),
        ("1434.7", "CNY", 143_470),
        ("1434", "CNY", 143_400),
        ("-0.01", "EUR", -1),
        ("0", "USD", 0),
        ("1434", "JPY", 1434),
        ("1.234", "KWD", 1234),
        ("1434.740", "CNY", 143_474),
    ],
)
def test_an_amount_becomes_minor_units(amount: str, currency: str, minor: int) -> None:
    assert to_minor(amount, currency) == minor


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("1434.745", "CNY"),
        ("1434.5", "JPY"),
        ("0.0001", "KWD"),
        ("", "CNY"),
        ("12,00", "CNY"),
        ("¥12", "CNY"),
        ("NaN", "CNY"),
        ("Infinity", "CNY"),
        ("-Infinity", "JPY"),
    ],
)
def test_what_is_no_amount_of_the_currency_is_refused(amount: str, currency: str) -> None:
    with pytest.raises(ValueError, match=r"is not an amount|has more digits"):
        to_minor(amount, currency)


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (143_474, "CNY", "1434.74"),
        (-1, "CNY", "-0.01"),
        (5, "JPY", "5"),
        (0, "KWD", "0.000"),
        (100, "USD", "1.00"),
        (10**15, "CNY", "10000000000000.00"),
    ],
)
def test_minor_units_are_written_with_the_digits_of_the_currency(
    minor: int, currency: str, text: str
) -> None:
    assert format_minor(minor, currency) == text


@given(minor=st.integers(-(2**53), 2**53), currency=CURRENCIES)
def test_writing_and_reading_an_amount_gives_it_back(minor: int, currency: str) -> None:
    assert to_minor(format_minor(minor, currency), currency) == minor


def test_currencies_have_two_digits_unless_the_standard_says_otherwise() -> None:
    assert exponent("CNY") == 2
    assert exponent("JPY") == 0
    assert exponent("BHD") == 3


@pytest.mark.parametrize(
    "value",
    [
        intent(),
        business(),
        Point(x=1, y=2),
        Check(guard="frame", verdict="pass"),
        FrameRef(role="before", sha256=sha("x"), width=1, height=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_frozen(value: Any) -> None:  # noqa: ANN401 - any of our values
    field = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, None)


def test_two_values_with_the_same_content_are_the_same_value() -> None:
    assert intent() == intent()
    assert intent() != intent("B2")


def test_one_value_does_not_share_its_measures_with_another() -> None:
    first, second = Check(guard="frame", verdict="pass"), Check(guard="frame", verdict="pass")
    first.measures["latency_us"] = 7
    assert second.measures == {}
