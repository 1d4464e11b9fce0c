"""The rules of withholding, holding and deleting (X7).

``decide`` is pure; a refused command records nothing. Rules carry stable names:

* ``redaction.exists``, ``redaction.unknown``: one request a stream, and everything else comes after
* ``redaction.basis``: a request names the law or policy that it rests on
* ``redaction.shape``: a screen by rectangles, an event by fields, a document as a whole
* ``redaction.person``, ``redaction.self``: another person than the requester answers
* ``redaction.order``: a request is answered once
* ``redaction.digest``: it is this request that is answered
* ``redaction.expired``: a request that nobody answered for thirty days is asked anew, not approved
* ``hold.exists``, ``hold.unknown``, ``hold.basis``: a hold is placed once, released once, and says why
* ``deletion.held``: what a hold covers is not deleted
* ``deletion.repeated``, ``deletion.basis``: a key is destroyed once, and for a reason
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never

import msgspec
import orjson

from domain import events as e
from domain.errors import CommandRefused
from domain.ids import Sha256

RedactionStatus = Literal["new", "requested", "approved", "denied"]
APPROVE_WITHIN_US: Final = 30 * 86_400 * 1_000_000
"""How long a request can be approved, from when it was recorded; microseconds. It can be denied at any time."""


class RedactionState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Fold of a redaction's stream."""

    status: RedactionStatus = "new"
    version: int = 0
    request: e.RedactionRequested | None = None
    answer: e.RedactionApproved | e.RedactionDenied | None = None


@dataclass(frozen=True, slots=True)
class AskRedaction:
    """Ask that something is withheld."""

    fact: e.RedactionRequested


@dataclass(frozen=True, slots=True)
class AnswerRedaction:
    """Allow or refuse; ``kind`` is what the approver is by configuration."""

    fact: e.RedactionApproved | e.RedactionDenied
    kind: Literal["person", "service"]
    age_us: int
    """Of the request, when it is answered; microseconds."""


RedactionCommand = AskRedaction | AnswerRedaction


def digest_of(fact: e.RedactionRequested) -> Sha256:
    """SHA-256 of the request's canonical JSON (sorted keys, no white space): what an answer is bound to."""
    body = orjson.dumps(msgspec.to_builtins(fact), option=orjson.OPT_SORT_KEYS)
    return Sha256(hashlib.sha256(body).hexdigest())


def decide(command: RedactionCommand, state: RedactionState) -> e.PrivacyEvent:
    """The fact that the command brings about; ``CommandRefused`` names the rule that forbids it."""
    match command:
        case AskRedaction():
            return _ask(command.fact, state)
        case AnswerRedaction():
            return _answer(command, state)
        case _:
            assert_never(command)


def _ask(fact: e.RedactionRequested, state: RedactionState) -> e.RedactionRequested:
    _require(state.status == "new", "redaction.exists", "this redaction was requested before")
    _require(
        bool(fact.basis.strip()), "redaction.basis", "a redaction names the law or policy that it rests on"
    )
    shown = fact.rendition is not None and fact.opening is not None and bool(fact.root)
    shaped = {
        "frame": bool(fact.regions) and not fact.fields and shown,
        "event": bool(fact.fields) and not fact.regions and shown,
        "document": not fact.regions and not fact.fields and fact.rendition is None,
    }
    _require(shaped[fact.kind], "redaction.shape", f"a redaction of a {fact.kind} has another form")
    return fact


def _answer(command: AnswerRedaction, state: RedactionState) -> e.RedactionApproved | e.RedactionDenied:
    fact, request = command.fact, state.request
    if request is None:
        raise CommandRefused(
            "redaction.unknown", "there is no such redaction", remedy="see 'proofreel redact list'"
        )
    _require(state.status == "requested", "redaction.order", f"the redaction is {state.status} already")
    _require(command.kind == "person", "redaction.person", "only a person answers a redaction")
    _require(fact.approver != request.requested_by, "redaction.self", "nobody answers their own request")
    _require(fact.digest == digest_of(request), "redaction.digest", "the answer is about another request")
    if isinstance(fact, e.RedactionApproved) and command.age_us > APPROVE_WITHIN_US:
        what = "the request waited for more than thirty days"
        raise CommandRefused("redaction.expired", what, remedy="deny it, and ask anew")
    return fact


def evolve(state: RedactionState, event: e.Event) -> RedactionState:
    """State after one more fact; facts of other streams mean nothing to it. Never raises."""
    state = msgspec.structs.replace(state, version=state.version + 1)
    match event:
        case e.RedactionRequested():
            return msgspec.structs.replace(state, status="requested", request=event)
        case e.RedactionApproved():
            return msgspec.structs.replace(state, status="approved", answer=event)
        case e.RedactionDenied():
            return msgspec.structs.replace(state, status="denied", answer=event)
        case _:
            return state


@dataclass(slots=True)
class Holdings:
    """Fold of the stream that holds and orders of deletion share, so that an order never overlooks a hold."""

    version: int = 0
    holds: dict[str, e.HoldPlaced] = field(default_factory=dict)
    """Those in force."""
    known: set[str] = field(default_factory=set)
    orders: dict[str, e.DeletionOrdered] = field(default_factory=dict)
    """By key id."""

    def apply(self, event: e.Event) -> None:
        """Take in one fact; never raises."""
        self.version += 1
        match event:
            case e.HoldPlaced():
                self.holds[event.hold_id] = event
                self.known.add(event.hold_id)
            case e.HoldReleased():
                self.holds.pop(event.hold_id, None)
            case e.DeletionOrdered():
                self.orders[event.key_id] = event
            case _:
                pass

    def held_by(self, unit: str) -> e.HoldPlaced | None:
        """A hold that covers the unit (``kind/month``), if there is one."""
        kind, _, month = unit.partition("/")
        for hold in self.holds.values():
            if hold.kind in {None, kind} and hold.month in {"", month}:
                return hold
        return None

    def place(self, fact: e.HoldPlaced) -> e.HoldPlaced:
        """A new hold."""
        _require(fact.hold_id not in self.known, "hold.exists", f"hold {fact.hold_id} was placed before")
        _require(bool(fact.basis.strip()), "hold.basis", "a hold names what it rests on")
        return fact

    def release(self, fact: e.HoldReleased) -> e.HoldReleased:
        """The end of a hold."""
        _require(fact.hold_id in self.holds, "hold.unknown", f"no hold {fact.hold_id} is in force")
        _require(bool(fact.basis.strip()), "hold.basis", "a release names what it rests on")
        return fact

    def order(self, fact: e.DeletionOrdered) -> e.DeletionOrdered:
        """The order to destroy a key."""
        hold = self.held_by(fact.unit)
        what = "" if hold is None else f"{fact.unit} is under hold {hold.hold_id}: {hold.basis}"
        _require(hold is None, "deletion.held", what)
        _require(
            fact.key_id not in self.orders, "deletion.repeated", f"key {fact.key_id} was ordered away before"
        )
        _require(bool(fact.basis.strip()), "deletion.basis", "a deletion names what it rests on")
        return fact


def _require(ok: bool, rule: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not ok:
        raise CommandRefused(rule, what)
