"""Requests for approval: open only while the task waits, bound to digest and frame, expiring."""

from __future__ import annotations

from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId, PrincipalId
from domain.state import fold
from projections.fold import run_keys
from projections.views.approvals import ApprovalRow, Approvals, Pending, Request, pending
from projections.views.common import own_task
from tests.projections.views.histories import histories
from tests.support.events import PERSON, SECOND_US, SERVICE, Book, TaskBook, intent, sha

OTHER = PrincipalId("person:wang")


def asked(book: Book, *, needed: int = 1) -> TaskBook:
    task = book.run().task("t1", intent("B1", action="refund"))
    task.claim()
    task.observe("refund-form")
    action = task.propose(on="refund-form", writes=True, label="退款")
    task.judge(action)
    ask(task, action, needed=needed)
    return task


def ask(task: TaskBook, action: ActionId, *, needed: int = 1) -> None:
    task.add(
        e.ApprovalRequested(
            approval_id=f"approval-{action}",
            action_id=action,
            digest=sha("digest"),
            frame=sha("refund-form"),
            rule="refund",
            reason="money leaves",
            requested_by=SERVICE,
            expires_at_us=task.run.book.now_us + 100 * SECOND_US,
            approvers_needed=needed,
        ),
    )


def grant(task: TaskBook, approver: PrincipalId) -> None:
    task.add(
        e.ApprovalGranted(approval_id="approval-t1-action-1", digest=sha("digest"), approver=approver),
        principal=approver,
    )


def row_of(book: Book) -> ApprovalRow:
    return run_keys(Approvals(), book.events)["t1"]


def last(book: Book) -> Request:
    return row_of(book).requests[-1]


def waiting(book: Book, now_us: int) -> tuple[Pending, ...]:
    return pending([row_of(book)], now_us=now_us)


def test_an_open_request_shows_what_it_is_bound_to() -> None:
    book = Book()
    asked(book)
    (item,) = waiting(book, book.now_us)
    assert (item.request.digest, item.request.frame) == (sha("digest"), sha("refund-form"))
    assert (item.request.label, item.request.rule) == ("退款", "refund")
    assert item.intent is not None
    assert item.intent.amount_minor == 12_000
    assert item.may_not_approve == (SERVICE, "svc:month-end")
    assert Approvals().group(row_of(book)) == "open"


def test_a_request_whose_time_is_up_is_expired_before_its_lapse_is_recorded() -> None:
    book = Book()
    asked(book)
    expires = last(book).expires_at_us
    assert [waiting(book, now)[0].expired for now in (expires - 1, expires)] == [False, True]


def test_of_two_needed_approvers_the_first_leaves_it_open_and_the_second_closes_it() -> None:
    book = Book()
    task = asked(book, needed=2)
    grant(task, PERSON)
    assert (last(book).status, last(book).approvers) == ("open", (PERSON,))
    assert PERSON in waiting(book, book.now_us)[0].may_not_approve
    grant(task, OTHER)
    assert (last(book).status, last(book).approvers) == ("granted", (PERSON, OTHER))
    assert waiting(book, book.now_us) == ()


def test_a_denied_request_names_who_denied_it() -> None:
    book = Book()
    asked(book).add(
        e.ApprovalDenied(
            approval_id="approval-t1-action-1", digest=sha("digest"), approver=PERSON, note="no"
        ),
        principal=PERSON,
    )
    assert (last(book).status, last(book).approvers, last(book).note) == ("denied", (PERSON,), "no")
    assert last(book).closed_at_us == book.now_us


def test_a_lapsed_request_is_closed() -> None:
    book = Book()
    asked(book).add(e.ApprovalLapsed(approval_id="approval-t1-action-1", digest=sha("digest")))
    assert last(book).status == "lapsed"


def test_a_task_that_moved_on_drops_its_request_and_nobody_can_grant_it() -> None:
    book = Book()
    asked(book).hand_over()
    assert last(book).status == "dropped"
    assert waiting(book, book.now_us) == ()


def test_a_second_request_leaves_the_first_dropped() -> None:
    book = Book()
    task = asked(book)
    ask(task, ActionId("t1-action-1"))
    assert [request.status for request in row_of(book).requests] == ["dropped", "open"]


@given(history=histories)
def test_a_request_is_open_exactly_while_the_whole_task_waits_for_it(history: list[Recorded]) -> None:
    for key, row in run_keys(Approvals(), history).items():
        state = fold(recorded.event for recorded in history if own_task(recorded) == key)
        is_open = bool(row.requests) and row.requests[-1].status == "open"
        assert is_open == (state.status == "awaiting_approval")
        assert (row.intent, row.requested_by) == (state.intent, state.requested_by or "")
