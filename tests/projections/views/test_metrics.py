"""The four metrics: each counts exactly what its definition says, and shows which events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import events as e
from domain.envelope import Recorded
from projections.fold import run_keys
from projections.views.interval import ENOUGH, Rate, wilson
from projections.views.metrics import Metric, MetricsReport, report
from projections.views.tallies import Metrics
from tests.projections.views.histories import histories
from tests.support.events import PERSON, Book, TaskBook, business, intent


def of(book: Book, *, since_us: int = 0, until_us: int | None = None, mode: str = "") -> MetricsReport:
    rows = run_keys(Metrics(), book.events).values()
    return report(rows, since_us=since_us, until_us=until_us, mode=mode)


def reasons(metric: Metric) -> list[str]:
    return [finding.reason for finding in metric.findings]


def written(book: Book, bill: str = "B1", task: str = "t1") -> TaskBook:
    made = book.run(f"run-{task}").task(task, intent(bill))
    made.claim()
    made.register()
    made.write()
    return made


def watched(book: Book, task: str, bill: str = "B1") -> TaskBook:
    return book.run(f"run-{task}", mode="record_only").task(task, intent(bill), mode="record_only")


class TestMisOperation:
    def test_a_confirmed_write_is_executed_and_not_wrong(self) -> None:
        book = Book()
        book.run().task("t1").done()
        metric = of(book).mis_operation
        attempts = [r.row.position for r in book.events if isinstance(r.event, e.ActionAttempted)]
        assert (list(metric.denominator), metric.numerator, metric.undecided) == (attempts, (), ())

    def test_a_fake_success_that_readback_caught_is_not_wrong_but_incomplete(self) -> None:
        book = Book()
        task = written(book)
        task.mismatch("pending")
        task.hand_over()
        assert of(book).mis_operation.numerator == ()
        assert of(book).mis_operation.undecided == ()
        assert of(book).completion.numerator == ()

    def test_a_state_neither_intended_nor_the_one_before_is_wrong(self) -> None:
        book = Book()
        task = written(book)
        shown = task.mismatch("refunded")
        (finding,) = of(book).mis_operation.findings
        assert (finding.reason, finding.evidence) == ("wrong_state", (shown.row.position,))

    def test_the_intended_status_with_two_ledger_lines_is_wrong(self) -> None:
        book = Book()
        written(book).mismatch("processed", lines=2)
        assert reasons(of(book).mis_operation) == ["wrong_state"]

    def test_a_late_posting_that_a_later_readback_confirms_is_not_wrong(self) -> None:
        book = Book()
        task = written(book)
        task.mismatch("processing")
        task.confirm(phase="later")
        assert of(book).mis_operation.numerator == ()

    def test_a_write_that_was_reopened_after_success_is_wrong(self) -> None:
        book = Book()
        task = book.run().task("t1").done()
        task.add(e.TaskReopened(reason="reversed later"))
        assert reasons(of(book).mis_operation) == ["reopened"]
        assert of(book).completion.numerator == ()

    def test_the_second_of_two_tasks_with_one_effect_is_the_duplicate(self) -> None:
        book = Book()
        first = watched(book, "t1").write()
        second = watched(book, "t2").write()
        metric = of(book).mis_operation
        assert metric.numerator == (second.row.position,)
        assert metric.findings[0].evidence == (first.row.position,)
        assert metric.undecided == (first.row.position,)

    def test_an_effect_brought_about_again_after_its_undoing_is_no_duplicate(self) -> None:
        book = Book()
        task = book.run().task("t1").done()
        task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="wrong month"))
        task.add(e.CompensationConfirmed(source="detail", restored=business()))
        book.run("run-2").task("t2").done()
        assert of(book).mis_operation.numerator == ()

    def test_a_write_after_one_without_effect_is_no_duplicate(self) -> None:
        book = Book()
        task = written(book)
        task.mismatch("pending")
        task.hand_over()
        book.run("run-2").task("t2").done()
        assert of(book).mis_operation.numerator == ()

    def test_a_person_who_finds_no_effect_settles_an_unknown_write(self) -> None:
        book = Book()
        task = written(book)
        task.hand_over()
        assert len(of(book).mis_operation.undecided) == 1
        task.add(e.TakeoverResolved(owner=PERSON, resolution="effect_absent", note=""), principal=PERSON)
        assert of(book).mis_operation.undecided == ()

    def test_done_by_its_own_word_and_not_by_readback_is_a_false_claim(self) -> None:
        book = Book()
        task = watched(book, "t1")
        task.write()
        claim = task.add(e.TaskDeclaredDone(claim="done"))
        assert of(book).mis_operation.numerator == ()
        shown = task.mismatch("pending")
        (finding,) = of(book).mis_operation.findings
        assert (finding.reason, finding.evidence) == (
            "false_claim",
            (claim.row.position, shown.row.position),
        )

    def test_a_stopped_attempt_was_not_executed(self) -> None:
        book = Book()
        task = book.run().task("t1")
        task.observe("list")
        action = task.propose(on="list", writes=True)
        task.attempt(action)
        task.add(e.ActionBlocked(action_id=action, guard="target", verdict="target_changed"))
        assert of(book).mis_operation.denominator == ()

    def test_an_attempt_without_an_outcome_counts_once_it_was_read_back(self) -> None:
        book = Book()
        task = book.run().task("t1")
        task.register()
        task.observe("list")
        attempt = task.attempt(task.propose(on="list", writes=True))
        assert of(book).mis_operation.denominator == ()
        task.confirm(phase="recovery")
        assert of(book).mis_operation.denominator == (attempt.row.position,)

    def test_the_writes_of_an_undoing_are_not_counted(self) -> None:
        book = Book()
        task = book.run().task("t1").done()
        task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="drill"))
        task.write(screen="undo-form")
        task.mismatch("refunded", phase="compensation")
        assert len(of(book).mis_operation.denominator) == 1
        assert of(book).mis_operation.numerator == ()


class TestCompletionAndTakeover:
    def test_a_confirmed_task_is_complete_and_shows_its_success(self) -> None:
        book = Book()
        book.run().task("t1").done()
        (finding,) = of(book).completion.findings
        assert book.events[finding.position - 1].name == "task.opened"
        assert [book.events[at - 1].name for at in finding.evidence] == ["task.succeeded"]
        assert of(book).takeover.numerator == ()

    def test_tasks_that_were_not_begun_or_not_ended_are_not_counted(self) -> None:
        book = Book()
        run = book.run()
        run.task("open").claim()
        denied = run.task("denied")
        denied.add(
            e.TaskClaimDenied(
                effect_key=denied.key, holder_stream="task:t0", holder_principal=PERSON, since_us=1
            )
        )
        assert of(book).completion.denominator == ()

    def test_a_failed_task_is_ended_and_not_complete(self) -> None:
        book = Book()
        book.run().task("t1").add(e.TaskFailed(verdict="denied_by_policy", reason="no"))
        assert len(of(book).completion.denominator) == 1
        assert of(book).completion.numerator == ()

    def test_a_wrapped_loops_word_completes_nothing_and_a_readback_does(self) -> None:
        book = Book()
        task = watched(book, "t1")
        task.write()
        task.add(e.TaskDeclaredDone(claim="done"))
        assert of(book).completion.numerator == ()
        task.confirm(phase="later")
        assert len(of(book).completion.numerator) == 1

    def test_a_task_handed_over_twice_is_one_takeover_with_both_events(self) -> None:
        book = Book()
        task = book.run().task("t1")
        positions = (task.hand_over().row.position, task.hand_over().row.position)
        (finding,) = of(book).takeover.findings
        assert finding.evidence == positions
        assert len(of(book).takeover.numerator) == len(of(book).takeover.denominator) == 1


class TestRollback:
    def test_confirmed_over_ended_and_an_open_one_waits(self) -> None:
        book = Book()
        ends: list[e.Event | None] = [
            e.CompensationConfirmed(source="detail", restored=business()),
            e.CompensationFailed(reason="locked", differences={}),
            None,
        ]
        run = book.run()
        for number, end in enumerate(ends):
            task = run.task(f"t{number}", intent(f"B{number}")).done()
            task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="drill"))
            if end is not None:
                task.add(end)
        metric = of(book).rollback
        assert (len(metric.numerator), len(metric.denominator)) == (1, 2)
        assert [book.events[at - 1].name for at in metric.denominator] == ["compensation.started"] * 2


class TestSelection:
    def test_a_period_and_a_mode_choose_tasks_by_their_opening(self) -> None:
        book = Book()
        book.run().task("t1").done()
        middle = book.now_us + 1
        watched(book, "t2", "B2").write()
        assert (of(book, until_us=middle).tasks, of(book, since_us=middle).tasks) == (1, 1)
        assert of(book, mode="record_only").tasks == 1
        assert len(of(book, until_us=middle).completion.denominator) == 1

    def test_a_duplicate_is_recognised_against_a_task_before_the_period(self) -> None:
        book = Book()
        watched(book, "t1").write()
        middle = book.now_us + 1
        watched(book, "t2").write()
        assert reasons(of(book, since_us=middle).mis_operation) == ["duplicate"]


class TestRates:
    def test_below_five_there_is_no_rate_only_counts(self) -> None:
        book = Book()
        run = book.run()
        for number in range(ENOUGH - 1):
            run.task(f"t{number}", intent(f"B{number}")).done()
        assert of(book).completion.rate is None
        assert of(book).completion.note == "not enough data (4 of at least 5)"
        run.task("t9", intent("B9")).done()
        assert of(book).completion.rate == wilson(5, 5)
        assert of(book).completion.note == ""

    def test_what_nobody_read_back_widens_the_rate_to_its_worst(self) -> None:
        book = Book()
        for number in range(ENOUGH):
            watched(book, f"t{number}", f"B{number}").write()
        metric = of(book).mis_operation
        assert metric.rate == wilson(0, 5)
        assert metric.worst == wilson(5, 5)

    @pytest.mark.parametrize(
        ("hits", "trials", "low", "high"),
        # 95 % Wilson limits as computed by statsmodels' proportion_confint(method="wilson"), rounded outwards
        [(0, 10, 0, 278), (5, 10, 236, 764), (10, 10, 722, 1000), (1, 20, 8, 237), (50, 1000, 38, 66)],
    )
    def test_the_interval_is_wilsons(self, hits: int, trials: int, low: int, high: int) -> None:
        assert wilson(hits, trials) == Rate(
            permille=1000 * hits // trials, low_permille=low, high_permille=high
        )

    def test_hits_that_are_no_trials_are_refused(self) -> None:
        with pytest.raises(ValueError, match="6 of 5"):
            wilson(6, 5)

    @given(trials=st.integers(ENOUGH, 10_000), data=st.data())
    def test_the_interval_holds_the_rate_and_stays_a_proportion(
        self, trials: int, data: st.DataObject
    ) -> None:
        rate = wilson(data.draw(st.integers(0, trials)), trials)
        assert rate is not None
        assert 0 <= rate.low_permille <= rate.permille <= rate.high_permille <= 1000


@given(history=histories)
def test_a_numerator_is_always_part_of_its_denominator(history: list[Recorded]) -> None:
    made = report(run_keys(Metrics(), history).values())
    for metric in (made.mis_operation, made.completion, made.takeover, made.rollback):
        assert set(metric.numerator) | set(metric.undecided) <= set(metric.denominator)
        assert not set(metric.numerator) & set(metric.undecided)
        assert len(set(metric.denominator)) == len(metric.denominator)
