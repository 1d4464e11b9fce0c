"""The only entry for a write (B1): from the router to the readback, for one order at a time.

route → open and claim → settle what a crash left open → (approval) → steps → readback → succeed or hand over. The
outcome is what independent sources say; screens and toasts are kept as evidence. Every path ends in a state that a
person can understand, and none of them repeats a write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from domain import commands as c
from domain import events as e
from domain.errors import ClaimTaken, WorldError
from domain.events.evidence import ReadbackPhase
from domain.events.recovery import Severity
from domain.idempotency import effect_key
from domain.ids import PrincipalId, RunId
from domain.policy import Decision, grade, route
from domain.task import TERMINAL, TaskState
from domain.values import BusinessState, Check, Intent
from executor.approvals import lapse_if_expired
from executor.findings import (
    PASS,
    in_words,
    is_unchanged,
    last_toast,
    last_word,
    refused_by_target,
    snapshot_check,
    steps_in_words,
    was_denied,
)
from executor.holds import hold_check
from executor.orders import WorkOrder
from executor.readback import Expectation, Missing, Readback, ReadbackFact, verify
from executor.recipe import ActionSection
from executor.runtime.climbing import NoRung, climb, usable_rungs
from executor.runtime.jobs import AUTH_VERDICTS, Ended, Job
from executor.runtime.kit import Hands, Kit
from executor.runtime.permits import permit, sources_for
from executor.runtime.streams import TaskStream
from executor.runtime.traces import TaskTraces
from executor.takeover import hand_over
from executor.tools.base import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one order."""

    task_id: str
    bill_id: str
    action: str
    status: str
    """Status of the task's state machine."""
    verdict: str
    reason: str
    blocks: int
    steps: int


