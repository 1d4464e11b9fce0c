"""The four metrics (B13), each with its definition and with the events that it counts.

Rules enforced here:

* Numerators and denominators are positions of events in the tenant's log; every number can be clicked through. A
  numerator is always part of its denominator.
* Mis-operation = writes that took effect wrongly, over writes executed. A write is an ``action.attempted`` that may
  change the business, outside of an undoing. It counts as executed when its outcome is executed or unknown, or when
  a readback followed it; stopped and failed attempts don't count. It took effect wrongly when
  (``wrong_state``) the last readback shows neither the intended state nor the one before it,
  (``reopened``) its task was reopened after success,
  (``duplicate``) a write of another task for the same effect came before it, and that one was neither shown to be
  without effect nor undone in between, or
  (``false_claim``) its task was declared done and the last readback shows otherwise.
  A write without effect that nobody claimed (a fake success caught by readback) is not a mis-operation; it costs
  completion.
* Completion = tasks that ended in a success that a readback confirmed and that was not reopened since, over tasks that
  came to an end. Refused tasks and those whose effect another task holds are not counted: they weren't begun.
* Human takeover = tasks handed to a person at least once, over tasks that came to an end (handing over is an end).
* Rollback success = undoings confirmed by readback, over undoings that ended.
* Writes that nobody read back conclusively stay in the denominator and are listed as ``undecided``; the rate with
  all of them taken as wrong is stated beside the rate.
* Below five trials there is no rate, only the counts.
* Each event of a denominator is one ``Trial`` with what it can be grouped by (``projections.views.slices``): the
  action, rung, principal, UI version and day of the write, or of the task it belongs to. Groups of a metric are
  disjoint and together they are the metric.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from projections.views.interval import ENOUGH, Rate, wilson
from projections.views.tallies import Tally, WriteTally

MetricName = Literal["mis_operation", "completion", "takeover", "rollback"]
NAMES: tuple[MetricName, ...] = ("mis_operation", "completion", "takeover", "rollback")

Reason = Literal[
    "wrong_state",
    "reopened",
    "duplicate",
    "false_claim",
    "confirmed",
    "taken_over",
    "restored",
]

DEFINITIONS: dict[MetricName, str] = {
    "mis_operation": "Writes that took effect wrongly, of all writes executed.",
    "completion": "Tasks that ended in a success confirmed by readback, of all tasks that came to an end.",
    "takeover": "Tasks handed to a person at least once, of all tasks that came to an end.",
    "rollback": "Undoings whose readback shows the state before the write again, of all undoings that ended.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why an event is in a numerator."""

    position: int
    task_id: str
    reason: Reason
    evidence: tuple[int, ...]
    """Positions of the events that show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One event of a denominator, and what it can be grouped by."""

    metric: MetricName
    position: int
    at_us: int
    """Of the write, of the task's opening, or of the request to undo."""
    task_id: str
    bill_id: str
    action: str
    rung: str
    principal: str
    ui: str
    findings: tuple[Finding, ...] = ()
    """Why it is in the numerator; empty when it isn't."""
    undecided: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One rate and everything that it is made of."""

    name: str
    definition: str
    numerator: tuple[int, ...]
    denominator: tuple[int, ...]
    findings: tuple[Finding, ...]
    """One or more for each event of the numerator."""
    undecided: tuple[int, ...]
    """Events of the denominator that nothing on record decides."""
    rate: Rate | None
    worst: Rate | None
    """With everything undecided taken as a hit; None where nothing is undecided."""
    note: str
    """``not enough data (3 of at least 5)``, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsReport:
    """The four metrics over one selection of tasks."""

    since_us: int
    until_us: int | None
    mode: str
    tasks: int
    mis_operation: Metric
    completion: Metric
    takeover: Metric
    rollback: Metric

    def of(self, name: MetricName) -> Metric:
        """One of the four."""
        match name:
            case "mis_operation":
                return self.mis_operation
            case "completion":
                return self.completion
            case "takeover":
                return self.takeover
            case "rollback":
                return self.rollback


def report(
    tallies: Iterable[Tally], *, since_us: int = 0, until_us: int | None = None, mode: str = ""
) -> MetricsReport:
    """Metrics over the tasks opened in ``[since_us, until_us)``.

    Args:
        tallies: rows of the view ``metrics``, all of the tenant: a duplicate is recognised against older tasks too.
        since_us: microseconds since 1970 (UTC).
        until_us: end of the period, not included; None for no end.
        mode: ``guarded`` or ``record_only`` only; empty for both.
    """
    everything = sorted((tally for tally in tallies if tally.opened), key=lambda tally: tally.opened)
    chosen = select(everything, since_us=since_us, until_us=until_us, mode=mode)
    found = trials_of(chosen, everything)
    return MetricsReport(
        since_us=since_us,
        until_us=until_us,
        mode=mode,
        tasks=len(chosen),
        mis_operation=metric_of("mis_operation", found),
        completion=metric_of("completion", found),
        takeover=metric_of("takeover", found),
        rollback=metric_of("rollback", found),
    )


