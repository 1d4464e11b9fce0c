"""One recipe, step by step: observe → propose → guards → (approval) → attempt → gate and act → observe.

Rules: a blocked step is never repeated by itself, it starts again from a new observation; the attempt is durable before
the world is touched; session and rights trouble ends at once, without a retry (B9); a page that can't be worked on goes
to a person, never to a guess (B2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from domain import commands as c
from domain import events as e
from domain.budgets import Spent, exceeded, spend
from domain.events.action import Phase
from domain.idempotency import action_digest
from domain.ids import ActionId
from domain.values import Check, FrameRef, Intent
from executor.filling import in_path
from executor.guards import texts
from executor.recipe import PagesSection, StepSection
from executor.runtime.jobs import FATAL, Ended, Job, outcome_of
from executor.runtime.kit import AsksNatively, Hands, Kit
from executor.runtime.streams import TaskStream
from executor.tools.base import POINTER_KINDS, FieldMap, Look, Performed, Step, Target

MAX_TRIES = 3
"""Fresh starts of one step after a block; then a person looks at it."""
MAX_PLANS = 2
"""A confirmation dialog that is gone can't be pressed again: the recipe starts over once."""


class StepRunner:
    """Runs the steps of one job through one pair of hands."""

    def __init__(self, kit: Kit, hands: Hands) -> None:
        self._kit = kit
        self._hands = hands
        self._look: Look | None = None
        self._spent = Spent()
        self._number = 0
        self._began_us = 0

    def run(self, job: Job) -> Ended:
        """Perform all steps in order; what stops them for no final reason is planned again once, from the start."""
        self._spent = Spent()
        self._began_us = self._kit.clock.now_us()
        self._close_left_open(job.stream)
        for _ in range(MAX_PLANS):
            ended = self._plan(job)
            final = ended.check.verdict in FATAL or ended.check.guard == "budget"
            if ended.how != "stopped" or final or job.stream.state.effect != "none":
                break
        job.stream.flush()
        return ended

    def _close_left_open(self, stream: TaskStream) -> None:
        """A step without an effect that a stop left open can't be settled by readback: it is planned again."""
        left = stream.state.open_attempt
        if left is not None and not left.writes:
            reason = "the executor stopped between the attempt and its outcome"
            stream.submit(c.Report(e.ActionOutcomeUnknown(action_id=left.action_id, reason=reason)))

    def _plan(self, job: Job) -> Ended:
        self._look = None
        ended = Ended(how="done")
        for section in job.action.steps:
            if section.goto:
                self._hands.goto(self._kit.origin + in_path(section.goto, bill_id=job.intent.bill_id))
                self._look = None
                continue
            ended = self._step(job, section)
            if ended.how != "done":
                break
        return ended

    def _step(self, job: Job, section: StepSection) -> Ended:
        step = self._kit.recipe.step(
            section, job.intent, language=self._kit.language, irreversible=job.irreversible
        )
        fields = self._kit.recipe.field_map(section)
        blocked = Check(guard="steps", verdict="pass")
        tries = turned = 0
        while tries < MAX_TRIES:
            if section.native_confirm:
                unasked = self._ask_natively(job, section, step, fields)
                if unasked is not None:
                    return unasked
            elapsed_us = self._kit.clock.now_us() - self._began_us
            over = exceeded(self._kit.budget, replace(self._spent, elapsed_us=elapsed_us))
            if over is not None:
                return Ended(how="stopped", check=over)
            ended = self._try(job, section, step, fields)
            if _is_missing(ended) and section.pages is not None and turned < section.pages.most:
                turn = self._turn(job, section.pages)
                if turn is not None and turn.how != "done":
                    return turn
                if turn is not None:
                    turned += 1
                    continue
            if ended.how != "stopped" or ended.check.verdict in FATAL:
                return ended
            blocked, self._look = _with_pages(ended.check, turned), None
            tries += 1
        return Ended(how="stopped", check=blocked)

    def _turn(self, job: Job, pages: PagesSection) -> Ended | None:
        """Turn to the list's next page, as a step like any other; None on the last one."""
        section = StepSection(do="click", selectors=pages.selectors, label=pages.label, bind=False)
        step = self._kit.recipe.step(section, job.intent, language=self._kit.language, irreversible=False)
        if self._hands.locate(step, self._kit.recipe.field_map(section)) is None:
            return None
        return self._step(job, section)

    def _ask_natively(self, job: Job, section: StepSection, step: Step, fields: FieldMap) -> Ended | None:
        """Let the browser ask its question, with nothing allowed to leave; None once it may be answered with yes.

        The question was dismissed and is on record; the step is planned again from a fresh observation.
        """
        if isinstance(self._hands, AsksNatively):
            self._hands.expect_native("", "")
        asking = replace(step, writes=False, irreversible=False, needs_confirm=False, destructive=True)
        ended = self._try(job, section, asking, fields)
        if ended.performed is None or ended.performed.status not in {"executed", "failed"}:
            return ended
        questions = [dialog for dialog in ended.performed.dialogs if dialog.kind == "confirm"]
        self._look = None
        about_it = len(questions) == 1 and texts.holds(questions[0].message, job.intent.bill_id)
        if about_it and isinstance(self._hands, AsksNatively):
            self._hands.expect_native(questions[0].message, step.label)
            return None
        check = Check(
            guard="confirm",
            verdict="needs_confirm_screen",
            expected=f"one question of the browser about {job.intent.bill_id}",
            found="; ".join(dialog.message for dialog in ended.performed.dialogs) or "none was asked",
        )
        return Ended(how="stopped", check=check, performed=ended.performed)

    def _try(self, job: Job, section: StepSection, step: Step, fields: FieldMap) -> Ended:
        stream = job.stream
        look = self._look or self._observe(stream)
        if look.signals:
            trouble = self._hands.trouble(look)
            if trouble.verdict != "pass":
                return Ended(how="stopped", check=trouble)
        target = self._hands.locate(step, fields)
        if target is None:
            return self._lost(step, look)
        proposed = self._propose(job, step, target, look)
        intent = job.intent if section.bind else None
        checks, fresh = self._hands.judge(
            step, target, look, intent=intent, fields=fields, known=job.rule.known
        )
        if step.writes:
            checks = (*checks, *job.remarks)
        same = fresh.sha256 == look.frame.sha256  # kept when it was observed
        before = fresh.ref("before") if same else self._kit.keep(fresh, "before")
        stopper = self._judge(stream, proposed, "before", checks, shown=before)
        if stopper is None and step.writes:
            word = job.gate(proposed, look)
            if word.verdict == "approval_required":
                return Ended(how="waiting", check=word)
            if word.verdict != "pass":
                stopper = word
        if stopper is not None:
            self._block(stream, proposed, stopper, delivered=0)
            return Ended(how="stopped", check=stopper)
        return self._act(job, step, target, proposed, look, before, intent)

    def _act(
        self,
        job: Job,
        step: Step,
        target: Target,
        proposed: e.ActionProposed,
        look: Look,
        before: FrameRef,
        intent: Intent | None,
    ) -> Ended:
        stream, kit = job.stream, self._kit
        attempted = e.ActionAttempted(
            action_id=proposed.action_id, writes=step.writes, effect_key=job.key if step.writes else None
        )
        stream.submit(c.Attempt(attempted, at_us=kit.clock.now_us()), frames=(before,))
        performed = self._hands.perform(step, target, rule=job.rule if step.writes else None, intent=intent)
        after = self._hands.look()
        self._report(stream, proposed, performed, kit.keep(after.frame, "after"))
        effect = self._hands.effect(look, after)
        findings = (performed.check, effect) if performed.check is not None else (effect,)
        if performed.status == "executed":
            self._judge(stream, proposed, "after", findings)
        stream.stage(c.Observe(self._observation(after)), frames=(after.frame.ref("observed"),))
        self._look = after
        done = performed.status == "executed" and (effect.verdict == "pass" or step.kind not in POINTER_KINDS)
        self._spent = spend(
            self._spent,
            state=f"{after.document_sha256} {step.kind} {proposed.target} {step.text}",
            succeeded=done,
        )
        match performed.status:
            case "executed":
                if effect.verdict == "noop" and step.kind in POINTER_KINDS and not step.writes:
                    return Ended(how="stopped", check=effect, performed=performed)
                return Ended(how="done", performed=performed)
            case "blocked" | "failed":
                check = performed.check or Check(guard="tool", verdict="page_changed", found=performed.reason)
                return Ended(how="stopped", check=check, performed=performed)
            case "unknown":
                how: Literal["unknown", "stopped"] = "unknown" if step.writes else "stopped"
                check = Check(guard="tool", verdict="server_trouble", found=performed.reason)
                return Ended(how=how, check=check, performed=performed)
            case _:
                assert_never(performed.status)

    def _observe(self, stream: TaskStream) -> Look:
        look = self._hands.look()
        stream.stage(c.Observe(self._observation(look)), frames=(self._kit.keep(look.frame, "observed"),))
        self._look = look
        return look

    def _observation(self, look: Look) -> e.ObservationRecorded:
        self._number += 1
        return e.ObservationRecorded(
            url=look.url,
            title=look.title,
            structure_sha256=look.structure_sha256,
            document_sha256=look.document_sha256,
            account=look.account,
            step=self._number,
            latency_us=look.latency_us,
            signals=look.signals,
        )

    def _lost(self, step: Step, look: Look) -> Ended:
        """The target isn't there: is it the session, the rights, the server, or another page?"""
        trouble = self._hands.trouble(look, missing=True)
        if trouble.verdict not in {"pass", "page_changed"}:
            return Ended(how="stopped", check=trouble)
        check = Check(
            guard="target",
            verdict="page_changed",
            expected=f"{step.label or step.kind} at {' or '.join(step.selectors)}",
            found=f"nothing of that sort on {look.title or look.url}",
        )
        return Ended(how="stopped", check=check)

    def _propose(self, job: Job, step: Step, target: Target, look: Look) -> e.ActionProposed:
        proposed = e.ActionProposed(
            action_id=ActionId(self._kit.ids.uuid()),
            kind={"fill": "type"}.get(step.kind, step.kind),
            rung="browser",
            label=step.label,
            target=target.selector or step.selectors[0],
            writes=step.writes,
            irreversible=step.irreversible,
            digest=action_digest(job.key, job.intent, kind=step.kind, label=step.label),
            planned_on=look.frame.sha256,
            point=target.point,
            box=target.box,
            row=target.row,
            fingerprint=target.fingerprint,
            text="" if step.secret else step.text,
            url=look.url,
            business_action=step.business_action,
        )
        job.stream.stage(c.Propose(proposed))
        return proposed

    def _judge(
        self,
        stream: TaskStream,
        proposed: e.ActionProposed,
        phase: Phase,
        checks: Sequence[Check],
        *,
        shown: FrameRef | None = None,
    ) -> Check | None:
        """Record the findings; returns the first decisive one that stops the action.

        ``shown`` is the screen they are about; it is kept with them where no attempt follows that would keep it.
        """
        stopper = next((check for check in checks if check.decisive and check.verdict != "pass"), None)
        judged = e.GuardJudged(
            action_id=proposed.action_id,
            phase=phase,
            verdict=stopper.verdict if stopper else "pass",
            enforced=True,
            checks=tuple(checks),
        )
        stream.stage(c.Judge(judged), frames=(shown,) if shown is not None and stopper is not None else ())
        return stopper

    def _block(self, stream: TaskStream, proposed: e.ActionProposed, check: Check, *, delivered: int) -> None:
        blocked = e.ActionBlocked(
            action_id=proposed.action_id,
            guard=check.guard,
            verdict=check.verdict,
            expected=check.expected,
            found=check.found,
            delivered_events=delivered,
        )
        stream.submit(c.Report(blocked))

    def _report(
        self,
        stream: TaskStream,
        proposed: e.ActionProposed,
        performed: Performed,
        after: FrameRef,
    ) -> None:
        fact = outcome_of(proposed.action_id, performed)
        stream.submit(c.Report(fact), frames=(after,))


def _is_missing(ended: Ended) -> bool:
    """True where the step's target was not found on a page that is otherwise in order."""
    return (
        ended.how == "stopped"
        and ended.performed is None
        and ended.check.guard == "target"
        and ended.check.verdict == "page_changed"
    )


def _with_pages(check: Check, turned: int) -> Check:
    return replace(check, found=f"{check.found}, {turned + 1} pages of it") if turned else check
