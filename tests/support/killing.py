"""Killing a process between any two of its system calls, through ptrace.

The child runs under the tracer from the moment its work begins; the tracer counts the stops before and after each
system call and sends SIGKILL at the wanted one. Linux only, as is ``/proc``; no program has to be installed.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_TRACEME: Final = 0
_SYSCALL: Final = 24
_SETOPTIONS: Final = 0x4200
_OPTION_SYSGOOD: Final = 1
_OPTION_EXITKILL: Final = 0x00100000
_SYSCALL_STOP: Final = signal.SIGTRAP | 0x80
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, pid: int, data: int = 0) -> None:
    if _libc.ptrace(request, pid, None, ctypes.c_void_p(data)) < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace: {os.strerror(error)}")


@dataclass(frozen=True)
class Outcome:
    """What became of a traced child."""

    stops: int
    """Stops at system calls until it ended or was killed."""
    acknowledged: tuple[str, ...]
    """What it had said it had done; each word is one write to a pipe."""
    killed: bool


def run_traced(
    prepare: Callable[[], Callable[[Callable[[str], None]], None]], kill_at: int | None = None
) -> Outcome:
    """Run ``prepare()`` untraced and the function that it returns traced, in a child; kill it at stop ``kill_at``.

    The function is given ``acknowledge``, which tells the parent that something is done.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(prepare, writing)
    os.close(writing)
    try:
        stops, killed = _trace(pid, kill_at)
        with os.fdopen(reading, "rb", closefd=False) as pipe:
            words = pipe.read().decode().split("\n")[:-1]
    finally:
        os.close(reading)
    return Outcome(stops=stops, acknowledged=tuple(words), killed=killed)


def alone(function: Callable[..., None], *arguments: object) -> None:
    """Call ``function`` in a new process with one thread, and raise what it raised.

    A fork takes along the locks that other threads hold at that moment, SQLite's and the allocator's too, and its child
    would wait for them for ever. Other tests leave threads behind, so what forks must not be among them.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        process.submit(function, *arguments).result()


def _child(prepare: Callable[[], Callable[[Callable[[str], None]], None]], writing: int) -> None:
    code = 1
    try:
        work = prepare()
        _ptrace(_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        work(lambda word: _write(writing, word))
        code = 0
    except BaseException:  # noqa: BLE001 - a forked child must not run the parent's clean-up
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def _write(handle: int, word: str) -> None:
    os.write(handle, f"{word}\n".encode())


def _trace(pid: int, kill_at: int | None) -> tuple[int, bool]:
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        message = f"the child ended before its work: status {status}"
        raise RuntimeError(message)
    _ptrace(_SETOPTIONS, pid, _OPTION_SYSGOOD | _OPTION_EXITKILL)
    stops, deliver = 0, 0
    while True:
        _ptrace(_SYSCALL, pid, deliver)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            if os.WEXITSTATUS(status):
                message = f"the child failed with {os.WEXITSTATUS(status)}"
                raise RuntimeError(message)
            return stops, False
        if os.WIFSIGNALED(status):
            return stops, True
        deliver = 0
        if os.WSTOPSIG(status) != _SYSCALL_STOP:
            deliver = os.WSTOPSIG(status)
            continue
        stops += 1
        if stops == kill_at:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return stops, True
