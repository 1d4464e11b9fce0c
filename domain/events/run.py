"""Facts about a run: one recorded session of an executor."""

from __future__ import annotations

from domain.events.base import fact
from domain.events.task import RunMode
from domain.values import Verdict


@fact("run.started")
class RunStarted:
    """An executor began; versions and configuration are kept so that the run can be understood later (C9)."""

    mode: RunMode
    agent: str
    """What drives: ``proofreel 0.1.0``, or the name of a wrapped loop."""
    goal: str
    origin: str
    """Scheme, host and port the run may stay on."""
    browser: str
    """Product and version that the browser reported; empty on rungs without one."""
    viewport_width: int
    viewport_height: int
    config_sha256: str
    tasks_planned: int


@fact("run.resumed")
class RunResumed:
    """The same run was started again after a stop; ``unsettled`` attempts are read back first."""

    unsettled: int


@fact("run.finished")
class RunFinished:
    """The run ended; counts by outcome and by verdict, as published (G6)."""

    outcomes: dict[str, int]
    verdicts: dict[str, int]
    steps: int
    steps_ok: int


@fact("run.escalated")
class RunEscalated:
    """A budget stopped the run and handed it to a person (G7)."""

    verdict: Verdict
    reason: str
    steps: int


@fact("alert.raised")
class AlertRaised:
    """A person was told at once (B9, G8); delivery is reported per channel."""

    kind: str
    severity: str
    message: str
    delivered: dict[str, str]
    """Channel → ``ok`` or the error's one line."""
