"""What several views must read in the same way out of an event."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, get_args
from urllib.parse import unquote

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId, EffectKey, TaskId
from domain.values import Verdict

_TASK = "task:"

ActionFact: TypeAlias = (
    e.ActionProposed
    | e.GuardJudged
    | e.ActionBlocked
    | e.ActionAttempted
    | e.ActionExecuted
    | e.ActionFailed
    | e.ActionOutcomeUnknown
    | e.ApprovalRequested
)
"""Facts that name the step they are about."""
NAMES_ACTION: frozenset[type] = frozenset(get_args(ActionFact))

VerdictFact: TypeAlias = e.GuardJudged | e.ActionBlocked | e.ActionFailed
"""Facts that pass a verdict on their step."""
ReadbackFact: TypeAlias = e.ReadbackConfirmed | e.ReadbackMismatched | e.ReadbackInconclusive
"""What an independent source showed."""
READBACK_FACTS: frozenset[type] = frozenset(get_args(ReadbackFact))
VERDICT_FACTS: frozenset[type] = frozenset(get_args(VerdictFact))


def task_of(recorded: Recorded) -> TaskId | None:
    """Task an event is about: named in its envelope, or by its stream."""
    if recorded.envelope.task_id is not None:
        return recorded.envelope.task_id
    return _named(recorded.row.stream)


def own_task(recorded: Recorded) -> TaskId | None:
    """Task in whose own stream the event stands; None for what other streams say about it."""
    return _named(recorded.row.stream)


@lru_cache(maxsize=1 << 14)
def _named(stream: str) -> TaskId | None:
    """Task of a stream; every view asks it of every event."""
    return TaskId(stream.removeprefix(_TASK)) if stream.startswith(_TASK) else None


def bill_of_key(key: EffectKey | None) -> str:
    """Bill in an idempotency key (``tenant:bill:action:occurrence``, see ``domain.idempotency``), or empty."""
    parts = (key or "").split(":")
    return unquote(parts[1]) if len(parts) == 4 else ""  # noqa: PLR2004 - the key's four parts


def bill_of(recorded: Recorded) -> str:
    """Bill that the event itself names: by its intent, else by its key, else empty."""
    match recorded.event:
        case e.TaskOpened() | e.TaskRefused():
            return recorded.event.intent.bill_id
        case _:
            return bill_of_key(recorded.envelope.idempotency_key)


def action_of(event: e.Event) -> ActionId | None:
    """Step that a fact names, if it names one."""
    # By exact type: asking a union of eight for each event takes most of a view's time.
    return event.action_id if type(event) in NAMES_ACTION else None  # type: ignore[union-attr]


def verdict_of(event: e.Event) -> Verdict | None:
    """Verdict that a fact passes on its step; None for facts that pass none."""
    return event.verdict if type(event) in VERDICT_FACTS else None  # type: ignore[union-attr]


def first_objection(earlier: Verdict | None, later: Verdict) -> Verdict:
    """Verdict of a step that was judged more than once: the first objection stays, ``pass`` gives way."""
    return later if earlier in {None, "pass"} else earlier


def counted(counts: dict[str, int], earlier: Verdict | None, now: Verdict) -> dict[str, int]:
    """Counts by verdict after a step's verdict went from ``earlier`` to ``now``; every step counts once."""
    if earlier == now:
        return counts
    changed = dict(counts)
    if earlier is not None:
        changed[earlier] -= 1
        if not changed[earlier]:
            del changed[earlier]
    changed[now] = changed.get(now, 0) + 1
    return changed
