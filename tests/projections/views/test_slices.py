"""Groups of trials, steps by verdict, and days beside UI changes: disjoint, complete, and clickable."""

from __future__ import annotations

import pytest
from hypothesis import given

from domain import events as e
from domain.envelope import Recorded
from projections.fold import run_keys
from projections.views.metrics import NAMES, report, select, trials_of
from projections.views.runs import Runs
from projections.views.slices import DIMENSIONS, Day, Dimension, days, slices, ui_changes, verdicts
from projections.views.tallies import DAY_US, Looks, Metrics, Tally, page_of
from tests.projections.views.histories import histories
from tests.support.events import SECOND_US, START_US, Book, TaskBook, frame, intent, sha

DAYS = pytest.mark.parametrize("dimension", DIMENSIONS)
DAY_S = 86_400


def rows(book: Book) -> list[Tally]:
    return list(run_keys(Metrics(), book.events).values())


def seen(task: TaskBook, ui: str, *, page: str = "/bills", at: str = "screen") -> None:
    fact = e.ObservationRecorded(
        url=f"http://127.0.0.1:8800{page}?lang=en",
        title="Bills",
        structure_sha256=sha(ui),
        document_sha256=sha(at),
    )
    task.add(fact, frames=[frame(at)])


def steps(task: TaskBook, *, ok: int, stopped: int) -> None:
    for number in range(ok + stopped):
        action = task.propose()
        task.judge(action, "pass" if number < ok else "stale")
        if number < ok:
            task.attempt(action, writes=False)
            task.execute(action)
        else:
            task.add(e.ActionBlocked(action_id=action, guard="frame", verdict="stale"))


@DAYS
@given(history=histories)
def test_the_groups_of_a_dimension_are_disjoint_and_sum_to_the_whole(
    dimension: Dimension, history: list[Recorded]
) -> None:
    tallies = list(run_keys(Metrics(), history).values())
    whole = report(tallies)
    trials = trials_of(select(tallies), tallies)
    for name in NAMES:
        groups = [piece.metric for piece in slices(trials, dimension) if piece.metric.name == name]
        for part in ("numerator", "denominator", "undecided"):
            positions = [position for group in groups for position in getattr(group, part)]
            assert sorted(positions) == list(getattr(whole.of(name), part))


def test_a_write_belongs_to_its_own_rung_identity_ui_and_day() -> None:
    book = Book()
    task = book.run().task("t1")
    seen(task, "ui-9", page="/bills/CY-1", at="list")
    task.write()
    task.mismatch("refunded")
    (trial, *_) = trials_of(rows(book), rows(book))
    assert (trial.metric, trial.action, trial.rung) == ("mis_operation", "mark_processed", "browser")
    assert trial.principal == "svc:acme-batch"
    assert trial.ui == f"/bills {sha('ui-1')[:12]}"  # of the page that was seen last before the attempt
    (piece,) = [one for one in slices([trial], "day") if one.metric.name == "mis_operation"]
    assert piece.value == "2026-10-26"


def test_addresses_of_the_same_kind_are_one_page() -> None:
    assert page_of("http://127.0.0.1:8800/bills/CY202611-0007?x=1") == "/bills/*"
    assert page_of("http://127.0.0.1:8800/bills/CY202611-0008/edit") == "/bills/*/edit"
    assert page_of("http://127.0.0.1:8800") == "/"
    assert page_of("http://[broken") == ""


@given(history=histories)
def test_every_step_has_one_verdict_and_the_counts_are_those_of_the_runs(history: list[Recorded]) -> None:
    own = [r for r in history if r.row.stream.startswith("task:") and r.envelope.run_id is not None]
    tallies = run_keys(Metrics(), own).values()
    counted = [position for count in verdicts(tallies) for position in count.steps]
    proposed = [r.row.position for r in own if isinstance(r.event, e.ActionProposed)]
    assert sorted(counted) == proposed
    assert len(set(counted)) == len(counted)


