"""Recording somebody else's loop: observe, say what the guards would have said, stop nothing (G9).

The loop drives a ``GuardedPage``; each of its steps arrives here as a ``StepReport`` and becomes the same events that
a guarded run has; ``enforced`` says whether the guard could stop it. The loop's own word "done" is kept as its claim
(``task.declared_done``). A report is written after its step, so a crash of the loop may lose the last one: that is why
record-only is for learning, and guarded for writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from domain import commands as c
from domain import events as e
from domain.idempotency import action_digest, effect_key
from domain.ids import ActionId, EffectKey, PrincipalId, RunId, Sha256, TaskId, TenantId
from domain.ports import BlobStore, Clock, EventLog, IdSource
from domain.values import Check, FrameRef, FrameRole, Intent, Verdict
from executor.runtime.batch import Setting
from executor.runtime.jobs import outcome_of
from executor.runtime.streams import RunStream, TaskStream
from executor.runtime.traces import attached
from executor.tools.base import Frame, Look, StepReport
from executor.traces.scrub import Scrubbed


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Where a watched run goes, and as whom it is kept."""

    log: EventLog
    blobs: BlobStore
    ids: IdSource
    clock: Clock
    tenant: TenantId
    principal: PrincipalId
    origin: str


class Watch:
    """One watched run; give ``sink`` to ``guarded_page`` and name the work with ``task``."""

    def __init__(self, to: Recording, setting: Setting, *, run_id: RunId | None = None) -> None:
        self._to = to
        self._setting = setting
        self.run_id = run_id or RunId(to.ids.uuid())
        self._run = RunStream(
            to.log, ids=to.ids, clock=to.clock, tenant=to.tenant, run_id=self.run_id, principal=to.principal
        )
        self._stream: TaskStream | None = None
        self._intent: Intent | None = None
        self._claims: dict[EffectKey, TaskId] = {}
        self._outcomes: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._steps = 0
        self._steps_ok = 0

    def start(self, *, tasks_planned: int) -> None:
        """Record that the loop began."""
        setting = self._setting
        self._run.append(
            e.RunStarted(
                mode="record_only",
                agent=setting.agent,
                goal=setting.goal,
                origin=self._to.origin,
                browser=setting.browser,
                viewport_width=setting.viewport_width,
                viewport_height=setting.viewport_height,
                config_sha256=setting.config_sha256,
                tasks_planned=tasks_planned,
            )
        )

    def finish(self) -> None:
        """Record that the loop ended, with its counts."""
        self._run.append(
            e.RunFinished(
                outcomes=dict(self._outcomes),
                verdicts=dict(self._verdicts),
                steps=self._steps,
                steps_ok=self._steps_ok,
            )
        )

    @contextmanager
    def task(self, intent: Intent, *, reference: str, task_id: TaskId | None = None) -> Iterator[TaskId]:
        """Steps made inside belong to this task; what the loop says at its end is ``declare_done``."""
        to = self._to
        name = task_id or TaskId(to.ids.uuid())
        stream = TaskStream(
            to.log,
            ids=to.ids,
            clock=to.clock,
            tenant=to.tenant,
            task_id=name,
            run_id=self.run_id,
            principal=to.principal,
            correlation_id=f"bill:{intent.bill_id}",
        )
        key = effect_key(to.tenant, intent)
        stream.submit(
            c.Open(
                e.TaskOpened(
                    intent=intent,
                    effect_key=key,
                    requested_by=to.principal,
                    mode="record_only",
                    reference=reference,
                )
            )
        )
        self._stream, self._intent = stream, intent
        try:
            yield name
        finally:
            stream.flush()
            self._outcomes[stream.state.status] += 1
            self._stream = self._intent = None

    def declare_done(self, claim: str) -> None:
        """Keep the loop's own word about the current task."""
        stream = self._current()
        stream.stage(c.DeclareDone(e.TaskDeclaredDone(claim=claim)))
        stream.stage(c.Seal(by=self._to.principal))
        stream.flush()

    def attach(self, trace: Scrubbed) -> None:
        """Keep the browser's trace of the current task."""
        self._current().submit(c.Attach(attached(trace, self._to.blobs)))

    def sink(self, report: StepReport) -> None:
        """Record one step of the loop; steps outside a task (log-in) are not kept."""
        if self._stream is None or self._intent is None:
            return
        stream, intent = self._stream, self._intent
        writes = any(not request.startswith(("GET ", "HEAD ")) for request in report.performed.requests)
        before, after = self._keep(report.before.frame, "before"), self._keep(report.after.frame, "after")
        self._steps += 1
        stream.stage(
            c.Observe(self._seen(report.before)), frames=(self._keep(report.before.frame, "observed"),)
        )
        action_id = ActionId(self._to.ids.uuid())
        stream.stage(c.Propose(self._proposed(report, action_id, intent, writes=writes)))
        checks = (*report.checks, *self._duplicate(stream, intent, writes=writes))
        if report.performed.check is not None:
            checks = (*checks, report.performed.check)
        self._judge(stream, action_id, "before", checks, enforced=report.enforced)
        key = stream.state.effect_key if writes else None
        stream.stage(
            c.Attempt(
                e.ActionAttempted(action_id=action_id, writes=writes, effect_key=key),
                at_us=self._to.clock.now_us(),
            ),
            frames=(before,),
        )
        stream.stage(c.Report(self._outcome(report, action_id)), frames=(after,))
        self._judge(stream, action_id, "after", (report.effect,), enforced=report.enforced)
        stream.stage(
            c.Observe(self._seen(report.after)), frames=(self._keep(report.after.frame, "observed"),)
        )
        stream.flush()
        self._steps_ok += report.performed.status == "executed"

    def _current(self) -> TaskStream:
        if self._stream is None:
            message = "no task is open: use 'with watch.task(...)'"
            raise RuntimeError(message)
        return self._stream

    def _keep(self, frame: Frame, role: FrameRole) -> FrameRef:
        self._to.blobs.put(frame.data, media_type=frame.media_type)
        return frame.ref(role)

    def _seen(self, look: Look) -> e.ObservationRecorded:
        return e.ObservationRecorded(
            url=look.url,
            title=look.title,
            structure_sha256=look.structure_sha256,
            document_sha256=look.document_sha256,
            account=look.account,
            step=self._steps,
            latency_us=look.latency_us,
            signals=look.signals,
        )

    def _proposed(
        self, report: StepReport, action_id: ActionId, intent: Intent, *, writes: bool
    ) -> e.ActionProposed:
        step, target = report.step, report.target
        label = step.label or (target.label if target else "")
        return e.ActionProposed(
            action_id=action_id,
            kind={"fill": "type"}.get(step.kind, step.kind),
            rung="browser",
            label=label,
            target=(target.selector if target else "") or " or ".join(step.selectors),
            writes=writes,
            irreversible=step.irreversible,
            digest=action_digest(effect_key(self._to.tenant, intent), intent, kind=step.kind, label=label),
            planned_on=Sha256(report.before.frame.sha256),
            point=target.point if target else None,
            box=target.box if target else None,
            row=target.row if target else None,
            fingerprint=target.fingerprint if target else "",
            text="" if step.secret else step.text,
            url=report.before.url,
            business_action=intent.action if writes else "",
        )

    def _duplicate(self, stream: TaskStream, intent: Intent, *, writes: bool) -> tuple[Check, ...]:
        """What the claim would have said: this run's other tasks and the record's open claims."""
        if not writes:
            return ()
        key = effect_key(self._to.tenant, intent)
        holder = self._claims.setdefault(key, stream.task_id)
        claim = self._to.log.claim_of(self._to.tenant, key)
        held_by = str(claim.stream) if claim else f"task:{holder}"
        if held_by == f"task:{stream.task_id}":
            return (Check(guard="duplicate", verdict="pass"),)
        return (
            Check(
                guard="duplicate",
                verdict="already_in_progress",
                expected=f"no other task for {key}",
                found=f"{held_by} has it",
            ),
        )

    def _judge(
        self,
        stream: TaskStream,
        action_id: ActionId,
        phase: e.action.Phase,
        checks: tuple[Check, ...],
        *,
        enforced: bool,
    ) -> None:
        stopper = next((check for check in checks if check.decisive and check.verdict != "pass"), None)
        verdict: Verdict = stopper.verdict if stopper else "pass"
        if phase == "before":
            self._verdicts[verdict] += 1
        judged = e.GuardJudged(
            action_id=action_id, phase=phase, verdict=verdict, enforced=enforced, checks=checks
        )
        stream.stage(c.Judge(judged))

    def _outcome(
        self, report: StepReport, action_id: ActionId
    ) -> e.ActionExecuted | e.ActionBlocked | e.ActionFailed | e.ActionOutcomeUnknown:
        performed = report.performed
        if report.enforced and performed.status == "blocked":
            return outcome_of(action_id, performed)
        match performed.status:
            case "executed":
                return e.ActionExecuted(
                    action_id=action_id,
                    latency_us=performed.latency_us,
                    requests=performed.requests,
                    toast=performed.toast,
                )
            case "unknown":
                return e.ActionOutcomeUnknown(action_id=action_id, reason=performed.reason)
            case "blocked" | "failed":
                verdict: Verdict = performed.check.verdict if performed.check else "page_changed"
                return e.ActionFailed(action_id=action_id, verdict=verdict, reason=performed.reason)
