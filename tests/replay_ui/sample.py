"""A small record on a real database with real blobs: what the desk is tested on and looked at with.

Two tenants. ``acme`` has a guarded run (a success, a fake success, a stopped click, a refund that waits for approval),
a record-only run that did one bill twice and one wrongly, and the month's settlement file. ``globex`` has one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import sqlalchemy as sa
from starlette.requests import HTTPConnection

from domain import events as e
from domain.envelope import Draft, Recorded
from domain.idempotency import action_digest
from domain.ids import Sha256, settlement_stream
from domain.values import FrameRef
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from projections.blobs import open_blob_reader
from projections.reading import open_reader
from projections.settlement.importer import read_settlement
from projections.settlement.profiles import load_profile
from replay_ui.data import Desk
from replay_ui.roles import Role, Viewer
from tests.replay_ui.synthetic import DISTINCT, HOSTILE, draw
from tests.support.events import PERSON, SECOND_US, SERVICE, Book, RunBook, TaskBook, intent, sha
from tests.support.settlement import FileLine, month_bytes

RUN = "run-guarded"
WATCHED = "run-watched"
OTHER_RUN = "run-globex"
DONE, FAKE, STOPPED, REFUND, DOUBLE = "B1", "B2", "B3", "B4", "B5"
SECRET_BILL = "G1"
"""A bill of the other tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Where the record is, and what is in it."""

    store: str
    blobs: str
    views: str
    frames: dict[str, Sha256]
    """Made-up name of a screen, hashed → name of the drawn picture."""

    def desk(self, *tenants: str) -> Desk:
        """A desk over it; for all tenants unless some are named."""
        reader, blobs = open_reader(self.store), open_blob_reader(self.blobs)
        return Desk(reader, blobs, sa.create_engine(self.views), tenants=set(tenants) or None)


def make(folder: Path) -> Sample:
    """Write the record into an empty folder."""
    store, blobs = f"sqlite:///{folder}/record.db", str(folder / "blobs")
    (folder / "blobs").mkdir()
    frames: dict[str, Sha256] = {}
    kept = open_blobs(blobs)
    with open_record(store) as log:
        for book in (acme(), globex()):
            for recorded in book.events:
                draft = _drawn(recorded, frames, blobs)
                claim = recorded.event.effect_key if isinstance(recorded.event, e.TaskClaimed) else None
                log.append([draft], claim=claim)
    for data in (SETTLEMENT, *map(draw, range(min(len(frames), DISTINCT)))):
        kept.put(data, media_type="application/octet-stream")
    return Sample(store=store, blobs=blobs, views=f"sqlite:///{folder}/views.db", frames=frames)


def acme() -> Book:
    """The tenant that is looked at."""
    book = Book("acme")
    run = book.run(RUN)
    done(run, "task-done", DONE)
    fake(run)
    stopped(run)
    refund(run)
    run.add(e.RunFinished(outcomes={"succeeded": 1}, verdicts={"pass": 3}, steps=5, steps_ok=3))
    watched = book.run(WATCHED, mode="record_only")
    for task in ("task-double-1", "task-double-2"):
        twice(watched, task)
    file = read_settlement(SETTLEMENT, load_profile("portal"), "2026-11", file_name="2026-11.csv")
    book.add(
        e.SettlementImported(
            blob=Sha256(file.sha256),
            file_name=file.file_name,
            source="file 2026-11.csv",
            profile="portal",
            month="2026-11",
            rows_read=file.counts.read,
            rows_accepted=file.counts.accepted,
            rows_refused=file.counts.refused,
            rows_other=file.counts.other,
            total_minor=file.totals,
        ),
        stream=settlement_stream("2026-11"),
        principal=PERSON,
    )
    return book


def globex() -> Book:
    """The tenant next door."""
    book = Book("globex")
    done(book.run(OTHER_RUN), "task-globex", SECRET_BILL)
    return book


SETTLEMENT = month_bytes(
    FileLine(bill=DONE),
    FileLine(bill=DOUBLE),
    FileLine(bill=DOUBLE),
    FileLine(bill="B9", account="night.shift"),
)
"""The month as the vendor has it: the fake success is not in it, one bill twice, one that nobody of ours touched."""


def done(run: RunBook, task: str, bill: str) -> TaskBook:
    """A bill that was really processed, over four screens."""
    made = run.task(task, intent(bill))
    made.claim()
    made.register()
    made.observe(f"{bill}-list-1")
    search = made.propose(on=f"{bill}-list-1", label="查询")
    made.judge(search)
    made.attempt(search, writes=False)
    made.execute(search)
    made.write(screen=f"{bill}-list-2", toast="处理成功")
    made.observe(f"{bill}-list-3", "after")
    made.confirm()
    made.succeed()
    return made


def fake(run: RunBook) -> None:
    """The toast says done, the readback says otherwise; a person is asked."""
    made = run.task("task-fake", intent(FAKE))
    made.claim()
    made.register()
    made.write(screen=f"{FAKE}-list", toast="处理成功")
    made.observe(f"{FAKE}-toast", "after")
    made.mismatch("pending")
    made.hand_over(reason="the readback shows “pending” where “processed” was intended")


def stopped(run: RunBook) -> None:
    """A row was inserted between look and click; the page's own text is hostile."""
    made = run.task("task-stopped", replace(intent(STOPPED), counterparty=HOSTILE))
    made.claim()
    made.observe(f"{STOPPED}-list")
    click = made.propose(on=f"{STOPPED}-list", writes=True)
    made.judge(click, "target_changed")
    made.add(
        e.ActionBlocked(action_id=click, guard="gate", verdict="target_changed", expected="B3", found=HOSTILE)
    )
    made.observe(f"{STOPPED}-list-again")
    made.hand_over(due_in_us=-SECOND_US, reason="the target kept changing")
    made.add(
        e.AlertRaised(
            kind="takeover",
            severity="high",
            message="the target kept changing",
            delivered={"log": "ok", "webhook": "ConnectError, 3 tries"},
        )
    )


