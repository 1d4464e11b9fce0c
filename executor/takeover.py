"""Handing a task to a person, and what the person does with it (B15).

Due times follow severity. A task whose write may have taken effect is ``high``; money that certainly moved the wrong
way is ``critical``; a page that can't be worked on is ``medium``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from domain import commands as c
from domain.events import AlertRaised, TakeoverClaimed, TakeoverRequested, TakeoverResolved
from domain.events.recovery import Severity
from domain.ids import PrincipalId
from domain.values import Verdict
from executor.notify import Notifier
from executor.runtime.streams import TaskStream

DUE_S: Mapping[Severity, int] = {"critical": 3600, "high": 4 * 3600, "medium": 24 * 3600, "low": 72 * 3600}
"""Seconds until a person must have taken the task, by severity."""


def hand_over(
    stream: TaskStream, notifier: Notifier, *, verdict: Verdict, reason: str, severity: Severity, now_us: int
) -> AlertRaised:
    """Put the task into the takeover queue and tell somebody; both are events of the task."""
    stream.stage(
        c.HandOver(
            TakeoverRequested(
                verdict=verdict,
                reason=reason,
                severity=severity,
                due_at_us=now_us + DUE_S[severity] * 1_000_000,
            )
        )
    )
    bill = stream.state.intent.bill_id if stream.state.intent else ""
    alert = notifier.alert("takeover", severity, reason, task=stream.task_id, tenant=stream.tenant, bill=bill)
    stream.stage(c.RaiseAlert(alert))
    stream.flush()
    return alert


def tell_again(
    stream: TaskStream,
    notifier: Notifier,
    *,
    kind: str,
    severity: str,
    message: str,
    channels: Sequence[str],
) -> AlertRaised:
    """Try again the channels that have not had an alert; the try is an event of the task, which stays sealed."""
    sealed = stream.state.sealed
    bill = stream.state.intent.bill_id if stream.state.intent else ""
    context = {"task": stream.task_id, "tenant": stream.tenant, "bill": bill}
    alert = notifier.alert(kind, severity, message, only=channels, **context)
    stream.stage(c.RaiseAlert(alert))
    if sealed:
        stream.stage(c.Seal(by=stream.principal))
    stream.flush()
    return alert


def take(stream: TaskStream, owner: PrincipalId) -> None:
    """A person takes the task; ``CommandRefused`` when somebody else owns it."""
    stream.submit(c.TakeOver(TakeoverClaimed(owner=owner)), principal=owner)


def resolve(stream: TaskStream, fact: TakeoverResolved) -> None:
    """The owner closes it with what they found; the task's stream is sealed again."""
    stream.stage(c.Resolve(fact), principal=fact.owner)
    stream.stage(c.Seal(by=fact.owner), principal=fact.owner)
    stream.flush()
