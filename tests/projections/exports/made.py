"""A record in memory with real screens, for the bundle's tests: what an auditor would be handed, in small."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from PIL import Image, ImageDraw

from domain import events as e
from domain import notes
from domain.envelope import Recorded, StoredRow
from domain.errors import IntegrityError
from domain.ids import EventId, PrincipalId, Sha256, StreamId, TaskId, TenantId, settlement_stream
from domain.log_format import checkpoint_text, encode_leaf, stream_tag
from domain.merkle import leaf_hash, root
from domain.values import BusinessState, FrameRef, FrameRole
from projections.exports.bundle import BundleInfo, Extras, write_bundle
from projections.exports.select import Scope
from tests.support.events import Book, TaskBook, business, intent

SIGNER = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
KEY = str(notes.verifier_key("desk.example/acme", SIGNER.public_key()))
WITNESS = Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)
WITNESS_KEY = str(notes.verifier_key("witness.example", WITNESS.public_key(), algorithm=notes.COSIGNATURE))
SETTLEMENT = "账单月份,2026-11\r\n单号,金额\r\nB1,120.00\r\nB1,120.00\r\n".encode("utf-8-sig")
MARKUP = "<img src=x onerror=document.title='owned'></script><script>document.title='owned'</script>"
"""Text of a hostile page, which the record keeps as it was."""


@dataclass(frozen=True, slots=True)
class MadeHead:
    """Head of a log."""

    size: int
    root: bytes


@dataclass(slots=True)
class Made:
    """A tenant's record in memory, readable as exports read one."""

    book: Book = field(default_factory=Book)
    blobs: dict[str, bytes] = field(default_factory=dict)
    _leaves: list[bytes] = field(default_factory=list)

    def head(self, tenant: TenantId) -> MadeHead | None:
        if tenant != self.book.tenant:
            return None
        return MadeHead(len(self.book.events), root([leaf_hash(leaf) for leaf in self._all(tenant)]))

    def _all(self, tenant: TenantId) -> list[bytes]:
        for recorded in self.book.events[len(self._leaves) :]:
            row = recorded.row
            self._leaves.append(encode_leaf(stream_tag(tenant, row.stream), row.version, row.entry_hash))
        return self._leaves

    def leaves(self, tenant: TenantId, size: int | None = None) -> bytes:
        return b"".join(self._all(tenant)[:size])

    def rows(self, tenant: TenantId, after: int = 0) -> Iterator[StoredRow]:
        return (recorded.row for recorded in self.book.events[after:])

    def events(
        self, tenant: TenantId, after: int = 0, names: Sequence[str] | None = None
    ) -> Iterator[Recorded]:
        return (one for one in self.book.events[after:] if names is None or one.name in names)

    def stream(self, tenant: TenantId, stream: StreamId, after: int = 0) -> Iterator[Recorded]:
        return (one for one in self.book.events if one.row.stream == stream and one.row.version > after)

    def streams(self, tenant: TenantId, kind: str) -> list[StreamId]:
        found = dict.fromkeys(one.row.stream for one in self.book.events)
        return [stream for stream in found if stream.startswith(f"{kind}:")]

    def find(self, tenant: TenantId, event_id: EventId) -> Recorded | None:
        return next((one for one in self.book.events if one.envelope.event_id == event_id), None)

    def get(self, sha256: Sha256) -> bytes:
        if sha256 not in self.blobs:
            raise IntegrityError("missing", where=f"blob {sha256}")
        return self.blobs[sha256]

    def has(self, sha256: Sha256) -> bool:
        return sha256 in self.blobs

    def keep(self, data: bytes) -> Sha256:
        """Store a blob."""
        name = Sha256(hashlib.sha256(data).hexdigest())
        self.blobs[name] = data
        return name

    def screen(self, text: str, role: FrameRole = "observed", *, kind: str = "PNG") -> FrameRef:
        """A screen of a small back office that shows ``text``."""
        image = Image.new("RGB", (1280, 800), "#f7f8fa")
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, 1280, 40), fill="#eaf0f7")
        draw.rectangle((600, 10, 680, 34), outline="#20406b", fill="#dfe9f6")
        draw.text((20, 14), text, fill="black")
        draw.text((20, 80), "Difference bills of November", fill="#20406b")
        target = io.BytesIO()
        image.save(target, kind, lossless=True)
        return FrameRef(
            role=role,
            sha256=self.keep(target.getvalue()),
            width=1280,
            height=800,
            media_type=f"image/{kind.lower()}",
        )

    def checkpoint(self, size: int | None = None, *, witnessed_at_s: int | None = None) -> str:
        """A signed note about the first ``size`` events."""
        leaves = self._all(self.book.tenant)[:size]
        text = checkpoint_text("desk.example/acme", len(leaves), root([leaf_hash(leaf) for leaf in leaves]))
        note = notes.sign_note(text, "desk.example/acme", SIGNER)
        if witnessed_at_s is None:
            return note
        return notes.cosign(note, "witness.example", WITNESS, at_s=witnessed_at_s)


