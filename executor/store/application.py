"""The record as an application of ``eventsourcing``, so that its projections run over it.

Rules: what a projection is given is the fact as it was recorded, lifted to the current schema, with its envelope; the
application saves nothing: facts enter the record through ``RecordLog`` alone, which checks claims and versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from eventsourcing.application import Application
from eventsourcing.persistence import Mapper, StoredEvent

from domain.codec import decode
from domain.envelope import Envelope
from domain.events import Event


@dataclass(frozen=True, slots=True)
class StoredFact:
    """One fact with its envelope, under the names that the library looks for."""

    originator_id: str
    """Its stream."""
    originator_version: int
    envelope: Envelope
    event: Event


class FactMapper(Mapper[str]):
    """Decodes the record's bytes; the library's own transcoder takes no part."""

    def to_domain_event(self, stored_event: StoredEvent) -> Any:  # noqa: ANN401 - the library's signature
        """The fact behind a stored event."""
        stream = str(stored_event.originator_id)
        where = f"{stream} version {stored_event.originator_version}"
        envelope, _, _, event = decode(stored_event.state, where=where)
        return StoredFact(stream, stored_event.originator_version, envelope, event)

    def to_stored_event(self, domain_event: object) -> NoReturn:
        """Refused: the record is appended to through ``RecordLog``."""
        raise TypeError(f"{type(domain_event).__name__} enters the record through RecordLog.append")


class RecordApplication(Application[str]):
    """One tenant's log, for reading and following.

    Use with ``ProjectionRunner`` and ``PERSISTENCE_MODULE=executor.store.recorder``, ``PROOFREEL_STORE``,
    ``PROOFREEL_TENANT``, ``ORIGINATOR_ID_TYPE=text``.
    """

    env: ClassVar[dict[str, str]] = {
        "PERSISTENCE_MODULE": "executor.store.recorder",
        "ORIGINATOR_ID_TYPE": "text",
    }

    def construct_mapper(self) -> Mapper[str]:
        """The mapper of our own format."""
        return FactMapper(transcoder=self.construct_transcoder())
