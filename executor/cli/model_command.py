"""``proofreel run --goal … --provider …``: a model drives one task, guarded and recorded like any other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from domain.errors import ConfigError
from domain.ids import PrincipalId, RunId, TaskId, TenantId
from domain.run import Limits
from domain.values import Intent, to_minor
from executor.filling import wrong_with_id
from executor.models.base import SafetyCheck
from executor.models.conversation import Acknowledge, Conversation
from executor.models.registry import PROVIDERS, Chosen, choose, price_of
from executor.models.transport import HttpTransport, RecordedTransport, RecordingTransport, Transport
from executor.orders import Batch, WorkOrder, derived_id
from executor.receivers.base import Expected
from executor.receivers.file import FileReceiver
from executor.runtime.batch import BatchResult, BatchRunner
from executor.runtime.goals import Goal, ReceiverGoal
from executor.runtime.kit import Kit
from executor.runtime.loop import Drive, ModelRunner
from executor.runtime.vision import FreshHands, first_path, goal_of
from executor.wiring import Workshop

F = TypeVar("F", bound=Callable[..., Any])
USUAL_DEADLINE_S = 120.0

_OPTIONS = (
    click.option("--goal", help="Let a model try to reach this; name the bill and the action beside it."),
    click.option("--provider", type=click.Choice(list(PROVIDERS)), help="Whose model drives."),
    click.option("--bill", help="The bill that the goal is about."),
    click.option("--action", "action", help="The business action that the goal asks for."),
    click.option("--occurrence", default="1", help="Names a legitimate repetition of the same effect."),
    click.option("--counterparty", help="From your own book; without it the readback source is asked."),
    click.option("--amount", help="From your own book, as 1434.74."),
    click.option("--currency", help="From your own book."),
    click.option("--month", help="From your own book, as 2026-11."),
    click.option("--start", help="Path to open first; the recipe's first one by default."),
    click.option(
        "--max-calls", type=click.IntRange(1, 200), default=4, show_default=True, help="Model requests."
    ),
    click.option(
        "--model-deadline",
        type=float,
        default=USUAL_DEADLINE_S,
        show_default=True,
        help="Seconds for an answer.",
    ),
    click.option("--price", help="For a million tokens in and out, as 3.00/15.00: the cost goes on record."),
    click.option("--as", "person", help="Who answers safety checks at this terminal, as person:li.na."),
    click.option(
        "--save-conversation",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Keep the answers in a file.",
    ),
    click.option(
        "--replay",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Answers out of such a file, no network.",
    ),
    click.option(
        "--receiver-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The receiver appends its records to this file (JSON lines or CSV).",
    ),
    click.option(
        "--expect", multiple=True, metavar="NAME=VALUE", help="A field of the record to arrive there."
    ),
)


def model_options(command: F) -> F:
    """The options of a run that a model drives."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsk:
    """The options, as click gives them."""

    goal: str | None
    provider: str | None
    bill: str | None
    action: str | None
    occurrence: str
    counterparty: str | None
    amount: str | None
    currency: str | None
    month: str | None
    start: str | None
    max_calls: int
    model_deadline: float
    price: str | None
    person: str | None
    save_conversation: Path | None
    replay: Path | None
    receiver_file: Path | None
    expect: tuple[str, ...]

    def check(self, batch_path: Path | None) -> bool:
        """True for a model's run, False for a batch; ``ConfigError`` for neither or both."""
        if (self.goal is None) == (batch_path is None):
            raise ConfigError("name either a BATCH file or a --goal", remedy="see 'proofreel run --help'")
        if self.goal is None:
            return False
        for name, value in (("--provider", self.provider), ("--bill", self.bill), ("--action", self.action)):
            if not value:
                raise ConfigError(
                    f"a --goal needs {name}", remedy="a model acts on one named bill, or not at all"
                )
        return True


def run_goal(workshop: Workshop, ask: ModelAsk, *, second_look: bool = True) -> BatchResult:
    """Drive one task by a model; what it says is recorded, what it does is guarded."""
    price = price_of(ask.price or "", "--price")
    chosen = choose(str(ask.provider), price=price, needs_key=ask.replay is None)
    transport = _transport(ask, chosen)
    try:
        return _run(workshop, ask, chosen, transport, second_look=second_look)
    finally:
        transport.close()


