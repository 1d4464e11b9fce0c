"""A colleague's hold on a bill: read from a source's answer, and what became of it beside our write.

Rules: a held bill is not written to, also when its hold was overwritten by somebody: only lifting ends a hold. One that
was there (in the state before the write, or by the source's own log before the last booking) and is gone without having
been lifted was overwritten, and the finding names both: who placed it and who saved over it. One that was placed before
the booking and still stands is a finding too, because the write went past it. A hold placed afterwards is no finding;
undoing is not stopped by one, because a person decides about that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from domain.values import BusinessState, Check

HOLD = "hold"
"""Key in ``BusinessState.extra``: who holds the bill now and why; empty: nobody; missing: the source doesn't show."""
PASSED = "hold_before_last_booking"
"""Key beside it: the hold that nobody had lifted when the last entry of the history was made."""
UNKNOWN = "an unknown account"


class HoldMap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a JSON answer holds them. Keys are relative to the object they are in."""

    now: str = "hold"
    """The hold that is on the bill, or null."""
    log: str = "holds"
    """Log of them, oldest first; only some answers have it."""
    account: str = "account"
    note: str = "note"
    at: str = "at"
    """Time, as text that sorts; also of the history's entries."""
    done: str = "done"
    placed: str = "placed"
    """Word in ``done`` for a hold that was placed; any other lifts it."""


def holds_of(data: Mapping[str, Any], keys: HoldMap, history: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The entries of ``BusinessState.extra``; ``KeyError`` and its like when the answer has another shape."""
    if keys.now not in data:
        return {}
    found = {HOLD: _words(data[keys.now], keys) if data[keys.now] else ""}
    if history and data.get(keys.log):
        booked_at = str(history[-1][keys.at])
        before = [entry for entry in data[keys.log] if str(entry[keys.at]) <= booked_at]
        if before and before[-1][keys.done] == keys.placed:
            found[PASSED] = _words(before[-1], keys)
    return found


def _words(hold: Mapping[str, Any], keys: HoldMap) -> str:
    note = str(hold.get(keys.note) or "")
    return f"{hold[keys.account]} ({note})" if note else str(hold[keys.account])


def hold_check(state: BusinessState) -> Check:
    """Does nobody hold the bill that is about to be written to? ``pass`` if so."""
    holder, overwritten = state.extra.get(HOLD, ""), state.extra.get(PASSED, "")
    if not holder and not overwritten:
        return Check(guard="precondition", verdict="pass")
    return Check(
        guard="precondition",
        verdict="precondition_failed",
        expected="a bill that nobody holds",
        found=f"{state.bill_id} is held by {holder}"
        if holder
        else f"{state.bill_id} was held by {overwritten}, and the hold is gone without having been lifted",
    )


def hold_difference(before: BusinessState | None, found: BusinessState) -> str:
    """``expected → found`` about a hold that our write went over or past; empty when all is well."""
    known = before.extra if before is not None else {}
    held, passed = known.get(HOLD, ""), found.extra.get(PASSED, "")
    if HOLD not in found.extra or (not held and passed == known.get(PASSED, "")):
        return ""
    writer = found.last_actor or UNKNOWN
    if not found.extra[HOLD]:
        return f"{held or passed} → gone, saved over by {writer}"
    return "" if held else f"nobody → {passed}, placed before {writer} wrote"
