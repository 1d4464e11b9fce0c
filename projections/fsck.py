"""Re-deriving the whole record from its stored bytes.

Rules: nothing stored is believed but the bodies. From them follow the entries of each stream's chain, the leaves and
the root of each tenant's log, the claims and the blobs that must exist; every stored value that says otherwise is a
finding that names its place. A finding doesn't hide the next one: the check goes on. Memory stays flat however long
the log is: streams and blobs that were seen are remembered up to a limit and looked up again beyond it.

What a check of the record alone can't see is an end that was cut off together with its head, or a whole older copy:
that takes a checkpoint or a receipt kept elsewhere (``Anchor``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from domain import notes
from domain.chain import GENESIS, body_hash, entry_hash
from domain.codec import decode
from domain.errors import IntegrityError
from domain.ids import TenantId
from domain.log_format import encode_leaf, stream_tag
from domain.merkle import Frontier, leaf_hash
from projections.findings import Finding, FsckReport
from projections.fsck_blobs import BlobCheck
from projections.fsck_checkpoints import Anchor, anchors_from, stored_anchors
from projections.fsck_claims import ClaimCheck
from projections.reading import IndexedRow, RecordReader

if TYPE_CHECKING:
    from domain.envelope import Envelope, StoredRow
    from domain.events import Event
    from projections.reading import BlobReader

__all__ = ["Anchor", "Finding", "FsckReport", "anchors_from", "check"]

Progress = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and the tenant."""

_STREAMS_KEPT: Final = 50_000
_PAGE: Final = 1000


@dataclass(slots=True)
class _Tail:
    """Last event of a stream: its version, its link as stored, its link as it should be."""

    version: int
    stored: bytes
    derived: bytes
    tag: bytes


@dataclass(slots=True)
class _Scan:
    """State of the walk through one tenant's log."""

    tenant: TenantId
    reader: RecordReader
    report: FsckReport
    blobs: BlobCheck | None
    claims: ClaimCheck
    anchors: dict[int, list[Anchor]]
    tails: dict[str, _Tail] = field(default_factory=dict)
    frontier: Frontier = field(default_factory=Frontier)
    expected: int = 1
    recorded_at_us: int = 0
    causes: dict[str, tuple[IndexedRow, str]] = field(default_factory=dict)

    def find(
        self, code: str, what: str, item: IndexedRow | None = None, task: str = "", position: int = 0
    ) -> None:
        """Enter a finding about an event, or about the log."""
        if item is not None:
            row = item.row
            task = task or (row.stream.removeprefix("task:") if row.stream.startswith("task:") else "")
            position = row.position
        self.report.add(
            Finding(
                code=code,
                what=what,
                tenant=self.tenant,
                position=position,
                event_id=item.event_id if item else "",
                stream=item.row.stream if item else "",
                task=task,
            )
        )


def check(
    reader: RecordReader,
    blobs: BlobReader | None,
    tenant: TenantId | None = None,
    progress: Progress | None = None,
    *,
    anchors: Sequence[Anchor] = (),
    keys: Sequence[notes.VerifierKey] = (),
) -> FsckReport:
    """Check everything, or one tenant's log; without ``blobs`` their presence isn't looked at.

    With ``keys`` every stored checkpoint must be signed by one of them, and cosignatures of their witnesses must be
    right; without, signatures are not checked (``FsckReport.signatures_checked``).

    The report lists what is wrong; the function raises only ``WorldError`` when the database or the blobs can't be
    reached.
    """
    report = FsckReport(signatures_checked=bool(keys))
    for problem in reader.storage_problems():
        report.add(Finding(code="storage", what=f"the database says: {problem}"))
    try:
        tenants = [tenant] if tenant is not None else reader.tenants()
    except IntegrityError as error:
        report.add(Finding(code="storage", what=str(error.what)))
        return report
    report.tenants = list(tenants)
    with BlobCheck.maybe(blobs, report, lambda name: reader.withholding(name).deleted) as blob_check:
        for name in tenants:
            wanted = [anchor for anchor in anchors if anchor.tenant == name]
            try:
                wanted += stored_anchors(reader, name, keys, report)
                _check_tenant(reader, name, blob_check, report, progress, wanted)
            except IntegrityError as error:
                report.add(Finding(code="storage", what=f"can't be read: {error.what}", tenant=name))
    return report


