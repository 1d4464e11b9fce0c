"""Recorded events without a store: real bytes, real chain, ids and times from counters, the same on every run."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from domain import events as e
from domain.chain import GENESIS, body_hash, entry_hash
from domain.codec import encode, read
from domain.envelope import Draft, Envelope, Recorded, StoredRow
from domain.idempotency import action_digest, effect_key
from domain.ids import (
    ActionId,
    EffectKey,
    EventId,
    PrincipalId,
    RunId,
    Sha256,
    StreamId,
    TaskId,
    TenantId,
    run_stream,
    task_stream,
)
from domain.values import Box, BusinessState, Check, FrameRef, FrameRole, Intent, Point, Verdict

TENANT = TenantId("acme")
START_US = 1_793_000_000_000_000
"""An afternoon in October 2026."""
SECOND_US = 1_000_000
SERVICE = PrincipalId("svc:acme-batch")
PERSON = PrincipalId("person:li.na")


def sha(text: str) -> Sha256:
    """Name of a made-up blob."""
    return Sha256(hashlib.sha256(text.encode()).hexdigest())


def frame(name: str, role: FrameRole = "observed", *, width: int = 1280, height: int = 800) -> FrameRef:
    """A screen called ``name``; the same name is the same picture."""
    return FrameRef(role=role, sha256=sha(name), width=width, height=height)


def intent(bill: str = "B1", *, action: str = "mark_processed", amount_minor: int = 12_000) -> Intent:
    """What the business wants of a bill."""
    return Intent(
        bill_id=bill,
        action=action,
        counterparty="Northwind",
        amount_minor=amount_minor,
        currency="CNY",
        month="2026-11",
        expected_status="processed" if action == "mark_processed" else "refunded",
    )


def business(bill: str = "B1", status: str = "pending", *, lines: int = 0, actor: str = "") -> BusinessState:
    """A bill as some source shows it."""
    return BusinessState(
        bill_id=bill,
        status=status,
        amount_minor=12_000,
        currency="CNY",
        counterparty="Northwind",
        month="2026-11",
        history_length=lines,
        ledger_lines=lines,
        last_actor=actor,
    )


def key_of(wanted: Intent) -> EffectKey:
    """Key of a business effect of the tenant of these tests."""
    return effect_key(TENANT, wanted)


class Book:
    """A tenant's log in memory; every event lies one second after the one before."""

    def __init__(self, tenant: str = TENANT, *, start_us: int = START_US) -> None:
        self.tenant = TenantId(tenant)
        self.events: list[Recorded] = []
        self.now_us = start_us
        self._versions: dict[str, int] = defaultdict(int)
        self._entries: dict[str, bytes] = defaultdict(lambda: GENESIS)

    def add(
        self,
        event: e.Event,
        *,
        stream: StreamId,
        run: str | None = None,
        task: str | None = None,
        principal: PrincipalId = SERVICE,
        frames: Sequence[FrameRef] = (),
        key: EffectKey | None = None,
        after_us: int = SECOND_US,
    ) -> Recorded:
        """Append one fact, encoded and decoded as the store would."""
        position = len(self.events) + 1
        self.now_us += after_us
        self._versions[stream] += 1
        envelope = Envelope(
            event_id=EventId(f"019a0000-0000-7000-8000-{position:012x}"),
            tenant=self.tenant,
            stream=stream,
            version=self._versions[stream],
            principal=principal,
            occurred_at_us=self.now_us,
            salt=f"{position:064x}",
            run_id=None if run is None else RunId(run),
            task_id=None if task is None else TaskId(task),
            idempotency_key=key,
            frames=tuple(frames),
        )
        body = encode(Draft(envelope=envelope, event=event))
        recorded_at_us = self.now_us + 1_000
        entry = entry_hash(
            self._entries[stream], body_hash(body), position=position, recorded_at_us=recorded_at_us
        )
        self._entries[stream] = entry
        row = StoredRow(
            tenant=self.tenant,
            position=position,
            stream=stream,
            version=envelope.version,
            recorded_at_us=recorded_at_us,
            body=body,
            entry_hash=entry,
        )
        self.events.append(read(row))
        return self.events[-1]

    def run(self, run: str = "run-1", *, mode: e.task.RunMode = "guarded") -> RunBook:
        """Start a run."""
        book = RunBook(self, run)
        book.add(
            e.RunStarted(
                mode=mode,
                agent="proofreel 0.1.0",
                goal="mark the bills of November",
                origin="http://127.0.0.1:8800",
                browser="Chromium 140",
                viewport_width=1280,
                viewport_height=800,
                config_sha256=sha("config"),
                tasks_planned=1,
            )
        )
        return book


class RunBook:
    """Facts of one run's own stream."""

    def __init__(self, book: Book, run: str) -> None:
        self.book = book
        self.run = run

    def add(self, event: e.Event, *, frames: Sequence[FrameRef] = ()) -> Recorded:
        """Append a fact about the run."""
        return self.book.add(event, stream=run_stream(RunId(self.run)), run=self.run, frames=frames)

    def task(self, task: str, wanted: Intent | None = None, *, mode: e.task.RunMode = "guarded") -> TaskBook:
        """Open a task in this run."""
        book = TaskBook(self, task, wanted or intent())
        book.add(
            e.TaskOpened(
                intent=book.intent,
                effect_key=book.key,
                requested_by=PrincipalId("svc:month-end"),
                mode=mode,
                reference=f"line {task}",
            )
        )
        return book


