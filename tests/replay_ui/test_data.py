"""The desk reads what is on record, of the tenants that it is opened for, and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import sqlalchemy as sa

from domain import events as e
from domain.envelope import Draft
from domain.ids import EventId, TaskId, TenantId, task_stream
from executor.store.log import open_record
from projections.blobs import open_blob_reader
from projections.reading import open_reader
from replay_ui.data import Desk
from tests.replay_ui.sample import DONE, DOUBLE, FAKE, RUN, SECRET_BILL, STOPPED, WATCHED, Sample, make
from tests.support.events import Book

ACME, GLOBEX = TenantId("acme"), TenantId("globex")


def test_runs_stand_newest_first_with_their_counts(desk: Desk) -> None:
    watched, guarded = desk.runs(ACME)
    assert (watched.run_id, guarded.run_id) == (WATCHED, RUN)
    assert guarded.outcomes == {"open": 1, "succeeded": 1, "taken_over": 2}
    assert guarded.verdicts["target_changed"] == 1


def test_tasks_of_a_run_are_those_with_an_event_in_it(desk: Desk) -> None:
    assert {task.bill_id for task in desk.tasks_of_run(ACME, WATCHED)} == {DOUBLE}
    assert sum(desk.tasks_by_status(ACME).values()) == 6
    assert desk.tasks_by_status(ACME)["succeeded"] == 1


def test_a_frame_is_found_by_the_event_and_else_by_the_last_one_before_it(desk: Desk) -> None:
    line = desk.timeline(ACME, RUN)
    assert line is not None
    third = line.entries[2]
    gap = line.entries[4].position - 1
    assert gap not in {entry.position for entry in line.entries}
    assert desk.frame_index(ACME, RUN, position=third.position) == 2
    assert desk.frame_index(ACME, RUN, position=third.position, sha256=third.sha256) == 2
    assert desk.frame_index(ACME, RUN, position=gap) == 3
    assert desk.frame_index(ACME, "no-such-run", position=1) is None


def test_a_chain_names_the_verdict_of_each_event_that_passes_one(desk: Desk) -> None:
    found = desk.chain(ACME, STOPPED)
    assert found is not None
    verdicts = desk.verdicts(ACME, found)
    by_name = {item.name: verdicts.get(item.position) for item in found.items}
    assert by_name["action.blocked"] == "target_changed"
    assert by_name["task.opened"] is None


def test_the_bill_with_the_newest_event_comes_first(desk: Desk) -> None:
    assert desk.bills(ACME, 50)[0] == DOUBLE
    assert set(desk.bills(ACME, 50)) == {DONE, FAKE, STOPPED, "B4", DOUBLE}
    assert desk.bills(ACME, 1) == (DOUBLE,)


def test_what_waits_for_a_person_is_aged_at_the_moment_of_asking(desk: Desk) -> None:
    assert [item.breached for item in desk.queue(ACME, now_us=2**52)] == [True, True]
    assert [item.breached for item in desk.queue(ACME, now_us=0)] == [False, False]
    assert [item.request.approval_id for item in desk.approvals(ACME, now_us=0)] == ["approval-refund"]


def test_the_month_is_reconciled_on_a_chain_that_was_checked(desk: Desk) -> None:
    (item,) = desk.imports(ACME)
    result = desk.reconciliation(ACME, item.position)
    assert result is not None
    assert result.chain_verified
    causes = {found.bill: found.findings[0].cause for found in result.breaks}
    assert causes[FAKE] == "false_success"
    assert causes[DOUBLE] == "duplicate_across_tasks"
    assert desk.reconciliation(ACME, item.position + 1) is None


def test_a_damaged_event_leaves_nothing_proven(tmp_path: Path) -> None:
    made = make(tmp_path)
    with sa.create_engine(made.store).begin() as connection:
        triggers = connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))
        for (name,) in triggers.fetchall():
            connection.execute(sa.text(f"DROP TRIGGER {name}"))
        connection.execute(
            sa.text(
                "UPDATE event SET body = CAST(replace(body, 'mark the bills', 'mark no bills') AS BLOB)"
                " WHERE tenant = 'acme' AND position = 1"
            )
        )
    desk = made.desk()
    (item,) = desk.imports(ACME)
    result = desk.reconciliation(ACME, item.position)
    desk.close()
    assert result is not None
    assert not result.chain_verified
    assert all(finding.verdict != "proven" for found in result.breaks for finding in found.findings)


def test_events_behind_a_number_come_with_their_bill(desk: Desk) -> None:
    report = desk.metrics(ACME).value.report
    places = desk.places(ACME, report.mis_operation.numerator)
    assert [place.bill_id for place in places] == [DOUBLE]
    assert desk.places(ACME, (0, 10_000)) == ()


def test_a_desk_opened_for_one_tenant_has_no_rows_of_another(sample: Sample) -> None:
    desk = sample.desk("globex")
    assert desk.tenants() == [GLOBEX]
    assert desk.runs(ACME) == ()
    assert desk.chain(ACME, DONE) is None
    assert desk.imports(ACME) == ()
    assert desk.stored(ACME, 1) is None
    assert desk.run(ACME, RUN) is None
    assert desk.standing(ACME).events == 0
    assert desk.bills(GLOBEX, 50) == (SECRET_BILL,)
    desk.close()


def test_new_events_are_seen_at_the_next_look(tmp_path: Path) -> None:
    made = make(tmp_path)
    desk = made.desk()
    before = desk.standing(ACME).events
    assert not desk.tasks_of_bill(ACME, DONE)[0].sealed
    stream = task_stream(TaskId("task-done"))
    with open_record(made.store) as log:
        last = list(log.stream(ACME, stream))[-1].envelope
        book = Book("acme")
        added = book.add(e.TaskSealed(events=last.version + 1), stream=stream, task="task-done", run=RUN)
        envelope = msgspec.structs.replace(
            added.envelope, version=last.version + 1, event_id=EventId("019b0000-0000-7000-8000-000000000001")
        )
        log.append([Draft(envelope=envelope, event=added.event)])
    assert desk.standing(ACME).events == before + 1
    assert desk.tasks_of_bill(ACME, DONE)[0].sealed
    desk.close()


def test_views_that_were_kept_from_another_record_are_built_again(tmp_path: Path) -> None:
    made = make(tmp_path)
    longer = Book("acme", start_us=1)
    for number in range(100):
        longer.run(f"other-{number}")
    with open_record(f"sqlite:///{tmp_path}/other.db") as log:
        for recorded in longer.events:
            log.append([Draft(envelope=recorded.envelope, event=recorded.event)])
    kept = f"sqlite:///{tmp_path}/kept.db"
    seen = []
    for store in (f"sqlite:///{tmp_path}/other.db", made.store):
        desk = Desk(open_reader(store), open_blob_reader(made.blobs), sa.create_engine(kept))
        seen.append([run.run_id for run in desk.runs(ACME)])
        desk.close()
    assert len(seen[0]) == 100
    assert seen[1] == [WATCHED, RUN]