def _check_tenant(
    reader: RecordReader,
    tenant: TenantId,
    blobs: BlobCheck | None,
    report: FsckReport,
    progress: Progress | None,
    anchors: Sequence[Anchor],
) -> None:
    head = reader.head(tenant)
    total = max(reader.positions(tenant), head.size if head else 0)
    by_size: dict[int, list[Anchor]] = {}
    for anchor in anchors:
        by_size.setdefault(anchor.size, []).append(anchor)
    scan = _Scan(tenant, reader, report, blobs, ClaimCheck(reader, tenant, report), by_size)
    _anchor(scan, 0)
    for done, item in enumerate(reader.indexed_rows(tenant), start=1):
        _check_row(scan, item)
        if done % _PAGE == 0:
            _check_causes(scan)
            if progress:
                progress(done, total, tenant)
    _check_causes(scan)
    scan.claims.finish()
    for what, position in reader.place_problems(tenant):
        scan.find("place_mismatch", what, position=position)
    _check_head(scan)
    for size in sorted(scan.anchors):
        for anchor in scan.anchors[size]:
            scan.find("truncated", f"{anchor.source} knows {size} events, the log has {scan.frontier.size}")
    if progress:
        progress(total, total, tenant)


def _anchor(scan: _Scan, size: int) -> None:
    for anchor in scan.anchors.pop(size, ()):
        if scan.frontier.root() != anchor.root:
            what = f"the first {size} events are not those that {anchor.source} vouches for"
            scan.find("history_rewritten", what, position=size)


def _check_row(scan: _Scan, item: IndexedRow) -> None:
    row = item.row
    scan.report.events += 1
    scan.report.event_bytes += len(row.body)
    if row.position != scan.expected:
        last = row.position - 1
        gone = f"position {scan.expected}" + ("" if last == scan.expected else f" to {last}")
        verb = "is" if last == scan.expected else "are"
        scan.find("position_gap", f"{gone} {verb} missing before this event", item)
    scan.expected = row.position + 1
    if row.recorded_at_us < scan.recorded_at_us:
        scan.find("time_backwards", "recorded before the event in front of it", item)
    scan.recorded_at_us = row.recorded_at_us
    tail = _check_link(scan, item)
    scan.frontier.append(leaf_hash(encode_leaf(tail.tag, row.version, row.entry_hash)))
    if row.position == scan.frontier.size:
        _anchor(scan, row.position)
    try:
        envelope, name, _, event = decode(row.body, where=row)
    except IntegrityError as error:
        scan.find("unreadable", error.what, item)
        return
    _check_columns(scan, item, envelope, name)
    _check_meaning(scan, item, envelope, event)


def _check_link(scan: _Scan, item: IndexedRow) -> _Tail:
    """The row's link in its stream's chain; returns the stream's new tail."""
    row = item.row
    tail = scan.tails.pop(row.stream, None) or _look_up_tail(scan, row)
    if row.version != tail.version + 1:
        tail = _out_of_order(scan, item, tail)
    body = body_hash(row.body)
    derived = entry_hash(tail.stored, body, position=row.position, recorded_at_us=row.recorded_at_us)
    if derived != row.entry_hash and tail.derived != tail.stored:
        # The link before this one was altered itself; this one may well continue the right value of it.
        derived = entry_hash(tail.derived, body, position=row.position, recorded_at_us=row.recorded_at_us)
    if derived != row.entry_hash:
        scan.find("entry_mismatch", _blame(row), item, task=_stated_task(row.body))
    made = _Tail(row.version, row.entry_hash, derived, tail.tag)
    scan.tails[row.stream] = made
    if len(scan.tails) > _STREAMS_KEPT:
        del scan.tails[next(iter(scan.tails))]
    return made


