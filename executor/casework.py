"""Writes what happens to a case: conclusions of a reconciliation, notes and sign-offs of people (X2).

Rules: what one reconciliation says of a case is one transaction; a person's word is in the person's own name and only
for a tenant of theirs; somebody who was faster is a ``VersionConflict``, never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from domain import events as e
from domain.case import CaseCommand, CaseState, Note, ReopenCase, SignOff, decide, digest_of, evolve
from domain.envelope import Draft, Envelope
from domain.errors import CommandRefused, ConfigError
from domain.ids import PrincipalId, Sha256, TenantId, case_stream
from domain.policy import Identity
from domain.ports import Clock, EventLog, IdSource

MIN_DIGEST: Final = 8
"""Fewest digits of a conclusion's digest that name it."""


class Casework:
    """The cases of one tenant."""

    def __init__(self, log: EventLog, *, ids: IdSource, clock: Clock, tenant: TenantId) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self.tenant = tenant

    def load(self, break_id: str) -> CaseState:
        """The case as it is stored; status ``new`` when there is none."""
        state = CaseState()
        for recorded in self._log.stream(self.tenant, case_stream(break_id)):
            state = evolve(state, recorded.event)
        return state

    def submit(
        self, break_id: str, commands: Iterable[CaseCommand], *, principal: PrincipalId
    ) -> tuple[e.CaseEvent, ...]:
        """Decide one command after the other and append their facts together; they may well be none.

        Raises:
            CommandRefused: a rule of ``domain.case`` forbids one of them; nothing was recorded.
            VersionConflict: somebody else wrote to the case at the same moment.
        """
        state = self.load(break_id)
        drafts: list[Draft] = []
        facts: list[e.CaseEvent] = []
        for command in commands:
            for fact in decide(command, state):
                drafts.append(Draft(envelope=self._envelope(break_id, state, principal, fact), event=fact))
                facts.append(fact)
                state = evolve(state, fact)
        if drafts:
            self._log.append(drafts)
        return tuple(facts)

    def _envelope(
        self, break_id: str, state: CaseState, principal: PrincipalId, fact: e.CaseEvent
    ) -> Envelope:
        opened = fact if isinstance(fact, e.CaseOpened) else state.opened
        return Envelope(
            event_id=self._ids.event_id(),
            tenant=self.tenant,
            stream=case_stream(break_id),
            version=state.version + 1,
            principal=principal,
            occurred_at_us=self._clock.now_us(),
            salt=self._ids.salt(),
            correlation_id=f"month:{opened.month}" if opened else None,
        )


def keep(work: Casework, break_id: str, commands: Iterable[CaseCommand], person: Identity) -> None:
    """Keep a difference of a month's result, or tell its case what was concluded now, in the person's name."""
    _acts_here(work, person)
    work.submit(break_id, commands, principal=person.principal)


def note(work: Casework, break_id: str, person: Identity, text: str) -> None:
    """Keep a person's note."""
    _acts_here(work, person)
    command = Note(e.CaseNoted(by=person.principal, text=text))
    work.submit(break_id, [command], principal=person.principal)


def sign_off(work: Casework, break_id: str, person: Identity, digest: str, *, note: str = "") -> Sha256:
    """Accept the conclusion that ``digest`` names (its first digits are enough); returns the whole digest.

    ``CommandRefused`` when another conclusion is the newest, when the person is named in it, or is no person.
    """
    _acts_here(work, person)
    whole = _completed(work.load(break_id), digest)
    fact = e.CaseSignedOff(by=person.principal, digest=whole, note=note)
    work.submit(break_id, [SignOff(fact, kind=person.kind)], principal=person.principal)
    return whole


def reopen(work: Casework, break_id: str, person: Identity, reason: str) -> None:
    """Take a sign-off away and say why."""
    _acts_here(work, person)
    command = ReopenCase(e.CaseReopened(by=person.principal, reason=reason))
    work.submit(break_id, [command], principal=person.principal)


def _completed(state: CaseState, digest: str) -> Sha256:
    from_newest = _newest(state)
    if len(digest) < MIN_DIGEST:
        raise ConfigError(
            f"{digest!r} is too short to name a conclusion",
            remedy=f"give at least {MIN_DIGEST} digits of the digest that 'proofreel cases show' prints",
        )
    return from_newest if from_newest.startswith(digest) else Sha256(digest)


def _newest(state: CaseState) -> Sha256:
    return digest_of(state.conclusion) if state.conclusion else Sha256("")


def _acts_here(work: Casework, person: Identity) -> None:
    if work.tenant not in person.tenants:
        raise CommandRefused("case.tenant", f"{person.principal} does not act for tenant {work.tenant}")
