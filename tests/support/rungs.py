"""An executor on a real portal by the rungs that a test asks for; the portal's own file is the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from domain import events as e
from domain.ids import RunId, TaskId, TenantId
from executor.config import load_config
from executor.orchestrator import Orchestrator, Outcome
from executor.orders import WorkOrder, derived_id
from executor.runtime.recovery import task_stream_of
from executor.sandbox import story
from executor.sandbox.portal.server import PortalThread
from executor.wiring import Workshop, open_target

TENANT = TenantId(story.TENANT)
TARGETS = {"mark_processed": "processed", "refund": "refunded"}
Fact = TypeVar("Fact", bound=e.Event)


@dataclass
class Works:
    """A workshop, and what a test wants to ask of it."""

    portal: PortalThread
    workshop: Workshop
    taken: list[str]

    def bill(self, status: str = "pending") -> dict[str, Any]:
        """A CNY bill of acme that no test has touched, with that status."""
        with self.portal.client("wang.li") as person:
            bills = [bill for bill in person.bills(status="pending") if bill["currency"] == "CNY"]
            free = next(bill for bill in bills if bill["id"] not in self.taken)
            self.taken.append(free["id"])
            if status == "processed":
                person.process(free["id"])
        return free

    def order(self, bill: Mapping[str, Any], action: str = "mark_processed") -> WorkOrder:
        """An order about a bill."""
        intent = story.intent_of(bill, action, TARGETS[action])
        task = TaskId(derived_id("task", "rungs", bill["id"], action))
        return WorkOrder(task_id=task, intent=intent, bill_tenant=TENANT, reference=f"rungs#{bill['id']}")

    def run(self, order: WorkOrder) -> Outcome:
        """Bring the order as far as it goes now."""
        kit = self.workshop.kit()
        return Orchestrator(kit, run_id=RunId("run-1"), hands=self.workshop.hands).run(order)

    def facts(self, order: WorkOrder, kind: type[Fact]) -> list[Fact]:
        """The task's recorded facts of one kind."""
        history = task_stream_of(self.workshop.kit(), order.task_id).history()
        return [fact for fact in history if isinstance(fact, kind)]

    def findings(self, order: WorkOrder, guard: str) -> list[str]:
        """What a guard found in the task's judgements."""
        return [
            check.found
            for fact in self.facts(order, e.GuardJudged)
            for check in fact.checks
            if check.guard == guard
        ]

    def truth(self, bill: Mapping[str, Any]) -> tuple[str, int, int]:
        """Status, history entries and ledger lines as the vendor's own file has them."""
        truth = self.portal.truth
        found = truth.bill(bill["id"])
        lines = [line for line in truth.ledger() if line.bill_id == bill["id"]]
        return found.status.value, len(truth.history(bill["id"])), len(lines)


@contextmanager
def works_on(
    portal: PortalThread,
    folder: Path,
    *,
    ladder: Sequence[str],
    taken: list[str],
    sources: Sequence[str] = ("api", "list"),
    tools: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
) -> Iterator[Works]:
    """A workshop on the portal with this ladder and these readback sources; secrets are in the environment."""
    path = folder / "proofreel.yaml"
    story.write_config(path, origin=portal.url, language="zh")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["tools"] = {"ladder": list(ladder), **(tools or {})}
    content["write_policy"] |= {"readback_sources": list(sources), **(policy or {})}
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for account, variable in story.SECRETS.items():
            patch.setenv(variable, portal.accounts[account].password)
        target = open_target(load_config(path), path)
        store, blobs = f"sqlite:///{folder / 'record.db'}", str(folder / "blobs")
        with Workshop(target, store=store, blobs=blobs) as workshop:
            yield Works(portal=portal, workshop=workshop, taken=taken)
