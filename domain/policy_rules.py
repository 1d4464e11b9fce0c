"""Write rules: by action, amount, tenant, principal, rung and time → allow, ask n people, or deny.

The rules it enforces:

* the first rule that fits decides, from top to bottom; where none fits the write is denied
* amounts are compared without their sign and only within their currency; hours and days are the caller's local ones
* a rule that can never decide (earlier ones take all its cases) is a flaw, and so is one that contradicts an earlier
  rule about the same cases; ``flaws`` finds them exactly, by cutting the space of all cases into cells
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from domain.policy import Decision, RungName
from domain.values import Verdict

Effect = Literal["allow", "ask", "deny"]
VERDICTS: Mapping[Effect, Verdict] = {
    "allow": "pass",
    "ask": "approval_required",
    "deny": "denied_by_policy",
}
DAYS = 7
MINUTES = 24 * 60
MAX_RULES = 200
MAX_PIECES = 20_000
"""Pieces of the space of cases that one rule may be cut into before it counts as too entangled to be judged."""
ELSE = "\x00any other"
"""Stands for every value that no rule names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Cases that a rule is about; what is empty or None is not looked at."""

    actions: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    rungs: tuple[RungName, ...] = ()
    currencies: tuple[str, ...] = ()
    above_minor: int | None = None
    """Amount in minor units, without its sign, that must be exceeded; needs currencies."""
    up_to_minor: int | None = None
    """Amount that must not be exceeded; needs currencies."""
    days: tuple[int, ...] = ()
    """0 is Monday."""
    from_minute: int = 0
    until_minute: int = MINUTES
    """Minutes of the day; ``from`` belongs to it, ``until`` doesn't; from 22:00 until 06:00 goes over midnight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRule:
    """One line of the write policy; ``id`` lands in the events that it decides."""

    id: str
    then: Effect
    when: When = field(default_factory=When)
    approvers: int = 1
    """How many people must allow it, for ``ask``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCase:
    """One write that is about to be decided."""

    action: str
    tenant: str
    principal: str
    rung: RungName
    currency: str
    amount_minor: int
    day: int
    minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong with a rule."""

    rule: int
    """Its place in the list, from 0."""
    what: str
    remedy: str


def decide_write(rules: Sequence[WriteRule], case: WriteCase) -> Decision:
    """The first fitting rule's word; denied when none fits."""
    for rule in rules:
        if _fits(rule.when, case):
            return Decision(
                effect=rule.then,
                rule=rule.id,
                verdict=VERDICTS[rule.then],
                reason=_reason(rule, case),
                approvers=rule.approvers,
            )
    return Decision(
        effect="deny",
        rule="write.default_deny",
        verdict="denied_by_policy",
        reason=f"no rule allows {case.action} by {case.rung}",
    )


def _reason(rule: WriteRule, case: WriteCase) -> str:
    what = f"{case.action} of {case.amount_minor} {case.currency} (minor units) by {case.rung}"
    if rule.then == "ask":
        people = "another principal" if rule.approvers == 1 else f"{rule.approvers} other principals"
        return f"{what} waits for {people}"
    return f"{what} is {'allowed' if rule.then == 'allow' else 'denied'}"


def _fits(when: When, case: WriteCase) -> bool:
    named = (
        (when.actions, case.action),
        (when.tenants, case.tenant),
        (when.principals, case.principal),
        (when.rungs, case.rung),
        (when.currencies, case.currency),
    )
    amount = abs(case.amount_minor)
    return (
        all(not values or value in values for values, value in named)
        and (when.above_minor is None or amount > when.above_minor)
        and (when.up_to_minor is None or amount <= when.up_to_minor)
        and (not when.days or case.day in when.days)
        and any(start <= case.minute < end for start, end in _spans(when))
    )


def _spans(when: When) -> tuple[tuple[int, int], ...]:
    if when.from_minute < when.until_minute:
        return ((when.from_minute, when.until_minute),)
    return ((when.from_minute, MINUTES), (0, when.until_minute))


# -- rules that can't be right -----------------------------------------------------------------------------------

Cells = tuple[frozenset[object], ...]
"""A block of the space of cases: for each dimension, the values (or intervals between named bounds) in it."""


def flaws(rules: Sequence[WriteRule]) -> tuple[Flaw, ...]:
    """Everything that is wrong with the rules themselves, in their order."""
    if len(rules) > MAX_RULES:
        return (
            Flaw(
                rule=MAX_RULES, what=f"there are more than {MAX_RULES} rules", remedy="merge those that agree"
            ),
        )
    found = [flaw for number, rule in enumerate(rules) for flaw in _alone(number, rule, rules)]
    if found:
        return tuple(found)
    dimensions = _dimensions(rules)
    blocks = [_block(rule.when, dimensions) for rule in rules]
    return tuple(flaw for number in range(len(rules)) if (flaw := _among(number, rules, blocks)) is not None)


