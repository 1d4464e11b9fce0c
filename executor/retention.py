"""How long contents are kept, what holds them, and how they are deleted: by destroying the key of their unit (X7).

Rules: holds and orders of deletion share one stream, so that an order is decided knowing every hold, also when both
come at the same moment; an order is durable before the key is destroyed, and what went with it is recorded after; an
order whose end isn't on record is carried on by the next run; nothing but keys is ever removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeVar

from domain import events as e
from domain.envelope import Draft, Envelope
from domain.errors import CommandRefused, VersionConflict
from domain.events.privacy import DataKind
from domain.ids import RETENTION, PrincipalId, StreamId, TenantId, deletion_stream
from domain.policy import Identity
from domain.ports import Clock, EventLog, IdSource
from domain.privacy import Holdings
from domain.sealing import DataKey
from executor.privacy_config import PrivacySection
from executor.store.sealed import SealedBlobs

AT_ONCE: Final = 10_000
"""Names in one ``data.deleted``; an event has at most 1 MiB."""
TRIES: Final = 20
"""Processes that may write about holds and deletions at once."""

Standing = Literal["kept", "due", "held", "no_rule", "ordered"]
F = TypeVar("F", e.HoldPlaced, e.HoldReleased, e.DeletionOrdered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit whose key is there, and how it stands."""

    unit: str
    key_id: str
    blobs: int
    standing: Standing
    due_on: str
    """Day from which it may be deleted, ``YYYY-MM-DD`` (UTC); empty without a rule."""
    basis: str
    """Of the rule; of the hold, when one holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What was deleted."""

    deletion: str
    unit: str
    blobs: int
    basis: str


