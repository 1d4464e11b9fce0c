"""Who may have what withheld, held and deleted."""

from __future__ import annotations

import dataclasses

import pytest

from domain import events as e
from domain.errors import CommandRefused
from domain.events.privacy import DataKind
from domain.ids import PrincipalId, Sha256
from domain.privacy import (
    APPROVE_WITHIN_US,
    AnswerRedaction,
    AskRedaction,
    Holdings,
    RedactionState,
    decide,
    digest_of,
    evolve,
)
from domain.values import Box

ASKED, OTHER = PrincipalId("person:li.na"), PrincipalId("person:kim")
SHA = Sha256("0" * 64)
REQUEST = e.RedactionRequested(
    kind="frame",
    subject=SHA,
    basis="GDPR Art. 17",
    requested_by=ASKED,
    regions=(Box(x=0, y=0, width=9, height=9),),
    root=SHA,
    rendition=SHA,
    opening=SHA,
)
GRANT = e.RedactionApproved(digest=digest_of(REQUEST), approver=OTHER)
HOLD = e.HoldPlaced(hold_id="h1", kind="frame", month="2026-11", basis="claim 7", by=ASKED)
ORDER = e.DeletionOrdered(
    deletion_id="d1", unit="frame/2026-11", key_id="k1", basis="180 days", by=ASKED, blobs=3
)


def state(*facts: e.Event) -> RedactionState:
    found = RedactionState()
    for fact in facts:
        found = evolve(found, fact)
    return found


def test_a_request_is_answered_by_another_person() -> None:
    asked = decide(AskRedaction(REQUEST), state())
    assert decide(AnswerRedaction(GRANT, kind="person", age_us=0), state(asked)) == GRANT
    assert state(REQUEST, GRANT).status == "approved"


@pytest.mark.parametrize(
    ("rule", "request_", "before"),
    [
        ("redaction.exists", REQUEST, (REQUEST,)),
        ("redaction.basis", dataclasses.replace(REQUEST, basis=" "), ()),
        ("redaction.shape", dataclasses.replace(REQUEST, regions=()), ()),
        ("redaction.shape", dataclasses.replace(REQUEST, rendition=None), ()),
        ("redaction.shape", dataclasses.replace(REQUEST, kind="event"), ()),
        ("redaction.shape", dataclasses.replace(REQUEST, kind="document"), ()),
    ],
)
def test_a_request_is_refused(rule: str, request_: e.RedactionRequested, before: tuple[e.Event, ...]) -> None:
    with pytest.raises(CommandRefused) as refused:
        decide(AskRedaction(request_), state(*before))
    assert refused.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "command", "before"),
    [
        ("redaction.unknown", AnswerRedaction(GRANT, kind="person", age_us=0), ()),
        ("redaction.order", AnswerRedaction(GRANT, kind="person", age_us=0), (REQUEST, GRANT)),
        ("redaction.person", AnswerRedaction(GRANT, kind="service", age_us=0), (REQUEST,)),
        (
            "redaction.expired",
            AnswerRedaction(GRANT, kind="person", age_us=APPROVE_WITHIN_US + 1),
            (REQUEST,),
        ),
        (
            "redaction.self",
            AnswerRedaction(dataclasses.replace(GRANT, approver=ASKED), kind="person", age_us=0),
            (REQUEST,),
        ),
        (
            "redaction.digest",
            AnswerRedaction(dataclasses.replace(GRANT, digest=SHA), kind="person", age_us=0),
            (REQUEST,),
        ),
    ],
)
def test_an_answer_is_refused(rule: str, command: AnswerRedaction, before: tuple[e.Event, ...]) -> None:
    with pytest.raises(CommandRefused) as refused:
        decide(command, state(*before))
    assert refused.value.rule == rule


def test_a_request_that_waited_too_long_can_still_be_denied() -> None:
    fact = e.RedactionDenied(digest=digest_of(REQUEST), approver=OTHER)
    late = AnswerRedaction(fact, kind="person", age_us=APPROVE_WITHIN_US + 1)
    assert decide(late, state(REQUEST)) == fact
    on_time = AnswerRedaction(GRANT, kind="person", age_us=APPROVE_WITHIN_US)
    assert decide(on_time, state(REQUEST)) == GRANT


def holdings(*facts: e.Event) -> Holdings:
    found = Holdings()
    for fact in facts:
        found.apply(fact)
    return found


@pytest.mark.parametrize(
    ("kind", "month", "held"),
    [
        ("frame", "2026-11", True),
        (None, "", True),
        (None, "2026-11", True),
        ("frame", "", True),
        ("document", "2026-11", False),
        ("frame", "2026-10", False),
    ],
)
def test_a_hold_stops_the_deletion_of_what_it_covers(kind: DataKind | None, month: str, held: bool) -> None:  # noqa: FBT001 - a table
    found = holdings(dataclasses.replace(HOLD, kind=kind, month=month))
    if not held:
        assert found.order(ORDER) == ORDER
        return
    with pytest.raises(CommandRefused, match="under hold h1: claim 7") as refused:
        found.order(ORDER)
    assert refused.value.rule == "deletion.held"


def test_after_the_release_it_may_be_deleted_once() -> None:
    release = e.HoldReleased(hold_id="h1", basis="settled", by=OTHER)
    found = holdings(HOLD, release)
    assert found.order(ORDER) == ORDER
    found.apply(ORDER)
    with pytest.raises(CommandRefused) as refused:
        found.order(ORDER)
    assert refused.value.rule == "deletion.repeated"


def test_holds_and_deletions_say_why_and_come_once() -> None:
    refusals = []
    for act in (
        lambda: holdings(HOLD).place(HOLD),
        lambda: holdings().place(dataclasses.replace(HOLD, basis="")),
        lambda: holdings().release(e.HoldReleased(hold_id="h1", basis="x", by=OTHER)),
        lambda: holdings(HOLD).release(e.HoldReleased(hold_id="h1", basis=" ", by=OTHER)),
        lambda: holdings().order(dataclasses.replace(ORDER, basis="")),
    ):
        with pytest.raises(CommandRefused) as refused:
            act()
        refusals.append(refused.value.rule)
    assert refusals == ["hold.exists", "hold.basis", "hold.unknown", "hold.basis", "deletion.basis"]
