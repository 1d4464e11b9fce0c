"""What the set-up says, and how it fails: one line that names the remedy, never a traceback.

Standard library only: it runs before anything is installed.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

Command = Sequence[str | Path]


class SetupError(Exception):
    """The set-up can't go on; the message says what is missing and what to do about it."""


def say(message: str) -> None:
    """Print one line of progress at once, also into a pipe."""
    print(message, flush=True)


def run_logged(command: Command, log: Path, watch: Callable[[str], None] | None = None) -> str | None:
    """Run a command with its output in `log`; return None when it succeeded, else what it printed.

    Args:
        command: Program and arguments.
        log: File that the output is appended to, for whoever wants the details.
        watch: Called with each line while the command runs, to show progress.
    """
    printed: list[str] = []
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PYTHONUNBUFFERED": "1"}
    with (
        log.open("a", encoding="utf-8") as record,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=environment,
        ) as process,
    ):
        for line in process.stdout or ():
            record.write(line)
            printed.append(line)
            if watch is not None:
                watch(line)
    return "".join(printed) if process.returncode else None


class Counter:
    """Shows how far a known number of steps has come: in place on a terminal, else now and then.

    Args:
        label: What is being done.
        total: Number of steps expected.
    """

    _QUIET_STEPS = 20

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._in_place = sys.stdout.isatty()

    def step(self, what: str) -> None:
        """Count one step and show it."""
        self._done += 1
        text = f"  {self._label} {min(self._done, self._total)}/{self._total}"
        if self._in_place:
            print(f"\r\033[K{text} {what}", end="", flush=True)
        elif self._done % self._QUIET_STEPS == 0:
            say(text)

    def end(self) -> None:
        """Leave the line of a terminal."""
        if self._in_place and self._done:
            print("\r\033[K", end="", flush=True)
