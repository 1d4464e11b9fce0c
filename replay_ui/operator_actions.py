"""The one door for human decisions: the desk shows them, somebody else carries them out.

Rules enforced here:

- The desk writes nothing. Whoever starts it may hand in ``OperatorActions``; without them the pages show the queue and
  say how to act elsewhere.
- A decision names what the person saw (the approval's id, the position of the takeover's request), so that it can't
  fall on something that came later.
- A refusal (``domain.errors.ProofreelError``) is an answer that is shown, never an empty screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, get_args

from domain.values import Box

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from domain.events import TargetAccepted
    from projections.views.reconciliation import Reconciliation

Resolution = Literal["effect_present", "effect_absent", "done_by_hand", "undone_by_hand", "nothing_to_do"]
RESOLUTIONS: Final[tuple[Resolution, ...]] = get_args(Resolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRedaction:
    """What somebody wants to be withheld."""

    kind: Literal["frame", "event"]
    subject: str
    """SHA-256 of the screen; id of the event."""
    basis: str
    """Law or policy that asks for it."""
    regions: tuple[Box, ...] = ()
    """Of a screen, in its pixels."""
    fields: tuple[str, ...] = ()
    """Of an event, JSON pointers."""


class OperatorActions(Protocol):
    """What people can do from the desk; each call records one decision or raises ``ProofreelError``."""

    def people(self, tenant: str, right: str = "") -> Sequence[str]:
        """Principals of the people who may act for a tenant, those with a configured right if one is named."""

    def answer(
        self,
        tenant: str,
        task: str,
        *,
        approval: str,
        verdict: Literal["grant", "deny"],
        person: str,
        note: str,
    ) -> None:
        """Grant or deny exactly the request ``approval``."""

    def sign_off(self, tenant: str, case: str, *, digest: str, person: str, note: str) -> None:
        """Accept exactly the conclusion ``digest`` of a case."""

    def note_case(self, tenant: str, case: str, *, person: str, text: str) -> None:
        """Keep a person's note on a case."""

    def reopen_case(self, tenant: str, case: str, *, person: str, reason: str) -> None:
        """Take a sign-off away and say why."""

    def keep_case(self, tenant: str, result: Reconciliation, case: str, *, person: str) -> None:
        """Keep the difference ``case`` of a month's result, with what was concluded about it."""

    def ask_redaction(self, tenant: str, asked: AskedRedaction, *, person: str) -> None:
        """Ask that a part of a screen, or fields of an event, are withheld."""

    def answer_redaction(
        self, tenant: str, redaction: str, *, verdict: Literal["approve", "deny"], person: str, note: str
    ) -> None:
        """Allow or refuse exactly the request ``redaction``."""

    def take(self, tenant: str, task: str, *, person: str) -> None:
        """Own the task."""

    def tell_again(self, tenant: str, task: str, *, position: int, person: str) -> Mapping[str, str]:
        """Try the alert at ``position`` again where it was not delivered; channel → ``ok``, or what it failed with."""

    def accept_target(self, tenant: str, fact: TargetAccepted, *, person: str) -> None:
        """Accept a target for a metric, with the sample that it rests on."""

    def resolve(self, tenant: str, task: str, *, resolution: Resolution, person: str, note: str) -> None:
        """Close the takeover with what was found and done."""
