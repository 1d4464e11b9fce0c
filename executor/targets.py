"""Writes that a person accepted a target for a metric (B13).

Rules: only a person, and only for a tenant of theirs; what they accept was worked out from the record by whoever asks
(``projections.canary``), and the fact carries the sample, so that anybody can work it out again.
"""

from __future__ import annotations

from domain.envelope import Draft, Envelope
from domain.errors import CommandRefused
from domain.events import TargetAccepted
from domain.ids import TenantId, targets_stream
from domain.policy import Identity
from domain.ports import Clock, EventLog, IdSource


def accept_target(
    log: EventLog, fact: TargetAccepted, *, ids: IdSource, clock: Clock, tenant: TenantId, person: Identity
) -> None:
    """Record the acceptance in the person's name.

    Raises:
        CommandRefused: they are no person, or don't act for the tenant.
        VersionConflict: somebody else accepted a target of this metric at the same moment.
    """
    if person.kind != "person":
        raise CommandRefused("target.person", f"{person.principal} is no person")
    if tenant not in person.tenants:
        raise CommandRefused("target.tenant", f"{person.principal} does not act for tenant {tenant}")
    stream = targets_stream(fact.metric)
    envelope = Envelope(
        event_id=ids.event_id(),
        tenant=tenant,
        stream=stream,
        version=sum(1 for _ in log.stream(tenant, stream)) + 1,
        principal=person.principal,
        occurred_at_us=clock.now_us(),
        salt=ids.salt(),
    )
    log.append([Draft(envelope=envelope, event=fact)])