def _out_of_order(scan: _Scan, item: IndexedRow, tail: _Tail) -> _Tail:
    """A version that isn't the next one: the tail that it continues, after a finding unless that one is in place."""
    row = item.row
    before = scan.reader.predecessor(scan.tenant, row.stream, row.version)
    if before is not None and before[0] < row.position and row.version > tail.version:
        return _Tail(row.version - 1, before[1], before[1], tail.tag)
    if before is not None or row.version <= tail.version:
        scan.find("stream_order", f"version {row.version} of {row.stream} is out of order", item)
    else:
        what = f"version {tail.version + 1} of {row.stream} is missing before this event"
        scan.find("stream_gap", what, item)
    return tail if before is None else _Tail(row.version - 1, before[1], before[1], tail.tag)


def _look_up_tail(scan: _Scan, row: StoredRow) -> _Tail:
    """Tail of a stream that begins here, or that was last seen too long ago to be remembered."""
    tag = stream_tag(scan.tenant, row.stream)
    if row.version > 1:
        before = scan.reader.predecessor(scan.tenant, row.stream, row.version)
        if before is not None and before[0] < row.position:
            return _Tail(row.version - 1, before[1], before[1], tag)
    return _Tail(0, GENESIS, GENESIS, tag)


def _blame(row: StoredRow) -> str:
    return (
        f"bytes, position, time or link of this event were changed: its stored link is {row.entry_hash.hex()[:16]}…,"
        f" its bytes have SHA-256 {hashlib.sha256(row.body).hexdigest()[:16]}…"
    )


def _stated_task(body: bytes) -> str:
    """The task that the bytes themselves name, if they can be read at all."""
    try:
        envelope, *_ = decode(body)
    except IntegrityError:
        return ""
    return envelope.task_id or ""


def _check_columns(scan: _Scan, item: IndexedRow, envelope: Envelope, name: str) -> None:
    """What stands beside the body must repeat what the body says."""
    row = item.row
    pairs = (
        ("tenant", row.tenant, envelope.tenant),
        ("stream", row.stream, envelope.stream),
        ("version", row.version, envelope.version),
        ("event_id", item.event_id, envelope.event_id),
        ("name", item.name, name),
    )
    for column, stored, said in pairs:
        if stored != said:
            scan.find("column_mismatch", f"column {column} says {stored!r}, the event says {said!r}", item)


def _check_meaning(scan: _Scan, item: IndexedRow, envelope: Envelope, event: Event) -> None:
    """References that the event makes: its cause, its claim, its blobs, its count."""
    if envelope.causation_id:
        scan.causes.setdefault(envelope.causation_id, (item, envelope.task_id or ""))
    scan.claims.see(item, envelope, event)
    if scan.blobs is not None:
        scan.blobs.see(item, envelope, event)
    if item.name == "task.sealed":
        count = getattr(event, "events", 0)
        if count != item.row.version:
            scan.find("seal_count", f"sealed with {count} events, this is the {item.row.version}th", item)


def _check_causes(scan: _Scan) -> None:
    """Causes named since the last look must be events of this log."""
    for missing in scan.reader.missing_ids(scan.tenant, list(scan.causes)) if scan.causes else ():
        item, task = scan.causes[missing]
        scan.find("cause_missing", f"names a cause {missing} that is not in this log", item, task=task)
    scan.causes.clear()


def _check_head(scan: _Scan) -> None:
    head = scan.reader.head(scan.tenant)
    found = scan.frontier
    if head is None:
        if found.size:
            scan.find("head_missing", f"the log has {found.size} events and no head")
        return
    if head.size < found.size:
        return  # a writer went on while we read
    if head.size != found.size:
        scan.find("head_size", f"the head counts {head.size} events, the log has {found.size}")
    elif head.frontier != found.state():
        scan.find("root_mismatch", "the root of the log's entries is not the head's root")
    if head.recorded_at_us != scan.recorded_at_us and head.size == found.size:
        scan.find("head_time", "the head's time is not that of the last event")
