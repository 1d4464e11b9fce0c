"""What a colleague's hold means for a write, from a source's answer alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from domain.values import BusinessState, Intent
from executor.holds import HOLD, PASSED, HoldMap, hold_check, hold_difference
from executor.readback import Expectation, JsonMap, differences, state_of

KEYS = JsonMap(hold=HoldMap())
LI = {"account": "wang.li", "note": "check the account", "at": "2026-12-01T08:00:02Z"}


def answer(*, hold: Any = None, holds: list[Any] | None = None, booked_at: str = "") -> BusinessState:  # noqa: ANN401 - JSON
    """The read API's answer about a bill, as a state."""
    history = [{"account": "svc-acme", "at": booked_at}] if booked_at else []
    return state_of(
        {
            "id": "B1",
            "status": "processed" if booked_at else "pending",
            "amount_minor": 100,
            "currency": "CNY",
            "counterparty": "Northwind",
            "month": "2026-11",
            "hold": hold,
            "holds": holds or [],
            "history": history,
            "postings": history,
        },
        KEYS,
    )


def placed(at: str) -> dict[str, str]:
    return {**LI, "at": at, "done": "placed"}


def lifted(at: str) -> dict[str, str]:
    return {"account": "li.na", "at": at, "done": "lifted"}


FREE = answer()
EARLY, BOOKED, LATE = "2026-12-01T08:00:02Z", "2026-12-01T08:00:03Z", "2026-12-01T08:00:04Z"


def test_a_held_bill_is_not_written_to_and_the_finding_says_whose_hold_it_is() -> None:
    check = hold_check(answer(hold=LI, holds=[placed(EARLY)]))
    assert (check.verdict, check.found) == (
        "precondition_failed",
        "B1 is held by wang.li (check the account)",
    )
    assert hold_check(FREE).verdict == "pass"


def test_a_hold_that_somebody_overwrote_still_counts_until_it_is_lifted() -> None:
    gone = answer(holds=[placed(EARLY)], booked_at=BOOKED)
    assert "gone without having been lifted" in hold_check(gone).found
    put_right = answer(holds=[placed(EARLY), lifted(LATE)], booked_at="2026-12-01T08:00:05Z")
    assert hold_check(put_right).verdict == "pass"


def test_a_vanished_hold_names_who_placed_it_and_who_saved_over_it() -> None:
    found = answer(holds=[placed(EARLY)], booked_at=BOOKED)
    words = "wang.li (check the account) → gone, saved over by svc-acme"
    assert hold_difference(FREE, found) == words
    held_before = answer(hold=LI, holds=[placed(EARLY)])
    assert hold_difference(held_before, found) == words


def test_a_source_without_the_log_sees_that_a_known_hold_is_gone() -> None:
    held_before = answer(hold=LI, holds=[placed(EARLY)])
    row = replace(FREE, last_actor="", extra={HOLD: ""})
    assert hold_difference(held_before, row).endswith("gone, saved over by an unknown account")
    assert hold_difference(FREE, row) == ""
    assert hold_difference(held_before, replace(row, extra={})) == ""


def test_a_hold_that_the_write_went_past_is_a_finding_and_a_later_one_is_none() -> None:
    passed = answer(hold=LI, holds=[placed(EARLY)], booked_at=BOOKED)
    assert hold_difference(FREE, passed) == (
        "nobody → wang.li (check the account), placed before svc-acme wrote"
    )
    later = answer(hold=LI, holds=[placed(LATE)], booked_at=BOOKED)
    assert hold_difference(FREE, later) == ""


def test_what_was_overwritten_before_is_not_blamed_on_the_next_write() -> None:
    before = answer(holds=[placed(EARLY)], booked_at=BOOKED)
    assert before.extra[PASSED]
    assert hold_difference(before, answer(holds=[placed(EARLY)], booked_at=LATE)) == ""


def test_a_hold_is_one_difference_beside_the_others() -> None:
    intent = Intent(
        bill_id="B1",
        action="mark_processed",
        counterparty="Northwind",
        amount_minor=100,
        currency="CNY",
        month="2026-11",
        expected_status="processed",
    )
    expected = Expectation(intent=intent, status="processed", before=FREE)
    assert differences(expected, answer(booked_at=BOOKED)) == {}
    assert list(differences(expected, answer(holds=[placed(EARLY)], booked_at=BOOKED))) == [HOLD]


@given(st.lists(st.sampled_from(["place", "lift", "book", "lose"]), max_size=12))
def test_a_hold_is_named_exactly_when_our_booking_lost_it_or_went_past_it(steps: list[str]) -> None:
    """Whatever happens between the look before the write and the readback, told once by a model of the vendor."""
    log: list[dict[str, str]] = []
    hold: dict[str, str] | None = None
    booked_at, wronged = "", False
    for number, step in enumerate(steps):
        at = f"2026-12-01T08:00:{number:02d}Z"
        if step == "place":
            hold = placed(at)
            log.append(placed(at))
        elif step == "lift" and hold is not None:
            hold = None
            log.append(lifted(at))
        elif step in {"book", "lose"} and not booked_at:
            booked_at, wronged = at, bool(log) and log[-1]["done"] == "placed"
            hold = hold if step == "book" else None
    if not booked_at:
        return
    found = answer(hold=hold, holds=log, booked_at=booked_at)
    assert bool(hold_difference(FREE, found)) == wronged
