"""One tree of errors; each says what is wrong and what to do next.

::

    ProofreelError
    ├── CommandRefused        a rule of the domain forbids it; nothing was recorded
    │   ├── VersionConflict   somebody else appended to the stream first
    │   └── ClaimTaken        another task holds the business effect
    ├── IntegrityError        stored bytes are not what was recorded
    │   ├── FormatTooNew      written by a newer release than this one
    │   └── KeyGone           stored bytes whose key was destroyed
    ├── WorldError            browser, database, network or target system failed
    │   ├── EffectFailed      the action certainly had no effect
    │   └── OutcomeUnknown    nobody knows whether the action took effect: read back, never repeat
    └── ConfigError           bad use or configuration; names the file, the line and the remedy

Expected verdicts (a guard that blocks, a readback that disagrees) are values, not exceptions. Exit codes:
``CommandRefused`` and ``IntegrityError`` 1, ``ConfigError`` 2, ``WorldError`` 3.
"""

from __future__ import annotations

from typing import ClassVar


class ProofreelError(Exception):
    """Root of the tree: ``what`` happened, and the ``remedy`` to try next."""

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)

    def __str__(self) -> str:
        """One line: what is wrong, then what to do."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


class CommandRefused(ProofreelError):
    """A rule forbids the command in this state; ``rule`` is stable and can be searched for."""

    def __init__(self, rule: str, what: str, *, remedy: str = "") -> None:
        self.rule = rule
        super().__init__(f"{what} [{rule}]", remedy=remedy)


class VersionConflict(CommandRefused):
    """The stream has moved on: ``expected`` is the version the writer knew, ``found`` the stored one."""

    def __init__(self, stream: str, *, expected: int, found: int) -> None:
        self.stream = stream
        self.expected = expected
        self.found = found
        super().__init__(
            "version_conflict",
            f"stream {stream} is at version {found}, not {expected}",
            remedy="load the stream again and decide anew",
        )


class ClaimTaken(CommandRefused):
    """The business effect is claimed already.

    ``holder_stream`` is the stream of the task that holds it, ``holder_principal`` who runs that task and
    ``since_us`` the time of the claim in microseconds since 1970 (UTC).
    """

    def __init__(self, effect_key: str, *, holder_stream: str, holder_principal: str, since_us: int) -> None:
        self.effect_key = effect_key
        self.holder_stream = holder_stream
        self.holder_principal = holder_principal
        self.since_us = since_us
        super().__init__(
            "already_in_progress",
            f"effect {effect_key} is claimed by {holder_stream} ({holder_principal})",
            remedy="look at that task's outcome; a legitimate repetition needs a named occurrence",
        )


class IntegrityError(ProofreelError):
    """Stored bytes differ from what was recorded; ``where`` names the event, blob or row."""

    def __init__(self, what: str, *, where: str, remedy: str = "run 'proofreel fsck'") -> None:
        self.where = where
        super().__init__(f"{where}: {what}", remedy=remedy)


class FormatTooNew(IntegrityError):
    """An event, bundle or store written by a newer release; it is refused, never guessed at."""

    def __init__(self, what: str, *, where: str) -> None:
        super().__init__(what, where=where, remedy="upgrade proofreel to read it")


class KeyGone(IntegrityError):
    """The bytes are there, encrypted, and their key was destroyed: whether that is a deletion, the record says."""

    def __init__(self, blob: str) -> None:
        super().__init__("its key was destroyed", where=f"blob {blob}")


class WorldError(ProofreelError):
    """Something outside failed: no browser, no database, no network, no target."""

    exit_code: ClassVar[int] = 3


class EffectFailed(WorldError):
    """The action was refused or lost before it reached the business: it certainly had no effect."""


class OutcomeUnknown(WorldError):
    """The action may or may not have taken effect. It is read back, never blindly retried."""


class ConfigError(ProofreelError):
    """Bad use or configuration; ``file`` and ``line`` (1-based, 0 when there is none) name the place."""

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, file: str = "", line: int = 0, remedy: str = "") -> None:
        self.file = file
        self.line = line
        place = f"{file}:{line}: " if line else (f"{file}: " if file else "")
        super().__init__(f"{place}{what}", remedy=remedy)
