"""Records what readers of the desk opened, each in a stream of their own.

Rules: the fact is durable when ``record`` returns; two desks that one person uses at once don't lose each other's
facts; nothing but the person's own stream is touched, so a look at the evidence never changes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from domain import events as e
from domain.envelope import Draft, Envelope
from domain.errors import VersionConflict
from domain.events.access import Opened
from domain.ids import PrincipalId, TenantId, access_stream
from domain.ports import Clock, EventLog, IdSource

TRIES: Final = 20
"""Desks that one person may use at the same moment."""


class Reader(Protocol):
    """The person who looks, as the desk knows them."""

    @property
    def name(self) -> str:
        """Principal."""

    @property
    def account(self) -> str:
        """Who they are for the identity provider."""

    def roles_at(self, tenant: str) -> Sequence[str]:
        """Roles held at a tenant."""


class RecordedOpenings:
    """The desk's ``OpeningRecorder`` over the record. Safe to share between threads that take turns."""

    def __init__(self, log: EventLog, *, ids: IdSource, clock: Clock) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self._versions: dict[tuple[TenantId, PrincipalId], int] = {}

    def record(self, viewer: Reader, tenant: str, kind: Opened, subject: str) -> None:
        """Append one ``evidence.opened``.

        Raises:
            VersionConflict: other desks of this person were faster ``TRIES`` times.
            WorldError: the database fails.
        """
        fact = e.EvidenceOpened(
            kind=kind, subject=subject, roles=tuple(viewer.roles_at(tenant)), account=viewer.account
        )
        who, of = PrincipalId(viewer.name), TenantId(tenant)
        version = self._versions.get((of, who), 0) + 1
        for left in reversed(range(TRIES)):
            try:
                self._log.append([Draft(envelope=self._envelope(of, who, version), event=fact)])
            except VersionConflict as conflict:
                if not left:
                    raise
                version = conflict.found + 1
            else:
                self._versions[of, who] = version
                return

    def _envelope(self, tenant: TenantId, who: PrincipalId, version: int) -> Envelope:
        return Envelope(
            event_id=self._ids.event_id(),
            tenant=tenant,
            stream=access_stream(who),
            version=version,
            principal=who,
            occurred_at_us=self._clock.now_us(),
            salt=self._ids.salt(),
        )