class Orchestrator:
    """Runs orders; ``hands`` is opened only when a screen is needed."""

    def __init__(self, kit: Kit, *, run_id: RunId, hands: Callable[[], Hands]) -> None:
        self._kit = kit
        self._run_id = run_id
        self._traces = TaskTraces(kit, hands)

    def stream_of(self, order: WorkOrder) -> TaskStream:
        """The order's task stream, loaded."""
        kit = self._kit
        stream = TaskStream(
            kit.log,
            ids=kit.ids,
            clock=kit.clock,
            tenant=kit.tenant,
            task_id=order.task_id,
            run_id=self._run_id,
            principal=kit.identity.principal,
            correlation_id=f"bill:{order.intent.bill_id}",
        )
        stream.load()
        return stream

    def run(self, order: WorkOrder) -> Outcome:
        """Bring one order as far as it goes now; safe to call again at any time."""
        stream = self.stream_of(order)
        state = stream.state
        if state.status == "new" and not self._admit(stream, order):
            return self._outcome(stream, order)
        if stream.state.status in TERMINAL:
            return self._outcome(stream, order)
        if stream.state.effect_outstanding or stream.state.effect == "confirmed":
            self._settle(stream, "recovery")
            return self._outcome(stream, order)
        if stream.state.status == "awaiting_approval" and not self._answered(stream):
            return self._outcome(stream, order)
        if stream.state.status not in TERMINAL:
            with self._traces.of(stream):
                self._work(stream, order.intent)
        return self._outcome(stream, order)

    def look_at(self, order: WorkOrder) -> Outcome:
        """The order's outcome so far, without doing anything."""
        return self._outcome(self.stream_of(order), order)

    # -- before anything runs --------------------------------------------------------------------

    def _admit(self, stream: TaskStream, order: WorkOrder) -> bool:
        """Router, policy, claim; False when the task ended there."""
        kit, intent = self._kit, order.intent
        decision = route(kit.identity, kit.tenant, order.bill_tenant, intent)
        if decision.effect != "deny":
            decision = self._admitted(intent) or decision
        if decision.effect == "deny":
            refused = e.TaskRefused(
                intent=intent,
                rule=decision.rule,
                verdict=decision.verdict,
                reason=decision.reason,
                requested_by=kit.identity.principal,
                bill_tenant=order.bill_tenant,
            )
            stream.stage(c.Refuse(refused))
            self.seal(stream)
            return False
        key = effect_key(kit.tenant, intent)
        opened = e.TaskOpened(
            intent=intent, effect_key=key, requested_by=kit.identity.principal, reference=order.reference
        )
        stream.submit(c.Open(opened))
        return self._claim(stream)

    def _admitted(self, intent: Intent) -> Decision | None:
        """The policy's refusal, when no rung of the ladder may ever perform the action."""
        kit = self._kit
        if intent.action not in kit.rules:
            return grade(kit.policy, None, intent)
        decisions = [permit(kit, intent, rung) for rung in kit.ladder]
        if decisions and all(decision.effect == "deny" for decision in decisions):
            return decisions[0]
        rungs = usable_rungs(kit, intent)
        if rungs.usable:
            return None
        why = "; ".join(f"{rung}: {reason}" for rung, reason in rungs.left_out.items())
        return Decision(effect="deny", rule="write.no_rung", verdict="denied_by_policy", reason=why)

    def _claim(self, stream: TaskStream) -> bool:
        key = stream.state.effect_key
        assert key is not None, "an opened task has a key"  # noqa: S101 - invariant, stays on
        try:
            stream.submit(c.Claim(e.TaskClaimed(effect_key=key)), claim=key)
        except ClaimTaken as taken:
            denied = e.TaskClaimDenied(
                effect_key=key,
                holder_stream=taken.holder_stream,
                holder_principal=PrincipalId(taken.holder_principal),
                since_us=taken.since_us,
            )
            stream.stage(c.DenyClaim(denied))
            self.seal(stream)
            return False
        return True

    def _answered(self, stream: TaskStream) -> bool:
        """False while a person still has time to answer; an expired request ends the task."""
        if not lapse_if_expired(stream, now_us=self._kit.clock.now_us()):
            return False
        self._fail(
            stream, Check(guard="policy", verdict="approval_required", found="nobody answered in time")
        )
        return True

    # -- the work --------------------------------------------------------------------------------

    def _work(self, stream: TaskStream, intent: Intent) -> None:
        state = stream.state
        if state.status == "opened" and not self._claim(stream):
            return
        if state.request is None and state.status == "claimed" and was_denied(stream):
            self._fail(
                stream, Check(guard="policy", verdict="approval_required", found="a person refused it")
            )
            return
        action = self._kit.recipe.actions[intent.action]
        try:
            known = self._snapshot(intent).extra
        except Missing as error:
            self._fail(stream, Check(guard="intent", verdict="intent_mismatch", found=error.what))
            return
        except WorldError as error:
            self._fail(stream, Check(guard="tool", verdict="server_trouble", found=error.what))
            raise
        job = Job(
            stream=stream,
            intent=intent,
            action=action,
            key=effect_key(self._kit.tenant, intent),
            rule=self._kit.recipe.request_rule(known),
            irreversible=action.irreversible,
            gate=lambda proposed, look: self._gate(stream, intent, action, proposed, look),
        )
        try:
            ended = climb(self._kit, self._traces.hands, job)
        except NoRung as error:
            self._fail(stream, Check(guard="tool", verdict="server_trouble", found=error.what))
            raise error.cause from error
        self._conclude(stream, ended)

    def _gate(
        self,
        stream: TaskStream,
        intent: Intent,
        action: ActionSection,
        proposed: e.ActionProposed,
        look: Look | None,
    ) -> Check:
        """Right before the write: policy, approval, the state it starts from, and the way back (B10, B11)."""
        kit = self._kit
        decision = permit(kit, intent, proposed.rung)
        if decision.effect == "deny":
            return Check(
                guard="policy", verdict=decision.verdict, expected=decision.rule, found=decision.reason
            )
        if decision.effect == "ask" and not _is_approved(stream.state, proposed, kit.clock.now_us()):
            request = e.ApprovalRequested(
                approval_id=kit.ids.uuid(),
                action_id=proposed.action_id,
                digest=proposed.digest,
                frame=look.frame.sha256 if look else None,
                rule=decision.rule,
                reason=decision.reason,
                requested_by=kit.identity.principal,
                expires_at_us=kit.clock.now_us() + kit.policy.approval_valid_s * 1_000_000,
                approvers_needed=decision.approvers,
            )
            frames = (kit.keep(look.frame, "planned"),) if look else ()
            stream.submit(c.RequestApproval(request), frames=frames)
            return Check(guard="policy", verdict="approval_required", found=decision.reason)
        snapshot = self._snapshot(intent)
        for word in (
            snapshot_check(snapshot, intent, starts_from=action.precondition),
            hold_check(snapshot),
        ):
            if word.verdict != "pass":
                return word
        registered = e.CompensationRegistered(
            action=action.compensation,
            snapshot=snapshot,
            source=sources_for(kit, intent.action)[0].source,
            residual_effects=tuple(action.residual_effects),
        )
        stream.stage(c.RegisterCompensation(registered))
        return PASS

    def _snapshot(self, intent: Intent) -> BusinessState:
        """The bill as the first configured source shows it."""
        return sources_for(self._kit, intent.action)[0].read(intent.bill_id)

    def _conclude(self, stream: TaskStream, ended: Ended) -> None:
        match ended.how:
            case "done":
                refused = refused_by_target(ended)
                self._settle(stream, "first", refused=refused)
            case "unknown":
                self._settle(stream, "first")
            case "waiting":
                stream.flush()
            case "stopped":
                self._stopped(stream, ended.check)

    def _stopped(self, stream: TaskStream, check: Check) -> None:
        if check.verdict in AUTH_VERDICTS or check.verdict in {"already_in_progress", "denied_by_policy"}:
            self._fail(stream, check)
            return
        if check.guard == "budget":
            history = steps_in_words(stream.history())
            check = replace(check, found=f"{check.found}; last steps: {history or 'none'}")
        severity: Severity = "medium" if check.verdict == "page_changed" else "high"
        self._hand_over(stream, check, severity)

    # -- what counts as success ------------------------------------------------------------------

    def _settle(self, stream: TaskStream, phase: ReadbackPhase, *, refused: Check | None = None) -> None:
        """Read back every configured source and end the task by what they say (B6, B7)."""
        state = stream.state
        if phase == "recovery" and state.open_attempt is not None:
            reason = "the executor stopped between the attempt and its outcome"
            unknown = e.ActionOutcomeUnknown(action_id=state.open_attempt.action_id, reason=reason)
            stream.submit(c.Report(unknown))
        facts = self.read_back(stream, phase, deadline_s=0.0 if refused else self._kit.readback_deadline_s)
        if all(isinstance(fact, e.ReadbackConfirmed) for fact in facts):
            sources = ",".join(fact.source for fact in facts)
            stream.submit(c.Succeed(e.TaskSucceeded(source=sources)))
            return
        wrong = next(fact for fact in facts if not isinstance(fact, e.ReadbackConfirmed))
        if refused is not None and is_unchanged(state, facts):
            self._fail(stream, refused)
            return
        words = in_words(wrong)
        toast = last_toast(stream)
        said = f"; the screen said {toast!r}" if toast else ""
        self._hand_over(stream, Check(guard="effect", verdict="noop", found=f"{words}{said}"), "high")

    def read_back(self, stream: TaskStream, phase: ReadbackPhase, *, deadline_s: float) -> list[ReadbackFact]:
        """Ask all sources and stage what they say."""
        expected = self.expectation(stream.state)
        sources = list(self._sources(stream.state))
        if phase == "later":
            asked = {source.source for source in sources}
            sources += [source for source in self._kit.later_readbacks if source.source not in asked]
        facts = verify(sources, expected, phase=phase, deadline_s=deadline_s)
        order = sorted(facts, key=lambda fact: not isinstance(fact, e.ReadbackConfirmed))
        for fact in order:  # the strongest doubt last, so that it is what the state remembers
            stream.stage(c.ReadBack(fact))
        stream.flush()
        return facts

    def _sources(self, state: TaskState) -> Sequence[Readback]:
        return sources_for(self._kit, state.intent.action if state.intent else "")

    def expectation(self, state: TaskState) -> Expectation:
        """What the business must look like after the task's write."""
        intent, kit = state.intent, self._kit
        assert intent is not None, "an opened task has an intent"  # noqa: S101 - invariant, stays on
        before = state.compensation.snapshot if state.compensation else None
        action = kit.recipe.actions[intent.action]
        return Expectation(
            intent=intent,
            status=intent.expected_status,
            before=before,
            new_ledger_lines=action.new_ledger_lines,
            exact=kit.recipe.exact_values(intent, before.extra if before else {}),
        )

    def second_look(self, order: WorkOrder) -> Outcome:
        """Read a succeeded task back once more; reversed or doubled effects reopen it (X9). Seals what has ended.

        Success stays provisional, and unsealed, until every source could be read and agrees.
        """
        stream = self.stream_of(order)
        if stream.state.status == "succeeded" and not stream.state.sealed:
            facts = self.read_back(stream, "later", deadline_s=0.0)
            wrong = [fact for fact in facts if isinstance(fact, e.ReadbackMismatched)]
            if wrong:
                words = in_words(wrong[0])
                stream.stage(c.Reopen(e.TaskReopened(reason=words)))
                self._hand_over(stream, Check(guard="effect", verdict="noop", found=words), "critical")
            elif any(isinstance(fact, e.ReadbackInconclusive) for fact in facts):
                return self._outcome(stream, order)
        if stream.state.status in TERMINAL and not stream.state.sealed:
            self.seal(stream)
        return self._outcome(stream, order)

    # -- endings ---------------------------------------------------------------------------------

    def _fail(self, stream: TaskStream, check: Check) -> None:
        """End without an effect outstanding; session and rights trouble alerts at once (B9)."""
        reason = check.found or check.verdict
        if check.verdict in AUTH_VERDICTS:
            alert = self._kit.notifier.alert(
                check.verdict, "high", reason, task=stream.task_id, tenant=stream.tenant
            )
            stream.stage(c.RaiseAlert(alert))
        stream.stage(c.Fail(e.TaskFailed(verdict=check.verdict, reason=reason)))
        self.seal(stream)

    def _hand_over(self, stream: TaskStream, check: Check, severity: Severity) -> None:
        reason = check.found or check.verdict
        if check.expected:
            reason = f"expected {check.expected}, found {check.found}"
        hand_over(
            stream,
            self._kit.notifier,
            verdict=check.verdict,
            reason=reason,
            severity=severity,
            now_us=self._kit.clock.now_us(),
        )

    def seal(self, stream: TaskStream) -> None:
        """Close the stream with its count; what a page showed comes before that."""
        self._traces.settle(stream)
        stream.stage(c.Seal(by=self._kit.identity.principal))
        stream.flush()

    def _outcome(self, stream: TaskStream, order: WorkOrder) -> Outcome:
        verdict, reason = last_word(stream)
        return Outcome(
            task_id=order.task_id,
            bill_id=order.intent.bill_id,
            action=order.intent.action,
            status=stream.state.status,
            verdict=verdict,
            reason=reason,
            blocks=stream.state.blocks,
            steps=stream.state.steps,
        )


def _is_approved(state: TaskState, proposed: e.ActionProposed, now_us: int) -> bool:
    """True if a person allowed exactly this action and their word still holds."""
    request = state.request
    return request is not None and state.approved_digest == proposed.digest and now_us < request.expires_at_us
