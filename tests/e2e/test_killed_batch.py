"""A batch that is killed at any moment and started again never writes twice (B4, B6).

Half of the moments are drawn over the whole run, half over the time right after a write's attempt became durable,
where a careless executor would repeat it. Truth is the portal's own history.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from domain import events as e
from domain.errors import ConfigError, WorldError
from domain.ids import TenantId
from domain.task import TERMINAL, fold
from executor.sandbox import story
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader
from tests.support.sandbox import Sandbox, running_sandbox

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

MOMENTS = 20
WHOLE_RUN_S = 5.0
AFTER_ATTEMPT_S = 0.5
LIMIT_S = 60.0
RESTARTS = 3


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("killed"), bills=80) as running:
        yield running


def attempted(sandbox: Sandbox, bill: str) -> bool:
    """True once the write's attempt on the bill is durable."""
    try:
        with open_reader(sandbox.store) as reader:
            return any(
                isinstance(recorded.event, e.ActionAttempted) and recorded.event.writes
                for recorded in reader.events(TenantId(story.TENANT))
                if recorded.envelope.correlation_id == f"bill:{bill}"
            )
    except (ConfigError, WorldError):
        return False  # the record isn't there yet


def wait_for_moment(sandbox: Sandbox, process: subprocess.Popen[str], bill: str, seed: int) -> None:
    """Sleep until the seeded moment, or until the process ends by itself."""
    chance = random.Random(seed)
    end = time.monotonic() + LIMIT_S
    if seed % 2:
        while process.poll() is None and time.monotonic() < end and not attempted(sandbox, bill):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, AFTER_ATTEMPT_S))
    else:
        time.sleep(chance.uniform(0, WHOLE_RUN_S))


def kill(process: subprocess.Popen[str], *, everything: bool) -> None:
    """SIGKILL to the executor, or to it and its browser."""
    with contextlib.suppress(ProcessLookupError):
        if everything:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate(timeout=LIMIT_S)


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_a_killed_batch_that_is_started_again_never_writes_twice(sandbox: Sandbox, seed: int) -> None:
    bill = sandbox.pending()[0]
    name = f"killed-{seed}"
    sandbox.batch(name, [bill])
    process = sandbox.start(name)
    wait_for_moment(sandbox, process, bill["id"], seed)
    kill(process, everything=seed % 4 < 2)

    for _ in range(RESTARTS):
        again = sandbox.start(name)
        _, errors = again.communicate(timeout=LIMIT_S)
        if again.returncode in {0, 1}:
            break
    assert again.returncode in {0, 1}, errors

    done = sandbox.processed(bill)
    assert done <= 1
    assert sandbox.posts(bill) <= 1
    with open_reader(sandbox.store) as reader:
        facts = [
            recorded.event
            for recorded in reader.events(TenantId(story.TENANT))
            if recorded.envelope.correlation_id == f"bill:{bill['id']}"
        ]
        sound = check(reader, open_blob_reader(sandbox.blobs), TenantId(story.TENANT))
    state = fold(facts)
    assert state.status in TERMINAL
    assert (state.status == "succeeded") == (done == 1)
    assert state.open_attempt is None
    assert sound.ok, sound.findings
    writes = [fact for fact in facts if isinstance(fact, e.ActionAttempted) and fact.writes]
    assert len(writes) <= 1 + sum(isinstance(fact, e.ActionBlocked) for fact in facts)