def test_verdicts_equal_what_the_desk_shows_of_the_runs() -> None:
    book = Book()
    for number in range(3):
        task = book.run(f"run-{number}").task(f"t{number}", intent(f"B{number}"))
        steps(task, ok=number + 1, stopped=number)
    shown: dict[str, int] = {}
    for run in run_keys(Runs(), book.events).values():
        for verdict, count in run.verdicts.items():
            shown[verdict] = shown.get(verdict, 0) + count
    assert (
        {count.verdict: len(count.steps) for count in verdicts(rows(book))}
        == shown
        == {"pass": 6, "stale": 3}
    )


def of_days(book: Book) -> tuple[Day, ...]:
    return days(rows(book))


def test_a_day_under_seven_in_ten_is_a_warning_and_seven_in_ten_is_none() -> None:
    book = Book()
    steps(book.run().task("t1"), ok=7, stopped=3)
    (good,) = of_days(book)
    assert (good.rate is not None and good.rate.permille, good.warning) == (700, False)
    steps(book.run("run-2").task("t2"), ok=0, stopped=1)
    (bad,) = of_days(book)
    assert (len(bad.ok), len(bad.steps), bad.warning) == (7, 11, True)


def test_four_steps_are_not_enough_for_a_warning() -> None:
    book = Book()
    steps(book.run().task("t1"), ok=0, stopped=4)
    (day,) = of_days(book)
    assert (day.rate, day.warning, day.note) == (None, False, "not enough data (4 of at least 5)")


def test_a_changed_ui_stands_beside_the_day_it_was_first_seen_on() -> None:
    book = Book()
    task = book.run().task("t1")
    seen(task, "old")
    steps(task, ok=5, stopped=0)
    book.now_us += DAY_S * SECOND_US
    other = book.run("run-2").task("t2", intent("B2"))
    seen(other, "new")
    seen(other, "new")
    seen(other, "old")
    steps(other, ok=1, stopped=4)
    before, after = of_days(book)
    assert (before.changes, before.warning) == ((), False)
    (change,) = after.changes
    assert (change.page, change.before, change.after) == ("/bills", sha("old")[:12], sha("new")[:12])
    event = book.events[change.position - 1].event
    assert isinstance(event, e.ObservationRecorded)
    assert event.structure_sha256 == sha("new")
    assert after.warning


def test_a_dialog_that_was_open_for_a_moment_is_no_new_version() -> None:
    looks = [
        Looks(day=1, page="/bills", structure="a" * 64, first=1, count=9),
        Looks(day=2, page="/bills", structure="a" * 64, first=20, count=9),
        Looks(day=2, page="/bills", structure="d" * 64, first=25, count=2),
    ]
    assert ui_changes(looks) == {}


def test_two_tasks_looks_at_a_page_are_counted_together() -> None:
    looks = [
        Looks(day=1, page="/bills", structure="a" * 64, first=1),
        Looks(day=2, page="/bills", structure="a" * 64, first=30, count=2),
        Looks(day=2, page="/bills", structure="b" * 64, first=20, count=2),
        Looks(day=2, page="/bills", structure="b" * 64, first=10, count=1),
    ]
    (change,) = ui_changes(looks)[2]
    assert (change.after, change.position) == ("b" * 12, 10)


def test_days_outside_the_period_are_left_out_but_known() -> None:
    book = Book()
    task = book.run().task("t1")
    seen(task, "old")
    steps(task, ok=5, stopped=0)
    book.now_us += DAY_S * SECOND_US
    seen(task, "new")
    second = (START_US // DAY_US + 1) * DAY_US
    (day,) = days(rows(book), since_us=second)
    assert len(day.changes) == 1  # told against the day before, which is not in the period
    assert day.steps == ()
    assert [one.day for one in days(rows(book), until_us=second)] == ["2026-10-26"]


def test_steps_of_the_other_mode_are_not_counted() -> None:
    book = Book()
    steps(book.run(mode="record_only").task("t1", mode="record_only"), ok=5, stopped=0)
    assert days(rows(book), mode="guarded") == ()
    assert len(days(rows(book), mode="record_only")[0].steps) == 5
