"""The whole controller without a key, a browser or a network: the form in memory, the record and the guards real."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from domain import events as e
from domain.budgets import Budget
from domain.ids import PrincipalId, RunId, Sha256, TaskId, TenantId, task_stream
from domain.policy import Identity, ReadbackSource, WritePolicy
from domain.run import Limits
from domain.values import BusinessState, Intent
from executor.config import Secret
from executor.models.base import Dialect
from executor.models.conversation import Acknowledge, Conversation, Endpoint
from executor.models.openai import OpenAIDialect
from executor.models.transport import RecordedTransport, Transport
from executor.notify import Notifier
from executor.orchestrator import Outcome
from executor.orders import Batch, WorkOrder, derived_id
from executor.readback import Missing, state_of
from executor.receivers.base import Expected, Finding, Record, judge
from executor.recipe import load_recipe
from executor.runtime.batch import BatchRunner, Setting
from executor.runtime.goals import ReceiverGoal
from executor.runtime.kit import Kit
from executor.runtime.loop import Drive, ModelRunner
from executor.runtime.system import SystemClock, SystemIds
from executor.sandbox.practice.book import CASE, FIELDS, READER, Book, Case
from executor.sandbox.practice.desk import HEIGHT, ORIGIN, WIDTH, PracticeDesk
from executor.store.blobs import open_blobs
from executor.store.log import open_record

TENANT = TenantId("acme")
GOAL = f"Send the change of address {CASE.reference}: the new address is {CASE.address}."
URL = "http://127.0.0.1:9/v1/responses"
"""Never asked: the transport has no network."""


class BookReadback:
    """The book as an independent source; implements ``Readback``."""

    source: ReadbackSource = "api"
    account = READER

    def __init__(self, book: Book, kit_recipe: str = "practice-form") -> None:
        self._book = book
        self._keys = load_recipe(kit_recipe).json_map()

    def read(self, bill_id: str) -> BusinessState:
        """See ``Readback``."""
        found = self._book.case_state(bill_id)
        if found is None:
            raise Missing(f"there is no case {bill_id}")
        return state_of(found, self._keys)


class BookReceiver:
    """The book's submissions; implements ``Receiver``."""

    name = "submissions"

    def __init__(self, book: Book) -> None:
        self._book = book

    def records(self) -> tuple[Record, ...]:
        """See ``Receiver``."""
        return tuple(
            Record(key=row["number"], fields={name: row[name] for name in FIELDS})
            for row in self._book.submissions()
        )


def intent_of(case: Case) -> Intent:
    """What the business wants of a case."""
    return Intent(
        bill_id=case.reference,
        action="submit_change",
        counterparty=case.counterparty,
        amount_minor=case.amount_minor,
        currency=case.currency,
        month=case.month,
        expected_status="received",
    )


@dataclass(slots=True)
class Practice:
    """An executor over the form in memory; see ``practice``."""

    kit: Kit
    book: Book
    desk: PracticeDesk
    goal: ReceiverGoal
    transport: Transport
    dialect: Dialect
    limits: Limits
    acknowledge: Acknowledge | None = None
    key: str = "sk-practice-key"
    talks: list[Conversation] = field(default_factory=list)
    name: str = "practice"

    @property
    def found(self) -> Finding:
        """What the receiver's records say now."""
        return judge(self.goal.before, self.goal.receiver.records(), self.goal.expected)

    def order(self) -> WorkOrder:
        """The one order."""
        task = derived_id("task", TENANT, self.name, self.desk.case.reference)
        return WorkOrder(
            task_id=TaskId(task), intent=intent_of(self.desk.case), bill_tenant=TENANT, reference=self.name
        )

    def _talk(self) -> Conversation:
        talk = Conversation(
            self.dialect, self.transport, Endpoint(url=URL, key=Secret(self.key)), self.limits
        )
        self.talks.append(talk)
        return talk

    def run(self, goal: str = GOAL) -> Outcome:
        """Let the model try to reach the goal, through the orchestrator."""
        drive = Drive(goal=goal, start="/cases/{bill_id}", done=self.goal, acknowledge=self.acknowledge)
        runner = ModelRunner(self.kit, self._hands, self._talk, drive)
        kit = replace(self.kit, runners={"computer_use": lambda: runner.run})
        batch = Batch(
            name=self.name,
            tenant=TENANT,
            run_id=RunId(derived_id("run", TENANT, self.name)),
            orders=(self.order(),),
        )
        return BatchRunner(kit, batch, self._setting, hands=self._hands).run().outcomes[0]

    def _hands(self) -> PracticeDesk:
        self.desk.log_in()
        return self.desk

    def _setting(self) -> Setting:
        return Setting(
            agent=f"practice {self.dialect.name}",
            goal=GOAL,
            browser="",
            viewport_width=WIDTH,
            viewport_height=HEIGHT,
            config_sha256=Sha256(hashlib.sha256(b"practice").hexdigest()),
        )

    def facts(self) -> list[e.Event]:
        """The task's facts, in order."""
        stream = task_stream(self.order().task_id)
        return [recorded.event for recorded in self.kit.log.stream(TENANT, stream)]

    @property
    def writes(self) -> int:
        """Write attempts on record."""
        return sum(isinstance(fact, e.ActionAttempted) and fact.writes for fact in self.facts())


@contextmanager
def practice(
    folder: Path,
    transport: Transport | Path,
    *,
    dialect: Dialect | None = None,
    book: Book | None = None,
    limits: Limits | None = None,
    acknowledge: Acknowledge | None = None,
) -> Iterator[Practice]:
    """An executor over the practice form; ``transport`` is a recording's path or anything that sends."""
    kept = book or Book.usual()
    clock, recipe = SystemClock(), load_recipe("practice-form")
    log = open_record(f"sqlite:///{folder / 'record.db'}")
    kit = Kit(
        tenant=TENANT,
        identity=Identity(
            principal=PrincipalId("svc:practice"),
            kind="service",
            tenants=(TENANT,),
            actions=("submit_change",),
        ),
        log=log,
        blobs=open_blobs(str(folder / "blobs")),
        clock=clock,
        ids=SystemIds(),
        recipe=recipe,
        rules=recipe.rules(),
        policy=WritePolicy(readback_sources=("api",)),
        budget=Budget(),
        notifier=Notifier(),
        readbacks=[BookReadback(kept)],
        readback_deadline_s=0.3,
        origin=ORIGIN,
        language="en",
        ladder=("computer_use",),
    )
    receiver = BookReceiver(kept)
    try:
        yield Practice(
            kit=kit,
            book=kept,
            desk=PracticeDesk(kept, CASE, clock),
            goal=ReceiverGoal(receiver, Expected(fields=CASE.values())),
            transport=RecordedTransport.open(transport) if isinstance(transport, Path) else transport,
            dialect=dialect or OpenAIDialect(model="recorded"),
            limits=limits or Limits(),
            acknowledge=acknowledge,
        )
    finally:
        log.close()
