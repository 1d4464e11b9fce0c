"""The sandbox's portal with a configured executor beside it, in one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.ids import TenantId
from executor.config import load_config
from executor.orders import Batch, load_batch
from executor.runtime.batch import BatchResult
from executor.sandbox import story
from executor.sandbox.portal.model import Action
from executor.sandbox.portal.server import PortalThread
from executor.wiring import Target, Workshop, open_target

TENANT = TenantId(story.TENANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A running portal and where an executor keeps its record of it."""

    folder: Path
    portal: PortalThread

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "proofreel.yaml"

    @property
    def store(self) -> str:
        """The record's URL."""
        return f"sqlite:///{self.folder / 'record.db'}"

    @property
    def blobs(self) -> str:
        """The folder of frames."""
        return str(self.folder / "blobs")

    def pending(self) -> list[dict[str, Any]]:
        """Pending CNY bills of the story's month, as the read API gives them."""
        with self.portal.client("wang.li") as person:
            bills = person.bills(month=story.MONTH, status="pending", size=100)
        return [bill for bill in bills if bill["currency"] == "CNY"]

    def target(self) -> Target:
        """The configured target, with its secrets."""
        return open_target(load_config(self.config), self.config)

    def batch(self, name: str, bills: list[dict[str, Any]], action: str = "mark_processed") -> Batch:
        """A batch file over ``bills``, read back."""
        orders: list[Mapping[str, str]] = [story.order(bill, action) for bill in bills]
        path = story.write_batch(self.folder / f"{name}.yaml", name, orders)
        return load_batch(path, dict(self.target().rules))

    def workshop(self) -> Workshop:
        """An executor on real Chromium; a context manager."""
        return Workshop(self.target(), store=self.store, blobs=self.blobs)

    def processed(self, bill: Mapping[str, Any]) -> int:
        """How often the vendor has really marked the bill."""
        return sum(entry.action is Action.PROCESS for entry in self.portal.truth.history(bill["id"]))

    def posts(self, bill: Mapping[str, Any]) -> int:
        """How many posts about the bill reached the vendor in a session."""
        return len(self.portal.truth.posts(f"/bills/{bill['id']}/actions"))


@contextmanager
def running_sandbox(folder: Path, *, lang: str = "zh", bills: int = 40) -> Iterator[Sandbox]:
    """Portal, configuration and secrets until the end of the block."""
    with PortalThread(folder / "portal.db", counts={"acme": bills, "globex": 4}, lang=lang) as portal:
        sandbox = Sandbox(folder=folder, portal=portal)
        story.write_config(sandbox.config, origin=portal.url, language=lang)
        secrets = {variable: portal.accounts[account].password for account, variable in story.SECRETS.items()}
        before = {name: os.environ.get(name) for name in secrets}
        os.environ.update(secrets)
        try:
            yield sandbox
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def statuses(result: BatchResult) -> list[str]:
    """Statuses of a run's tasks in the order of its orders."""
    return [outcome.status for outcome in result.outcomes]
