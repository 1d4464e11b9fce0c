"""Down the ladder: the best usable rung performs the job; one that is lost gives way to the next, or to a person (B2).

Rules: the next rung is tried only when certainly nothing took effect and the finding says that the rung, not the work,
is at fault; which rung and why is part of the write's record; the order comes from the configuration.
"""

from __future__ import annotations

from collections.abc import Callable

from domain.errors import WorldError
from domain.policy import RungName
from domain.values import Check, Intent
from executor.runtime.calls import CallRunner
from executor.runtime.jobs import Ended, Job, Runner
from executor.runtime.kit import Hands, Kit
from executor.runtime.permits import permit, policy_check
from executor.runtime.steps import StepRunner
from executor.tools.ladder import Rungs, all_lost, is_lost, remark, rungs_for


class NoRung(WorldError):
    """The last rung can't be opened at all; ``cause`` is the world's own word."""

    def __init__(self, cause: WorldError) -> None:
        self.cause = cause
        super().__init__(cause.what, remedy=cause.remedy)


def usable_rungs(kit: Kit, intent: Intent) -> Rungs:
    """The rungs that configuration, action and policy allow for this intent."""
    return rungs_for(kit.rules[intent.action], kit.ladder, lambda rung: permit(kit, intent, rung))


def climb(kit: Kit, hands: Callable[[], Hands], job: Job) -> Ended:
    """Perform the job on the best rung that isn't lost.

    Raises:
        NoRung: the last rung can't be opened, and none before it came further.
    """
    rungs = usable_rungs(kit, job.intent)
    lost: list[tuple[RungName, str]] = []
    ended = Ended(how="stopped", check=_none_allowed(rungs))
    for number, rung in enumerate(rungs.usable, 1):
        try:
            runner = _open(kit, hands, rung)
        except WorldError as error:
            if number == len(rungs.usable):
                raise NoRung(error) from error
            lost.append((rung, error.what))
            continue
        remarks = (remark(rung, rungs, lost), policy_check(permit(kit, job.intent, rung)))
        ended = runner(job.remarked(*remarks))
        if ended.how != "stopped" or not is_lost(ended.check, effect=job.stream.state.effect):
            return ended
        lost.append((rung, ended.check.found or ended.check.verdict))
    return Ended(how="stopped", check=all_lost(lost, ended.check), performed=ended.performed)


def _open(kit: Kit, hands: Callable[[], Hands], rung: RungName) -> Runner:
    if rung in kit.runners:
        return kit.runners[rung]()
    if rung == "browser":
        return StepRunner(kit, hands()).run
    if rung in kit.callers:
        return CallRunner(kit, kit.callers[rung]()).run
    raise WorldError(
        f"rung {rung} isn't set up", remedy="configure it under tools, or take it off the ladder"
    )


def _none_allowed(rungs: Rungs) -> Check:
    why = "; ".join(f"{rung}: {reason}" for rung, reason in rungs.left_out.items())
    found = why or "none is configured"
    return Check(guard="ladder", verdict="denied_by_policy", expected="a usable rung", found=found)
