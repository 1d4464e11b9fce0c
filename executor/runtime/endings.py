"""How a task ends or is put off, so that a person can understand it; nothing here touches the target."""

from __future__ import annotations

from collections.abc import Callable

from domain import commands as c
from domain import events as e
from domain.events.recovery import Severity
from domain.values import Check
from executor.runtime.jobs import AUTH_VERDICTS
from executor.runtime.kit import Kit
from executor.runtime.streams import TaskStream
from executor.takeover import hand_over

PUT_OFF = "put off before any write"
"""Begins the reason of a claim that was given back without an ending."""


class Endings:
    """Writes endings into task streams."""

    def __init__(self, kit: Kit, *, before_seal: Callable[[TaskStream], None] = lambda _: None) -> None:
        """``before_seal``: asked for what still belongs into a stream that is about to be closed."""
        self._kit = kit
        self._before_seal = before_seal

    def fail(self, stream: TaskStream, check: Check) -> None:
        """End without an effect outstanding; session and rights trouble alerts at once (B9)."""
        reason = check.found or check.verdict
        if check.verdict in AUTH_VERDICTS:
            alert = self._kit.notifier.alert(
                check.verdict, "high", reason, task=stream.task_id, tenant=stream.tenant
            )
            stream.stage(c.RaiseAlert(alert))
        stream.stage(c.Fail(e.TaskFailed(verdict=check.verdict, reason=reason)))
        self.seal(stream)

    def put_off(self, stream: TaskStream, reason: str) -> None:
        """Give the claim back and leave the task open: the world is gone, and nothing was written.

        The same order run again claims the effect anew; each time is on record. What may have had an effect, and what
        a stop left open, is not put off: it is settled.
        """
        state = stream.state
        if not state.claimed or state.effect != "none" or state.open_attempt is not None:
            return
        key = state.effect_key
        assert key is not None, "a claimed task has a key"  # noqa: S101 - invariant, stays on
        stream.submit(c.GiveBack(e.TaskClaimReleased(effect_key=key, reason=f"{PUT_OFF}: {reason}")))

    def hand_over(self, stream: TaskStream, check: Check, severity: Severity) -> None:
        """Put the task into a person's queue."""
        reason = check.found or check.verdict
        if check.expected:
            reason = f"expected {check.expected}, found {check.found}"
        hand_over(
            stream,
            self._kit.notifier,
            verdict=check.verdict,
            reason=reason,
            severity=severity,
            now_us=self._kit.clock.now_us(),
        )

    def seal(self, stream: TaskStream) -> None:
        """Close the stream with its count."""
        self._before_seal(stream)
        stream.stage(c.Seal(by=self._kit.identity.principal))
        stream.flush()
