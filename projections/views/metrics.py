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
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from projections.views.interval import ENOUGH, Rate, wilson
from projections.views.tallies import Tally, WriteTally

Reason = Literal[
    "wrong_state",
    "reopened",
    "duplicate",
    "false_claim",
    "confirmed",
    "taken_over",
    "restored",
]

_DEFINITIONS = {
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
    chosen = [
        tally
        for tally in everything
        if tally.opened_at_us >= since_us
        and (until_us is None or tally.opened_at_us < until_us)
        and mode in {"", tally.mode}
    ]
    return MetricsReport(
        since_us=since_us,
        until_us=until_us,
        mode=mode,
        tasks=len(chosen),
        mis_operation=_mis_operation(chosen, _duplicates(everything)),
        completion=_completion(chosen),
        takeover=_takeovers(chosen),
        rollback=_rollbacks(chosen),
    )


def _metric(
    name: str, denominator: Iterable[int], findings: Sequence[Finding], undecided: Iterable[int] = ()
) -> Metric:
    trials, open_ = tuple(sorted(denominator)), tuple(sorted(undecided))
    hits = tuple(sorted({finding.position for finding in findings}))
    return Metric(
        name=name,
        definition=_DEFINITIONS[name],
        numerator=hits,
        denominator=trials,
        findings=tuple(findings),
        undecided=open_,
        rate=wilson(len(hits), len(trials)),
        worst=wilson(len(hits) + len(open_), len(trials)) if open_ else None,
        note="" if len(trials) >= ENOUGH else f"not enough data ({len(trials)} of at least {ENOUGH})",
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


def _mis_operation(tallies: Iterable[Tally], duplicates: dict[int, int]) -> Metric:
    executed: list[int] = []
    findings: list[Finding] = []
    undecided: list[int] = []
    for tally in tallies:
        for write in tally.writes:
            if not write.executed:
                continue
            executed.append(write.position)
            wrong = _wrong(tally, write, duplicates)
            findings.extend(wrong)
            if not wrong and write.shown in {"", "differs"}:
                undecided.append(write.position)
    return _metric("mis_operation", executed, findings, undecided)


def _wrong(tally: Tally, write: WriteTally, duplicates: dict[int, int]) -> list[Finding]:
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
    return [
        Finding(position=write.position, task_id=tally.task_id, reason=reason, evidence=evidence)
        for reason, evidence in grounds
    ]


def _ended(tallies: Iterable[Tally]) -> list[Tally]:
    return [tally for tally in tallies if tally.ended]


def _completion(tallies: Iterable[Tally]) -> Metric:
    return _by_task("completion", tallies, "confirmed", lambda tally: tally.completed_by)


def _takeovers(tallies: Iterable[Tally]) -> Metric:
    return _by_task("takeover", tallies, "taken_over", lambda tally: tally.takeovers)


def _by_task(
    name: str, tallies: Iterable[Tally], reason: Reason, evidence: Callable[[Tally], tuple[int, ...]]
) -> Metric:
    ended = _ended(tallies)
    findings = [
        Finding(position=tally.opened, task_id=tally.task_id, reason=reason, evidence=evidence(tally))
        for tally in ended
        if evidence(tally)
    ]
    return _metric(name, (tally.opened for tally in ended), findings)


def _rollbacks(tallies: Iterable[Tally]) -> Metric:
    undoings = [(tally, undoing) for tally in tallies for undoing in tally.undoings if undoing.ended]
    findings = [
        Finding(position=undoing.started, task_id=tally.task_id, reason="restored", evidence=(undoing.ended,))
        for tally, undoing in undoings
        if undoing.restored
    ]
    return _metric("rollback", (undoing.started for _, undoing in undoings), findings)