def _seen(title: str) -> e.ObservationRecorded:
    return e.ObservationRecorded(
        url="http://127.0.0.1:8800/bills",
        title=title,
        structure_sha256="0" * 64,
        document_sha256="1" * 64,
        account="acme-bot",
    )


def _observe(made: Made, task: TaskBook, text: str) -> FrameRef:
    shown = made.screen(text)
    task.add(_seen(text), frames=[shown])
    return shown


def _write(made: Made, task: TaskBook, text: str, *, toast: str, guarded: bool = True) -> None:
    """Look, plan, act; a wrapped loop claims no effect, which is how two tasks can do the same."""
    if guarded:
        task.claim()
    else:
        task.add(_seen("Log-in"))
    task.register()
    before = _observe(made, task, text)
    action = task.propose(writes=True, label="标记处理")
    task.judge(action, frames=[FrameRef(role="before", sha256=before.sha256, width=1280, height=800)])
    task.attempt(action)
    task.add(
        e.ActionExecuted(action_id=action, latency_us=41_000, toast=toast),
        frames=[made.screen(f"{text}: {toast[:20]}", "after")],
    )


def _found(status: str, lines: int) -> BusinessState:
    return business("B1", status, lines=lines)


def make(*, others: int = 4) -> Made:
    """Bill B1 processed twice by two tasks of an unguarded run, with the file that shows it; and other bills."""
    made = Made()
    run = made.book.run("run-1", mode="record_only")
    for name in ("task-1", "task-2"):
        task = run.task(name, intent("B1"), mode="record_only")
        _write(
            made,
            task,
            f"B1 pending ({name})",
            toast=MARKUP if name == "task-2" else "操作成功",
            guarded=False,
        )
        task.add(
            e.ReadbackConfirmed(
                source="detail",
                phase="first",
                account="acme-reader",
                expected_status="processed",
                found=_found("processed", 1 if name == "task-1" else 2),
            ),
            frames=[made.screen(f"B1 processed, read back for {name}", "readback", kind="WEBP")],
        )
        task.succeed()
        task.add(
            e.TaskSealed(
                events=len([1 for one in made.stream(made.book.tenant, StreamId(f"task:{name}"))]) + 1
            )
        )
    for number in range(others):
        other = run.task(f"task-{number + 10}", intent(f"B{number + 10}"))
        _write(made, other, f"B{number + 10} pending", toast="done")
        if number == 1:
            other.mismatch("pending")
            other.hand_over()
    run.add(e.RunFinished(outcomes={"succeeded": 2}, verdicts={"pass": 6}, steps=6, steps_ok=6))
    made.book.add(
        e.SettlementImported(
            blob=made.keep(SETTLEMENT),
            file_name="../结算 2026-11.csv",
            source="http://127.0.0.1:8800/settlement/2026-11.csv",
            profile="portal",
            month="2026-11",
            rows_read=4,
            rows_accepted=2,
            rows_refused=0,
            rows_other=2,
            total_minor={"CNY": 24_000},
        ),
        stream=settlement_stream("2026-11"),
        principal=PrincipalId("person:li.na"),
    )
    return made


def case_of(made: Made) -> dict[str, Any]:
    """The desk's conclusion about bill B1."""
    acts = [one for one in made.book.events if one.name == "action.executed"][:2]
    return {
        "id": "brk-0001",
        "bill": "B1",
        "tasks": ["task-1", "task-2"],
        "kind": "duplicate_in_file",
        "amount_minor": 12_000,
        "currency": "CNY",
        "residual_minor": 0,
        "findings": [
            {
                "cause": "duplicate_across_tasks",
                "verdict": "proven",
                "amount_minor": 12_000,
                "summary": "Two tasks of one run carried out the same effect on bill B1.",
                "party": "executor",
                "responsible": ["svc:acme-batch"],
                "reason": "",
                "decisive": [
                    {
                        "kind": "event",
                        "sentence": f"The tool reported that it performed the write for {one.envelope.task_id}.",
                        "position": one.row.position,
                        "event_id": one.envelope.event_id,
                        "task_id": one.envelope.task_id,
                        "line": 0,
                    }
                    for one in acts
                ],
                "counter_evidence": [
                    {
                        "looked_for": "A reversal of one of the two lines",
                        "where": "settlement file and readbacks",
                        "found": False,
                        "evidence": [],
                    }
                ],
            }
        ],
    }


def seal(text: str) -> str:
    """Sign as the exporter."""
    return notes.sign_note(text, "desk.example/acme", SIGNER)


def export(
    made: Made,
    path: Path,
    *,
    scope: Scope | None = None,
    case: dict[str, Any] | None = None,
    extras: Extras | None = None,
) -> BundleInfo:
    """Write a bundle about bill B1, or about what is asked for."""
    return write_bundle(
        path,
        made,
        made,
        tenant=made.book.tenant,
        scope=scope or Scope("bill", "B1"),
        case=case,
        extras=extras,
    )


TASK_1 = TaskId("task-1")