def select(
    tallies: Iterable[Tally], *, since_us: int = 0, until_us: int | None = None, mode: str = ""
) -> list[Tally]:
    """Tasks opened in a period, in a mode; those that the router refused were never opened."""
    return [
        tally
        for tally in tallies
        if tally.opened
        and tally.opened_at_us >= since_us
        and (until_us is None or tally.opened_at_us < until_us)
        and mode in {"", tally.mode}
    ]


def trials_of(chosen: Iterable[Tally], everything: Iterable[Tally]) -> tuple[Trial, ...]:
    """Every event of every denominator over the ``chosen`` tasks, in order of metric and position."""
    duplicates = _duplicates(everything)
    found = [trial for tally in chosen for trial in _trials(tally, duplicates)]
    return tuple(sorted(found, key=lambda trial: (NAMES.index(trial.metric), trial.position)))


def metric_of(name: MetricName, trials: Iterable[Trial]) -> Metric:
    """One metric over those of the trials that are its own."""
    own = [trial for trial in trials if trial.metric == name]
    hits = tuple(trial.position for trial in own if trial.findings)
    open_ = tuple(trial.position for trial in own if trial.undecided)
    count = len(own)
    return Metric(
        name=name,
        definition=DEFINITIONS[name],
        numerator=hits,
        denominator=tuple(trial.position for trial in own),
        findings=tuple(finding for trial in own for finding in trial.findings),
        undecided=open_,
        rate=wilson(len(hits), count),
        worst=wilson(len(hits) + len(open_), count) if open_ else None,
        note="" if count >= ENOUGH else f"not enough data ({count} of at least {ENOUGH})",
    )


def _duplicates(tallies: Iterable[Tally]) -> dict[int, int]:
    """Position of a write → position of the earlier one, by another task, that had the same effect already."""
    by_key: dict[str, list[tuple[Tally, WriteTally]]] = defaultdict(list)
    for tally in tallies:
        for write in tally.writes:
            if write.executed and write.key:
                by_key[write.key].append((tally, write))
    found: dict[int, int] = {}
    for pairs in by_key.values():
        pairs.sort(key=lambda pair: pair[1].position)
        for index, (tally, write) in enumerate(pairs):
            for other, earlier in pairs[:index]:
                stands = earlier.shown != "untouched" and not other.undone_between(
                    earlier.position, write.position
                )
                if other.task_id != tally.task_id and stands:
                    found[write.position] = earlier.position
    return found


def _trials(tally: Tally, duplicates: dict[int, int]) -> Iterator[Trial]:
    for write in tally.writes:
        if write.executed:
            wrong = _wrong(tally, write, duplicates)
            yield Trial(
                metric="mis_operation",
                position=write.position,
                at_us=write.at_us,
                task_id=tally.task_id,
                bill_id=tally.bill_id,
                action=tally.action,
                rung=write.rung or tally.rung,
                principal=write.principal,
                ui=write.ui,
                findings=wrong,
                undecided=not wrong and write.shown in {"", "differs"},
            )
    if tally.ended:
        yield _of_task("completion", tally, "confirmed", tally.completed_by)
        yield _of_task("takeover", tally, "taken_over", tally.takeovers)
    for undoing in tally.undoings:
        if undoing.ended:
            evidence = (undoing.ended,) if undoing.restored else ()
            trial = _of_task("rollback", tally, "restored", evidence, position=undoing.started)
            yield replace(trial, at_us=undoing.at_us)


def _of_task(
    metric: MetricName, tally: Tally, reason: Reason, evidence: tuple[int, ...], *, position: int = 0
) -> Trial:
    """Trial about a whole task; it is in the numerator when there is evidence for it."""
    last = tally.last_executed
    at = position or tally.opened
    finding = Finding(position=at, task_id=tally.task_id, reason=reason, evidence=evidence)
    return Trial(
        metric=metric,
        position=at,
        at_us=tally.opened_at_us,
        task_id=tally.task_id,
        bill_id=tally.bill_id,
        action=tally.action,
        rung=last.rung if last is not None and last.rung else tally.rung,
        principal=tally.principal,
        ui=last.ui if last is not None else tally.ui,
        findings=(finding,) if evidence else (),
    )


def _wrong(tally: Tally, write: WriteTally, duplicates: dict[int, int]) -> tuple[Finding, ...]:
    last = write == tally.last_executed
    grounds: list[tuple[Reason, tuple[int, ...]]] = []
    if write.shown == "wrong":
        grounds.append(("wrong_state", (write.shown_at,)))
    if write.reopened:
        grounds.append(("reopened", write.reopened))
    if write.position in duplicates:
        grounds.append(("duplicate", (duplicates[write.position],)))
    if tally.declared and last and write.shown in {"untouched", "wrong", "differs"}:
        grounds.append(("false_claim", (tally.declared, write.shown_at)))
    return tuple(
        Finding(position=write.position, task_id=tally.task_id, reason=reason, evidence=evidence)
        for reason, evidence in grounds
    )