def _run(
    workshop: Workshop, ask: ModelAsk, chosen: Chosen, transport: Transport, *, second_look: bool
) -> BatchResult:
    kit = workshop.kit()
    order = _order(kit, ask)
    hands = FreshHands(workshop.vision_hands)
    drive = Drive(
        goal=str(ask.goal),
        start=ask.start or first_path(kit.recipe.actions[order.intent.action]),
        done=_goal(workshop, kit, order.intent, ask),
        longest_px=chosen.longest_px,
        acknowledge=_acknowledge(workshop, ask),
    )
    limits = replace(Limits(), max_calls=ask.max_calls)
    runner = ModelRunner(
        kit, hands, lambda: Conversation(chosen.dialect, transport, chosen.endpoint, limits), drive
    )
    kit = replace(kit, ladder=("computer_use",), runners={"computer_use": lambda: runner.run})
    name = order.reference
    batch = Batch(
        name=name, tenant=kit.tenant, run_id=RunId(derived_id("run", kit.tenant, name)), orders=(order,)
    )
    agent = f"{chosen.dialect.name} {chosen.dialect.model}"
    setting = lambda: workshop.setting(str(ask.goal), agent=agent)  # noqa: E731 - asked only when the run is new
    try:
        return BatchRunner(kit, batch, setting, hands=hands).run(second_look=second_look)
    finally:
        hands.close()


def _transport(ask: ModelAsk, chosen: Chosen) -> Transport:
    if ask.replay is not None:
        return RecordedTransport.open(ask.replay)
    http = HttpTransport(deadline_s=ask.model_deadline)
    if ask.save_conversation is None:
        return http
    return RecordingTransport(
        http, ask.save_conversation, provider=chosen.dialect.name, secrets=(chosen.endpoint.key,)
    )


def _order(kit: Kit, ask: ModelAsk) -> WorkOrder:
    """The intent: from the caller's own book when it is given, else as an independent source shows the bill."""
    rule = kit.rules.get(str(ask.action))
    if rule is None:
        raise ConfigError(
            f"there is no action {ask.action!r}", remedy=f"known actions: {', '.join(sorted(kit.rules))}"
        )
    bill = str(ask.bill)
    if unusable := wrong_with_id(bill):
        raise ConfigError(f"--bill {ascii(bill[:40])[1:-1]}: the id {unusable}", remedy="correct it")
    own = (ask.counterparty, ask.amount, ask.currency, ask.month)
    if any(own) and not all(own):
        raise ConfigError(
            "an intent of your own needs --counterparty, --amount, --currency and --month",
            remedy="give all four, or none",
        )
    if all(own):
        counterparty, currency, month = str(ask.counterparty), str(ask.currency), str(ask.month)
        try:
            amount_minor = to_minor(str(ask.amount), currency)
        except ValueError as error:
            raise ConfigError(f"--amount: {error}", remedy="write it as 1434.74") from None
    else:
        shown = kit.readbacks[0].read(bill)
        counterparty, currency, month = shown.counterparty, shown.currency, shown.month
        amount_minor = shown.amount_minor
    intent = Intent(
        bill_id=bill,
        action=rule.action,
        counterparty=counterparty,
        amount_minor=amount_minor,
        currency=currency,
        month=month,
        expected_status=rule.target_status,
        occurrence=ask.occurrence,
    )
    task = derived_id("goal", kit.tenant, str(ask.goal), bill, rule.action, ask.occurrence)
    return WorkOrder(
        task_id=TaskId(task),
        intent=intent,
        bill_tenant=TenantId(kit.tenant),
        reference=f"goal {task[:8]}: {ask.goal}"[:200],
    )


def _goal(workshop: Workshop, kit: Kit, intent: Intent, ask: ModelAsk) -> Goal:
    """Who is asked whether the goal is reached: a file, the target's receiver, or its first readback source."""
    if ask.receiver_file is not None:
        return ReceiverGoal(FileReceiver(ask.receiver_file), Expected(fields=_expected(ask)))
    writer = workshop.target.config.target.service.account
    return goal_of(kit, workshop.http_session(), intent, writer=writer)


def _expected(ask: ModelAsk) -> dict[str, str]:
    pairs = [item.partition("=") for item in ask.expect]
    if not pairs or not all(name and sign for name, sign, _ in pairs):
        raise ConfigError(
            "a --receiver-file needs --expect NAME=VALUE", remedy="name every field of the record to arrive"
        )
    return {name: value for name, _, value in pairs}


def _acknowledge(workshop: Workshop, ask: ModelAsk) -> Acknowledge | None:
    """A person at this terminal, asked about each safety check; nobody when none is named."""
    if ask.person is None:
        return None
    principal = PrincipalId(workshop.target.config.person(ask.person).principal)

    def asked(check: SafetyCheck) -> PrincipalId | None:
        if not sys.stdin.isatty():
            return None
        click.echo(f"the provider warns ({check.code or check.check_id}): {check.message}", err=True)
        return principal if click.confirm(f"{principal}: go on all the same?", err=True) else None

    return asked
