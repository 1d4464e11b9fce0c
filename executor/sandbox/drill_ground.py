"""A portal of one's own for the drill: bills in the states that the actions start from, and nobody else around."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from domain.ids import RunId, TaskId, TenantId
from domain.policy import ActionRule, RungName
from executor.drill import Exercise
from executor.orders import WorkOrder, derived_id
from executor.sandbox import story
from executor.sandbox.portal.server import PortalServer

COUNTS = {story.TENANT: 40}
WAY_THERE: Mapping[str, tuple[str, ...]] = {
    "pending": (),
    "processed": ("process",),
    "refunded": ("process", "refund"),
}
"""Status → what a clerk does to a new bill to get there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The portal, the configuration for it, and its free bills."""

    portal: PortalServer
    config: Path
    bills: tuple[dict[str, Any], ...]

    def exercises(
        self, rules: Mapping[str, ActionRule], starts: Mapping[str, Sequence[str]], rungs: Sequence[RungName]
    ) -> list[Exercise]:
        """Every action that has a way back, on every rung that it may use; the bills are brought to where it starts."""
        free = iter(self.bills)
        made: list[Exercise] = []
        with self.portal.client("wang.li") as clerk:
            for name, rule in rules.items():
                for rung in rungs if rule.compensation else ():
                    if rung not in rule.rungs:
                        continue
                    bill = next(free)
                    for step in WAY_THERE[starts[name][0] if starts[name] else "pending"]:
                        clerk.act(bill["id"], step)
                    made.append(Exercise(order=_order(bill, rule), rung=rung))
        return made


def _order(bill: Mapping[str, Any], rule: ActionRule) -> WorkOrder:
    task = TaskId(derived_id("task", story.TENANT, "drill", bill["id"], rule.action))
    return WorkOrder(
        task_id=task,
        intent=story.intent_of(bill, rule.action, rule.target_status),
        bill_tenant=TenantId(story.TENANT),
        reference=f"drill#{bill['id']}",
    )


def _put_on_ladder(config: Path, portal: PortalServer, rungs: Sequence[RungName]) -> None:
    """Name the rungs in the configuration, and the vendor's MCP server where it is one of them."""
    content = yaml.safe_load(config.read_text(encoding="utf-8"))
    secret = content["target"]["service"]["secret_env"]
    command = [sys.executable, "-m", "executor.sandbox.mcp_server", "--portal", portal.url]
    command += ["--account", content["target"]["service"]["account"], "--secret-env", secret]
    mcp = {"mcp": {"command": command, "env": [secret]}} if "mcp" in rungs else {}
    content["tools"] = {"ladder": list(rungs), **mcp}
    config.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")


RUN_ID = RunId(derived_id("run", story.TENANT, "drill"))


@contextmanager
def drill_ground(folder: Path, *, language: str, rungs: Sequence[RungName]) -> Iterator[Ground]:
    """Start a portal in ``folder`` with its passwords in the environment until the end of the block."""
    with PortalServer(folder / "portal.db", counts=COUNTS, lang=language) as portal:
        config = story.write_config(folder / "proofreel.yaml", origin=portal.url, language=language)
        _put_on_ladder(config, portal, rungs)
        secrets = {variable: portal.accounts[account].password for account, variable in story.SECRETS.items()}
        before = {name: os.environ.get(name) for name in secrets}
        os.environ.update(secrets)
        try:
            with portal.client("wang.li") as clerk:
                bills = clerk.bills(month=story.MONTH, status="pending")
            yield Ground(portal=portal, config=config, bills=tuple(bills))
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
