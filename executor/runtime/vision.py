"""The ``computer_use`` rung, put together: for each job a fresh page, one talk with the model, and who says it is done.

Rules: every job has a browser context with a log-in of its own and a conversation of its own (C7), so that nothing of
one bill is shown or told while another is worked on; the recipe says in words what is asked for and where it begins;
whether the effect is there is asked of the target's receiver, or else of the first readback source (C4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from domain.run import Limits
from domain.values import Intent
from executor.config import ModelSection
from executor.models.conversation import Conversation
from executor.models.registry import choose, price_of
from executor.models.transport import HttpTransport
from executor.readback import HttpSession
from executor.receivers.registry import RECEIVERS, Asked
from executor.recipe import ActionSection
from executor.runtime.goals import Goal, ReadbackGoal, ReceiverGoal
from executor.runtime.jobs import Ended, Job, Runner
from executor.runtime.kit import Kit
from executor.runtime.loop import Drive, ModelRunner
from executor.runtime.permits import sources_for
from executor.runtime.traces import TaskTraces
from executor.tools.computer_use import VisionHands


class FreshHands:
    """A fresh context with a log-in of its own, opened when the first action needs it."""

    def __init__(self, open_hands: Callable[[], VisionHands]) -> None:
        self._open = open_hands
        self._made: VisionHands | None = None

    def __call__(self) -> VisionHands:
        """The hands, logged in; the same ones until ``close``."""
        if self._made is None:
            hands = self._open()
            try:
                hands.log_in()
            except BaseException:
                hands.close()
                raise
            self._made = hands
        return self._made

    def close(self) -> None:
        """End the context."""
        made, self._made = self._made, None
        if made is not None:
            made.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionRung:
    """Opens a runner for one job at a time."""

    kit: Callable[[], Kit]
    hands: FreshHands
    talk: Callable[[], Conversation]
    done: Callable[[Intent], Goal]
    longest_px: int = 0

    def open(self) -> Runner:
        """A runner on a new page; ``WorldError`` when there is no page or no log-in to be had."""
        self.hands.close()
        self.hands()
        return self._run

    def _run(self, job: Job) -> Ended:
        drive = Drive(
            goal=goal_in_words(job.action, job.intent),
            start=first_path(job.action),
            done=self.done(job.intent),
            longest_px=self.longest_px,
        )
        traces = TaskTraces(self.kit(), self.hands, closes_early=True)
        try:
            with traces.of(job.stream):
                return ModelRunner(self.kit(), traces.hands, self.talk, drive).run(job)
        finally:
            self.hands.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the rung needs of the executor around it."""

    kit: Callable[[], Kit]
    open_hands: Callable[[], VisionHands]
    """A new page, not logged in yet."""
    session: HttpSession
    """Of the readback account."""
    writer: str
    """Account of the service."""


def vision_rung(section: ModelSection, around: Around, closing: contextlib.ExitStack) -> Callable[[], Runner]:
    """Opener of the rung's runners; what stays open is closed with ``closing``.

    Raises:
        ConfigError: the environment doesn't say which model, or has no key for it.
    """
    chosen = choose(section.provider, price=price_of(section.price, "tools.computer_use.price"))
    transport = HttpTransport(deadline_s=section.deadline_s)
    closing.callback(transport.close)
    hands = FreshHands(around.open_hands)
    closing.callback(hands.close)
    limits = replace(Limits(), max_calls=section.max_calls)
    rung = VisionRung(
        kit=around.kit,
        hands=hands,
        talk=lambda: Conversation(chosen.dialect, transport, chosen.endpoint, limits),
        done=lambda intent: goal_of(around.kit(), around.session, intent, writer=around.writer),
        longest_px=chosen.longest_px,
    )
    return rung.open


def goal_in_words(action: ActionSection, intent: Intent) -> str:
    """What the model is asked for; the action's own name where the recipe has no words."""
    words = action.vision.goal if action.vision is not None else ""
    if not words:
        return f"{intent.action.replace('_', ' ')} {intent.bill_id}"
    return words.format(bill_id=intent.bill_id, counterparty=intent.counterparty, month=intent.month)


def first_path(action: ActionSection) -> str:
    """Where a model begins: as the recipe says for it, else where the steps begin."""
    if action.vision is not None and action.vision.start:
        return action.vision.start
    return next((step.goto for step in action.steps if step.goto), "/")


def goal_of(kit: Kit, session: HttpSession, intent: Intent, *, writer: str) -> Goal:
    """Who is asked whether the effect is there.

    Args:
        kit: with the recipe and the readback sources.
        session: of the readback account.
        intent: what is to be done.
        writer: account under which the effect must arrive.
    """
    source = sources_for(kit, intent.action)[0]
    make = RECEIVERS.get(kit.recipe.name)
    if make is None:
        return ReadbackGoal(source, intent)
    receiver, expected = make(
        Asked(
            session=session,
            intent=intent,
            code=kit.recipe.actions[intent.action].code,
            writer=writer,
            known=source.read(intent.bill_id).extra,
        )
    )
    return ReceiverGoal(receiver, expected)
