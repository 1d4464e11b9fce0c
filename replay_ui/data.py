"""The one place where the desk reads.

Rules enforced here:

- Pages and routes get plain, frozen rows of the projections; nobody else opens the record, the blobs or the stored
  views.
- The stored views are disposable. They are brought up to the end of the log when somebody looks, by new positions
  only, and one catch-up at a time.
- Whoever asks names the tenant, and every row is asked for by it. A tenant that the desk is not opened for has no rows.
- What the desk concludes itself (the month end) rests on a chain that it has checked at that very position.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import sqlalchemy as sa

from domain import events as e
from domain.codec import read
from domain.ids import Sha256, TaskId, TenantId, settlement_stream, task_stream
from projections import fsck, materialize
from projections.settlement.importer import read_settlement
from projections.settlement.profiles import load_profile
from projections.views import ALL
from projections.views import metrics as metric_view
from projections.views.approvals import Approvals, Pending, pending
from projections.views.common import task_of, verdict_of
from projections.views.evidence_chain import BillChain, EvidenceChain, chain
from projections.views.reconciliation import Reconciliation, reconcile
from projections.views.runs import RunRow, Runs
from projections.views.sentences import sentence
from projections.views.takeover_queue import Aged, TakeoverQueue, aged
from projections.views.tallies import Metrics
from projections.views.task_states import TaskRow, TaskStates
from projections.views.timeline import Timeline, TimelineProjection, timeline
from replay_ui.growth import Answers, end_of_evidence

if TYPE_CHECKING:
    from collections.abc import Container

    from domain.envelope import Recorded
    from projections.fold import Partitioned
    from projections.reading import BlobReader, RecordReader

V = TypeVar("V")

_ORIGIN: Final = sa.Table(
    "desk_origin",
    sa.MetaData(),
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("entry", sa.LargeBinary, nullable=False),
)
"""Link of the first event of the log that the stored views were made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far the desk sees."""

    events: int
    """Position of the newest event of the tenant's log."""
    last_at_us: int
    """When it was recorded, microseconds since 1970 (UTC); 0 for an empty log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import of a settlement file."""

    position: int
    month: str
    file_name: str
    source: str
    profile: str
    principal: str
    at_us: int
    rows_read: int
    rows_accepted: int
    rows_refused: int
    blob: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An event in few words, and where it can be looked at."""

    position: int
    name: str
    at_us: int
    sentence: str
    principal: str
    task_id: str
    run_id: str
    bill_id: str
    frames: int


class Desk:
    """Read access for the pages. Safe to share between threads.

    Args:
        reader: the record.
        blobs: screens and files.
        views: database of the stored views, a disposable one.
        tenants: tenants that the desk is opened for; None for all of the record.
    """

    def __init__(
        self,
        reader: RecordReader,
        blobs: BlobReader,
        views: sa.Engine,
        *,
        tenants: Container[str] | None = None,
    ) -> None:
        self.reader = reader
        self.blobs = blobs
        self._views = views
        self._only = tenants
        self._lock = threading.RLock()
        self._reached: dict[str, int] = {}
        self._evidence: dict[str, int] = {}
        self._answers = Answers()

    def __contains__(self, tenant: object) -> bool:
        """Whether the desk has this tenant; makes the desk the list of tenants that access is decided on."""
        return tenant in self.tenants()

    def close(self) -> None:
        """Give back every connection."""
        self.reader.close()
        self._views.dispose()

    def tenants(self) -> list[TenantId]:
        """Tenants that may be looked at, sorted."""
        return [name for name in self.reader.tenants() if self._only is None or name in self._only]

    def catch_up(self, tenant: TenantId) -> int:
        """Bring the stored views to the end of the log; returns that position. Cheap when nothing is new."""
        if tenant not in self:
            return 0
        with self._lock:
            end = self.reader.positions(tenant)
            if tenant not in self._reached:
                self._forget_others(tenant, end)
            if self._reached.get(tenant) != end:
                self._reached[tenant] = materialize.catch_up(self.reader, self._views, tenant, ALL)
                known = self._evidence.get(tenant, 0)
                self._evidence[tenant] = end_of_evidence(
                    self.reader, tenant, self._reached[tenant], known=known
                )
            return self._reached[tenant]

    def _forget_others(self, tenant: TenantId, end: int) -> None:
        """Build views again that were kept from another record, or from a longer one."""
        first = next(self.reader.rows(tenant, limit=1), None)
        entry = first.entry_hash if first is not None else b""
        _ORIGIN.metadata.create_all(self._views)
        with self._views.begin() as connection:
            mine = _ORIGIN.c.tenant == tenant
            known = connection.execute(sa.select(_ORIGIN.c.entry).where(mine)).scalar()
            connection.execute(sa.delete(_ORIGIN).where(mine))
            connection.execute(sa.insert(_ORIGIN).values(tenant=tenant, entry=entry))
        ahead = any(materialize.position(self._views, view, tenant) > end for view in ALL)
        if ahead or (known is not None and bytes(known) != entry):
            self._reached[tenant] = materialize.rebuild(self.reader, self._views, tenant, ALL)

    def end_of_evidence(self, tenant: TenantId) -> int:
        """Position of the last event that says what was done, not who looked at it."""
        self.catch_up(tenant)
        return self._evidence.get(tenant, 0)

    def standing(self, tenant: TenantId) -> Standing:
        """How far the desk sees."""
        end = self.catch_up(tenant)
        last = self._at(tenant, end) if end else None
        return Standing(events=end, last_at_us=last.row.recorded_at_us if last else 0)

    # Runs and tasks

    def runs(self, tenant: TenantId) -> tuple[RunRow, ...]:
        """Every run, newest first."""
        rows = self._answer(("runs", tenant), tenant, lambda: self._rows(Runs(), tenant))
        return tuple(sorted(rows, key=lambda row: (-row.started_at_us, row.run_id)))

    def run(self, tenant: TenantId, run_id: str) -> RunRow | None:
        """One run."""
        return self._row(Runs(), tenant, run_id)

    def tasks(self, tenant: TenantId, *, run: str | None = None) -> tuple[TaskRow, ...]:
        """Tasks in order of the log; of one run, or all."""
        rows = self._answer(("tasks", tenant), tenant, lambda: self._rows(TaskStates(), tenant))
        chosen = [row for row in rows if run is None or run in row.runs]
        return tuple(sorted(chosen, key=lambda row: row.first_position))

    def timeline(self, tenant: TenantId, run_id: str) -> Timeline | None:
        """A run frame by frame; None when there is no such run."""
        return self._answer(
            ("timeline", tenant, run_id),
            tenant,
            lambda: timeline(self._rows(TimelineProjection(), tenant, run_id)),
        )

    def frame_index(self, tenant: TenantId, run_id: str, *, position: int, sha256: str = "") -> int | None:
        """Frame of the run to open for an event: its own, else the last one before it."""
        line = self.timeline(tenant, run_id)
        if line is None or not line.entries:
            return None
        before = 0
        for index, entry in enumerate(line.entries):
            if entry.position == position and sha256 in {"", entry.sha256}:
                return index
            if entry.position <= position:
                before = index
        return before

    # Bills

    def bills(self, tenant: TenantId) -> tuple[str, ...]:
        """Every bill that something is on record about, the one with the newest event first."""
        newest: dict[str, int] = {}
        for row in self.tasks(tenant):
            newest[row.bill_id] = max(newest.get(row.bill_id, 0), row.last_position)
        return tuple(sorted((bill for bill in newest if bill), key=lambda bill: -newest[bill]))

    def chain(self, tenant: TenantId, bill: str) -> BillChain | None:
        """Everything on record about a bill; None when there is nothing."""
        return chain(self._rows(EvidenceChain(), tenant, bill), bill)

    def verdicts(self, tenant: TenantId, found: BillChain) -> dict[int, str]:
        """Verdict that each event of a chain passes, by position; events that pass none are left out."""
        tasks = found.tasks if tenant in self else ()
        streams = (self.reader.stream(tenant, task_stream(TaskId(task))) for task in tasks)
        return {
            recorded.row.position: verdict
            for stream in streams
            for recorded in stream
            if (verdict := verdict_of(recorded.event)) is not None
        }

    # People

    def queue(self, tenant: TenantId, *, now_us: int, closed: bool = False) -> tuple[Aged, ...]:
        """Tasks that wait for a person; ``closed`` adds those that no longer do."""
        return aged(
            self._rows(TakeoverQueue(), tenant, None if closed else "waiting"), now_us=now_us, closed=closed
        )

    def approvals(self, tenant: TenantId, *, now_us: int) -> tuple[Pending, ...]:
        """Requests that wait for a person's word."""
        return pending(self._rows(Approvals(), tenant, "open"), now_us=now_us)

    # Figures

    def metrics(
        self, tenant: TenantId, *, since_us: int = 0, until_us: int | None = None, mode: str = ""
    ) -> metric_view.MetricsReport:
        """The four metrics over the tasks opened in a period."""
        rows = self._answer(("metrics", tenant), tenant, lambda: self._rows(Metrics(), tenant))
        return metric_view.report(rows, since_us=since_us, until_us=until_us, mode=mode)

    def places(self, tenant: TenantId, positions: Sequence[int]) -> tuple[Place, ...]:
        """The named events, in the order asked for; positions outside the log are left out."""
        found = (self._at(tenant, position) for position in positions)
        return tuple(self._place(recorded) for recorded in found if recorded is not None)

    def stored(self, tenant: TenantId, position: int) -> Recorded | None:
        """One event of the tenant's log."""
        return self._at(tenant, position)

    # Month end

    def imports(self, tenant: TenantId) -> tuple[Import, ...]:
        """Imported settlement files, newest month and newest import first."""
        found = self._answer(("imports", tenant), tenant, lambda: self._imports(tenant))
        return tuple(sorted(found, key=lambda item: (item.month, item.position), reverse=True))

    def reconciliation(self, tenant: TenantId, position: int) -> Reconciliation | None:
        """The month of the file imported at ``position`` against the record; None when there is no such import.

        Raises:
            IntegrityError: the file's bytes are not what was imported.
            ConfigError: the profile that it was imported with is not available here.
        """
        chosen = next((item for item in self.imports(tenant) if item.position == position), None)
        if chosen is None:
            return None
        return self._answer(
            ("reconciliation", tenant, position), tenant, lambda: self._reconciled(tenant, chosen)
        )

    def _imports(self, tenant: TenantId) -> tuple[Import, ...]:
        if tenant not in self:
            return ()
        months = [name.partition(":")[2] for name in self.reader.streams(tenant, "settlement")]
        return tuple(
            Import(
                position=recorded.row.position,
                month=fact.month,
                file_name=fact.file_name,
                source=fact.source,
                profile=fact.profile,
                principal=recorded.envelope.principal,
                at_us=recorded.envelope.occurred_at_us,
                rows_read=fact.rows_read,
                rows_accepted=fact.rows_accepted,
                rows_refused=fact.rows_refused,
                blob=fact.blob,
            )
            for month in months
            for recorded in self.reader.stream(tenant, settlement_stream(month))
            if isinstance(fact := recorded.event, e.SettlementImported)
        )

    def _reconciled(self, tenant: TenantId, chosen: Import) -> Reconciliation:
        profile = load_profile(chosen.profile)
        file = read_settlement(self.blobs.get(chosen.blob), profile, chosen.month, file_name=chosen.file_name)
        return reconcile(
            self.reader.events(tenant),
            file,
            tenant=tenant,
            month=chosen.month,
            chain_verified=fsck.check(self.reader, None, tenant).ok,
        )

    # Reading

    def _rows(self, projection: Partitioned[V], tenant: TenantId, group: str | None = None) -> tuple[V, ...]:
        self.catch_up(tenant)
        if tenant not in self:
            return ()
        return tuple(materialize.rows(self._views, projection, tenant, group))

    def _row(self, projection: Partitioned[V], tenant: TenantId, key: str) -> V | None:
        self.catch_up(tenant)
        return materialize.row(self._views, projection, tenant, key) if tenant in self else None

    def _at(self, tenant: TenantId, position: int) -> Recorded | None:
        if tenant not in self or position < 1:
            return None
        row = next(self.reader.rows(tenant, after=position - 1, limit=1), None)
        return read(row) if row is not None and row.position == position else None

    def _place(self, recorded: Recorded) -> Place:
        tenant, task = recorded.row.tenant, task_of(recorded)
        row = None if task is None else self._row(TaskStates(), tenant, task)
        return Place(
            position=recorded.row.position,
            name=recorded.name,
            at_us=recorded.envelope.occurred_at_us,
            sentence=sentence(recorded.event),
            principal=recorded.envelope.principal,
            task_id=task or "",
            run_id=recorded.envelope.run_id or "",
            bill_id=row.bill_id if row else "",
            frames=len(recorded.envelope.frames),
        )

    def _answer(self, key: Hashable, tenant: TenantId, make: Callable[[], V]) -> V:
        """An answer out of memory while no evidence was added since."""
        self.catch_up(tenant)
        return self._answers.get(key, self._evidence.get(tenant, 0), make)
