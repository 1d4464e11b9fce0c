"""Blobs that events refer to: there, and what their name says; hashed beside the walk through the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from domain.errors import IntegrityError, KeyGone
from domain.events import RedactionRequested
from domain.ids import Sha256, TenantId
from projections.findings import Finding, FsckReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from domain.envelope import Envelope
    from domain.events import Event
    from projections.reading import BlobReader, IndexedRow

_SEEN_KEPT: Final = 200_000
_THREADS: Final = 2
_IN_FLIGHT: Final = 16
KEY_GONE: Final = KeyGone("").what.partition(": ")[2]
Deleted = Callable[[TenantId], Container[Sha256]]


class BlobCheck:
    """Each blob once (within a memory of recent ones), hashed by a few threads: hashing frees the interpreter."""

    def __init__(
        self, blobs: BlobReader, report: FsckReport, pool: ThreadPoolExecutor, deleted: Deleted
    ) -> None:
        self._blobs = blobs
        self._report = report
        self._pool = pool
        self._seen: dict[bytes, str] = {}
        self._waiting: dict[bytes, list[Finding]] = {}
        self._deleted = deleted
        self._gone: set[str] = set()
        self._pending: deque[tuple[bytes, Future[tuple[int, str]]]] = deque()

    @classmethod
    @contextmanager
    def maybe(
        cls, blobs: BlobReader | None, report: FsckReport, deleted: Deleted
    ) -> Iterator[BlobCheck | None]:
        """A check while the context lasts, or None when there are no blobs to look at.

        ``deleted`` says of a tenant what was deleted on record.
        """
        if blobs is None:
            yield None
            return
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="fsck-blob") as pool:
            made = cls(blobs, report, pool, deleted)
            yield made
            made.settle(0)

    def see(self, item: IndexedRow, envelope: Envelope, event: Event) -> None:
        """Look at what one event refers to."""
        for frame in envelope.frames:
            self._look(frame.sha256, f"{frame.role} frame", item, envelope)
        for name in _blob_fields(type(event)):
            value = getattr(event, name)
            if value:
                self._look(Sha256(value), name, item, envelope)

    def _look(self, name: Sha256, role: str, item: IndexedRow, envelope: Envelope) -> None:
        finding = Finding(
            code="",
            what=role,
            tenant=item.row.tenant,
            position=item.row.position,
            event_id=item.event_id,
            stream=item.row.stream,
            task=envelope.task_id or "",
            blob=name,
        )
        try:
            digest = bytes.fromhex(name)
        except ValueError:
            self._enter(finding, "not the name of a blob")
            return
        known = self._seen.get(digest)
        if known:
            self._enter(finding, known)  # each event that a broken blob touches is named
        elif digest in self._waiting:
            self._waiting[digest].append(finding)
        elif known is None:
            self._waiting[digest] = [finding]
            self._pending.append((digest, self._pool.submit(self._fetch, name)))
            self.settle(_IN_FLIGHT)

    def _fetch(self, name: Sha256) -> tuple[int, str]:
        try:
            return len(self._blobs.get(name)), ""
        except IntegrityError as error:
            return 0, error.what.partition(": ")[2]

    def settle(self, left: int) -> None:
        """Take in results until at most ``left`` are outstanding."""
        while len(self._pending) > left:
            digest, future = self._pending.popleft()
            size, problem = future.result()
            findings = self._waiting.pop(digest)
            self._report.blobs += 1
            self._report.blob_bytes += size
            self._remember(digest, problem)
            for finding in findings if problem else ():
                self._enter(finding, problem)

    def _remember(self, digest: bytes, problem: str) -> None:
        self._seen[digest] = problem
        if len(self._seen) > _SEEN_KEPT:
            del self._seen[next(iter(self._seen))]

    def _enter(self, finding: Finding, problem: str) -> None:
        if problem in {"missing", KEY_GONE} and finding.blob in self._deleted(TenantId(finding.tenant)):
            self._gone.add(finding.blob)
            self._report.deleted = len(self._gone)
            return
        if problem == KEY_GONE:
            problem += ", and no deletion of it is on record"
        code = {"missing": "blob_missing"}.get(problem, "blob_damaged")
        if problem.startswith(KEY_GONE):
            code = "blob_key_gone"
        self._report.add(
            Finding(
                code=code,
                what=f"{finding.what} {finding.blob}: {problem}",
                tenant=finding.tenant,
                position=finding.position,
                event_id=finding.event_id,
                stream=finding.stream,
                task=finding.task,
                blob=finding.blob,
            )
        )


_FIELDS: dict[type, tuple[str, ...]] = {}


def _blob_fields(cls: type) -> tuple[str, ...]:
    """Fields of a fact that name blobs: ``blob`` and ``…_blob``."""
    known = _FIELDS.get(cls)
    if known is None:
        names = tuple(getattr(cls, "__dataclass_fields__", ()))
        known = tuple(name for name in names if name == "blob" or name.endswith("_blob"))
        _FIELDS[cls] = known = (*known, "rendition", "opening") if cls is RedactionRequested else known
    return known
