"""Trials shared out to processes: each has a portal, a browser and a record of its own.

Rules: trials are handed out in the order of the plan, so that what is done when a run is stopped is whole rounds but
for the last; only the first process writes results; a worker that fails or dies ends the run with its reason.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import queue
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, Final

import msgspec

from executor.sandbox.gauntlet.arms import ArmName
from executor.sandbox.gauntlet.scenario import Scenario
from executor.sandbox.gauntlet.verdicts import Trial

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

Job = tuple[int, ArmName, Scenario]
"""Seed, loop, scenario."""
OpenRunner = Callable[[], AbstractContextManager[Callable[[Job], Trial]]]
"""Opens in the worker what runs a job there; must travel to another process."""
STOP_S: Final = 20.0
"""How long a worker may take to put its browser and its portal away."""
WATCH_S: Final = 1.0


def run_shared(open_runner: OpenRunner, jobs: Sequence[Job], *, workers: int) -> Generator[Trial]:
    """Run all jobs in so many processes; each result as it comes.

    Raises:
        RuntimeError: a worker failed, or died.
    """
    spawn = multiprocessing.get_context("spawn")
    waiting: Queue[Job | None] = spawn.Queue()
    answers: Queue[bytes | str] = spawn.Queue()
    for job in (*jobs, *[None] * workers):
        waiting.put(job)
    running = [spawn.Process(target=_work, args=(open_runner, waiting, answers)) for _ in range(workers)]
    for process in running:
        process.start()
    try:
        for _ in jobs:
            yield msgspec.json.decode(_next(answers, running), type=Trial)
        for process in running:
            process.join(STOP_S)
    finally:
        _end(running)
        for channel in (waiting, answers):
            channel.cancel_join_thread()


def _next(answers: Queue[bytes | str], running: Sequence[BaseProcess]) -> bytes:
    while True:
        try:
            answer = answers.get(timeout=WATCH_S)
        except queue.Empty:
            if any(process.exitcode for process in running):
                raise RuntimeError("a worker of the gauntlet died") from None
            continue
        if isinstance(answer, bytes):
            return answer
        raise RuntimeError(f"a worker of the gauntlet failed: {answer}")


def _end(running: Sequence[BaseProcess]) -> None:
    for process in running:
        if process.is_alive():
            process.terminate()
            process.join(STOP_S)


def _jobs(waiting: Any) -> Iterator[Job]:  # noqa: ANN401 - a queue, generic only in stubs
    """What there is to do, until there is no more or nobody is left to tell."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            job = waiting.get(timeout=WATCH_S)
        except queue.Empty:
            continue
        if job is None:
            return
        yield job


def _work(open_runner: OpenRunner, waiting: Any, answers: Any) -> None:  # noqa: ANN401 - queues, generic only in stubs
    """One worker's life; Ctrl-C and a failure both end it with everything put away."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # what an interruption breaks off is no news
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background job begins with it ignored
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            with open_runner() as run:
                for job in _jobs(waiting):
                    answers.put(msgspec.json.encode(run(job)))
        except Exception as error:  # noqa: BLE001 - told to the first process, which ends the run with it
            answers.put(f"{type(error).__name__}: {error}")
