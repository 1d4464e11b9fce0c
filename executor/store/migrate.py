"""Moving a record between SQLite and PostgreSQL, and proving that it is the same afterwards.

Rules: rows are carried over byte for byte, positions, times and links included; a tenant arrives whole or not at all;
the root is derived from the rows at the source, and from the *bodies* at the target after the transaction, and both
must be the source head's. The source is only read. Blobs are not moved: they have a store of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Row, select

from domain.chain import GENESIS, body_hash, entry_hash
from domain.errors import ConfigError, IntegrityError
from domain.ids import StreamId, TenantId
from domain.log_format import encode_leaf, stream_tag
from domain.merkle import Frontier, leaf_hash
from executor.store import schema
from executor.store.engine import driver_errors, explain
from executor.store.log import RecordLog, open_record

if TYPE_CHECKING:
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
    with open_record(source_url) as source, open_record(target_url) as target:
        heads = source.fetch(select(schema.tenant_head).order_by(schema.tenant_head.c.tenant))
        try:
            return [_move(source, target, head, progress) for head in heads]
        except driver_errors() as error:
            raise explain(error) from error


def _move(
    source: RecordLog, target: RecordLog, head: _Row, progress: Callable[[int, int, str], None] | None
) -> MovedTenant:
    tenant = TenantId(head.tenant)
    there = target.fetch(select(schema.tenant_head).where(schema.tenant_head.c.tenant == tenant))
    if there and there[0].root != head.root:
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
    derived = _derive(_pages(target, schema.event, tenant, head.size), tenant)
    if derived.root() != head.root or derived.size != head.size:
        raise IntegrityError("the moved log has another root than the source", where=f"log of {tenant}")
    return MovedTenant(
        tenant=tenant, events=head.size, root_before=head.root.hex(), root_after=derived.root().hex()
    )


def _copy_tenant(
    source: RecordLog,
    connection: Connection,
    head: _Row,
    progress: Callable[[int, int, str], None] | None,
) -> None:
    tenant = TenantId(head.tenant)
    frontier = Frontier()
    for page in _pages(source, schema.event, tenant, head.size):
        for row in page:
            tag = stream_tag(tenant, StreamId(row.stream))
            frontier.append(leaf_hash(encode_leaf(tag, row.version, row.entry_hash)))
        _insert(connection, schema.event, page)
        if progress:
            progress(frontier.size, head.size, tenant)
    if frontier.root() != head.root or frontier.size != head.size:
        raise IntegrityError("the source's rows don't give its head's root", where=f"log of {tenant}")
    for table in _BESIDE:
        _insert(connection, table, source.fetch(select(table).where(table.c.tenant == tenant)))
    _insert(connection, schema.tenant_head, [head])


def _pages(log: RecordLog, table: Table, tenant: TenantId, size: int) -> Iterator[Sequence[Any]]:
    """Events up to ``size`` in pages: what is appended meanwhile stays for the next move."""
    after = 0
    while True:
        columns = table.c
        page = log.fetch(
            select(table)
            .where(columns.tenant == tenant, columns.position > after, columns.position <= size)
            .order_by(columns.position)
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
            entry = entry_hash(
                tails.get(row.stream, GENESIS),
                body_hash(row.body),
                position=row.position,
                recorded_at_us=row.recorded_at_us,
            )
            tails[row.stream] = entry
            frontier.append(
                leaf_hash(encode_leaf(stream_tag(tenant, StreamId(row.stream)), row.version, entry))
            )
    return frontier
