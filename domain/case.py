"""The rules of a case: a month-end difference, the conclusions about it, and a person's sign-off (X2).

``decide`` is pure; a refused command records nothing. Rules carry stable names:

* ``case.exists``, ``case.unknown``: a case is opened once, and everything else comes after
* ``case.currency``: a conclusion is in the currency of the difference
* ``case.sum``: the causes' amounts and the residual make the difference, to the minor unit
* ``case.blame``: what can't be decided explains no amount, names nobody and says why
* ``case.gone``: a difference that is not there any more has no amount and no cause
* ``case.note``: a note says something
* ``case.sign_off_order``: only a conclusion can be signed off, and only once
* ``case.sign_off_digest``: it is the newest conclusion that is signed off, not one that was read earlier
* ``case.sign_off_person``: a service signs nothing off
* ``case.sign_off_self``: nobody signs off a conclusion that names them
* ``case.reopen_order``, ``case.reopen_reason``: only what was signed off is reopened, and for a reason

The same conclusion again records nothing. One that a person would have to read again takes the sign-off away by
itself; one that merely rests on a new file or other places keeps it, and is recorded beside the one that was signed.
"""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Literal, assert_never

import msgspec
import orjson
from msgspec.structs import replace

from domain import events as e
from domain.errors import CommandRefused
from domain.ids import PrincipalId, Sha256

CaseStatus = Literal["new", "opened", "concluded", "signed_off"]


class CaseState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Fold of a case's stream."""

    status: CaseStatus = "new"
    version: int = 0
    opened: e.CaseOpened | None = None
    conclusion: e.CaseConcluded | None = None
    """The newest one."""
    signed: e.CaseSignedOff | None = None
    """The sign-off that holds; None when there is none or it was taken away."""


@dataclass(frozen=True, slots=True)
class OpenCase:
    """Keep a difference as a case."""

    fact: e.CaseOpened


@dataclass(frozen=True, slots=True)
class Conclude:
    """Keep what was concluded; ``by`` is who reconciled."""

    fact: e.CaseConcluded
    by: PrincipalId


@dataclass(frozen=True, slots=True)
class Note:
    """Write something down."""

    fact: e.CaseNoted


@dataclass(frozen=True, slots=True)
class SignOff:
    """Accept the newest conclusion; ``kind`` is what the signer is by configuration."""

    fact: e.CaseSignedOff
    kind: Literal["person", "service"]


@dataclass(frozen=True, slots=True)
class ReopenCase:
    """Have it looked at again."""

    fact: e.CaseReopened


CaseCommand = OpenCase | Conclude | Note | SignOff | ReopenCase


def digest_of(fact: e.CaseConcluded) -> Sha256:
    """SHA-256 of the conclusion's canonical JSON (sorted keys, no white space): what a sign-off is bound to."""
    body = orjson.dumps(msgspec.to_builtins(fact), option=orjson.OPT_SORT_KEYS)
    return Sha256(hashlib.sha256(body).hexdigest())


def changes_between(earlier: e.CaseConcluded, later: e.CaseConcluded) -> tuple[str, ...]:
    """What differs between two conclusions; those of ``MATTERS`` have to be read by a person again."""
    found = {
        "standing": earlier.standing != later.standing,
        "amount": earlier.amount_minor != later.amount_minor,
        "residual": earlier.residual_minor != later.residual_minor,
        "causes": _each(earlier, "cause", "amount_minor") != _each(later, "cause", "amount_minor"),
        "verdicts": _each(earlier, "verdict", "reason") != _each(later, "verdict", "reason"),
        "responsible": _each(earlier, "party", "responsible") != _each(later, "party", "responsible"),
        "file": earlier.file_sha256 != later.file_sha256,
        "evidence": _each(earlier, "evidence", "counter_evidence")
        != _each(later, "evidence", "counter_evidence"),
        "chain": earlier.chain_verified != later.chain_verified,
    }
    return tuple(name for name, differs in found.items() if differs)


