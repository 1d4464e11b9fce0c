"""The record as the desk reads it: tenants, how far the views are, single events.

Rules enforced here:

- The stored views are disposable. They are brought up to the end of the log when somebody looks, by new positions
  only, and one catch-up at a time.
- Whoever asks names the tenant, and every row is asked for by it. A tenant that the desk is not opened for has no rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import sqlalchemy as sa

from domain.ids import TenantId
from projections import beside, materialize
from projections.views import ALL
from projections.views.common import task_of
from projections.views.sentences import sentence
from replay_ui.growth import Answer, Answers, end_of_evidence
from replay_ui.lookup import Lookup
from replay_ui.noting import Notes, Watching

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

_WITHHELD: Final = sa.Table(
    "desk_withheld",
    _ORIGIN.metadata,
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("events", sa.Integer, nullable=False),
)
"""Events about redactions and deletions when the stored views were made: they show nothing that was withheld then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far the desk sees."""

    events: int
    """Position of the newest event of the tenant's log."""
    last_at_us: int
    """When it was recorded, microseconds since 1970 (UTC); 0 for an empty log."""


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


class RecordDesk:
    """Read access to the record and its stored views. Safe to share between threads.

    Args:
        reader: the record.
        blobs: screens and files.
        views: SQLite database of the stored views, a disposable one.
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
        self.lookup = Lookup(views)
        self._notes = Notes(views)
        self.views = views
        self._only = tenants
        self._known: set[str] = set()
        self._lock = threading.RLock()
        self._reached: dict[str, int] = {}
        self._evidence: dict[str, int] = {}
        self._withheld: dict[str, int] = {}
        self._answers = Answers()

    def __contains__(self, tenant: object) -> bool:
        """Whether the desk has this tenant; makes the desk the list of tenants that access is decided on."""
        return tenant in self._known or tenant in self.tenants()  # a log never goes away

    def close(self) -> None:
        """Give back every connection."""
        self._answers.wait()
        self.reader.close()
        self.views.dispose()

    def tenants(self) -> list[TenantId]:
        """Tenants that may be looked at, sorted."""
        found = [name for name in self.reader.tenants() if self._only is None or name in self._only]
        self._known.update(found)
        return found

    def catch_up(self, tenant: TenantId, progress: Callable[[int], None] | None = None) -> int:
        """Bring the stored views to the end of the log; returns that position. Cheap when nothing is new.

        ``progress`` is told the number of events that each batch added.
        """
        if tenant not in self:
            return 0
        with self._lock:
            end = self.reader.positions(tenant)
            if tenant not in self._reached or self._withheld.get(tenant) != self.reader.withheld(tenant):
                self._forget_others(tenant, end)
            if self._reached.get(tenant) != end:
                watching = Watching(self.reader, self._notes, tenant)
                reached = beside.catch_up(watching, self.views, tenant, ALL, progress, record=self.reader)
                watching.end(reached)
                known = self._evidence.get(tenant, 0)
                self._evidence[tenant] = end_of_evidence(self.reader, tenant, reached, known=known)
                self._reached[tenant] = reached
            return self._reached[tenant]

    def _forget_others(self, tenant: TenantId, end: int) -> None:
        """Build views again that were kept from another or a longer record, or before something was withheld."""
        withheld = self._withheld[tenant] = self.reader.withheld(tenant)
        first = next(self.reader.rows(tenant, limit=1), None)
        entry = first.entry_hash if first is not None else b""
        _ORIGIN.metadata.create_all(self.views)
        with self.views.begin() as connection:
            mine = _ORIGIN.c.tenant == tenant
            known = connection.execute(sa.select(_ORIGIN.c.entry).where(mine)).scalar()
            before = connection.execute(
                sa.select(_WITHHELD.c.events).where(_WITHHELD.c.tenant == tenant)
            ).scalar()
            connection.execute(sa.delete(_ORIGIN).where(mine))
            connection.execute(sa.insert(_ORIGIN).values(tenant=tenant, entry=entry))
            connection.execute(sa.delete(_WITHHELD).where(_WITHHELD.c.tenant == tenant))
            connection.execute(sa.insert(_WITHHELD).values(tenant=tenant, events=withheld))
        places = (
            *(materialize.position(self.views, view, tenant) for view in ALL),
            self._notes.position(tenant),
        )
        other = known is not None and bytes(known) != entry
        if max(places) > end or other or (before or 0) != withheld:
            self._notes.forget(tenant)
            materialize.forget(self.views, tenant, ALL)
            self._reached.pop(tenant, None)

    def end_of_evidence(self, tenant: TenantId) -> int:
        """Position of the last event that says what was done, not who looked at it."""
        self.catch_up(tenant)
        return self._evidence.get(tenant, 0)

    def standing(self, tenant: TenantId) -> Standing:
        """How far the desk sees."""
        end = self.catch_up(tenant)
        last = self._at(tenant, end) if end else None
        return Standing(events=end, last_at_us=last.row.recorded_at_us if last else 0)

    def places(self, tenant: TenantId, positions: Sequence[int]) -> tuple[Place, ...]:
        """The named events, in the order asked for; positions outside the log are left out."""
        found = [recorded for position in positions if (recorded := self._at(tenant, position)) is not None]
        self.catch_up(tenant)
        names = sorted({task for recorded in found if (task := task_of(recorded))})
        bills = {row.task_id: row.bill_id for row in self.lookup.tasks(tenant, ids=names)}
        return tuple(_place(recorded, bills) for recorded in found)

    def stored(self, tenant: TenantId, position: int) -> Recorded | None:
        """One event of the tenant's log."""
        return self._at(tenant, position)

    def _rows(self, projection: Partitioned[V], tenant: TenantId, group: str | None = None) -> tuple[V, ...]:
        self.catch_up(tenant)
        if tenant not in self:
            return ()
        return tuple(materialize.rows(self.views, projection, tenant, group))

    def _row(self, projection: Partitioned[V], tenant: TenantId, key: str) -> V | None:
        self.catch_up(tenant)
        return materialize.row(self.views, projection, tenant, key) if tenant in self else None

    def _at(self, tenant: TenantId, position: int) -> Recorded | None:
        if tenant not in self or position < 1:
            return None
        return self.reader.at(tenant, position)

    def answer(self, key: Hashable, tenant: TenantId, make: Callable[[], V]) -> Answer[V]:
        """An answer out of memory while no evidence was added since (see ``growth``)."""
        self.catch_up(tenant)
        return self._answers.get((key, tenant), self._evidence.get(tenant, 0), make)


def _place(recorded: Recorded, bills: dict[str, str]) -> Place:
    task = task_of(recorded) or ""
    return Place(
        position=recorded.row.position,
        name=recorded.name,
        at_us=recorded.envelope.occurred_at_us,
        sentence=sentence(recorded.event),
        principal=recorded.envelope.principal,
        task_id=task,
        run_id=recorded.envelope.run_id or "",
        bill_id=bills.get(task, ""),
        frames=len(recorded.envelope.frames),
    )
