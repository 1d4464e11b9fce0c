"""Bills of a file's lines in a column: the bill of each line as ``bill_key`` folds it, whatever way was taken."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from projections.settlement import agreeing
from projections.settlement.agreeing import bills_of
from projections.settlement.casefile import bill_key
from projections.settlement.effects import MAX_BILL
from projections.settlement.lines import SettlementLine

EVEN = st.integers(1, MAX_BILL + 2).flatmap(
    lambda width: st.lists(st.text("aB3-", min_size=width, max_size=width), max_size=8)
)
ANY = st.lists(st.text("aB3-\n \t　Ａé", max_size=6), max_size=8)


def lines_of(bills: list[str]) -> list[SettlementLine]:
    return [SettlementLine(number, bill, "process", 1, "CNY") for number, bill in enumerate(bills, start=1)]


@given(bills=EVEN | ANY)
@example(bills=["A\n", ""])
@example(bills=["A\nB", "C"])
@example(bills=["", ""])
@example(bills=["AB", "A\n", "CD"])
@example(bills=["A" * MAX_BILL, "b" * MAX_BILL])
@example(bills=["A" * (MAX_BILL + 1), "b" * (MAX_BILL + 1)])
def test_each_line_has_its_bill(bills: list[str]) -> None:
    found = bills_of(lines_of(bills))
    assert found is not None
    folded = [bill_key(bill) for bill in bills]
    assert found.long == {bill for bill in folded if len(bill) > MAX_BILL}
    assert len(found.bytes_) == len(bills)
    for place, bill in enumerate(folded):
        assert found.bill(place) == bill[: MAX_BILL + 1]


def test_numbers_of_one_length_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreeing, "as_bytes", None)
    found = bills_of(lines_of(["cy-01", "CY-02"]))
    assert found is not None
    assert found.bytes_.tolist() == [b"CY-01", b"CY-02"]


def test_a_nul_is_no_part_of_a_bill_in_columns() -> None:
    assert bills_of(lines_of(["A", "B\0"])) is None
