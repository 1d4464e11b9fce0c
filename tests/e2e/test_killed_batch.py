"""A batch that is killed at any moment and started again never writes twice (B4, B6).

On the browser rung half of the moments are drawn over the whole run, half over the time right after a write's attempt
became durable, where a careless executor would repeat it. The rungs without a screen are too quick for that: they are
killed by the vendor, as their call arrives and once it is booked. Truth is the portal's own history.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from domain import events as e
from domain.task import fold
from executor.cli import INTERRUPTED, run_command
from executor.sandbox import story
from executor.sandbox.portal import actions, rest
from executor.sandbox.portal.server import PortalThread
from tests.support.batches import LIMIT_S, POLL_S, Place, kill, secrets_of, untouched, wait_for_attempt
from tests.support.chromium import running_browser

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

MOMENTS = 20
WHOLE_RUN_S = 5.0
AFTER_ATTEMPT_S = 0.5


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    path = tmp_path_factory.mktemp("killed") / "portal.db"
    with PortalThread(path, counts={"acme": 80, "globex": 4}) as running, secrets_of(running):
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture
def place(portal: PortalThread, tmp_path: Path) -> Place:
    return Place(folder=tmp_path, portal=portal, bill=untouched(portal))


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_a_killed_batch_that_is_started_again_never_writes_twice(
    place: Place, browser: Browser, seed: int
) -> None:
    place.write(ladder=["browser"], sources=["api", "detail"], tools={})
    chance = random.Random(seed)
    process = place.start()
    if seed % 2:
        wait_for_attempt(place, process)
        time.sleep(chance.uniform(0, AFTER_ATTEMPT_S))
    else:
        time.sleep(chance.uniform(0, WHOLE_RUN_S))
    kill(process, everything=seed % 4 < 2)
    place.again(browser)
    place.assert_settled()


def stop(process: BaseProcess) -> None:
    """A terminal's Ctrl-C, which reaches the browser too."""
    assert process.pid is not None
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("after_attempt", [True, False])
def test_ctrl_c_says_how_to_go_on_and_loses_nothing(
    place: Place,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    after_attempt: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    place.write(ladder=["browser"], sources=["api", "detail"], tools={})
    act: Callable[..., Any] = actions.act_on_one

    def stopping(*asked: Any) -> Any:  # noqa: ANN401 - passed through
        stop(process)
        return act(*asked)

    if after_attempt:  # its request is the one sure sign of it while the batch still runs
        monkeypatch.setattr(actions, "act_on_one", stopping)
    process = place.start()
    if not after_attempt:
        while process.is_alive() and not place.facts():
            time.sleep(POLL_S)
        stop(process)
    process.join(LIMIT_S)
    monkeypatch.undo()
    said = place.said.read_text(encoding="utf-8")
    assert process.exitcode == INTERRUPTED, said
    assert said.strip() == "proofreel: stopped; what was recorded is kept, run the command again to go on"
    place.again(browser)
    place.assert_settled()


def stdio(portal: PortalThread) -> dict[str, Any]:
    """The vendor's MCP server, which lives and dies with the executor's group."""
    command = [sys.executable, "-m", "executor.sandbox.mcp_server", "--portal", portal.url]
    command += ["--account", "svc-acme", "--secret-env", story.SECRETS["svc-acme"]]
    return {"mcp": {"command": command, "env": [story.SECRETS["svc-acme"]]}}


@pytest.mark.parametrize("booked", [False, True], ids=["as the call arrives", "once it is booked"])
@pytest.mark.parametrize("rung", ["api", "mcp"])
def test_a_call_whose_executor_is_killed_under_it_is_settled_by_readback(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rung: str,
    booked: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    place.write(ladder=[rung], sources=["api", "list"], tools=stdio(place.portal) if rung == "mcp" else {})
    process = place.start()
    act: Callable[..., Any] = actions.act_on_one

    def killing(*asked: Any) -> Any:  # noqa: ANN401 - passed through
        reply = act(*asked) if booked else None
        kill(process, everything=True)
        return reply or act(*asked)

    monkeypatch.setattr(actions, "act_on_one", killing)
    monkeypatch.setattr(rest, "act_on_one", killing)
    process.join(LIMIT_S)
    monkeypatch.undo()

    left = fold(place.facts())
    assert left.open_attempt is not None
    assert left.open_attempt.writes
    assert run_command(["recover", "--config", str(place.config)]) == 0, capsys.readouterr()
    (unknown,) = [fact for fact in place.facts() if isinstance(fact, e.ActionOutcomeUnknown)]
    assert unknown.action_id == left.open_attempt.action_id
    assert {f.phase for f in place.facts() if isinstance(f, e.ReadbackConfirmed)} == {"recovery"}
    assert [outcome.status for outcome in place.again(None).outcomes] == ["succeeded"]
    place.assert_settled()


@pytest.mark.parametrize("rung", ["api", "mcp"])
def test_a_batch_of_calls_that_is_killed_anywhere_never_writes_twice(place: Place, rung: str) -> None:
    place.write(ladder=[rung], sources=["api", "list"], tools=stdio(place.portal) if rung == "mcp" else {})
    for moment in range(3):
        process = place.start()
        process.join(random.Random(f"{rung} {moment}").uniform(0, 1.5))
        kill(process, everything=bool(moment % 2))
    place.again(None)
    place.assert_settled()