def refund(run: RunBook) -> None:
    """A refund that waits for another person's word."""
    wanted = intent(REFUND, action="refund", amount_minor=1_240_050)
    made = run.task("task-refund", wanted)
    made.claim()
    made.register()
    made.observe(f"{REFUND}-detail")
    click = made.propose(on=f"{REFUND}-detail", writes=True, label="退款")
    made.judge(click, "approval_required")
    made.add(
        e.ApprovalRequested(
            approval_id="approval-refund",
            action_id=click,
            digest=action_digest(made.key, wanted, kind="click", label="退款"),
            frame=sha(f"{REFUND}-detail"),
            rule="refund",
            reason="refunds need a second person",
            requested_by=SERVICE,
            expires_at_us=2**52,
        )
    )


def twice(run: RunBook, task: str) -> None:
    """A loop without claims did one bill two times."""
    made = run.task(task, intent(DOUBLE), mode="record_only")
    made.write(screen=f"{task}-list", toast="处理成功")
    made.confirm()
    made.add(e.TaskDeclaredDone(claim="done"))


def _drawn(recorded: Recorded, frames: dict[str, Sha256], blobs: str) -> Draft:
    """The same event with names of pictures that exist."""

    def real(name: Sha256) -> Sha256:
        if name not in frames:
            frames[name] = open_blobs(blobs).put(draw(len(frames)), media_type="image/png")
        return frames[name]

    def shown(refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        return tuple(replace(ref, sha256=real(ref.sha256)) for ref in refs)

    event = recorded.event
    if isinstance(event, e.ActionProposed) and event.planned_on:
        event = replace(event, planned_on=real(event.planned_on))
    elif isinstance(event, e.ApprovalRequested) and event.frame:
        event = replace(event, frame=real(event.frame))
    envelope = msgspec.structs.replace(recorded.envelope, frames=shown(recorded.envelope.frames))
    return Draft(envelope=envelope, event=event)


class Everyone:
    """Access for tests without a connection: everybody is the same viewer, of one tenant."""

    local_only = True
    secure = False

    def __init__(self, *tenants: str, roles: Sequence[Role] | None = None) -> None:
        held = None if roles is None else {tenant: frozenset(roles) for tenant in tenants}
        self._viewer = Viewer("person:tester", frozenset(tenants), held)

    def account(self, connection: HTTPConnection) -> str:
        return ""

    def admits(self, connection: HTTPConnection) -> bool:
        return True

    def viewer(self, connection: HTTPConnection) -> Viewer | None:
        return self._viewer
