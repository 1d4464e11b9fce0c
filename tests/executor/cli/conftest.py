"""A configured folder with a small real record in it, and the command called as its script calls it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from domain.ids import TaskId
from executor.cli import COMMANDS, cli, run_command
from executor.sandbox.story import SECRETS, write_config
from tests.support.records import ManualClock
from tests.support.vendor import FakeVendor
from tests.support.workbench import BILL, OTHER_BILL, THIRD_BILL, benches

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON edge
        """Standard output, which is one JSON document and nothing else."""
        return json.loads(self.out)

    @property
    def word(self) -> str:
        """The one line on standard error."""
        (line,) = self.err.splitlines()
        return line


Command = Callable[..., Ran]


def every_command() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands by their names: ``("takeover",)``, ``("takeover", "list")`` and so on."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield (name,), command
        if isinstance(command, click.Group):
            for inner, found in command.commands.items():
                yield (name, inner), found


@pytest.fixture
def proofreel(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert PASSWORD not in out + err
        return Ran(code, out, err)

    return run


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration, which is also the working folder."""
    write_config(tmp_path / "proofreel.yaml", origin="http://127.0.0.1:9", language="zh")
    for variable in SECRETS.values():
        monkeypatch.setenv(variable, PASSWORD)
    for variable in ("PROOFREEL_STORE", "PROOFREEL_BLOBS", "PROOFREEL_CHROMIUM"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def recorded(desk: Path, vendor: FakeVendor) -> Iterator[Mapping[str, TaskId]]:
    """Three tasks: one succeeded, one taken over, one refund that waits for a person."""
    with benches(desk, vendor) as make:
        bench = make(clock=ManualClock(time.time_ns() // 1000))
        vendor.switch_on(OTHER_BILL, "fake_success")
        vendor.book("wang.li", THIRD_BILL, "process")
        orders = {
            "succeeded": bench.order(BILL),
            "taken_over": bench.order(OTHER_BILL),
            "awaiting_approval": bench.order(THIRD_BILL, "refund"),
        }
        result = bench.runner(list(orders.values())).run()
        assert [outcome.status for outcome in result.outcomes] == list(orders)
        yield {status: order.task_id for status, order in orders.items()}
