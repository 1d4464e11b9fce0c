"""The chain of a bill: nothing left out, in order, with what proves it; each write restored as a whole."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from domain.idempotency import action_digest
from domain.ids import ActionId, Sha256
from domain.values import BusinessState
from projections.fold import run_keys
from projections.views.common import bill_of_key
from projections.views.evidence_chain import BillChain, EvidenceChain, chain
from tests.projections.views.histories import histories
from tests.support.events import PERSON, SERVICE, Book, TaskBook, frame, intent, key_of, sha


def chain_of(book: Book, bill: str = "B1") -> BillChain:
    made = chain(run_keys(EvidenceChain(), book.events).values(), bill)
    assert made is not None
    return made


def approve(task: TaskBook, action: ActionId, digest: Sha256) -> None:
    task.add(
        e.ApprovalRequested(
            approval_id="approval-1",
            action_id=action,
            digest=digest,
            frame=sha("form"),
            rule="refund",
            reason="money leaves",
            requested_by=SERVICE,
            expires_at_us=task.run.book.now_us + 1,
        )
    )
    task.add(e.ApprovalGranted(approval_id="approval-1", digest=digest, approver=PERSON), principal=PERSON)


def test_a_write_is_restored_with_identity_key_screens_approval_and_readback() -> None:
    book = Book()
    task = book.run().task("t1", intent("B1", action="refund"))
    task.claim()
    task.register()
    task.observe("form")
    action = task.propose(on="form", writes=True, label="退款")
    approve(task, action, action_digest(task.key, task.intent, kind="click", label="退款"))
    task.judge(action, frames=[frame("form-now", "before"), frame("form", "planned")])
    attempt = task.attempt(action)
    task.execute(action, toast="退款成功")
    task.observe("done", "after")
    readback = task.confirm()
    (write,) = chain_of(book).writes
    assert (write.position, write.key, write.principal) == (attempt.row.position, task.key, SERVICE)
    assert (write.label, write.rung, write.verdict, write.outcome) == ("退款", "browser", "pass", "executed")
    assert write.approved_by == (PERSON,)
    assert [shot.sha256 for shot in write.before] == [sha("form"), sha("form-now")]
    assert [shot.sha256 for shot in write.after] == [sha("done")]
    assert (write.readback, write.readback_positions) == ("confirmed", (readback.row.position,))
    assert write.state_before is not None
    assert (write.state_before.status, write.way_back, write.toast) == ("pending", "undo", "退款成功")


def test_an_approval_of_another_action_is_not_shown_as_this_writes() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    action = task.propose(on="list", writes=True)
    approve(task, action, sha("some other action"))
    task.attempt(action)
    (write,) = chain_of(book).writes
    assert (write.approved_by, write.approval_positions) == ((), ())


def test_both_tasks_of_a_doubled_bill_are_in_its_chain() -> None:
    book = Book()
    book.run("run-1", mode="record_only").task("t1", mode="record_only").write()
    book.run("run-2", mode="record_only").task("t2", mode="record_only").write()
    book.run("run-3").task("t3", intent("B2")).done()
    made = chain_of(book)
    assert (made.tasks, made.runs) == (("t1", "t2"), ("run-1", "run-2"))
    assert [(write.task_id, write.key) for write in made.writes] == [
        ("t1", key_of(intent())),
        ("t2", key_of(intent())),
    ]
    assert {item.task_id for item in made.items} == {"t1", "t2"}


def test_refusals_and_denied_claims_are_part_of_the_chain() -> None:
    book = Book()
    run = book.run()
    run.task("t1").done()
    late = run.task("t2")
    late.add(
        e.TaskClaimDenied(effect_key=late.key, holder_stream="task:t1", holder_principal=SERVICE, since_us=1)
    )
    assert chain_of(book).of("task")[-1].sentence.startswith("The claim was denied: task:t1")


def test_undoing_marks_the_write_and_is_a_write_of_its_own() -> None:
    book = Book()
    task = book.run().task("t1").done()
    task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="drill"))
    task.write(screen="undo-form")
    task.confirm(phase="compensation")
    task.add(e.CompensationConfirmed(source="detail", restored=intent_state(book)))
    first, second = chain_of(book).writes
    assert (first.undoing, first.compensation) == (False, "confirmed")
    assert (second.undoing, second.compensation, second.readback) == (True, "", "confirmed")


def intent_state(book: Book) -> BusinessState:
    return next(r.event.snapshot for r in book.events if isinstance(r.event, e.CompensationRegistered))


def test_an_item_carries_what_finds_and_proves_its_event() -> None:
    book = Book()
    book.run().task("t1").done()
    for item in chain_of(book).items:
        recorded = book.events[item.position - 1]
        assert item.entry_hash == recorded.row.entry_hash.hex()
        assert (item.event_id, item.name) == (recorded.envelope.event_id, recorded.name)
        assert (item.principal, item.frames) == (recorded.envelope.principal, recorded.envelope.frames)
        assert item.sentence


@pytest.mark.parametrize(
    ("name", "category"),
    [("observation.recorded", "frame"), ("guard.judged", "verdict"), ("readback.confirmed", "readback")],
)
def test_items_are_sorted_into_what_an_auditor_asks_for(name: str, category: str) -> None:
    book = Book()
    book.run().task("t1").done()
    assert {item.category for item in chain_of(book).items if item.name == name} == {category}


def test_nothing_on_record_is_no_chain() -> None:
    book = Book()
    book.run().task("t1").done()
    assert chain(run_keys(EvidenceChain(), book.events).values(), "B404") is None


def test_the_bill_is_read_out_of_a_key_with_colons_in_its_parts() -> None:
    assert bill_of_key(key_of(intent("B:1/2"))) == "B:1/2"
    assert bill_of_key(None) == ""


@given(history=histories)
def test_every_event_about_a_task_is_in_one_chain_once_and_in_order(history: list[Recorded]) -> None:
    rows = list(run_keys(EvidenceChain(), history).values())
    made = [chain(rows, bill) for bill in {row.bill_id for row in rows}]
    positions = [[item.position for item in one.items] for one in made if one is not None]
    assert all(own == sorted(own) for own in positions)
    about = [recorded.row.position for recorded in history if recorded.envelope.task_id is not None]
    assert sorted(itertools.chain.from_iterable(positions)) == about


def test_a_trace_belongs_to_the_writes_of_its_run_that_it_shows() -> None:
    book = Book()
    task = book.run("r1").task("t1", intent("B1"))
    task.claim()
    task.register()
    for number in (1, 2):
        task.observe(f"form-{number}")
        action = task.propose(on=f"form-{number}", writes=True)
        task.judge(action)
        task.attempt(action)
        task.execute(action)
        if number == 1:
            first = task.add(_trace("first"))
    chained = chain_of(book)
    assert [write.trace for write in chained.writes] == [sha("first"), ""]
    assert chained.writes[0].trace_position == first.row.position
    assert [item.category for item in chained.items if item.name == "trace.attached"] == ["frame"]
    task.add(_trace("second"))
    assert [write.trace for write in chain_of(book).writes] == [sha("first"), sha("second")]


def _trace(name: str) -> e.TraceAttached:
    return e.TraceAttached(blob=sha(name), tool="playwright 1.65.2", octets=9, calls=7, masked=2)
