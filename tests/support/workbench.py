"""An executor over the fake vendor: the real record, real blobs, the shipped recipe, the real orchestrator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from domain import events as e
from domain.budgets import Budget
from domain.ids import PrincipalId, RunId, Sha256, TaskId, TenantId
from domain.policy import Identity, ReadbackSource, WritePolicy
from domain.ports import BlobStore, EventLog
from domain.values import Intent
from executor.notify import Notifier
from executor.orchestrator import Orchestrator, Outcome
from executor.orders import Batch, WorkOrder, derived_id
from executor.recipe import Recipe, load_recipe
from executor.runtime.batch import BatchRunner, Setting
from executor.runtime.kit import Kit
from executor.runtime.recovery import task_stream_of
from executor.runtime.streams import TaskStream
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from tests.support.fakes import FakeHands, SeededIds
from tests.support.records import ACME, SERVICE, ManualClock
from tests.support.vendor import FakeVendor, VendorBill, VendorReadback

PERSON = Identity(
    principal=PrincipalId("person:li.na"),
    kind="person",
    tenants=(ACME,),
    actions=("approve:refund", "approve:mark_processed"),
)
BILL = "CY202611-0001"
OTHER_BILL = "CY202611-0002"
THIRD_BILL = "CY202611-0003"
TARGETS = {"mark_processed": "processed", "refund": "refunded"}
SETTING = Setting(
    agent="proofreel test",
    goal="november",
    browser="none",
    viewport_width=4,
    viewport_height=4,
    config_sha256=Sha256(hashlib.sha256(b"configuration").hexdigest()),
)
Fact = TypeVar("Fact", bound=e.Event)


def make_intent(bill: VendorBill, action: str = "mark_processed", *, occurrence: str = "1") -> Intent:
    """What the business wants of a bill, from its own book."""
    return Intent(
        bill_id=bill.bill_id,
        action=action,
        counterparty=bill.counterparty,
        amount_minor=bill.amount_minor,
        currency=bill.currency,
        month=bill.month,
        expected_status=TARGETS[action],
        occurrence=occurrence,
    )


def make_order(intent: Intent, *, name: str = "november", tenant: TenantId = ACME) -> WorkOrder:
    """One order of a batch called ``name``."""
    task = derived_id("task", tenant, name, intent.bill_id, intent.action, intent.occurrence)
    return WorkOrder(
        task_id=TaskId(task), intent=intent, bill_tenant=tenant, reference=f"{name}#{intent.bill_id}"
    )


class Bench:
    """Everything that one executor process has open, and what a test wants to ask of it."""

    def __init__(
        self,
        log: EventLog,
        blobs: BlobStore,
        vendor: FakeVendor,
        *,
        tenant: TenantId = ACME,
        principal: PrincipalId = SERVICE,
        policy: WritePolicy | None = None,
        budget: Budget | None = None,
        recipe: Recipe | None = None,
        sources: Sequence[ReadbackSource] = ("api", "detail"),
        deadline_s: float = 0.0,
        clock: ManualClock | None = None,
        ids: SeededIds | None = None,
        actions: Sequence[str] = ("mark_processed", "refund", "undo"),
    ) -> None:
        self.vendor = vendor
        self.clock = clock or ManualClock()
        self.recipe = recipe or load_recipe("vendor-portal")
        self.hands = FakeHands(vendor, self.recipe)
        self.opened = 0
        self.told: list[Mapping[str, str]] = []
        self.kit = Kit(
            tenant=tenant,
            identity=Identity(principal=principal, kind="service", tenants=(tenant,), actions=tuple(actions)),
            log=log,
            blobs=blobs,
            clock=self.clock,
            ids=ids or SeededIds(),
            recipe=self.recipe,
            rules=self.recipe.rules(),
            policy=policy or WritePolicy(readback_sources=("api", "detail"), approval_required=("refund",)),
            budget=budget or Budget(),
            notifier=Notifier({"test": self.told.append}),
            readbacks=[VendorReadback(vendor, source) for source in sources],
            readback_deadline_s=deadline_s,
            origin="http://vendor.test",
            language="zh",
        )

    def open_hands(self) -> FakeHands:
        """Logged-in hands; the session is renewed when it has ended."""
        self.opened += 1
        if self.hands.account not in self.vendor.sessions:
            self.hands.log_in()
        return self.hands

    def orchestrator(self, run_id: str = "run-1") -> Orchestrator:
        """The only entry for a write."""
        return Orchestrator(self.kit, run_id=RunId(run_id), hands=self.open_hands)

    def order(self, bill: str = BILL, action: str = "mark_processed", *, name: str = "november") -> WorkOrder:
        """An order about one of the vendor's bills."""
        return make_order(make_intent(self.vendor.bills[bill], action), name=name, tenant=self.kit.tenant)

    def run(self, order: WorkOrder) -> Outcome:
        """Bring an order as far as it goes now."""
        return self.orchestrator().run(order)

    def runner(self, orders: Sequence[WorkOrder], *, name: str = "november") -> BatchRunner:
        """A batch of orders."""
        run_id = RunId(derived_id("run", self.kit.tenant, name))
        batch = Batch(name=name, tenant=self.kit.tenant, run_id=run_id, orders=tuple(orders))
        return BatchRunner(self.kit, batch, lambda: SETTING, hands=self.open_hands)

    def stream(self, order: WorkOrder) -> TaskStream:
        """The order's task, loaded."""
        return task_stream_of(self.kit, order.task_id)

    def facts(self, order: WorkOrder, kind: type[Fact]) -> list[Fact]:
        """The task's recorded facts of one kind."""
        return [fact for fact in self.stream(order).history() if isinstance(fact, kind)]

    def names(self, order: WorkOrder) -> list[str]:
        """Kinds of the task's facts in order."""
        return [type(fact).__name__ for fact in self.stream(order).history()]


def usual_vendor() -> FakeVendor:
    """Three pending bills."""
    amounts = {BILL: 143_474, OTHER_BILL: 88_000, THIRD_BILL: 1_250}
    return FakeVendor(VendorBill(bill_id=bill, amount_minor=amount) for bill, amount in amounts.items())


@contextmanager
def benches(folder: Path, vendor: FakeVendor | None = None) -> Iterator[Callable[..., Bench]]:
    """Make benches (executor processes) over one SQLite record, one blob folder and one vendor."""
    shared = vendor or usual_vendor()
    opened = []

    def make(**options: object) -> Bench:
        log = open_record(f"sqlite:///{folder / 'record.db'}")
        opened.append(log)
        options.setdefault("ids", SeededIds(len(opened)))
        return Bench(log, open_blobs(str(folder / "blobs")), shared, **options)  # type: ignore[arg-type]

    try:
        yield make
    finally:
        for log in opened:
            log.close()


def kinds(facts: Iterable[e.Event]) -> list[str]:
    """Names of facts, for readable comparisons."""
    return [type(fact).__name__ for fact in facts]
