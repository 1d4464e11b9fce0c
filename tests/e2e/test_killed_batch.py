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
from executor.sandbox.portal.model import Action
from executor.sandbox.portal.server import PortalThread
from projections.blobs import open_blob_reader
from projections.fsck import check
from projections.reading import open_reader
from tests.e2e.stage import Stage, set_up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

MOMENTS = 20
WHOLE_RUN_S = 5.0
AFTER_ATTEMPT_S = 0.5
LIMIT_S = 60.0
RESTARTS = 3


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("killed")
    with PortalThread(folder / "portal.db", counts={"acme": 80, "globex": 2}) as portal:
        yield set_up(folder, portal)


def attempted(stage: Stage, bill: str) -> bool:
    """True once the write's attempt on the bill is durable."""
    try:
        with open_reader(stage.store) as reader:
            return any(
                isinstance(recorded.event, e.ActionAttempted) and recorded.event.writes
                for recorded in reader.events(TenantId(story.TENANT))
                if recorded.envelope.correlation_id == f"bill:{bill}"
            )
    except (ConfigError, WorldError):
        return False  # the record isn't there yet


def wait_for_moment(stage: Stage, process: subprocess.Popen[str], bill: str, seed: int) -> None:
    """Sleep until the seeded moment, or until the process ends by itself."""
    chance = random.Random(seed)
    end = time.monotonic() + LIMIT_S
    if seed % 2:
        while process.poll() is None and time.monotonic() < end and not attempted(stage, bill):
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
def test_a_killed_batch_that_is_started_again_never_writes_twice(stage: Stage, seed: int) -> None:
    bill = stage.bills()[0]
    batch = stage.batch(f"killed-{seed}", [bill])
    process = stage.start(batch)
    wait_for_moment(stage, process, bill["id"], seed)
    kill(process, everything=seed % 4 < 2)

    for _ in range(RESTARTS):
        again = stage.start(batch)
        _, errors = again.communicate(timeout=LIMIT_S)
        if again.returncode in {0, 1}:
            break
    assert again.returncode in {0, 1}, errors

    done = [entry for entry in stage.portal.truth.history(bill["id"]) if entry.action is Action.PROCESS]
    posts = stage.portal.truth.posts(f"/bills/{bill['id']}/actions")
    assert len(done) <= 1
    assert len(posts) <= 1
    with open_reader(stage.store) as reader:
        facts = [
            recorded.event
            for recorded in reader.events(TenantId(story.TENANT))
            if recorded.envelope.correlation_id == f"bill:{bill['id']}"
        ]
        sound = check(reader, open_blob_reader(stage.blobs), TenantId(story.TENANT))
    state = fold(facts)
    assert state.status in TERMINAL
    assert (state.status == "succeeded") == (len(done) == 1)
    assert state.open_attempt is None
    assert sound.ok, sound.findings
    writes = [fact for fact in facts if isinstance(fact, e.ActionAttempted) and fact.writes]
    assert len(writes) <= 1 + sum(isinstance(fact, e.ActionBlocked) for fact in facts)
