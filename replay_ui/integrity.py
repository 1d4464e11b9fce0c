"""Whether the record is whole, and who outside says so: the head, signed checkpoints, and the last check.

Rules enforced here:

- A check derives the log again from its bytes (``projections.fsck``); its result is kept with the position that it
  speaks of, and is not passed off as one about what came later.
- A name on a checkpoint is what the note says. Whether it is to be believed is decided with keys from elsewhere, by
  ``proofreel verify`` and ``proofreel fsck --checkpoint``, never by this desk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import sqlalchemy as sa

from domain import notes
from domain.errors import IntegrityError
from projections import fsck
from projections.findings import FsckReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from domain.ids import TenantId
    from replay_ui.record import RecordDesk

NEWEST: Final = 50
"""Checkpoints that are shown."""

_CHECKS: Final = sa.Table(
    "desk_checks",
    sa.MetaData(),
    sa.Column("tenant", sa.String(200), primary_key=True),
    sa.Column("at_us", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("report", sa.LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The last check."""

    at_us: int
    position: int
    """End of the log that was checked."""
    report: FsckReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """One signed checkpoint and what was said about it."""

    size: int
    signed_at_us: int
    root: str
    signers: tuple[str, ...]
    witnesses: tuple[str, ...]
    stamped_by: tuple[str, ...]
    """Authorities that timed it (RFC 3161)."""
    readable: bool
    """Whether the note is a checkpoint at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The log and what vouches for it."""

    size: int
    root: str
    recorded_at_us: int
    evidence: int
    """Position of the last event that is no reader's."""
    checkpoints: tuple[Vouched, ...]
    """Newest first."""
    count: int
    checked: Checked | None


def standing(desk: RecordDesk, tenant: TenantId) -> Standing | None:
    """How the tenant's log stands; None for a tenant that isn't there."""
    if tenant not in desk:
        return None
    head = desk.reader.head(tenant)
    kept = desk.reader.checkpoints(tenant)
    said = desk.reader.attestations(tenant)
    newest = kept[: -NEWEST - 1 : -1]
    return Standing(
        size=head.size if head else 0,
        root=head.root.hex() if head else "",
        recorded_at_us=head.recorded_at_us if head else 0,
        evidence=desk.end_of_evidence(tenant),
        checkpoints=tuple(
            _vouched(
                row.size,
                row.note,
                row.signed_at_us,
                {(one.kind, one.signer) for one in said if one.size == row.size},
            )
            for row in newest
        ),
        count=len(kept),
        checked=last_check(desk.views, tenant),
    )


def _vouched(size: int, note: str, signed_at_us: int, said: set[tuple[str, str]]) -> Vouched:
    root, readable = "", True
    signers: tuple[str, ...] = ()
    try:
        text, signatures = notes.split_note(note)
        root = notes.parse_checkpoint(text).root.hex()
        signers = tuple(dict.fromkeys(signature.name for signature in signatures))
    except IntegrityError:
        readable = False
    return Vouched(
        size=size,
        signed_at_us=signed_at_us,
        root=root,
        signers=signers,
        witnesses=tuple(sorted(signer for kind, signer in said if kind == "cosignature")),
        stamped_by=tuple(sorted(signer for kind, signer in said if kind == "rfc3161")),
        readable=readable,
    )


def check(
    desk: RecordDesk,
    tenant: TenantId,
    *,
    now_us: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Checked:
    """Check the tenant's log and its blobs now, and keep the result; ``progress`` is told the share that is done."""
    end = desk.reader.positions(tenant)
    report = fsck.check(
        desk.reader,
        desk.blobs,
        tenant,
        lambda done, total, _name: progress(min(done / total, 1.0) if total else 1.0),
    )
    _CHECKS.metadata.create_all(desk.views)
    with desk.views.begin() as connection:
        connection.execute(sa.delete(_CHECKS).where(_CHECKS.c.tenant == tenant))
        connection.execute(
            sa.insert(_CHECKS).values(
                tenant=tenant, at_us=now_us, position=end, report=msgspec.json.encode(report)
            )
        )
    return Checked(at_us=now_us, position=end, report=report)


def last_check(views: sa.Engine, tenant: TenantId) -> Checked | None:
    """The last check's result; None when this desk has made none."""
    _CHECKS.metadata.create_all(views)
    with views.connect() as connection:
        row = connection.execute(sa.select(_CHECKS).where(_CHECKS.c.tenant == tenant)).first()
    if row is None:
        return None
    report = msgspec.json.decode(row.report, type=FsckReport)
    return Checked(at_us=row.at_us, position=row.position, report=report)
