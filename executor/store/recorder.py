"""The record behind the interfaces of ``eventsourcing``: its applications and projections run over it unchanged.

Rules: the same rows, chain, tree and head as ``RecordLog``'s, through the same committer; notification ids are the
tenant's positions, so they are gap-free and in the order of commits; a gap in a stream's versions is refused where
the library would accept it; a repeated insert is an ``IntegrityError``, as the library's contract has it. Snapshots
and other aggregate-only events go to a table of their own: they are a cache, not evidence.

Use: ``PERSISTENCE_MODULE=executor.store.recorder``, ``PROOFREEL_STORE=URL``, ``PROOFREEL_TENANT=name`` and, where
aggregate ids are not UUIDs, ``ORIGINATOR_ID_TYPE=text``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson
from eventsourcing import persistence as es
from sqlalchemy import (
    Column,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Select,
    Table,
    Text,
    bindparam,
    inspect,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from domain.errors import ClaimTaken, CommandRefused, ProofreelError
from executor.store import schema
from executor.store.engine import open_engine, prepare
from executor.store.log import RecordLog
from executor.store.requests import Entry, Request
from executor.store.schema import LAST_POSITION
from executor.store.subscription import RecordSubscription
from executor.store.urls import store_url

if TYPE_CHECKING:
    from eventsourcing.utils import Environment, EnvType
    from sqlalchemy.engine import Connection

_FOREIGN_EVENTS: Final = uuid.UUID("6d0b0f8e-4c5e-5f0e-9d53-6f2d3e1b7a10")
"""Name space of event ids for events that are not of our own format."""


@contextmanager
def _library_errors() -> Iterator[None]:
    """Failures in the library's own words."""
    try:
        yield
    except (CommandRefused, ClaimTaken) as error:
        raise es.IntegrityError(str(error)) from error
    except ProofreelError as error:
        raise es.OperationalError(str(error)) from error
    except DBAPIError as error:
        kind = getattr(es, type(error).__name__, es.DatabaseError)
        raise kind(str(error.orig)) from error


class _Recorder:
    """What every recorder has: a log, a tenant, and the type of the ids."""

    def __init__(self, log: RecordLog, tenant: str, *, uuids: bool = True) -> None:
        self.log = log
        self.tenant = tenant
        self._uuids = uuids

    def _originator(self, stored: str) -> UUID | str:
        return UUID(stored) if self._uuids else stored

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """One transaction of its own, for the tables beside the record."""
        with _library_errors(), self.log.engine.connect() as connection:
            lock = "BEGIN IMMEDIATE" if connection.dialect.name == "sqlite" else "BEGIN"
            connection.exec_driver_sql(lock)
            try:
                yield connection
            except BaseException:
                connection.exec_driver_sql("ROLLBACK")
                raise
            connection.exec_driver_sql("COMMIT")

    def _rows(self, statement: Select[Any], parameters: dict[str, Any]) -> Sequence[Any]:
        with _library_errors(), self.log.engine.connect() as connection:
            return connection.execute(statement, parameters).all()


class RecordAggregateRecorder(_Recorder, es.AggregateRecorder):
    """Events of aggregates in a table of their own, without positions: snapshots."""

    def __init__(self, log: RecordLog, tenant: str, *, uuids: bool = True, table: str = "snapshots") -> None:
        super().__init__(log, tenant, uuids=uuids)
        self._table = Table(
            f"stored_{table}",
            MetaData(),
            Column("tenant", Text, nullable=False),
            Column("stream", Text, nullable=False),
            schema.big("version"),
            Column("name", Text, nullable=False),
            Column("body", LargeBinary, nullable=False),
            PrimaryKeyConstraint("tenant", "stream", "version"),
        )

    def create_table(self) -> None:
        """Make the table where it is missing; safe for processes that start together."""
        with self._transaction() as connection:
            if not inspect(connection).has_table(self._table.name):
                if connection.dialect.name == "postgresql":
                    connection.exec_driver_sql(
                        "SELECT pg_advisory_xact_lock(hashtext('proofreel-snapshots'))"
                    )
                self._table.metadata.create_all(connection)

    def insert_events(
        self, stored_events: Sequence[es.StoredEvent], **_kwargs: object
    ) -> Sequence[int] | None:
        """Insert all or nothing; ``IntegrityError`` when one is there already."""
        rows = [
            {
                "tenant": self.tenant,
                "stream": str(event.originator_id),
                "version": event.originator_version,
                "name": event.topic,
                "body": event.state,
            }
            for event in stored_events
        ]
        if rows:
            with self._transaction() as connection:
                connection.execute(self._table.insert(), rows)
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[es.StoredEvent]:
        """Events of one originator, by version."""
        columns = self._table.c
        query = select(columns.version, columns.name, columns.body).where(
            columns.tenant == bindparam("tenant"), columns.stream == bindparam("stream")
        )
        if gt is not None:
            query = query.where(columns.version > gt)
        if lte is not None:
            query = query.where(columns.version <= lte)
        query = query.order_by(columns.version.desc() if desc else columns.version)
        if limit is not None:
            query = query.limit(limit)
        rows = self._rows(query, {"tenant": self.tenant, "stream": str(originator_id)})
        return [
            es.StoredEvent(originator_id=originator_id, originator_version=row[0], topic=row[1], state=row[2])
            for row in rows
        ]


