"""Decides what a bundle is about, and which streams it therefore has to show.

Always whole streams, because only of a whole stream the log's leaves prove that nothing is missing: the tasks asked
for, the runs that worked on them, the tasks that they were told hold their effect, the settlement imports of their
months, the cases that were made of a difference with all that they rest on, and whatever the desk's conclusion rests
on. A bill that no task ever touched has a bundle too, if its
conclusion names the settlement import (``"streams": ["settlement:2026-11"]``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from domain import events as e
from domain.errors import ConfigError
from domain.ids import (
    EventId,
    RunId,
    StreamId,
    TaskId,
    TenantId,
    case_stream,
    run_stream,
    settlement_stream,
    task_stream,
)
from projections.exports.ports import BundleSource
from projections.exports.verify.contents import named_in

ScopeKind = Literal["bill", "log", "month", "run", "task", "tasks"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What was asked for: a bill, a run, a month (``YYYY-MM``), tasks (ids joined by commas), or the whole log."""

    kind: ScopeKind
    name: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The scope and its streams, sorted by name."""

    scope: Scope
    streams: tuple[StreamId, ...]


def scope_of(
    *,
    tasks: Sequence[TaskId] = (),
    bill: str | None = None,
    run: RunId | None = None,
    month: str | None = None,
    log: bool = False,
) -> Scope:
    """The one scope that was given; ``ConfigError`` when there is none or more than one."""
    given: list[Scope] = []
    if tasks:
        given.append(Scope("task" if len(tasks) == 1 else "tasks", ",".join(tasks)))
    if bill is not None:
        given.append(Scope("bill", bill))
    if run is not None:
        given.append(Scope("run", run))
    if month is not None:
        given.append(Scope("month", month))
    if log:
        given.append(Scope("log", ""))
    if len(given) != 1:
        what = "an export is about tasks, a bill, a run, a month or the whole log: give one of them"
        raise ConfigError(what, remedy="see 'proofreel export --help'")
    return given[0]


def select(
    source: BundleSource, tenant: TenantId, scope: Scope, case: Mapping[str, Any] | None = None
) -> Selection:
    """Streams that a bundle on ``scope`` shows; ``ConfigError`` when the record has nothing about it."""
    if scope.kind == "log":
        return Selection(scope, tuple(sorted({row.stream for row in source.rows(tenant)})))
    chosen = {*_asked_for(source, tenant, scope), *_rested_on(source, tenant, case)}
    if not chosen:
        what = f"the record of {tenant} has nothing about {scope.kind} {scope.name}"
        raise ConfigError(what, remedy="look it up in the desk, or with 'proofreel runs'")
    waiting, seen, strangers = sorted(chosen), set(chosen), set[StreamId]()
    while waiting:
        stream = waiting.pop()
        for other in set(_named_by(source, tenant, stream)) - seen - strangers:
            if not _exists(source, tenant, other):
                strangers.add(other)
                continue
            seen.add(other)
            if other.startswith("task:"):
                waiting.append(other)
    return Selection(scope, tuple(sorted(seen)))


def _asked_for(source: BundleSource, tenant: TenantId, scope: Scope) -> Iterable[StreamId]:
    if scope.kind in {"task", "tasks"}:
        wanted = [task_stream(TaskId(name)) for name in scope.name.split(",")]
        missing = [stream for stream in wanted if not _exists(source, tenant, stream)]
        if missing:
            what = f"the record of {tenant} has no {missing[0]}"
            raise ConfigError(what, remedy="task ids stand in the desk beside each task")
        yield from wanted
        return
    if scope.kind == "run" and _exists(source, tenant, run_stream(RunId(scope.name))):
        yield run_stream(RunId(scope.name))
    if scope.kind == "month" and _exists(source, tenant, settlement_stream(scope.name)):
        yield settlement_stream(scope.name)
    for recorded in source.events(tenant, names=("task.opened", "task.refused", "case.opened")):
        fact = recorded.event
        if (
            isinstance(fact, e.CaseOpened)
            and {"bill": fact.bill_id, "month": fact.month}.get(scope.kind) == scope.name
        ):
            yield recorded.row.stream
        if not isinstance(fact, e.TaskOpened | e.TaskRefused):
            continue
        found = {"bill": fact.intent.bill_id, "month": fact.intent.month, "run": recorded.envelope.run_id}
        if found[scope.kind] == scope.name:
            yield recorded.row.stream


def _rested_on(source: BundleSource, tenant: TenantId, case: Mapping[str, Any] | None) -> Iterable[StreamId]:
    for kind, name in named_in(case):
        stream = StreamId(name)
        if kind == "event_id":
            recorded = source.find(tenant, EventId(name))
            if recorded is None:
                what = f"the conclusion rests on event {name}, which the record of {tenant} does not have"
                raise ConfigError(what, remedy="reconcile again on this record")
            stream = recorded.row.stream
        elif not _exists(source, tenant, stream):
            what = f"the conclusion rests on {stream}, which the record of {tenant} does not have"
            raise ConfigError(what, remedy="reconcile again on this record")
        yield stream
    kept = case_stream(str((case or {}).get("id", "")))
    if _exists(source, tenant, kept):
        yield kept  # what was concluded about this difference before, and who accepted it


def _named_by(source: BundleSource, tenant: TenantId, stream: StreamId) -> Iterable[StreamId]:
    for recorded in source.stream(tenant, stream):
        if recorded.envelope.run_id is not None:
            yield run_stream(recorded.envelope.run_id)
        match recorded.event:
            case e.TaskOpened() | e.TaskRefused():
                yield settlement_stream(recorded.event.intent.month)
            case e.TaskClaimDenied():
                yield StreamId(recorded.event.holder_stream)
            case e.CaseOpened():
                yield settlement_stream(recorded.event.month)
            case e.CaseConcluded():
                for cause in recorded.event.causes:
                    for position in (*cause.evidence, *cause.counter_evidence):
                        yield next(source.rows(tenant, position - 1)).stream
            case _:
                pass


def _exists(source: BundleSource, tenant: TenantId, stream: StreamId) -> bool:
    return next(iter(source.stream(tenant, stream)), None) is not None
