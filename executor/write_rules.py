"""``write_policy.rules`` in ``proofreel.yaml``: what the write rules look like there, and what is refused at load.

Rules: unknown actions, rules that contradict or hide each other, questions that not enough people could answer, and an
irreversible write by vision are refused with file and line (B2, B3, B10). The policy's other keys keep working beside
the rules, and the stricter word counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from domain.errors import ConfigError
from domain.policy import ActionRule, RungName
from domain.policy_rules import MINUTES, When, WriteRule, flaws
from executor.yaml_source import line_of

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAY_NUMBERS: Mapping[Day, int] = {"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6}
_CLOCK = re.compile(r"([01]\d|2[0-4]):([0-5]\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections."""


class WhenSection(_Strict, frozen=True, kw_only=True):
    """Cases that a rule is about; what is left out is not looked at. Amounts are in minor units."""

    actions: list[str] = []
    tenants: list[str] = []
    principals: list[str] = []
    rungs: tuple[RungName, ...] = ()
    currencies: list[str] = []
    above_minor: int | None = None
    up_to_minor: int | None = None
    days: list[Day] = []
    hours: str = ""
    """``08:00-20:00`` in the policy's time zone; ``22:00-06:00`` goes over midnight."""


class RuleSection(_Strict, frozen=True, kw_only=True):
    """One rule; the first that fits decides, and where none fits the write is denied."""

    id: str
    when: WhenSection = WhenSection()
    then: Literal["allow", "ask", "deny"]
    approvers: int = 1


def write_rules(
    sections: Sequence[RuleSection],
    path: Path,
    *,
    actions: Mapping[str, ActionRule],
    approvers: Mapping[str, int],
) -> tuple[WriteRule, ...]:
    """The rules, checked.

    Args:
        sections: as the file has them.
        path: the file, for lines in errors.
        actions: what the target's actions are like.
        approvers: action → how many configured people may approve it.

    Raises:
        ConfigError: a rule can't be meant as it stands.
    """
    rules = tuple(_rule(section, path, number) for number, section in enumerate(sections))
    for flaw in flaws(rules):
        raise _error(path, flaw.rule, flaw.what, flaw.remedy)
    for number, rule in enumerate(rules):
        _refuse_impossible(rule, number, path, actions, approvers)
    return rules


def _rule(section: RuleSection, path: Path, number: int) -> WriteRule:
    when = section.when
    start, end = 0, MINUTES
    if when.hours:
        parts = [_CLOCK.fullmatch(part.strip()) for part in when.hours.split("-")]
        if len(parts) != 2 or parts[0] is None or parts[1] is None:  # noqa: PLR2004 - from and until
            what = f"rule {section.id} has hours {when.hours!r}"
            raise _error(path, number, what, 'write them as "08:00-20:00"', "when", "hours")
        start, end = (int(part[1]) * 60 + int(part[2]) for part in parts if part is not None)
    return WriteRule(
        id=section.id,
        then=section.then,
        approvers=section.approvers,
        when=When(
            actions=tuple(when.actions),
            tenants=tuple(when.tenants),
            principals=tuple(when.principals),
            rungs=tuple(when.rungs),
            currencies=tuple(when.currencies),
            above_minor=when.above_minor,
            up_to_minor=when.up_to_minor,
            days=tuple(DAY_NUMBERS[day] for day in when.days),
            from_minute=start,
            until_minute=end,
        ),
    )


def _refuse_impossible(
    rule: WriteRule,
    number: int,
    path: Path,
    actions: Mapping[str, ActionRule],
    approvers: Mapping[str, int],
) -> None:
    for name in rule.when.actions:
        if name not in actions:
            remedy = f"known actions: {', '.join(sorted(actions))}"
            raise _error(
                path, number, f"rule {rule.id} names unknown action {name!r}", remedy, "when", "actions"
            )
    named = rule.when.actions or tuple(actions)
    seeing = [name for name in named if actions[name].irreversible]
    if rule.then != "deny" and rule.when.rungs == ("computer_use",) and seeing:
        what = f"rule {rule.id} lets vision perform {seeing[0]}, which can't be undone"
        raise _error(path, number, what, "take that action or that rung out", "when", "rungs")
    if rule.then != "ask":
        return
    for name in named:
        able = approvers.get(name, 0)
        if able < rule.approvers and (rule.when.actions or able):
            what = f"rule {rule.id} asks {rule.approvers} people about {name}, and {able} may approve it"
            remedy = f"give approve:{name} to more people, or ask fewer"
            raise _error(path, number, what, remedy, "approvers")


def _error(path: Path, number: int, what: str, remedy: str, *keys: str) -> ConfigError:
    line = line_of(path, "write_policy", "rules", str(number), *keys)
    return ConfigError(what, file=str(path), line=line, remedy=remedy)


def zone_of(name: str, path: Path) -> ZoneInfo:
    """The time zone of hours and days; ``ConfigError`` when there is none of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"there is no time zone {name!r}",
            file=str(path),
            line=line_of(path, "write_policy", "timezone"),
            remedy="name one of the IANA database, such as Asia/Shanghai",
        ) from error


def local_minute(now_us: int, zone: ZoneInfo) -> tuple[int, int]:
    """Day of the week (0 is Monday) and minute of the day of a time in microseconds since 1970 (UTC)."""
    local = (_EPOCH + timedelta(microseconds=now_us)).astimezone(zone)
    return local.weekday(), local.hour * 60 + local.minute
