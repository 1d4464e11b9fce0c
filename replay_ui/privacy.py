"""What is withheld, held and deleted of a tenant's record, for the page that shows it.

Rules enforced here:

- Only the record is asked; what is withheld is named by its hash or id and never shown.
- Their streams are few and short, so they are read when somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from domain import events as e
from domain.ids import RETENTION
from domain.privacy import Holdings
from projections.views.redactions import RedactionRow, redaction

if TYPE_CHECKING:
    from domain.ids import TenantId
    from replay_ui.record import RecordDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """One deletion."""

    unit: str
    basis: str
    by: str
    at_us: int
    blobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """Everything on record about it."""

    redactions: tuple[RedactionRow, ...] = ()
    holds: tuple[e.HoldPlaced, ...] = ()
    deletions: tuple[Gone, ...] = ()


def privacy_of(desk: RecordDesk, tenant: TenantId) -> Privacy:
    """What is on record for a tenant that the desk is opened for; nothing for any other."""
    if tenant not in desk:
        return Privacy()
    reader = desk.reader
    redactions = [redaction(reader.stream(tenant, stream)) for stream in reader.streams(tenant, "redaction")]
    holdings = Holdings()
    for recorded in reader.stream(tenant, RETENTION):
        holdings.apply(recorded.event)
    deletions = [
        Gone(
            unit=fact.unit,
            basis=fact.basis,
            by=fact.by,
            at_us=recorded.row.recorded_at_us,
            blobs=len(fact.blobs),
        )
        for stream in reader.streams(tenant, "deletion")
        for recorded in reader.stream(tenant, stream)
        if isinstance(fact := recorded.event, e.DataDeleted)
    ]
    return Privacy(
        redactions=tuple(sorted(redactions, key=lambda row: row.position, reverse=True)),
        holds=tuple(holdings.holds.values()),
        deletions=tuple(reversed(deletions)),
    )
