"""Claims and releases against the events that say so, both ways, without keeping them in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from domain.errors import IntegrityError
from domain.events import TaskClaimed, TaskClaimReleased
from projections.findings import Finding, FsckReport

if TYPE_CHECKING:
    from domain.envelope import Envelope, Recorded
    from domain.events import Event
    from domain.ids import EffectKey, EventId, TenantId
    from projections.reading import ClaimRow, IndexedRow, RecordReader


class ClaimCheck:
    """Both directions: each claim has its event, each claiming event its claim."""

    def __init__(self, reader: RecordReader, tenant: TenantId, report: FsckReport) -> None:
        self._reader = reader
        self._tenant = tenant
        self._report = report

    def see(self, item: IndexedRow, envelope: Envelope, event: Event) -> None:
        """An event of the walk: a claiming or releasing one must have its row."""
        if not isinstance(event, TaskClaimed | TaskClaimReleased):
            return
        rows = self._reader.claims_of(self._tenant, event.effect_key)
        if isinstance(event, TaskClaimed):
            known = any(row.event_id == envelope.event_id for row in rows)
        else:
            known = any(row.release_event_id == envelope.event_id for row in rows)
        if not known:
            kind = "claim" if isinstance(event, TaskClaimed) else "release"
            what = f"says {event.effect_key} was {kind}ed, but there is no such {kind}"
            self._add(
                "claim_row_missing", what.replace("releaseed", "released"), item=item, envelope=envelope
            )

    def finish(self) -> None:
        """Walk the claims themselves."""
        previous: ClaimRow | None = None
        for row in self._reader.claims(self._tenant):
            self._report.claims += 1
            self._check_order(row, previous if previous and previous.effect_key == row.effect_key else None)
            self._check_said(row, row.event_id, TaskClaimed, row.claimed_at_us)
            if row.release_event_id is not None:
                self._check_said(row, row.release_event_id, TaskClaimReleased, row.released_at_us or 0)
            previous = row
        for key, generation in self._reader.orphan_releases(self._tenant):
            self._add("release_without_claim", f"claim {generation} of {key} was released but never made")

    def _check_order(self, row: ClaimRow, before: ClaimRow | None) -> None:
        due = before.generation + 1 if before else 1
        if row.generation != due:
            self._add("claim_gap", f"claim {due} of {row.effect_key} is missing", row=row)
        if before is not None and before.release_event_id is None:
            self._add("claim_doubled", f"{row.effect_key} was claimed again without a release", row=row)

    def _check_said(
        self,
        row: ClaimRow,
        event_id: EventId,
        kind: type[TaskClaimed | TaskClaimReleased],
        at_us: int,
    ) -> None:
        said = self._find(event_id)
        if said is None:
            self._add(
                "claim_event_missing", f"claim of {row.effect_key}: its event {event_id} is missing", row=row
            )
            return
        wrong = [
            name
            for name, right in (
                ("stream", said.row.stream == row.stream),
                ("effect", _key(said, kind) == row.effect_key),
                ("principal", kind is TaskClaimReleased or said.envelope.principal == row.principal),
                ("time", said.row.recorded_at_us == at_us),
            )
            if not right
        ]
        if wrong:
            what = f"claim of {row.effect_key} differs from its event in {', '.join(wrong)}"
            self._add("claim_mismatch", what, row=row, said=said)

    def _find(self, event_id: EventId) -> Recorded | None:
        try:
            return self._reader.find(self._tenant, event_id)
        except IntegrityError:
            return None  # found and reported as unreadable by the walk through the log

    def _add(
        self,
        code: str,
        what: str,
        *,
        item: IndexedRow | None = None,
        envelope: Envelope | None = None,
        row: ClaimRow | None = None,
        said: Recorded | None = None,
    ) -> None:
        stream = item.row.stream if item else row.stream if row else ""
        task = (envelope.task_id if envelope else None) or (
            stream.removeprefix("task:") if stream.startswith("task:") else ""
        )
        position = item.row.position if item else said.row.position if said else 0
        event_id = item.event_id if item else row.event_id if row else ""
        self._report.add(
            Finding(
                code=code,
                what=what,
                tenant=self._tenant,
                position=position,
                event_id=event_id,
                stream=stream,
                task=task,
            )
        )


def _key(said: Recorded, kind: type[TaskClaimed | TaskClaimReleased]) -> EffectKey | None:
    """Effect that an event is about: named by the fact itself, else by its envelope."""
    if isinstance(said.event, kind):
        return said.event.effect_key
    return said.envelope.idempotency_key
