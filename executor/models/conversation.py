"""A talk with one model, every request and answer on record before the next thing happens.

Rules: what is about to be sent is recorded before it is sent; every answer is recorded with its usage, also a failed
one; nothing is sent twice; the budget of calls is asked before each; a safety check is let pass by a person or not at
all, one by one, and the person is who the record names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from domain import events as e
from domain.ids import PrincipalId, Sha256
from domain.run import Limits, Talk, asked, used_up
from domain.values import Check
from executor.config import Secret
from executor.models.base import (
    MOST_SAID,
    Declined,
    Dialect,
    ModelRequest,
    Reply,
    SafetyCheck,
    Screen,
    Turn,
    Usage,
    understand,
)
from executor.models.transport import ModelAnswer, Transport, host_of, scrub

Acknowledge = Callable[[SafetyCheck], PrincipalId | None]
"""Asks a person about one safety check; ``None`` when nobody let it pass."""
Record = Callable[[e.ModelRequested | e.ModelResponded | e.SafetyAcknowledged], None]
KeepBlob = Callable[[bytes], Sha256]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Millionths of a currency unit for a million tokens."""

    input_micros: int
    output_micros: int

    def cost(self, usage: Usage) -> int:
        """Millionths of the unit, rounded up; -1 when the usage is not known."""
        if min(usage.input_tokens, usage.output_tokens) < 0:
            return -1
        total = usage.input_tokens * self.input_micros + usage.output_tokens * self.output_micros
        return -(-total // 1_000_000)

    @classmethod
    def parse(cls, text: str) -> Price:
        """``3.00/15.00``: for a million input and output tokens; ``ValueError`` otherwise."""
        given, _, made = text.partition("/")
        try:
            numbers = [int(Decimal(part) * 1_000_000) for part in (given, made)]
        except ArithmeticError as error:
            raise ValueError(f"{text!r} is not INPUT/OUTPUT, as 3.00/15.00") from error
        if min(numbers) < 0:
            raise ValueError(f"{text!r} holds a negative price")
        return cls(input_micros=numbers[0], output_micros=numbers[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is, and with which key."""

    url: str
    key: Secret
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The talk is over without a sound answer; the finding says why."""

    check: Check


class Conversation:
    """One run's talk with one model."""

    def __init__(self, dialect: Dialect, transport: Transport, endpoint: Endpoint, limits: Limits) -> None:
        self.dialect = dialect
        self.limits = limits
        self.talk = Talk()
        self.usage: list[Usage] = []
        self._transport = transport
        self._endpoint = endpoint
        self._host = host_of(endpoint.url)

    def opening(
        self, goal: str, screen: Screen, *, record: Record, keep: KeepBlob, warnings: Sequence[str] = ()
    ) -> Turn | Stopped:
        """Ask for the first time."""
        over = used_up(self.talk, self.limits)
        if over is not None:
            return Stopped(check=over)
        body = self.dialect.opening(goal, screen)
        return self._ask(body, screen, (), record=record, keep=keep, warnings=warnings)

    def answer(
        self, turn: Turn, reply: Reply, *, record: Record, keep: KeepBlob, warnings: Sequence[str] = ()
    ) -> Turn | Stopped:
        """Answer the last call with a new picture, and ask on."""
        over = used_up(self.talk, self.limits)
        if over is not None:
            return Stopped(check=over)
        body = self.dialect.answer(turn, reply)
        return self._ask(body, reply.screen, reply.acknowledged, record=record, keep=keep, warnings=warnings)

    def let_pass(
        self, turn: Turn, ask: Acknowledge | None, *, record: Record
    ) -> tuple[SafetyCheck, ...] | Stopped:
        """Every pending check needs a person's word about that very check (C3)."""
        for check in turn.safety:
            by = ask(check) if ask is not None else None
            if by is None:
                return Stopped(
                    check=Check(
                        guard="safety",
                        verdict="approval_required",
                        expected="a person who lets this safety check pass",
                        found=str(check)[:MOST_SAID],
                    )
                )
            record(
                e.SafetyAcknowledged(
                    provider=self.dialect.name,
                    call_id=turn.call_id,
                    check_id=check.check_id,
                    code=check.code,
                    message=check.message,
                    by=by,
                )
            )
        return turn.safety

    def _ask(
        self,
        body: dict[str, object],
        screen: Screen,
        acknowledged: Sequence[SafetyCheck],
        *,
        record: Record,
        keep: KeepBlob,
        warnings: Sequence[str],
    ) -> Turn | Stopped:
        before, self.talk = self.talk, asked(self.talk)
        canvas = screen.canvas
        record(
            e.ModelRequested(
                provider=self.dialect.name,
                model=self.dialect.model,
                host=self._host,
                call=self.talk.calls,
                image_width=canvas.image_width,
                image_height=canvas.image_height,
                page_width=canvas.page_width,
                page_height=canvas.page_height,
                previous_response=before.response_id,
                answers=(before.call_id,) if before.call_id else (),
                acknowledged=tuple(check.check_id for check in acknowledged),
                page_instructions=tuple(warnings),
            )
        )
        request = ModelRequest(
            url=self._endpoint.url, headers=self.dialect.headers(str(self._endpoint.key[:])), body=body
        )
        return self._take(self._transport.send(request), screen, record=record, keep=keep)

    def _take(self, answer: ModelAnswer, screen: Screen, *, record: Record, keep: KeepBlob) -> Turn | Stopped:
        """Record what came of it, and judge it."""
        body = scrub(answer.body, (str(self._endpoint.key[:]),))
        fact = e.ModelResponded(
            provider=self.dialect.name,
            model=self.dialect.model,
            host=self._host,
            call=self.talk.calls,
            outcome="failed",
            status=answer.status,
            response=keep(body) if body else None,
            latency_us=answer.latency_us,
        )
        if not answer.ok:
            return self._failed(fact, answer, self.dialect.usage_of(body), record)
        understood = understand(self.dialect, body, screen.canvas, self.talk, self.limits)
        if isinstance(understood, Declined):
            return self._refused(fact, understood, record)
        turn, self.talk = understood
        fact = self._counted(fact, turn.usage)
        record(
            replace(
                fact,
                model=turn.model or fact.model,
                outcome="final" if turn.final else "actions",
                response_id=turn.response_id,
                call_ids=(turn.call_id,) if turn.call_id else (),
                actions=tuple(action.kind for action in turn.actions),
                said=turn.said,
                safety=tuple(str(check) for check in turn.safety),
            )
        )
        return turn

    def _counted(self, fact: e.ModelResponded, usage: Usage) -> e.ModelResponded:
        self.usage.append(usage)
        price = self._endpoint.price
        return replace(
            fact,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_micros=price.cost(usage) if price is not None else -1,
        )

    def _failed(self, fact: e.ModelResponded, answer: ModelAnswer, usage: Usage, record: Record) -> Stopped:
        reason = f"{answer.trouble}: {answer.reason}" if answer.trouble else f"HTTP {answer.status}"
        known = usage.input_tokens >= 0
        fact = replace(
            self._counted(fact, usage),
            outcome="timed_out" if answer.trouble == "timed_out" else "failed",
            reason=reason,
            possibly_billed=answer.possibly_billed and not known,
        )
        record(fact)
        billed = " (possibly billed)" if fact.possibly_billed else ""
        return Stopped(
            check=Check(
                guard="model",
                verdict="server_trouble",
                expected="an answer of the model",
                found=f"{reason}{billed}",
            )
        )

    def _refused(self, fact: e.ModelResponded, declined: Declined, record: Record) -> Stopped:
        reason = str(declined.refusal)
        record(
            replace(
                self._counted(fact, declined.usage),
                model=declined.model or fact.model,
                outcome="refused",
                response_id=declined.response_id,
                reason=reason,
            )
        )
        return Stopped(
            check=Check(
                guard="model",
                verdict="unreadable",
                expected=f"{declined.refusal.field}: {declined.refusal.rule}",
                found=declined.refusal.value,
            )
        )