MATTERS = frozenset({"standing", "amount", "residual", "causes", "verdicts", "responsible"})
"""Changes that take a sign-off away."""


def _each(fact: e.CaseConcluded, *fields: str) -> list[tuple[object, ...]]:
    return [tuple(getattr(cause, field) for field in fields) for cause in fact.causes]


def decide(command: CaseCommand, state: CaseState) -> tuple[e.CaseEvent, ...]:
    """Facts that the command brings about; ``CommandRefused`` names the rule that forbids it."""
    if isinstance(command, OpenCase):
        _require(state, state.status == "new", "case.exists", "the case was opened before")
        return (command.fact,)
    _require(state, state.status != "new", "case.unknown", "there is no such case")
    match command:
        case Conclude():
            return _conclude(command, state)
        case Note():
            _require(state, bool(command.fact.text.strip()), "case.note", "a note without words")
        case SignOff():
            _may_sign_off(command, state)
        case ReopenCase():
            _require(
                state,
                state.status == "signed_off",
                "case.reopen_order",
                "only what was signed off is reopened",
            )
            _require(
                state, bool(command.fact.reason.strip()), "case.reopen_reason", "reopening needs a reason"
            )
        case _:
            assert_never(command)
    return (command.fact,)


def _conclude(command: Conclude, state: CaseState) -> tuple[e.CaseEvent, ...]:
    fact = command.fact
    _require(
        state,
        state.opened is None or fact.currency == state.opened.currency,
        "case.currency",
        "the difference is in another currency",
    )
    explained = sum(cause.amount_minor for cause in fact.causes)
    _require(
        state,
        explained + fact.residual_minor == fact.amount_minor,
        "case.sum",
        "causes and residual don't make the difference",
    )
    _require(
        state,
        all(
            cause.verdict != "undecidable"
            or (not cause.amount_minor and not cause.responsible and bool(cause.reason))
            for cause in fact.causes
        ),
        "case.blame",
        "what can't be decided blames nobody",
    )
    _require(
        state,
        fact.standing or not (fact.amount_minor or fact.causes),
        "case.gone",
        "a difference that is gone has no amount and no cause",
    )
    if state.conclusion is None:
        return (fact,)
    changes = changes_between(state.conclusion, fact)
    if not changes:
        return ()
    fact = dataclasses.replace(fact, changes=changes)
    if state.status != "signed_off" or MATTERS.isdisjoint(changes):
        return (fact,)
    reason = f"concluded anew: {', '.join(changes)} changed"
    return (e.CaseReopened(by=command.by, reason=reason), fact)


def _may_sign_off(command: SignOff, state: CaseState) -> None:
    fact, conclusion = command.fact, state.conclusion
    _require(
        state,
        state.status == "concluded",
        "case.sign_off_order",
        "there is no conclusion that waits for a word",
    )
    _require(
        state,
        conclusion is not None and fact.digest == digest_of(conclusion),
        "case.sign_off_digest",
        "another conclusion is the newest one",
    )
    _require(state, command.kind == "person", "case.sign_off_person", "only a person signs off")
    named = {name for cause in (conclusion.causes if conclusion else ()) for name in cause.responsible}
    _require(
        state,
        fact.by not in named,
        "case.sign_off_self",
        f"{fact.by} is named as responsible in this conclusion",
    )


def _require(state: CaseState, ok: bool, rule: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not ok:
        raise CommandRefused(rule, f"{what} (case is {state.status})")


def evolve(state: CaseState, event: e.Event) -> CaseState:
    """State after one more fact; facts of other streams mean nothing to a case. Never raises."""
    state = replace(state, version=state.version + 1)
    match event:
        case e.CaseOpened():
            return replace(state, status="opened", opened=event)
        case e.CaseConcluded():
            signed = state.status == "signed_off"  # a change that matters came with its own reopening
            return replace(state, status="signed_off" if signed else "concluded", conclusion=event)
        case e.CaseSignedOff():
            return replace(state, status="signed_off", signed=event)
        case e.CaseReopened():
            return replace(state, status="concluded", signed=None)
        case _:
            return state