def _alone(number: int, rule: WriteRule, rules: Sequence[WriteRule]) -> list[Flaw]:
    when = rule.when
    bounded = when.above_minor is not None or when.up_to_minor is not None
    checks = (
        (not rule.id, "a rule has no id", "give it one: it lands in the events"),
        (
            any(other.id == rule.id for other in rules[:number]),
            f"rule id {rule.id!r} stands twice",
            "give each rule its own",
        ),
        (rule.id.startswith("write."), f"rule id {rule.id!r} is reserved", "begin it with another word"),
        (
            rule.approvers < 1 or (rule.approvers > 1 and rule.then != "ask"),
            f"rule {rule.id} has {rule.approvers} approvers and says {rule.then}",
            "approvers belong to ask, and there is at least one",
        ),
        (
            bounded and not when.currencies,
            f"rule {rule.id} has an amount without a currency",
            "name its currencies: a limit in one says nothing about another",
        ),
        (
            when.above_minor is not None
            and when.up_to_minor is not None
            and when.above_minor >= when.up_to_minor,
            f"rule {rule.id} fits no amount: above {when.above_minor} and up to {when.up_to_minor}",
            "exchange the bounds",
        ),
        (
            min(when.above_minor or 0, when.up_to_minor or 0) < 0,
            f"rule {rule.id} has a negative amount",
            "amounts are compared without their sign",
        ),
        (
            when.from_minute == when.until_minute
            or not (0 <= when.from_minute < MINUTES and 0 < when.until_minute <= MINUTES),
            f"rule {rule.id} fits no time of day",
            "give it hours between 00:00 and 24:00",
        ),
        (
            any(not 0 <= day < DAYS for day in when.days),
            f"rule {rule.id} names a day that there isn't",
            "0 is Monday, 6 is Sunday",
        ),
    )
    return [Flaw(rule=number, what=what, remedy=remedy) for wrong, what, remedy in checks if wrong]


def _dimensions(rules: Sequence[WriteRule]) -> tuple[tuple[object, ...], ...]:
    """For each dimension all values or cut intervals that make a difference to any rule."""
    whens = [rule.when for rule in rules]
    named = (
        {value for when in whens for value in when.actions},
        {value for when in whens for value in when.tenants},
        {value for when in whens for value in when.principals},
        {value for when in whens for value in when.rungs},
        {value for when in whens for value in when.currencies},
    )
    amounts = {-1} | {
        bound for when in whens for bound in (when.above_minor, when.up_to_minor) if bound is not None
    }
    minutes = {0, MINUTES} | {bound for when in whens for span in _spans(when) for bound in span}
    cuts = sorted(minutes)
    return (
        *((*sorted(values), ELSE) for values in named),
        tuple(sorted(amounts)),  # each stands for the amounts above it, up to the next
        tuple(range(DAYS)),
        tuple(pairwise(cuts)),
    )


def _block(when: When, dimensions: tuple[tuple[object, ...], ...]) -> Cells:
    named = (when.actions, when.tenants, when.principals, when.rungs, when.currencies)
    chosen: list[frozenset[object]] = [
        frozenset(values or every) for values, every in zip(named, dimensions[:5], strict=True)
    ]
    amounts, days, spans = dimensions[5:]
    above = -1 if when.above_minor is None else when.above_minor
    fitting = frozenset(
        cut
        for cut in amounts
        if isinstance(cut, int) and cut >= above and (when.up_to_minor is None or cut < when.up_to_minor)
    )
    hours = frozenset(
        span
        for span in spans
        if isinstance(span, tuple) and any(start <= span[0] and span[1] <= end for start, end in _spans(when))
    )
    return (*chosen, fitting, frozenset(when.days) or frozenset(days), hours)


def _among(number: int, rules: Sequence[WriteRule], blocks: Sequence[Cells]) -> Flaw | None:
    rule, block = rules[number], blocks[number]
    for other, earlier in enumerate(blocks[:number]):
        if all(mine <= theirs for mine, theirs in zip(block, earlier, strict=True)):
            first = rules[other]
            if (first.then, first.approvers) == (rule.then, rule.approvers):
                what = f"rule {rule.id} is unreachable: rule {first.id} says {first.then} to all its cases"
            else:
                what = f"rule {rule.id} says {rule.then}, which rule {first.id} contradicts in all its cases"
            return Flaw(rule=number, what=what, remedy="take one of them out, or put the narrower one first")
    left = [block]
    for earlier in blocks[:number]:
        left = [piece for whole in left for piece in _without(whole, earlier)]
        if len(left) > MAX_PIECES:
            return Flaw(
                rule=number, what=f"rule {rule.id} is too entangled with others", remedy="simplify the rules"
            )
    if left:
        return None
    what = f"rule {rule.id} is unreachable: the rules before it take all its cases"
    return Flaw(rule=number, what=what, remedy="take it out, or put it before them")


def _without(whole: Cells, taken: Cells) -> list[Cells]:
    """What is left of a block when another is taken away, as blocks that don't overlap."""
    common = tuple(mine & theirs for mine, theirs in zip(whole, taken, strict=True))
    if not all(common):
        return [whole]
    pieces: list[Cells] = []
    rest = list(whole)
    for place, shared in enumerate(common):
        outside = rest[place] - shared
        if outside:
            pieces.append((*rest[:place], outside, *rest[place + 1 :]))
        rest[place] = shared
    return pieces
