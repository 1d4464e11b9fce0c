"""What the receiver's own records say about one effect: exactly one new record, the expected one, behind the old ones.

Rules: the earlier records must be unchanged and in order; exactly one record may have been added, and it must be the
expected one; an old record, a duplicate, another address, a banner on a page prove nothing; "not there yet" keeps
asking until the time is up, any other finding is final at once. Pure but for ``wait_for``, which only reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from domain.errors import WorldError
from domain.values import Check

POLL_S = 0.1

ReceiverVerdict = Literal[
    "verified",
    "not_yet",
    "late",
    "old_record",
    "duplicate",
    "foreign",
    "reordered",
    "edited",
    "removed",
    "unreadable",
]
"""``late``: not there when the time was up. ``old_record``: the same, and an earlier record looks like the expected.
``foreign``: something else was added, also beside the expected one."""
FINAL: frozenset[ReceiverVerdict] = frozenset(
    {"verified", "duplicate", "foreign", "reordered", "edited", "removed"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of the receiver."""

    key: str
    """The receiver's own number or name for it."""
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The one record that must be added; fields that the receiver adds by itself are not listed."""

    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the records say."""

    verdict: ReceiverVerdict
    new_records: int
    expected: str = ""
    found: str = ""
    tries: int = field(default=1, compare=False)

    @property
    def ok(self) -> bool:
        """Exactly the expected record arrived."""
        return self.verdict == "verified"


class Receiver(Protocol):
    """Reads the receiver's records, in the receiver's own order, over a way that can't write."""

    name: str

    def records(self) -> tuple[Record, ...]:
        """All records as they are now; ``WorldError`` when they can't be read."""
        ...


def differences(expected: Expected, record: Record) -> dict[str, tuple[str, str]]:
    """Field → expected and found, for all that disagrees."""
    return {
        name: (wanted, record.fields.get(name, "nothing"))
        for name, wanted in expected.fields.items()
        if record.fields.get(name) != wanted
    }


def judge(before: Sequence[Record], now: Sequence[Record], expected: Expected) -> Finding:
    """Compare the records before the effect with those now."""
    spoiled = _spoiled(before, now)
    if spoiled is not None:
        return spoiled
    new = now[len(before) :]
    wrong = [record for record in new if differences(expected, record)]
    if not new:
        old = any(not differences(expected, record) for record in before)
        found = "an earlier record of the same content, and no new one" if old else "no new record"
        return Finding(verdict="not_yet", new_records=0, expected="one new record", found=found)
    if wrong:
        return _foreign(wrong[0], expected, len(new))
    if len(new) > 1:
        found = f"{len(new)} of them: {', '.join(record.key for record in new)}"
        return Finding(verdict="duplicate", new_records=len(new), expected="one new record", found=found)
    return Finding(verdict="verified", new_records=1)


def _foreign(record: Record, expected: Expected, new: int) -> Finding:
    wrong = differences(expected, record)
    return Finding(
        verdict="foreign",
        new_records=new,
        expected="; ".join(f"{name}={wanted}" for name, (wanted, _) in wrong.items()),
        found=f"record {record.key}: " + "; ".join(f"{name}={found}" for name, (_, found) in wrong.items()),
    )


def _spoiled(before: Sequence[Record], now: Sequence[Record]) -> Finding | None:
    """What became of the earlier records, if anything did."""
    if list(now[: len(before)]) == list(before):
        return None
    new = len(now) - len(before)
    old, still = {record.key: record for record in before}, {record.key: record for record in now}
    gone = [key for key in old if key not in still]
    if gone:
        return Finding(
            verdict="removed", new_records=new, expected=f"record {gone[0]} as before", found="it is gone"
        )
    edited = [key for key, record in old.items() if still[key] != record]
    if edited:
        wrong = differences(Expected(fields=old[edited[0]].fields), still[edited[0]])
        words = "; ".join(f"{name} {was} → {is_now}" for name, (was, is_now) in wrong.items())
        return Finding(
            verdict="edited",
            new_records=new,
            expected=f"record {edited[0]} as before",
            found=words or "a field was added",
        )
    return Finding(
        verdict="reordered",
        new_records=new,
        expected=", ".join(record.key for record in before),
        found=", ".join(record.key for record in now),
    )


def wait_for(
    receiver: Receiver,
    before: Sequence[Record],
    expected: Expected,
    *,
    deadline_s: float,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Finding:
    """Ask until the records say something final, or the time is up."""
    start, tries = monotonic(), 0
    while True:
        tries += 1
        try:
            found = judge(before, receiver.records(), expected)
        except WorldError as error:
            found = Finding(verdict="unreadable", new_records=0, found=error.what)
        if found.verdict in FINAL or monotonic() - start >= deadline_s:
            break
        sleep(POLL_S)
    verdict = found.verdict
    if verdict == "not_yet":
        verdict = "old_record" if found.found.startswith("an earlier") else "late"
    return Finding(
        verdict=verdict,
        new_records=found.new_records,
        expected=found.expected,
        found=found.found,
        tries=tries,
    )


def as_check(receiver: Receiver, finding: Finding) -> Check:
    """The finding as an event records it; success is decided by the readback, so it stops nothing by itself."""
    return Check(
        guard="receiver",
        verdict="pass" if finding.ok else "noop",
        decisive=False,
        expected=finding.expected,
        found=f"{receiver.name}: {finding.verdict.replace('_', ' ')}"
        + (f", {finding.found}" if finding.found else ""),
        measures={"new_records": finding.new_records, "tries": finding.tries},
    )
