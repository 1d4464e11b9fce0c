"""Rungs without a screen: one call reads the bill, one call writes (B2).

Rules: a call carries the business intent and what an independent source knows, and nothing else; what is about to be
sent is judged like a browser's request before it leaves (X8); such a rung reports and never repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from domain.errors import WorldError
from domain.ids import Sha256
from domain.values import BusinessState, Check, Intent
from executor.guards.intent import intended
from executor.guards.request_rules import SeenRequest, judge_request
from executor.tools.base import Performed, RequestRule

CallRung = Literal["api", "mcp"]


class RungRefused(WorldError):
    """The target refuses the session or its rights (``check`` says which): no other rung is tried (B9)."""

    def __init__(self, check: Check) -> None:
        self.check = check
        super().__init__(check.found or check.verdict)


class RungLost(WorldError):
    """The rung isn't there any more, or has another shape than configured; nothing was sent that may write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A bill as the rung's own session sees it: what the call is planned on."""

    state: BusinessState
    account: str
    """Account of the session."""
    url: str
    structure_sha256: Sha256
    """Hash of the answer's keys: changes when the vendor changes its interface (G6)."""
    document_sha256: Sha256
    latency_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One decided call that writes."""

    name: str
    """In words a person can follow: ``POST /api/v1/bills/7/actions``, ``TOOL act_on_bill``."""
    seen: SeenRequest
    """What is about to be sent, taken apart again from its final form."""
    fields: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    """Idempotency key of the business effect, for targets that take one."""


class Caller(Protocol):
    """A rung without a screen."""

    rung: CallRung

    def observe(self, bill_id: str) -> Document:
        """The bill as this rung's session shows it now; starts the session.

        Raises ``Missing`` when there is no such bill, ``RungRefused`` for session and rights, ``RungLost`` when the
        rung isn't usable.
        """
        ...

    def plan(self, intent: Intent, rule: RequestRule, *, key: str) -> Call:
        """The call that would write; ``RungLost`` when it can't be made."""
        ...

    def perform(self, call: Call) -> Performed:
        """Make the call once. What may have left without a clear answer is ``unknown``."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


def fields_of(intent: Intent, rule: RequestRule) -> dict[str, str]:
    """The fields of a call for this intent."""
    carried = {name: intended(intent, part, rule.fields) for name, part in rule.fields.form.items()}
    return carried | dict(rule.known)


def judge_call(call: Call, intent: Intent, rule: RequestRule) -> Check:
    """The request guard's word on a call: method, path and exactly the intent's values."""
    return judge_request(call.seen, rule, intent, before=0)
