"""What a verification says: checks with a verdict each, problems by name, and what was proved.

Four questions are answered apart, because a bundle can prove some and not others:

* integrity: are these the bytes that were recorded?
* completeness: is anything of the streams shown here missing?
* authenticity: is the log that of the party whose key the reader trusts?
* time: when, at the latest, did the record exist, in the word of somebody outside?

``not_proved`` is no failure: the bundle makes no false claim, it only lacks something from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

Status = Literal["ok", "failed", "not_proved"]
Property = Literal["integrity", "completeness", "authenticity", "time"]
PROPERTIES: tuple[Property, ...] = ("integrity", "completeness", "authenticity", "time")
VOUCHERS: Mapping[Property, frozenset[str]] = {
    "authenticity": frozenset({"root", "signature"}),
    "time": frozenset({"witness", "stamp"}),
}
"""Checks of which one is enough to prove the question for the record."""
MAX_PROBLEMS = 50
"""Problems kept for one check; more are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong; ``what`` is a sentence that names the event, frame or file."""

    check: str
    what: str
    file: str = ""
    """File of the bundle."""
    position: int = 0
    """Place in the tenant's log, 0 when no event is concerned."""
    event_id: str = ""
    event_name: str = ""
    stream: str = ""
    frame: str = ""
    """SHA-256 that names the screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One verdict, in words."""

    name: str
    proves: Property
    status: Status
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """What is proved to exist and not shown, each on record with its basis."""

    frames: int = 0
    regions: int = 0
    """Rectangles of these screens."""
    events: int = 0
    fields: int = 0
    """Fields of these events."""
    documents: int = 0
    deleted: int = 0
    """Screens and documents whose bytes were deleted."""
    bases: tuple[str, ...] = ()
    """Laws and policies that are named, sorted."""
    later: int = 0
    """Screens and events whose shown parts were first committed to when they were redacted."""

    def __bool__(self) -> bool:
        """True if there is anything."""
        return bool(self.frames or self.events or self.documents or self.deleted)

    def words(self) -> str:
        """One line for a person."""
        parts = (
            (self.frames, f"{self.frames} frames ({self.regions} regions)"),
            (self.events, f"{self.fields} fields of {self.events} events"),
            (self.documents, f"{self.documents} documents"),
            (self.deleted, f"{self.deleted} contents deleted"),
        )
        said = ", ".join(text for count, text in parts if count)
        return f"withheld: {said}: {'; '.join(self.bases)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Everything that was found. ``ok`` is true when nothing failed; see ``proved`` for what that is worth."""

    ok: bool
    bundle: str
    """Folder name inside the bundle; empty when the file could not be read that far."""
    tenant: str = ""
    size: int = 0
    """Events in the tenant's log up to which the bundle speaks."""
    root: str = ""
    """Merkle root recomputed from the skeleton, in hex."""
    events: int = 0
    streams: int = 0
    frames: int = 0
    withheld: Withheld = field(default_factory=Withheld)
    """What is named and proved to exist, and not shown."""
    checks: tuple[Check, ...] = ()
    problems: tuple[Problem, ...] = ()
    proved: dict[Property, Status] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return asdict(self)

    def lines(self) -> tuple[str, ...]:
        """The report for a person, one line each."""
        marks = {"ok": "ok        ", "failed": "FAILED    ", "not_proved": "not proved"}
        head = f"{self.bundle or 'bundle'}: {'verified' if self.ok else 'NOT verified'}"
        checks = [f"  {marks[check.status]}  {check.proves:<12}  {check.what}" for check in self.checks]
        problems = [f"  !! {problem.what}" for problem in self.problems]
        return (head, *checks, *problems)


def printable(text: str) -> str:
    """Text of a hostile file, safe to print: control characters and the like are spelled out."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


@dataclass(slots=True)
class Findings:
    """Collects verdicts while the bundle is read."""

    checks: list[Check] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def problem(self, found: Problem) -> None:
        """Keep a problem, up to a limit for each check."""
        count = self.counts.get(found.check, 0)
        self.counts[found.check] = count + 1
        if count < MAX_PROBLEMS:
            self.problems.append(
                Problem(
                    check=found.check,
                    what=printable(found.what),
                    file=printable(found.file),
                    position=found.position,
                    event_id=printable(found.event_id),
                    event_name=printable(found.event_name),
                    stream=printable(found.stream),
                    frame=found.frame,
                )
            )

    def failed(self, check: str) -> int:
        """How many problems that check has."""
        return self.counts.get(check, 0)

    def conclude(self, check: str, proves: Property, good: str, *, bad: str = "") -> None:
        """Close a check: ``good`` when it found no problem, else the number of its problems."""
        count = self.failed(check)
        what = good if not count else bad or f"{count} {'problem' if count == 1 else 'problems'} found"
        status: Status = "failed" if count else "ok"
        self.checks.append(Check(name=check, proves=proves, status=status, what=what))

    def not_proved(self, check: str, proves: Property, what: str) -> None:
        """Close a check that lacks something from outside."""
        self.checks.append(Check(name=check, proves=proves, status="not_proved", what=what))

    def proved(self) -> dict[Property, Status]:
        """The verdict on each question: a failure decides, then one good word from outside, or the worst check."""
        verdicts: dict[Property, Status] = {}
        for name in PROPERTIES:
            checks = [check for check in self.checks if check.proves == name]
            statuses = {check.status for check in checks}
            good = {check.name for check in checks if check.status == "ok"}
            if "failed" in statuses:
                verdicts[name] = "failed"
            elif name in VOUCHERS:
                verdicts[name] = "ok" if good & VOUCHERS[name] else "not_proved"
            else:
                verdicts[name] = "ok" if statuses == {"ok"} else "not_proved"
        return verdicts
