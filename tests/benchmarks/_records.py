"""Records of any length for the benchmarks of the desk: tasks of ten events, five to a run; runs of many screens."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from PIL import Image

from domain.envelope import Draft, Recorded
from domain.events import ObservationRecorded, TaskClaimed
from domain.ids import EventId, Sha256
from domain.values import FrameRef
from executor.store.blobs import open_blobs
from executor.store.log import RecordLog, open_record
from tests.replay_ui.synthetic import DISTINCT, SIZE, draw
from tests.support.events import Book, RunBook, intent, sha

TASKS_OF_A_RUN: Final = 5
FRAMES_OF_A_TASK: Final = 40
_LOOK: Final = ObservationRecorded(
    url="http://127.0.0.1:8800/bills",
    title="Difference bills",
    structure_sha256=sha("ui-1"),
    document_sha256=sha("screen"),
)


def tasks(store: str, events: int) -> int:
    """Write a record of about ``events`` events without screens' bytes; returns how many there are."""
    written = run = 0
    with open_record(store) as log:
        while written < events:
            book = Book(start_us=1_793_000_000_000_000 + run * 3_600_000_000)
            made = book.run(f"run-{run:07}")
            for number in range(TASKS_OF_A_RUN):
                made.task(f"task-{run:07}-{number:02}", intent(f"B{run:07}-{number:02}")).done()
            written += _append(log, book, run)
            run += 1
    return written


def one_run(folder: Path, frames: int) -> tuple[str, str]:
    """A record of one run with so many different screens; store and blobs."""
    store, blobs = f"sqlite:///{folder}/record.db", str(folder / "blobs")
    (folder / "blobs").mkdir()
    kept = open_blobs(blobs)
    pictures = [few_colours(draw(index)) for index in range(DISTINCT)]
    with open_record(store) as log:
        for part, start in enumerate(range(0, frames, FRAMES_OF_A_TASK)):
            book = Book(start_us=1_793_000_000_000_000 + part * 60_000_000)
            run = book.run("long") if part == 0 else RunBook(book, "long")
            task = run.task(f"task-{part:06}", intent(f"B{part:06}"))
            for index in range(start, min(start + FRAMES_OF_A_TASK, frames)):
                data = told_apart(pictures[index % DISTINCT], index)
                name = Sha256(hashlib.sha256(data).hexdigest())
                kept.put(data, media_type="image/png")
                ref = FrameRef(role="observed", sha256=name, width=SIZE[0], height=SIZE[1])
                task.add(_LOOK, frames=[ref])
            _append(log, book, part)
    return store, blobs


def few_colours(png: bytes) -> bytes:
    """The same picture in as many bytes as a stored screen of a back office has."""
    made = io.BytesIO()
    Image.open(io.BytesIO(png)).quantize(64).save(made, "PNG", optimize=True)
    return made.getvalue()


def told_apart(png: bytes, number: int) -> bytes:
    """The same picture under another hash: a comment stands before its end (PNG, 11.3.4.3)."""
    body = b"tEXtComment\0" + str(number).encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    made = io.BytesIO()
    made.write(png[:-12])
    made.write(chunk)
    made.write(png[-12:])
    return made.getvalue()


def _append(log: RecordLog, book: Book, part: int) -> int:
    streams: dict[str, list[Recorded]] = {}
    for recorded in book.events:
        streams.setdefault(recorded.row.stream, []).append(recorded)
    for events in streams.values():
        drafts = list(_renamed(events, part))
        claim = next(
            (draft.event.effect_key for draft in drafts if isinstance(draft.event, TaskClaimed)), None
        )
        log.append(drafts, claim=claim)
    return len(book.events)


def _renamed(events: list[Recorded], part: int) -> Iterator[Draft]:
    """Event ids that are unique over all books."""
    for recorded in events:
        tail = recorded.envelope.event_id[-12:]
        name = EventId(f"019a{part >> 16:04x}-{part & 0xFFFF:04x}-7000-8000-{tail}")
        yield Draft(envelope=msgspec.structs.replace(recorded.envelope, event_id=name), event=recorded.event)
