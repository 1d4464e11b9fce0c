"""Search: by bill, task, run, person, key and hash; through rows that follow the log."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from domain import events as e
from domain.envelope import Draft, Recorded
from domain.ids import TenantId
from executor.store.log import open_record
from projections.blobs import open_blob_reader
from projections.reading import open_reader
from replay_ui.data import Desk
from replay_ui.lookup import head_of
from replay_ui.lookup_tables import METADATA, PLACES
from replay_ui.search import FEWEST_DIGITS, search
from tests.replay_ui.sample import DONE, DOUBLE, RUN, SECRET_BILL, WATCHED, Sample, make

ACME, GLOBEX = TenantId("acme"), TenantId("globex")


def test_a_bill_is_found_by_its_number_and_by_its_beginning(desk: Desk) -> None:
    exact = search(desk, ACME, DOUBLE)
    assert [task.task_id for task in exact.tasks] == ["task-double-1", "task-double-2"]
    assert search(desk, ACME, "B").bills == ("B1", "B2", "B3", "B4", "B5")
    assert search(desk, ACME, f"  {DONE} ").tasks == desk.tasks_of_bill(ACME, DONE)


def test_a_task_and_a_run_are_found_by_the_first_letters_of_their_ids(desk: Desk) -> None:
    assert [task.task_id for task in search(desk, ACME, "task-doub").tasks] == [
        "task-double-1",
        "task-double-2",
    ]
    assert [run.run_id for run in search(desk, ACME, "run-g").runs] == [RUN]


def test_an_identity_is_found_by_what_it_had_a_hand_in(desk: Desk) -> None:
    found = search(desk, ACME, "svc:acme-batch")
    assert {task.bill_id for task in found.tasks} == {"B1", "B2", "B3", "B4", "B5"}
    assert {run.run_id for run in found.runs} == {RUN, WATCHED}
    (item,) = desk.imports(ACME)
    by_person = search(desk, ACME, item.principal)
    assert item.position in {place.position for place in by_person.events}


def test_an_idempotency_key_leads_to_its_tasks(desk: Desk) -> None:
    (task,) = desk.tasks_of_bill(ACME, DONE)
    assert [found.task_id for found in search(desk, ACME, task.effect_key).tasks] == [task.task_id]


def test_a_frame_a_link_and_an_event_are_found_by_their_hash_or_id(desk: Desk) -> None:
    line = desk.timeline(ACME, RUN)
    assert line is not None
    frame = line.entries[2]
    for digits in (frame.sha256, frame.sha256.upper(), frame.sha256[:FEWEST_DIGITS], frame.sha256[:20]):
        assert frame.position in {place.position for place in search(desk, ACME, digits).events}
    stored = desk.stored(ACME, 7)
    assert stored is not None
    assert [place.position for place in search(desk, ACME, stored.row.entry_hash.hex()).events] == [7]
    (by_id,) = (place.position for place in search(desk, ACME, stored.envelope.event_id).events)
    assert by_id == 7


def test_a_settlement_file_is_found_by_its_hash(desk: Desk) -> None:
    (item,) = desk.imports(ACME)
    assert [place.position for place in search(desk, ACME, item.blob).events] == [item.position]


def test_a_hash_that_only_begins_alike_is_not_shown(desk: Desk) -> None:
    line = desk.timeline(ACME, RUN)
    assert line is not None
    close = line.entries[0].sha256[:16] + "0" * 48
    assert desk.lookup.positions_of(ACME, close, 5)
    assert search(desk, ACME, close).events == ()


@pytest.mark.parametrize("asked", ["", "   ", "no such thing", "%", "_", "B1' OR 1=1 --", "a" * 401, "\x00"])
def test_what_is_not_on_record_finds_nothing(desk: Desk, asked: str) -> None:
    assert search(desk, ACME, asked).nothing


def test_another_tenants_record_is_not_searched(desk: Desk, sample: Sample) -> None:
    theirs = next(iter(desk.reader.events(GLOBEX)))
    secrets = (
        SECRET_BILL,
        "task-globex",
        "run-globex",
        theirs.row.entry_hash.hex(),
    )
    for secret in secrets:
        assert search(desk, ACME, secret).nothing, secret
        assert not search(desk, GLOBEX, secret).nothing, secret
    narrow = sample.desk("globex")
    assert search(narrow, ACME, DONE).nothing
    narrow.close()


def test_hashes_sort_by_their_first_digits() -> None:
    assert head_of("0" * 64) == -(2**63)
    assert head_of("f" * 64) == 2**63 - 1
    assert head_of("7f" * 32) < head_of("80" * 32)
    assert head_of("not a hash at all") == 0


def test_rows_follow_the_log_event_by_event(tmp_path: Path) -> None:
    """However the log grows under the desk, what is found is what a new desk finds."""
    for name in ("whole", "grown"):
        (tmp_path / name).mkdir()
    whole = make(tmp_path / "whole")
    store = f"sqlite:///{tmp_path}/grown/record.db"
    with open_reader(whole.store) as reader:
        rows = list(reader.events(ACME))
    views = sa.create_engine(f"sqlite:///{tmp_path}/grown/views.db")
    with open_record(store) as log:
        log.append([_draft(rows[0])])
        desk = Desk(open_reader(store), open_blob_reader(whole.blobs), views)
        for number, recorded in enumerate(rows[1:]):
            claim = recorded.event.effect_key if isinstance(recorded.event, e.TaskClaimed) else None
            log.append([_draft(recorded)], claim=claim)
            if number % 5 == 0:
                desk.catch_up(ACME)
    fresh = whole.desk()
    frame = next(ref.sha256 for recorded in rows for ref in recorded.envelope.frames)
    for asked in ("B", "B5", "svc:acme-batch", "task-", "run-", frame[:12]):
        mine, theirs = search(desk, ACME, asked), search(fresh, ACME, asked)
        assert mine.bills == theirs.bills
        assert [task.task_id for task in mine.tasks] == [task.task_id for task in theirs.tasks]
        assert [run.outcomes for run in mine.runs] == [run.outcomes for run in theirs.runs]
        assert [place.position for place in mine.events] == [place.position for place in theirs.events]
    assert desk.tasks_by_status(ACME) == fresh.tasks_by_status(ACME)
    assert [run.verdicts for run in desk.runs(ACME)] == [run.verdicts for run in fresh.runs(ACME)]
    desk.close()
    fresh.close()


def test_rows_of_another_version_are_made_again(tmp_path: Path) -> None:
    made = make(tmp_path)
    desk = made.desk()
    before = search(desk, ACME, "svc:acme-batch")
    desk.close()
    with sa.create_engine(made.views).begin() as connection:
        connection.execute(sa.update(PLACES).values(version="0"))
        connection.execute(sa.text("UPDATE desk_tasks SET bill = 'wrong', task_id = 'x' || task_id"))
    again = made.desk()
    assert search(again, ACME, "svc:acme-batch") == before
    assert search(again, ACME, "wrong").nothing
    again.close()


def test_views_that_were_ahead_of_the_rows_are_caught_up_with(tmp_path: Path) -> None:
    """A desk that died between the two leaves the rows behind; they are brought along at the next start."""
    made = make(tmp_path)
    desk = made.desk()
    before = search(desk, ACME, "B")
    desk.close()
    with sa.create_engine(made.views).begin() as connection:
        for table in METADATA.sorted_tables:
            connection.execute(sa.delete(table))
    again = made.desk()
    found = search(again, ACME, "B")
    assert found == before
    assert search(again, ACME, DONE).tasks
    again.close()


def _draft(recorded: Recorded) -> Draft:
    return Draft(envelope=recorded.envelope, event=recorded.event)