@dataclass(slots=True, kw_only=True)
class Retention:
    """Holds and deletions of one tenant."""

    log: EventLog
    blobs: SealedBlobs
    ids: IdSource
    clock: Clock
    tenant: TenantId
    section: PrivacySection

    # -- holds -------------------------------------------------------------------------------------

    def holds(self) -> list[e.HoldPlaced]:
        """Holds in force."""
        return list(self._load().holds.values())

    def place(self, who: Identity, *, kind: DataKind | None, month: str, basis: str) -> e.HoldPlaced:
        """Place a hold on a kind and a month, or on more when one of them is left open."""
        self._may(who, "hold")
        fact = e.HoldPlaced(hold_id=self.ids.uuid(), kind=kind, month=month, basis=basis, by=who.principal)
        return self._submit(who.principal, lambda state: state.place(fact))

    def release(self, who: Identity, hold_id: str, *, basis: str) -> e.HoldReleased:
        """End a hold."""
        self._may(who, "hold")
        fact = e.HoldReleased(hold_id=hold_id, basis=basis, by=who.principal)
        return self._submit(who.principal, lambda state: state.release(fact))

    # -- deletion ----------------------------------------------------------------------------------

    def plan(self) -> list[Unit]:
        """Every unit of the tenant with its standing at this moment."""
        state, now_us = self._load(), self.clock.now_us()
        counts: dict[str, int] = {}
        for _, key_id in self.blobs.sealed_names():
            counts[key_id] = counts.get(key_id, 0) + 1
        return [
            self._unit(key, state, counts.get(key.key_id, 0), now_us)
            for key in self.blobs.ring.keys(self.tenant)
        ]

    def _unit(self, key: DataKey, state: Holdings, blobs: int, now_us: int) -> Unit:
        kind, _, month = key.unit.partition("/")
        rule, hold = self.section.days(self.tenant, kind), state.held_by(key.unit)
        due = None if rule is None else _end_of(month) + timedelta(days=rule.days)
        standing: Standing = "no_rule"
        if due is not None:
            standing = "due" if now_us >= due.timestamp() * 1_000_000 else "kept"
        if hold is not None:
            standing = "held"
        if key.key_id in state.orders:
            standing = "ordered"
        return Unit(
            unit=key.unit,
            key_id=key.key_id,
            blobs=blobs,
            standing=standing,
            due_on="" if due is None else due.date().isoformat(),
            basis=hold.basis if hold is not None else rule.basis if rule is not None else "",
        )

    def apply(self, who: Identity, units: Sequence[str] = ()) -> list[Deleted]:
        """Delete what is due, or those of ``units``; ``CommandRefused`` when one of these isn't due or is held."""
        self._may(who, "delete")
        done = list(self._carry_on())
        found = self.plan()
        for name in units:
            of_name = [one for one in found if one.unit == name]
            if not of_name:
                raise CommandRefused(
                    "deletion.unknown", f"there is no unit {name}", remedy="see 'proofreel retention plan'"
                )
            if of_name[0].standing not in {"due", "held"}:
                what = f"{name} is kept until {of_name[0].due_on or 'further notice'}"
                raise CommandRefused("deletion.not_due", what, remedy="see 'proofreel retention plan'")
        wanted = [one for one in found if one.unit in units] if units else found
        asked = {"due", "held"} if units else {"due"}  # a hold refuses, by the rule that every order passes
        return done + [self._delete(who, one) for one in wanted if one.standing in asked]

    def _delete(self, who: Identity, one: Unit) -> Deleted:
        order = e.DeletionOrdered(
            deletion_id=self.ids.uuid(),
            unit=one.unit,
            key_id=one.key_id,
            basis=one.basis,
            by=who.principal,
            blobs=one.blobs,
        )
        return self._carry_out(self._submit(who.principal, lambda state: state.order(order)))

    def _carry_on(self) -> Iterator[Deleted]:
        """Orders whose end isn't on record."""
        for order in self._load().orders.values():
            stream = deletion_stream(order.deletion_id)
            parts = sum(1 for _ in self.log.stream(self.tenant, stream))
            if not parts:
                yield self._carry_out(order)

    def _carry_out(self, order: e.DeletionOrdered) -> Deleted:
        for key in self.blobs.ring.keys(self.tenant):
            if key.key_id == order.key_id:
                self.blobs.ring.destroy(key)
        gone = [name for name in self.blobs.under(order.key_id) if not self.blobs.has(name)]
        parts = [gone[start : start + AT_ONCE] for start in range(0, len(gone), AT_ONCE)] or [[]]
        facts = [
            e.DataDeleted(
                deletion_id=order.deletion_id,
                unit=order.unit,
                key_id=order.key_id,
                basis=order.basis,
                by=order.by,
                part=number,
                parts=len(parts),
                blobs=tuple(part),
            )
            for number, part in enumerate(parts, start=1)
        ]
        self._append(deletion_stream(order.deletion_id), 1, order.by, facts)
        return Deleted(deletion=order.deletion_id, unit=order.unit, blobs=len(gone), basis=order.basis)

    # -- common ------------------------------------------------------------------------------------

    def _may(self, who: Identity, right: str) -> None:
        if self.tenant not in who.tenants:
            raise CommandRefused("retention.tenant", f"{who.principal} does not act for tenant {self.tenant}")
        if right not in who.actions:
            remedy = f"give them {right} in the configuration"
            raise CommandRefused("retention.right", f"{who.principal} may not {right}", remedy=remedy)

    def _load(self) -> Holdings:
        state = Holdings()
        for recorded in self.log.stream(self.tenant, RETENTION):
            state.apply(recorded.event)
        return state

    def _submit(self, who: PrincipalId, decide: Callable[[Holdings], F]) -> F:
        """Decide on all that is known, again when somebody else was faster."""
        for left in reversed(range(TRIES)):
            state = self._load()
            fact = decide(state)
            try:
                self._append(RETENTION, state.version + 1, who, [fact])
            except VersionConflict:
                if not left:
                    raise
                continue
            return fact
        raise AssertionError("unreachable")

    def _append(
        self, stream: StreamId, version: int, who: PrincipalId, facts: Sequence[e.PrivacyEvent]
    ) -> None:
        drafts = [
            Draft(
                envelope=Envelope(
                    event_id=self.ids.event_id(),
                    tenant=self.tenant,
                    stream=stream,
                    version=number,
                    principal=who,
                    occurred_at_us=self.clock.now_us(),
                    salt=self.ids.salt(),
                ),
                event=fact,
            )
            for number, fact in enumerate(facts, start=version)
        ]
        self.log.append(drafts)


def _end_of(month: str) -> datetime:
    """First moment after a month."""
    year, number = (int(part) for part in month.split("-"))
    return datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
