"""The timeline: one entry for each frame, the verdict of its step, the marker where it belongs."""

from __future__ import annotations

import msgspec
from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId
from projections.fold import run_keys
from projections.views.timeline import Entry, Reading, Timeline, TimelineProjection, timeline
from replay_ui.player.manifest import COLUMNS, FrameEntry, GuardReading, header_of
from tests.projections.views.histories import histories
from tests.support.events import Book, frame, intent, sha

VIEW = TimelineProjection()


def of_run(book: Book, run: str = "run-1") -> Timeline:
    rows = [row for row in run_keys(VIEW, book.events).values() if row.run_id == run]
    made = timeline(rows)
    assert made is not None
    return made


def test_an_entry_has_exactly_the_columns_of_the_players_manifest() -> None:
    assert Entry.__struct_fields__ == COLUMNS
    assert tuple(Reading.__dataclass_fields__) == GuardReading.__struct_fields__


def test_a_good_step_passes_on_the_screen_it_was_planned_on_and_is_marked_there() -> None:
    book = Book()
    book.run().task("t1").done()
    entries = of_run(book).entries
    planned, readback = entries
    assert (planned.sha256, planned.role, planned.step) == (sha("list"), "observed", 1)
    assert (planned.verdict, planned.tone) == ("pass", "ok")
    assert planned.point == (640, 20)
    assert planned.target == (600, 10, 80, 24)
    assert planned.row == (0, 0, 1280, 40)
    assert planned.roi == (592, 0, 96, 68)  # radius 48, cut at the upper edge
    assert planned.guards[0].measures == {"dhash_screen_bits": 3}
    assert (planned.bill_id, planned.action, planned.label) == ("B1", "click", "标记处理")
    assert (readback.verdict, readback.tone, readback.point) == ("confirmed", "ok", None)


def test_a_blocked_step_is_stopped_on_all_its_frames_and_the_next_step_is_not() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action, "stale", frames=[frame("list-changed", "before")])
    task.add(e.ActionBlocked(action_id=action, guard="frame", verdict="stale"))
    task.write(screen="list-changed")
    entries = of_run(book).entries
    assert [(entry.step, entry.verdict, entry.tone) for entry in entries] == [
        (1, "stale", "stopped"),
        (1, "stale", "stopped"),
        (2, "pass", "ok"),
    ]
    assert entries[0].guards[0].expected == "button of B1"


def test_what_nobody_stopped_failed_against_an_objection() -> None:
    book = Book()
    task = book.run(mode="record_only").task("t1", mode="record_only")
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action, "target_changed", enforced=False)
    task.attempt(action)
    task.execute(action)
    (entry,) = of_run(book).entries
    assert (entry.verdict, entry.tone) == ("target_changed", "failed")


def test_nothing_changed_after_the_action_takes_the_pass_away() -> None:
    book = Book()
    task = book.run().task("t1")
    task.write()
    task.judge(ActionId("t1-action-1"), "noop", phase="after", frames=[frame("list", "after")])
    planned, after = of_run(book).entries
    assert (planned.verdict, planned.tone) == (after.verdict, after.tone) == ("noop", "failed")
    assert after.point is None


def test_an_attempt_that_nobody_knows_the_end_of_is_unknown_though_the_guards_passed_it() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    action = task.propose(on="list", writes=True)
    task.judge(action)
    task.attempt(action)
    task.add(e.ActionOutcomeUnknown(action_id=action, reason="time-out"))
    (entry,) = of_run(book).entries
    assert (entry.verdict, entry.tone) == ("unknown", "unknown")


def test_steps_of_interleaved_tasks_count_through_the_run() -> None:
    book = Book()
    run = book.run()
    one, two = run.task("t1"), run.task("t2", intent("B2"))
    one.write(screen="a")
    two.write(screen="b")
    one.write(screen="c")
    made = of_run(book)
    assert [(entry.task_id, entry.step) for entry in made.entries] == [("t1", 1), ("t2", 2), ("t1", 3)]
    assert (made.mode, made.title) == ("guarded", "mark the bills of November")


def test_a_task_that_goes_on_in_another_run_keeps_its_bill_there() -> None:
    book = Book()
    run = book.run()
    task = run.task("t1")
    book.run("run-2")
    task.add(
        e.ObservationRecorded(
            url="", title="later", structure_sha256=sha("ui-1"), document_sha256=sha("later")
        ),
        frames=[frame("later")],
        run="run-2",
    )
    (entry,) = of_run(book, "run-2").entries
    assert entry.bill_id == "B1"


def test_a_run_without_events_has_no_timeline() -> None:
    assert timeline([]) is None


@given(history=histories)
def test_every_picture_of_a_run_is_shown_in_the_order_of_the_log(history: list[Recorded]) -> None:
    rows = run_keys(VIEW, history)
    for run in {row.run_id for row in rows.values()}:
        made = timeline(row for row in rows.values() if row.run_id == run)
        assert made is not None
        recorded = [
            (event.row.position, shown.sha256)
            for event in history
            if event.envelope.run_id == run
            for shown in event.envelope.frames
        ]
        shown_at = [(entry.position, entry.sha256) for entry in made.entries]
        assert set(shown_at) <= set(recorded)
        assert [position for position, _ in shown_at] == sorted(position for position, _ in shown_at)
        assert {picture for _, picture in shown_at} == {picture for _, picture in recorded}


def test_a_picture_that_stands_still_is_shown_once_with_its_click() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    action = task.propose(on="list")
    task.add(e.ActionAttempted(action_id=action, writes=False), frames=[frame("list", "before")])
    task.add(e.ActionExecuted(action_id=action, latency_us=1), frames=[frame("detail", "after")])
    task.observe("detail")

    shown = of_run(book).entries

    assert [entry.role for entry in shown] == ["before", "after"]
    assert shown[0].point is not None


def test_trouble_is_not_folded_into_what_went_well() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    action = task.propose(on="list")
    blocked = e.ActionBlocked(action_id=action, guard="gate", verdict="target_changed")
    task.add(blocked, frames=[frame("list", "before")])
    task.observe("list")

    assert [entry.tone for entry in of_run(book).entries] == ["stopped", "stopped", "none"]


@given(history=histories)
def test_the_player_accepts_every_timeline(history: list[Recorded]) -> None:
    rows = run_keys(VIEW, history)
    for run in {row.run_id for row in rows.values()}:
        made = timeline(row for row in rows.values() if row.run_id == run)
        assert made is not None
        entries = [msgspec.convert(msgspec.to_builtins(entry), FrameEntry) for entry in made.entries]
        assert header_of(entries, tenant="acme", run=run, mode="guarded").frames == len(made.entries)


def test_what_the_gate_expected_and_found_is_the_first_reading_of_a_blocked_step() -> None:
    book = Book()
    task = book.run().task("t1")
    task.observe("list")
    action = task.propose(on="list")
    blocked = e.ActionBlocked(
        action_id=action, guard="gate", verdict="target_changed", expected="row B1", found="row B2"
    )
    task.add(blocked, frames=[frame("list-changed", "before")])

    first = of_run(book).entries[-1].guards[0]

    assert (first.guard, first.expected, first.found, first.tone) == ("gate", "row B1", "row B2", "stopped")
