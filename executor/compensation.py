"""Undoing a task's effect by the way back that was registered before the write (B11).

The undoing passes the same guards as any write, under a key of its own, and counts only when every configured source
shows the state of the snapshot again. What can't be undone is listed with the result, never passed over: where the
book holds more than this task's own booking, nothing is undone by half, and a person is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from domain import commands as c
from domain import events as e
from domain.errors import CommandRefused
from domain.idempotency import compensation_key
from domain.ids import PrincipalId
from domain.values import BusinessState, Check, Intent
from executor.findings import PASS, in_words
from executor.readback import Expectation, verify
from executor.runtime.climbing import NoRung, climb
from executor.runtime.jobs import Job
from executor.runtime.kit import Hands, Kit
from executor.runtime.permits import permit, sources_for
from executor.runtime.streams import TaskStream
from executor.runtime.traces import TaskTraces
from executor.takeover import hand_over
from executor.tools.base import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What came of a compensation."""

    restored: bool
    reason: str
    residual_effects: tuple[str, ...]


def compensate(
    kit: Kit, stream: TaskStream, hands: Callable[[], Hands], *, requested_by: PrincipalId, reason: str
) -> Undone:
    """Undo the task's effect and read it back; safe to call again after a crash.

    Raises ``CommandRefused`` when there is nothing to undo or no way back was registered.
    """
    state = stream.state
    registered = state.compensation
    if registered is None or state.intent is None or not registered.action:
        raise CommandRefused(
            "compensate.unregistered",
            "no way back was registered before the write",
            remedy="take the task over",
        )
    traces = TaskTraces(kit, hands)
    with traces.of(stream):
        return _compensate(kit, stream, traces, registered, requested_by=requested_by, reason=reason)


def _compensate(
    kit: Kit,
    stream: TaskStream,
    traces: TaskTraces[Hands],
    registered: e.CompensationRegistered,
    *,
    requested_by: PrincipalId,
    reason: str,
) -> Undone:
    state = stream.state
    assert state.intent is not None, "an opened task has an intent"  # noqa: S101 - invariant, stays on
    intent = replace(state.intent, action=registered.action, expected_status=registered.snapshot.status)
    if not state.compensating:
        started = e.CompensationStarted(action=registered.action, requested_by=requested_by, reason=reason)
        stream.submit(c.Compensate(started), principal=requested_by)
    now = sources_for(kit, state.intent.action)[0].read(intent.bill_id)
    explained = _after_write(registered.snapshot, kit.recipe.actions[state.intent.action].new_ledger_lines)
    if stream.state.effect == "none":
        stopped = _changed_since(state.intent, explained, now) or _undo(
            kit, stream, traces.hands, state.intent, intent, now
        )
        if stopped is not None:
            return _failed(kit, stream, registered, stopped.found or stopped.verdict, {})
    expected = Expectation(
        intent=intent,
        status=registered.snapshot.status,
        before=explained,
        new_ledger_lines=kit.recipe.actions[registered.action].new_ledger_lines,
    )
    facts = verify(
        sources_for(kit, state.intent.action),
        expected,
        phase="compensation",
        deadline_s=kit.readback_deadline_s,
    )
    for fact in sorted(facts, key=lambda fact: not isinstance(fact, e.ReadbackConfirmed)):
        stream.stage(c.ReadBack(fact))
    wrong = [fact for fact in facts if not isinstance(fact, e.ReadbackConfirmed)]
    if wrong:
        differences = wrong[0].differences if isinstance(wrong[0], e.ReadbackMismatched) else {}
        return _failed(kit, stream, registered, in_words(wrong[0]), dict(differences))
    confirmed = cast("list[e.ReadbackConfirmed]", facts)
    done = e.CompensationConfirmed(
        source=",".join(fact.source for fact in confirmed), restored=confirmed[0].found
    )
    stream.stage(c.ReportCompensation(done))
    traces.settle(stream)
    stream.stage(c.Seal(by=kit.identity.principal))
    stream.flush()
    return Undone(
        restored=True,
        reason=f"{registered.snapshot.status} again, confirmed by {done.source}",
        residual_effects=registered.residual_effects,
    )


def _after_write(snapshot: BusinessState, lines: int) -> BusinessState:
    """The counts right after the task's own write: what the way back was registered for; -1 where none are shown."""
    return replace(
        snapshot,
        ledger_lines=snapshot.ledger_lines + lines if snapshot.ledger_lines >= 0 else -1,
        history_length=snapshot.history_length + 1 if snapshot.history_length >= 0 else -1,
    )


def _changed_since(original: Intent, explained: BusinessState, now: BusinessState) -> Check | None:
    """Bookings beyond the task's own (a double, a fee, a colleague's) would stay: a person must undo them all."""
    pairs = {
        "ledger lines": (explained.ledger_lines, now.ledger_lines),
        "history entries": (explained.history_length, now.history_length),
    }
    more = [
        f"{got} {name}, not {want}"
        for name, (want, got) in pairs.items()
        if min(want, got) >= 0 and want != got
    ]
    if now.status != original.expected_status:
        found = f"{now.bill_id} is {now.status}, not {original.expected_status}: somebody changed it since"
    elif more:
        found = (
            f"{now.bill_id} has {' and '.join(more)}: the way back takes back this task's one booking only"
        )
    else:
        return None
    return Check(guard="duplicate", verdict="already_in_progress", found=found)


def _undo(
    kit: Kit,
    stream: TaskStream,
    hands: Callable[[], Hands],
    original: Intent,
    intent: Intent,
    now: BusinessState,
) -> Check | None:
    """Perform the undoing steps; the finding that stopped them, or None."""
    action = kit.recipe.actions[intent.action]

    def gate(proposed: e.ActionProposed, _look: Look | None) -> Check:
        decision = permit(kit, intent, proposed.rung)
        if decision.effect == "deny":
            return Check(guard="policy", verdict=decision.verdict, found=decision.reason)
        return PASS  # undoing what was approved needs no second approval; its request is on record

    job = Job(
        stream=stream,
        intent=intent,
        action=action,
        key=compensation_key(kit.tenant, original, intent.action, stream.task_id),
        rule=kit.recipe.request_rule(now.extra),
        irreversible=action.irreversible,
        gate=gate,
    )
    try:
        ended = climb(kit, hands, job)
    except NoRung as error:
        raise error.cause from error
    return ended.check if ended.how == "stopped" else None


def _failed(
    kit: Kit,
    stream: TaskStream,
    registered: e.CompensationRegistered,
    reason: str,
    differences: dict[str, str],
) -> Undone:
    stream.stage(c.ReportCompensation(e.CompensationFailed(reason=reason, differences=differences)))
    hand_over(
        stream,
        kit.notifier,
        verdict="noop",
        reason=f"compensation failed: {reason}",
        severity="critical",
        now_us=kit.clock.now_us(),
    )
    return Undone(restored=False, reason=reason, residual_effects=registered.residual_effects)