class RecordApplicationRecorder(RecordAggregateRecorder, es.ApplicationRecorder):
    """The tenant's log as the library sees it."""

    def __init__(self, log: RecordLog, tenant: str, *, uuids: bool = True) -> None:
        _Recorder.__init__(self, log, tenant, uuids=uuids)

    def create_table(self) -> None:
        """The record makes its own tables when it is opened."""
        prepare(self.log.engine)

    def insert_events(
        self, stored_events: Sequence[es.StoredEvent], **_kwargs: object
    ) -> Sequence[int] | None:
        """Append all or nothing; returns the positions."""
        if not stored_events:
            return []
        entries = tuple(
            Entry(
                str(event.originator_id),
                event.originator_version,
                _event_id(self.tenant, event),
                event.topic,
                event.state,
            )
            for event in stored_events
        )
        with _library_errors():
            placed = self.log.committer.submit(self._request(entries, **_kwargs), idempotent=False)
            self.log.committer.hint(self.tenant)
        return list(range(placed.first_position, placed.last_position + 1))

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[es.StoredEvent]:
        """Events of one originator, by version."""
        after, until = -1 if gt is None else gt, LAST_POSITION if lte is None else lte
        with _library_errors():
            rows: Iterable[Any] = self.log.lookup.stream(
                self.tenant, str(originator_id), after=after, until=until
            )
            rows = reversed(list(rows)) if desc else rows
            return [
                es.StoredEvent(
                    originator_id=originator_id,
                    originator_version=row.version,
                    topic=row.name,
                    state=row.body,
                )
                for row in islice(rows, limit)
            ]

    def _request(self, entries: tuple[Entry, ...], **_kwargs: object) -> Request:
        return Request(self.tenant, entries)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[es.Notification]:
        """Events of the tenant by position."""
        columns, lookup = schema.event.c, self.log.lookup
        after = 0 if start is None else start - 1 if inclusive_of_start else start
        until = LAST_POSITION if stop is None else stop
        with _library_errors():
            query = select(
                columns.position, columns.stream, columns.version, columns.name, columns.body
            ).where(lookup.span(self.tenant, max(after, 0), until))
        if topics:
            query = query.where(columns.name.in_(list(topics)))
        rows = self._rows(query.order_by(lookup.order).limit(limit), {})
        return [
            es.Notification(
                id=row[0],
                originator_id=self._originator(row[1]),
                originator_version=row[2],
                topic=row[3],
                state=row[4],
            )
            for row in rows
        ]

    def max_notification_id(self) -> int | None:
        """Highest position, or None."""
        with _library_errors():
            query = (
                select(schema.event.c.position)
                .where(self.log.lookup.span(self.tenant))
                .order_by(self.log.lookup.order.desc())
                .limit(1)
            )
        rows = self._rows(query, {})
        return rows[0][0] if rows else None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> es.Subscription[es.ApplicationRecorder]:
        """Events as they come, by polling; on PostgreSQL a NOTIFY shortens the wait."""
        return RecordSubscription(self, self.log.engine, gt=gt, topics=topics)


