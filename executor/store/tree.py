"""The tenant's tree, derived from its rows: roots at given sizes, and proofs between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from domain.ids import StreamId, TenantId
from domain.log_format import hashed_leaf, stream_tag
from domain.merkle import Frontier, consistency_proof
from executor.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor.store.log import RecordLog

_PAGE: Final = 10_000


def leaf_hashes(log: RecordLog, tenant: TenantId, size: int) -> Iterator[bytes]:
    """Leaf hashes of the first ``size`` entries in order of position; fewer when the log is shorter."""
    columns = schema.event.c
    tags: dict[str, bytes] = {}
    after = 0
    while after < size:
        rows = log.fetch(
            select(columns.position, columns.stream, columns.version, columns.entry_hash)
            .where(log.lookup.span(tenant, after, size))
            .order_by(log.lookup.order)
            .limit(_PAGE)
        )
        if not rows:
            return
        for _, stream, version, entry in rows:
            tag = tags.get(stream) or tags.setdefault(stream, stream_tag(tenant, StreamId(stream)))
            yield hashed_leaf(tag, version, entry)
        after = rows[-1][0]
        if len(tags) > _PAGE:
            tags.clear()


def derive_frontier(log: RecordLog, tenant: TenantId, size: int) -> Frontier:
    """The tree of the first ``size`` entries."""
    frontier = Frontier()
    frontier.extend(leaf_hashes(log, tenant, size))
    return frontier


def derive_tree(log: RecordLog, tenant: TenantId, sizes: Sequence[int]) -> dict[int, bytes]:
    """Root of the tree at each of ``sizes``; sizes beyond the log are left out."""
    frontier = Frontier()
    wanted = frozenset(sizes)
    roots = {0: frontier.root()} if 0 in wanted else {}
    for hashed in leaf_hashes(log, tenant, max(sizes, default=0)):
        frontier.append(hashed)
        if frontier.size in wanted:
            roots[frontier.size] = frontier.root()
    return roots


def derive_consistency(log: RecordLog, tenant: TenantId, old: int, new: int) -> list[bytes]:
    """Proof that the first ``old`` entries begin the first ``new``; empty when ``old`` is 0 or ``new``."""
    if old in {0, new}:
        return []
    return consistency_proof(old, list(leaf_hashes(log, tenant, new)))
