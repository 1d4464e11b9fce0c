"""A file that was delivered again, and a month that was reconciled again.

Rules: the same bytes are the same file; lines are the same by their id, or by everything they say where the file has
no ids (twins are counted, not merged); a conclusion that no longer holds is shown beside the new one, not replaced.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import msgspec

from projections.settlement.cases import concluded_alike
from projections.settlement.lines import SettlementFile, SettlementLine
from projections.views.reconciliation import Break, Reconciliation

ChangeKind = Literal["new", "closed", "changed", "same"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reissue:
    """How a later delivery differs from an earlier one of the same month."""

    same_bytes: bool
    added: tuple[SettlementLine, ...]
    removed: tuple[SettlementLine, ...]
    changed: tuple[tuple[SettlementLine, SettlementLine], ...]
    """Earlier and later line of one id that say different things."""
    kept: int
    """Lines that say the same in both."""
    totals: dict[str, int]
    """Later total minus earlier total by currency, in minor units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakChange:
    """What became of one break between two reconciliations of a month."""

    id: str
    kind: ChangeKind
    earlier: Break | None
    later: Break | None


def compare_issues(earlier: SettlementFile, later: SettlementFile) -> Reissue:
    """Compare two deliveries; ``ValueError`` when they are of different months or profiles."""
    if (earlier.month, earlier.profile) != (later.month, later.profile):
        raise ValueError(
            f"{earlier.profile} of {earlier.month} and {later.profile} of {later.month} are not issues of one file"
        )
    before, after = _by_name(earlier), _by_name(later)
    both = before.keys() & after.keys()
    changed = [(before[n], after[n]) for n in after if n in both and _says(before[n]) != _says(after[n])]
    currencies = {*earlier.totals, *later.totals}
    return Reissue(
        same_bytes=earlier.sha256 == later.sha256,
        added=tuple(line for name, line in after.items() if name not in both),
        removed=tuple(line for name, line in before.items() if name not in both),
        changed=tuple(changed),
        kept=len(both) - len(changed),
        totals={c: later.totals.get(c, 0) - earlier.totals.get(c, 0) for c in sorted(currencies)},
    )


def compare_results(earlier: Reconciliation, later: Reconciliation) -> tuple[BreakChange, ...]:
    """Every break of either result, in order of its id; ``ValueError`` when they are of different months."""
    if (earlier.tenant, earlier.month) != (later.tenant, later.month):
        raise ValueError("results of different tenants or months can't be compared")
    before, after = ({found.id: found for found in result.breaks} for result in (earlier, later))
    changes = []
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        kind: ChangeKind = "new" if one is None else "closed"
        if one is not None and other is not None:
            kind = "same" if concluded_alike(earlier, one, later, other) else "changed"
        changes.append(BreakChange(id=name, kind=kind, earlier=one, later=other))
    return tuple(changes)


def _says(line: SettlementLine) -> tuple[object, ...]:
    """Everything but the place in the file."""
    return tuple(value for name, value in msgspec.structs.asdict(line).items() if name != "line")


def _by_name(file: SettlementFile) -> dict[tuple[object, ...], SettlementLine]:
    """Lines by id and number of the id, or by what they say and how often it was said before."""
    seen: Counter[tuple[object, ...]] = Counter()
    named: dict[tuple[object, ...], SettlementLine] = {}
    for line in file.lines:
        name = ("id", line.line_id) if line.line_id else _says(line)
        seen[name] += 1
        named[*name, seen[name]] = line
    return named