class RecordTrackingRecorder(_Recorder, es.TrackingRecorder):
    """How far each consumer has read."""

    def create_table(self) -> None:
        """The record makes its own tables when it is opened."""
        prepare(self.log.engine)

    def insert_tracking(self, tracking: es.Tracking) -> None:
        """Move a consumer's position forwards; ``IntegrityError`` when it would not."""
        with self._transaction() as connection:
            track(connection, tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        """The consumer's position, or None."""
        columns = schema.tracking.c
        query = select(columns.notification_id).where(columns.application_name == bindparam("name"))
        rows = self._rows(query, {"name": application_name})
        return rows[0][0] if rows else None


def track(connection: Connection, tracking: es.Tracking) -> None:
    """Move a consumer's position forwards within a transaction."""
    table = schema.tracking
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    insert = dialect.insert(table).values(
        application_name=tracking.application_name, notification_id=tracking.notification_id
    )
    moved = connection.execute(
        insert.on_conflict_do_update(
            index_elements=[table.c.application_name],
            set_={"notification_id": insert.excluded.notification_id},
            where=table.c.notification_id < insert.excluded.notification_id,
        ).returning(table.c.notification_id)
    )
    if moved.first() is None:
        raise es.IntegrityError(f"{tracking} is not ahead of what is tracked already")


class RecordProcessRecorder(RecordTrackingRecorder, RecordApplicationRecorder, es.ProcessRecorder):
    """Events and the position of the event that led to them, in one transaction."""

    def __init__(self, log: RecordLog, tenant: str, *, uuids: bool = True) -> None:
        RecordApplicationRecorder.__init__(self, log, tenant, uuids=uuids)

    def create_table(self) -> None:
        """The record makes its own tables when it is opened."""
        prepare(self.log.engine)

    def insert_events(
        self, stored_events: Sequence[es.StoredEvent], **kwargs: object
    ) -> Sequence[int] | None:
        """Append events and move the tracking position, all or nothing."""
        tracking = kwargs.get("tracking")
        if not stored_events and isinstance(tracking, es.Tracking):
            self.insert_tracking(tracking)
            return []
        return super().insert_events(stored_events, **kwargs)

    def _request(self, entries: tuple[Entry, ...], **kwargs: object) -> Request:
        tracking = kwargs.get("tracking")
        if not isinstance(tracking, es.Tracking):
            return Request(self.tenant, entries)
        return Request(self.tenant, entries, tracking=(tracking.application_name, tracking.notification_id))


class Factory(es.InfrastructureFactory[es.TrackingRecorder]):
    """Makes the recorders of one application from its environment."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        super().__init__(env)
        url = self.env.get("PROOFREEL_STORE")
        if not url:
            raise es.InfrastructureFactoryError("PROOFREEL_STORE is not set: name the record's database URL")
        engine = open_engine(store_url(url))
        prepare(engine)
        self.log = RecordLog(engine)
        self._tenant = self.env.get("PROOFREEL_TENANT") or "default"
        self._uuids = (self.env.get("ORIGINATOR_ID_TYPE") or "uuid").lower() == "uuid"

    def aggregate_recorder(self, purpose: str = "events") -> es.AggregateRecorder:
        """Recorder of snapshots and the like."""
        made = RecordAggregateRecorder(self.log, self._tenant, uuids=self._uuids, table=purpose)
        made.create_table()
        return made

    def application_recorder(self) -> es.ApplicationRecorder:
        """Recorder of the tenant's log."""
        return RecordApplicationRecorder(self.log, self._tenant, uuids=self._uuids)

    def tracking_recorder(
        self, tracking_recorder_class: type[es.TrackingRecorder] | None = None
    ) -> es.TrackingRecorder:
        """Recorder of positions; a class of the application's own must be one of ours."""
        made = tracking_recorder_class or RecordTrackingRecorder
        if not issubclass(made, RecordTrackingRecorder):
            raise es.InfrastructureFactoryError(
                f"{made.__qualname__} must derive from RecordTrackingRecorder"
            )
        recorder = made(self.log, self._tenant, uuids=self._uuids)
        recorder.create_table()
        return recorder

    def process_recorder(self) -> es.ProcessRecorder:
        """Recorder of the tenant's log with positions."""
        return RecordProcessRecorder(self.log, self._tenant, uuids=self._uuids)

    def close(self) -> None:
        """Give back every connection."""
        self.log.close()


def _event_id(tenant: str, event: es.StoredEvent) -> str:
    """The id that an event of ours carries; for another application's event a name that follows from its place."""
    try:
        raw = orjson.loads(event.state)
    except orjson.JSONDecodeError:
        raw = None
    if isinstance(raw, dict) and isinstance(raw.get("format"), int) and isinstance(raw.get("id"), str):
        return str(raw["id"])
    return str(uuid.uuid5(_FOREIGN_EVENTS, f"{tenant}/{event.originator_id}/{event.originator_version}"))
