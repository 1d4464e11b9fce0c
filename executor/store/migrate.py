"""Moving a record between databases or to the newest layout, and proving that it is the same afterwards.

Rules: rows are carried over byte for byte, positions, times and links included; a tenant arrives whole or not at all;
the root is derived from the rows at the source, and from the *bodies* at the target after the transaction, and both
must be the source head's. The source is only read. Blobs are not moved: they have a store of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import Row, select

from domain.chain import GENESIS, entry_of
from domain.errors import ConfigError, IntegrityError
from domain.ids import StreamId, TenantId
from domain.log_format import hashed_leaf, stream_tag
from domain.merkle import Frontier, root_of
from executor.store import schema
from executor.store.engine import driver_errors, explain
from executor.store.log import RecordLog, open_record
from executor.store.sqlite_end import file_events

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

_Row = Row[*tuple[Any, ...]]
_PAGE: Final = 1000
_BESIDE: Final = (schema.claim, schema.claim_release, schema.checkpoint, schema.attestation)
"""Tables that follow the events; ``tracking`` is left behind, since consumers belong to a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTenant:
    """One tenant that was moved, with the root on both sides."""

    tenant: str
    events: int
    root_before: str
    """Hexadecimal root of the source's head."""
    root_after: str
    """The same, derived from the bodies at the target."""


def migrate(
    source_url: str, target_url: str, progress: Callable[[int, int, str], None] | None = None
) -> list[MovedTenant]:
    """Copy every tenant that the target doesn't have yet.

    Raises ``ConfigError`` when both are the same place or the target holds another log of a tenant,
    ``IntegrityError`` when a root differs (the tenant is not left at the target), ``WorldError`` when a database
    fails. A move that was stopped can be run again.
    """
    if source_url == target_url:
        raise ConfigError("source and target are the same", remedy="name two databases")
    with open_record(source_url, to_read=True) as source, open_record(target_url) as target:
        heads = source.fetch(select(schema.tenant_head).order_by(schema.tenant_head.c.tenant))
        try:
            return [_move(source, target, head, progress) for head in heads]
        except driver_errors() as error:
            raise explain(error) from error


def _root(head: _Row) -> bytes:
    try:
        return root_of(head.size, head.frontier)
    except ValueError as error:
        raise IntegrityError(f"the head is damaged: {error}", where=f"log of {head.tenant}") from error


def _move(
    source: RecordLog, target: RecordLog, head: _Row, progress: Callable[[int, int, str], None] | None
) -> MovedTenant:
    tenant = TenantId(head.tenant)
    there = target.fetch(select(schema.tenant_head).where(schema.tenant_head.c.tenant == tenant))
    root = _root(head)
    if there and (there[0].size, there[0].frontier) != (head.size, head.frontier):
        raise ConfigError(f"the target holds another log of tenant {tenant}", remedy="use an empty database")
    if not there:
        with target.engine.connect() as connection:
            begin = "BEGIN IMMEDIATE" if connection.dialect.name == "sqlite" else "BEGIN"
            connection.exec_driver_sql(begin)
            try:
                _copy_tenant(source, connection, head, progress)
            except BaseException:
                connection.exec_driver_sql("ROLLBACK")
                raise
            connection.exec_driver_sql("COMMIT")
    derived = _derive(_pages(target, tenant, head.size), tenant)
    if derived.root() != root or derived.size != head.size:
        raise IntegrityError("the moved log has another root than the source", where=f"log of {tenant}")
    return MovedTenant(
        tenant=tenant, events=head.size, root_before=root.hex(), root_after=derived.root().hex()
    )


def _copy_tenant(
    source: RecordLog,
    connection: Connection,
    head: _Row,
    progress: Callable[[int, int, str], None] | None,
) -> None:
    tenant = TenantId(head.tenant)
    frontier = Frontier()
    sqlite = connection.dialect.name == "sqlite"
    number = _number(connection, tenant) if sqlite else 0
    for page in _pages(source, tenant, head.size):
        for row in page:
            tag = stream_tag(tenant, StreamId(row.stream))
            frontier.append(hashed_leaf(tag, row.version, row.entry_hash))
        if sqlite:
            _insert_keyed(connection, page, number)
        else:
            _insert(connection, schema.event, page)
        if progress:
            progress(frontier.size, head.size, tenant)
    if frontier.state() != head.frontier or frontier.size != head.size:
        raise IntegrityError("the source's rows don't give its head's root", where=f"log of {tenant}")
    for table in _BESIDE:
        _insert(connection, table, source.fetch(select(table).where(table.c.tenant == tenant)))
    if not sqlite:
        _insert(connection, schema.tenant_head, [head])
        return
    file_events(_driver(connection), number, 0, head.size)
    connection.execute(schema.sqlite_head.insert(), {**head._mapping, "filed": head.size})  # noqa: SLF001 - public


def _driver(connection: Connection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def _number(connection: Connection, tenant: TenantId) -> int:
    """A number for the tenant at the target."""
    made = connection.execute(schema.sqlite_tenant.insert(), {"name": tenant}).inserted_primary_key
    return int(made[0]) if made else 0


def _insert_keyed(connection: Connection, rows: Sequence[Any], number: int) -> None:
    """Events under the keys of SQLite's layout."""
    columns = [column.name for column in schema.sqlite_event.columns if not column.computed]
    connection.execute(
        schema.sqlite_event.insert(),
        [
            {
                **{name: getattr(row, name) for name in columns if name != "id"},
                "id": (number << schema.POSITION_BITS) + row.position,
            }
            for row in rows
        ],
    )


def _pages(log: RecordLog, tenant: TenantId, size: int) -> Iterator[Sequence[Any]]:
    """Events up to ``size`` in pages: what is appended meanwhile stays for the next move."""
    after = 0
    while True:
        page = log.fetch(
            select(schema.event)
            .where(log.lookup.span(tenant, after, size))
            .order_by(log.lookup.order)
            .limit(_PAGE)
        )
        if page:
            yield page
        if len(page) < _PAGE:
            return
        after = page[-1].position


def _insert(connection: Connection, table: Table, rows: Sequence[Any]) -> None:
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        names = ", ".join(column.name for column in table.columns)
        session: Any = connection.connection.driver_connection
        with session.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(tuple(row))
        return
    connection.execute(table.insert(), [dict(row._mapping) for row in rows])  # noqa: SLF001 - a Row's public door


def _derive(pages: Iterator[Sequence[Any]], tenant: TenantId) -> Frontier:
    """The tree that follows from the bodies."""
    frontier = Frontier()
    tails: dict[str, bytes] = {}
    for page in pages:
        for row in page:
            previous = tails.get(row.stream, GENESIS)
            entry = entry_of(previous, row.body, row.position, row.recorded_at_us)
            tails[row.stream] = entry
            frontier.append(hashed_leaf(stream_tag(tenant, StreamId(row.stream)), row.version, entry))
    return frontier
