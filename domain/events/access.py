"""Facts about the record's readers: who opened which evidence (X7)."""

from __future__ import annotations

from typing import Literal

from domain.events.base import fact

Opened = Literal["run", "bill", "difference", "bundle"]
"""A run with its screens; the chain of a bill; a difference of a month; a bundle that was carried away."""


@fact("evidence.opened")
class EvidenceOpened:
    """Somebody opened evidence in the desk; the envelope's principal is who.

    It is recorded before the evidence is shown, once for what is looked at in one go (see ``replay_ui.openings``).
    """

    kind: Opened
    subject: str
    """The run's id, the bill's number, or the name of the difference; for a bundle what it is about."""
    roles: tuple[str, ...] = ()
    """Roles under which it was opened; empty where the desk knows none."""
    account: str = ""
    """Who the person is for the identity provider, as the provider vouches: its address and their subject."""
