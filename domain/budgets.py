"""Budgets of a run with no way round (G7): steps, stuck length, success rate, time and tokens.

Stuck means the same document state *and* the same intent: three productive marks in a row on a list that looks alike
are not stuck (a measured false alarm of the published rule, which looks at frames alone).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from domain.values import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits; the published ones are the defaults."""

    max_steps: int = 40
    """Atomic actions of one task."""
    stuck_frames: int = 3
    """Equal states in a row that mean stuck."""
    min_success_percent: int = 50
    success_after_steps: int = 8
    """The success rate counts once so many steps were made."""
    max_seconds: int = 900
    """From the first look to the last, people's answers not counted."""
    max_tokens: int = 200_000
    """Tokens of a model, sent and received; nothing is spent where none is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a task has used so far."""

    steps: int = 0
    succeeded: int = 0
    same_state: int = 1
    last_state: str = ""
    elapsed_us: int = 0
    """Microseconds since the work began; the caller's clock says so."""
    tokens: int = 0


def spend(spent: Spent, *, state: str, succeeded: bool) -> Spent:
    """Count one step; ``state`` is the document's hash joined with the intent it was made for."""
    same = spent.same_state + 1 if state == spent.last_state else 1
    return replace(
        spent,
        steps=spent.steps + 1,
        succeeded=spent.succeeded + int(succeeded),
        same_state=same,
        last_state=state,
    )


def exceeded(budget: Budget, spent: Spent) -> Check | None:
    """The budget that is used up, as a finding with its numbers; None while all hold."""
    if spent.steps >= budget.max_steps:
        return Check(
            guard="budget",
            verdict="budget_exhausted",
            expected=f"fewer than {budget.max_steps} steps",
            found=f"{spent.steps} steps",
            measures={"steps": spent.steps},
        )
    if spent.same_state >= budget.stuck_frames and spent.steps > 0:
        return Check(
            guard="budget",
            verdict="stuck",
            expected=f"fewer than {budget.stuck_frames} equal states in a row",
            found=f"{spent.same_state} equal states with the same intent",
            measures={"same_state": spent.same_state},
        )
    for used, limit, unit in (
        (spent.elapsed_us // 1_000_000, budget.max_seconds, "seconds"),
        (spent.tokens, budget.max_tokens, "tokens"),
    ):
        if used >= limit:
            return Check(
                guard="budget",
                verdict="budget_exhausted",
                expected=f"fewer than {limit} {unit}",
                found=f"{used} {unit}",
                measures={unit: used},
            )
    percent = 100 * spent.succeeded // spent.steps if spent.steps else 100
    if spent.steps >= budget.success_after_steps and percent < budget.min_success_percent:
        return Check(
            guard="budget",
            verdict="low_success",
            expected=f"at least {budget.min_success_percent} % of steps succeed",
            found=f"{percent} % of {spent.steps}",
            measures={"success_percent": percent},
        )
    return None
