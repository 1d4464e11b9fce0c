"""Facts about a case: a difference of a month end, what the desk concluded about it, and people's word on that (X2).

A case lives in the stream ``case:<break id>``. What was concluded before is never replaced: each conclusion is a fact
of its own, with what changed since the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.events.base import fact
from domain.ids import PrincipalId, Sha256

CauseVerdict = Literal["proven", "supported", "undecidable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFound:
    """One cause of the difference as the desk found it, with the places of what it rests on."""

    cause: str
    """Name in the desk's taxonomy; text, so that a cause of a later release doesn't make the record unreadable."""
    verdict: CauseVerdict
    amount_minor: int
    """Signed part of the difference that it explains; 0 when undecidable."""
    summary: str
    party: str
    """Side of the business that caused it: ``executor``, ``target_system``, ``settlement_issuer``, ``person``, …"""
    responsible: tuple[PrincipalId, ...] = ()
    """Principals of ours who caused it."""
    reason: str = ""
    """Why it can't be decided."""
    evidence: tuple[int, ...] = ()
    """Positions in the tenant's log of the events that it rests on."""
    counter_evidence: tuple[int, ...] = ()
    """Positions of events that speak against it, where any were found."""
    lines: tuple[int, ...] = ()
    """Lines of the settlement file that it rests on."""


@fact("case.opened")
class CaseOpened:
    """A month end showed a difference, and somebody keeps it as a case."""

    break_id: str
    """Stays the same when the month is reconciled again."""
    month: str
    bill_id: str
    kind: str
    """``missing_in_file``, ``extra_in_file``, ``duplicate_in_file``, ``amount_mismatch``, …"""
    currency: str


@fact("case.concluded")
class CaseConcluded:
    """What the desk concluded, over which file and how much of the record."""

    standing: bool
    """False: the difference is not there any more."""
    amount_minor: int
    """File minus record; the causes' amounts and the residual sum to it."""
    currency: str
    residual_minor: int
    """What no cause explains; it is nobody's."""
    causes: tuple[CauseFound, ...]
    file_sha256: Sha256
    """Settlement file that was judged, by its original bytes."""
    events_read: int
    """Events of the tenant's log that were read."""
    chain_verified: bool
    """True if the chain of these events had been checked."""
    changes: tuple[str, ...] = ()
    """What is different from the conclusion before: ``amount``, ``causes``, ``responsible``, ``file``, …"""


@fact("case.noted")
class CaseNoted:
    """Somebody wrote something down about the case; it decides nothing."""

    by: PrincipalId
    text: str


@fact("case.signed_off")
class CaseSignedOff:
    """A person accepts exactly one conclusion."""

    by: PrincipalId
    digest: Sha256
    """Of the conclusion that was accepted (see ``domain.case.digest_of``)."""
    note: str = ""


@fact("case.reopened")
class CaseReopened:
    """The sign-off no longer covers what is known, or a person wants the case looked at again."""

    by: PrincipalId
    reason: str
