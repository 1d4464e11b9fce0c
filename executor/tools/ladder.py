"""The tool ladder (B2): which rungs an action may use, in which order, and when the next one is tried.

Rules: configuration decides, never code and never a guess; vision performs nothing that can't be undone; a rung is lost
only when nothing was sent that may write; session, rights, intent and approval are no reasons to try another door.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from domain.policy import ActionRule, Decision, RungName
from domain.values import Check, Verdict

LOST: frozenset[Verdict] = frozenset({"page_changed", "server_trouble"})
"""Findings that mean the rung is not usable, not that the work is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rungs:
    """The rungs of one action, best first, and why others are left out."""

    usable: tuple[RungName, ...]
    left_out: dict[RungName, str] = field(default_factory=dict)


def rungs_for(rule: ActionRule, ladder: Sequence[RungName], grade: Callable[[RungName], Decision]) -> Rungs:
    """Which rungs of the configured ladder this action may use.

    Args:
        rule: what the action is like; its own rungs limit the ladder.
        ladder: configured order, best first.
        grade: the write policy's word on the action on one rung.
    """
    usable: list[RungName] = []
    left_out: dict[RungName, str] = {}
    for rung in ladder:
        reason = _why_not(rule, rung, grade)
        if reason:
            left_out[rung] = reason
        else:
            usable.append(rung)
    return Rungs(usable=tuple(usable), left_out=left_out)


def _why_not(rule: ActionRule, rung: RungName, grade: Callable[[RungName], Decision]) -> str:
    if rung not in rule.rungs:
        return f"{rule.action} has no path there"
    if rung == "computer_use" and (rule.irreversible or not rule.compensation):
        return f"{rule.action} can't be undone, and vision performs nothing of that sort"
    decision = grade(rung)
    return f"{decision.rule}: {decision.reason}" if decision.effect == "deny" else ""


def is_lost(check: Check, *, effect: str) -> bool:
    """May the next rung be tried? Only when the rung was unusable and certainly nothing took effect."""
    return effect == "none" and check.verdict in LOST


def remark(rung: RungName, rungs: Rungs, lost: Sequence[tuple[RungName, str]]) -> Check:
    """Which rung performs the write and why, as a finding that never stops it."""
    passed_over = [*lost, *((name, why) for name, why in rungs.left_out.items())]
    why = "; ".join(f"{name}: {reason}" for name, reason in passed_over)
    return Check(
        guard="ladder",
        verdict="pass",
        decisive=False,
        expected=(lost[0][0] if lost else rung),
        found=f"{rung} ({why})" if why else rung,
        measures={"rung": rungs.usable.index(rung) + 1, "rungs": len(rungs.usable)},
    )


def all_lost(lost: Sequence[tuple[RungName, str]], last: Check) -> Check:
    """The finding a person gets when no rung is left."""
    if len(lost) == 1:
        return last
    words = "; ".join(f"{name}: {reason}" for name, reason in lost)
    return Check(guard="ladder", verdict=last.verdict, expected="a usable rung", found=words)