class TaskBook:
    """Facts of one task, and the usual sequences of them."""

    def __init__(self, run: RunBook, task: str, wanted: Intent) -> None:
        self.run = run
        self.task = task
        self.intent = wanted
        self.key = key_of(wanted)
        self.actions = 0

    def add(
        self,
        event: e.Event,
        *,
        frames: Sequence[FrameRef] = (),
        principal: PrincipalId = SERVICE,
        run: str | None = None,
        after_us: int = SECOND_US,
    ) -> Recorded:
        """Append a fact about the task; ``run`` names another run than the one that opened it."""
        return self.run.book.add(
            event,
            stream=task_stream(TaskId(self.task)),
            run=run or self.run.run,
            task=self.task,
            principal=principal,
            frames=frames,
            key=self.key,
            after_us=after_us,
        )

    def claim(self) -> Recorded:
        """Take the effect."""
        return self.add(e.TaskClaimed(effect_key=self.key))

    def observe(self, screen: str, role: FrameRole = "observed") -> Recorded:
        """Look at the screen."""
        return self.add(
            e.ObservationRecorded(
                url="http://127.0.0.1:8800/bills",
                title="Difference bills",
                structure_sha256=sha("ui-1"),
                document_sha256=sha(screen),
                account="acme-bot",
            ),
            frames=[frame(screen, role)],
        )

    def propose(self, *, on: str = "", writes: bool = False, label: str = "标记处理") -> ActionId:
        """Plan the next step on a screen."""
        self.actions += 1
        action_id = ActionId(f"{self.task}-action-{self.actions}")
        self.add(
            e.ActionProposed(
                action_id=action_id,
                kind="click",
                rung="browser",
                label=label,
                target=f"row {self.intent.bill_id} > button",
                writes=writes,
                irreversible=False,
                digest=action_digest(self.key, self.intent, kind="click", label=label),
                planned_on=sha(on) if on else None,
                point=Point(x=640, y=20),
                box=Box(x=600, y=10, width=80, height=24),
                row=Box(x=0, y=0, width=1280, height=40),
            )
        )
        return action_id

    def judge(
        self,
        action_id: ActionId,
        verdict: Verdict = "pass",
        *,
        phase: e.action.Phase = "before",
        enforced: bool = True,
        frames: Sequence[FrameRef] = (),
    ) -> Recorded:
        """Let the guards speak."""
        check = Check(
            guard="frame",
            verdict=verdict,
            expected="button of B1" if verdict != "pass" else "",
            found="button of B2" if verdict != "pass" else "",
            measures={"dhash_screen_bits": 3},
        )
        return self.add(
            e.GuardJudged(
                action_id=action_id, phase=phase, verdict=verdict, enforced=enforced, checks=(check,)
            ),
            frames=frames,
        )

    def attempt(self, action_id: ActionId, *, writes: bool = True) -> Recorded:
        """Make the attempt durable."""
        return self.add(
            e.ActionAttempted(action_id=action_id, writes=writes, effect_key=self.key if writes else None)
        )

    def execute(self, action_id: ActionId, *, toast: str = "") -> Recorded:
        """Let the tool report that it acted."""
        return self.add(e.ActionExecuted(action_id=action_id, latency_us=1_000, toast=toast))

    def register(self, status: str = "pending") -> Recorded:
        """Write down the way back."""
        return self.add(
            e.CompensationRegistered(
                action="undo", snapshot=business(self.intent.bill_id, status), source="detail"
            )
        )

    def write(self, *, screen: str = "list", toast: str = "") -> Recorded:
        """Look, plan, pass, attempt and act; returns the attempt."""
        self.observe(screen)
        action_id = self.propose(on=screen, writes=True)
        self.judge(action_id)
        attempt = self.attempt(action_id)
        self.execute(action_id, toast=toast)
        return attempt

    def confirm(self, *, phase: e.evidence.ReadbackPhase = "first", source: str = "detail") -> Recorded:
        """An independent source shows what was intended."""
        return self.add(
            e.ReadbackConfirmed(
                source=source,
                phase=phase,
                account="acme-reader",
                expected_status=self.intent.expected_status,
                found=business(self.intent.bill_id, self.intent.expected_status, lines=1),
            ),
            frames=[frame(f"detail-{self.intent.bill_id}", "readback")],
        )

    def mismatch(self, status: str, *, phase: e.evidence.ReadbackPhase = "first", lines: int = 0) -> Recorded:
        """An independent source shows something else."""
        return self.add(
            e.ReadbackMismatched(
                source="detail",
                phase=phase,
                account="acme-reader",
                expected_status=self.intent.expected_status,
                found=business(self.intent.bill_id, status, lines=lines),
                differences={"status": f"{self.intent.expected_status} → {status}"},
            )
        )

    def succeed(self) -> Recorded:
        """End well."""
        return self.add(e.TaskSucceeded(source="detail"))

    def hand_over(self, *, due_in_us: int = 3600 * SECOND_US, reason: str = "not read back") -> Recorded:
        """Ask for a person."""
        return self.add(
            e.TakeoverRequested(
                verdict="noop",
                reason=reason,
                severity="high",
                due_at_us=self.run.book.now_us + SECOND_US + due_in_us,
            )
        )

    def done(self) -> TaskBook:
        """The whole good course: claim, way back, write, readback, success."""
        self.claim()
        self.register()
        self.write()
        self.confirm()
        self.succeed()
        return self
