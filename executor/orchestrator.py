"""The only entry for a write (B1): from the router to the readback, for one order at a time.

route → open and claim → settle what a crash left open → (approval) → steps → readback → succeed or hand over. The
outcome is what independent sources say; screens and toasts are kept as evidence. Every path ends in a state that a
person can understand, and none of them repeats a write. A world that is gone before anything was attempted ends no
task: the claim is given back, and the same order may be run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from domain import commands as c
from domain import events as e
from domain.errors import WorldError
from domain.events.recovery import Severity
from domain.idempotency import effect_key
from domain.ids import RunId
from domain.task import TERMINAL, TaskState
from domain.values import BusinessState, Check, Intent
from executor.approvals import lapse_if_expired
from executor.findings import PASS, last_word, refused_by_target, snapshot_check, steps_in_words, was_denied
from executor.holds import hold_check
from executor.orders import WorkOrder
from executor.readback import Missing
from executor.recipe import ActionSection
from executor.runtime.admission import Admission
from executor.runtime.climbing import NoRung, climb
from executor.runtime.endings import Endings
from executor.runtime.jobs import AUTH_VERDICTS, Ended, Job
from executor.runtime.kit import Hands, Kit
from executor.runtime.permits import permit, sources_for
from executor.runtime.settling import Settling
from executor.runtime.streams import TaskStream
from executor.runtime.traces import TaskTraces
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
        self._endings = Endings(kit, before_seal=self._traces.settle)
        self._admission = Admission(kit, self._endings)
        self._settling = Settling(kit, self._endings)

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
        """Bring one order as far as it goes now; safe to call again at any time.

        Raises:
            WorldError: the world is gone. Unless the task says otherwise nothing was attempted.
        """
        stream = self.stream_of(order)
        if stream.state.status == "new" and not self._admission.admit(stream, order):
            return self._outcome(stream, order)
        if stream.state.status in TERMINAL:
            return self._outcome(stream, order)
        if stream.state.effect_outstanding or stream.state.effect == "confirmed":
            self._settling.settle(stream, "recovery")
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

    def second_look(self, order: WorkOrder) -> Outcome:
        """Read a succeeded task back once more, and seal what has ended (X9)."""
        stream = self.stream_of(order)
        self._settling.look_again(stream)
        return self._outcome(stream, order)

    # -- the work --------------------------------------------------------------------------------

    def _answered(self, stream: TaskStream) -> bool:
        """False while a person still has time to answer; an expired request ends the task."""
        if not lapse_if_expired(stream, now_us=self._kit.clock.now_us()):
            return False
        check = Check(guard="policy", verdict="approval_required", found="nobody answered in time")
        self._endings.fail(stream, check)
        return True

    def _work(self, stream: TaskStream, intent: Intent) -> None:
        state = stream.state
        if state.status == "opened" and not self._admission.claim(stream):
            return
        if state.request is None and stream.state.status == "claimed" and was_denied(stream):
            check = Check(guard="policy", verdict="approval_required", found="a person refused it")
            self._endings.fail(stream, check)
            return
        try:
            ended = self._perform(stream, intent)
        except Missing as error:
            self._endings.fail(stream, Check(guard="intent", verdict="intent_mismatch", found=error.what))
            return
        except NoRung as error:
            self._endings.put_off(stream, error.what)
            raise error.cause from error
        except WorldError as error:
            self._endings.put_off(stream, error.what)
            raise
        self._conclude(stream, ended)

    def _perform(self, stream: TaskStream, intent: Intent) -> Ended:
        """Do the action on the best rung that isn't lost."""
        action = self._kit.recipe.actions[intent.action]
        job = Job(
            stream=stream,
            intent=intent,
            action=action,
            key=effect_key(self._kit.tenant, intent),
            rule=self._kit.recipe.request_rule(self._snapshot(intent).extra),
            irreversible=action.irreversible,
            gate=lambda proposed, look: self._gate(stream, intent, action, proposed, look),
        )
        return climb(self._kit, self._traces.hands, job)

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

    # -- what came of it -------------------------------------------------------------------------

    def _conclude(self, stream: TaskStream, ended: Ended) -> None:
        match ended.how:
            case "done":
                self._settling.settle(stream, "first", refused=refused_by_target(ended))
            case "unknown":
                self._settling.settle(stream, "first")
            case "waiting":
                stream.flush()
            case "stopped":
                self._stopped(stream, ended.check)

    def _stopped(self, stream: TaskStream, check: Check) -> None:
        if check.verdict in AUTH_VERDICTS or check.verdict in {"already_in_progress", "denied_by_policy"}:
            self._endings.fail(stream, check)
            return
        if check.guard == "budget":
            history = steps_in_words(stream.history())
            check = replace(check, found=f"{check.found}; last steps: {history or 'none'}")
        severity: Severity = "medium" if check.verdict == "page_changed" else "high"
        self._endings.hand_over(stream, check, severity)

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
