"""One job on a rung without a screen: observe → propose → guards → (approval) → attempt → call.

The same claims, guards, approval, way back and readback as on a screen; the attempt is durable before the call leaves,
and a call is made once.
"""

from __future__ import annotations

from domain import commands as c
from domain import events as e
from domain.idempotency import action_digest
from domain.ids import ActionId
from domain.values import Check
from executor.findings import snapshot_check
from executor.readback import Missing
from executor.runtime.jobs import Ended, Job, outcome_of
from executor.runtime.kit import Kit
from executor.tools.calls import Call, Caller, Document, RungLost, RungRefused, judge_call


class CallRunner:
    """Runs jobs through one caller."""

    def __init__(self, kit: Kit, caller: Caller) -> None:
        self._kit = kit
        self._caller = caller

    def run(self, job: Job) -> Ended:
        """Make the job's one call; how it ended."""
        ended = self._run(job)
        job.stream.flush()
        return ended

    def _run(self, job: Job) -> Ended:
        rule = self._kit.recipe.call_rule(self._caller.rung, job.rule.known)
        try:
            document = self._caller.observe(job.intent.bill_id)
            job.stream.stage(c.Observe(_seen(document)))
            call = self._caller.plan(job.intent, rule, key=job.key)
        except RungRefused as refused:
            return Ended(how="stopped", check=refused.check)
        except Missing as missing:
            return _stopped(Check(guard="intent", verdict="intent_mismatch", found=missing.what))
        except RungLost as lost:
            return _stopped(Check(guard="tool", verdict="page_changed", found=lost.what))
        proposed = self._propose(job, call, document)
        checks = (
            snapshot_check(document.state, job.intent, starts_from=job.action.precondition),
            judge_call(call, job.intent, rule),
            *job.remarks,
        )
        stopper = next((check for check in checks if check.decisive and check.verdict != "pass"), None)
        judged = e.GuardJudged(
            action_id=proposed.action_id,
            phase="before",
            verdict=stopper.verdict if stopper else "pass",
            enforced=True,
            checks=checks,
        )
        job.stream.stage(c.Judge(judged))
        if stopper is None:
            word = job.gate(proposed, None)
            if word.verdict == "approval_required":
                return Ended(how="waiting", check=word)
            stopper = word if word.verdict != "pass" else None
        if stopper is not None:
            return self._blocked(job, proposed, stopper)
        return self._act(job, proposed, call)

    def _propose(self, job: Job, call: Call, document: Document) -> e.ActionProposed:
        proposed = e.ActionProposed(
            action_id=ActionId(self._kit.ids.uuid()),
            kind="call",
            rung=self._caller.rung,
            label=call.name,
            target=call.name,
            writes=True,
            irreversible=job.irreversible,
            digest=action_digest(job.key, job.intent, kind="call", label=call.name),
            text="; ".join(f"{name}={value}" for name, value in sorted(call.fields.items())),
            url=document.url,
            business_action=job.intent.action,
        )
        job.stream.stage(c.Propose(proposed))
        return proposed

    def _blocked(self, job: Job, proposed: e.ActionProposed, check: Check) -> Ended:
        blocked = e.ActionBlocked(
            action_id=proposed.action_id,
            guard=check.guard,
            verdict=check.verdict,
            expected=check.expected,
            found=check.found,
        )
        job.stream.submit(c.Report(blocked))
        return _stopped(check)

    def _act(self, job: Job, proposed: e.ActionProposed, call: Call) -> Ended:
        attempted = e.ActionAttempted(action_id=proposed.action_id, writes=True, effect_key=job.key)
        job.stream.submit(c.Attempt(attempted, at_us=self._kit.clock.now_us()))
        performed = self._caller.perform(call)
        job.stream.submit(c.Report(outcome_of(proposed.action_id, performed)))
        if performed.status == "executed":
            return Ended(how="done", performed=performed)
        check = performed.check or Check(guard="tool", verdict="server_trouble", found=performed.reason)
        unknown = performed.status == "unknown"
        return Ended(how="unknown" if unknown else "stopped", check=check, performed=performed)


def _stopped(check: Check) -> Ended:
    return Ended(how="stopped", check=check)


def _seen(document: Document) -> e.ObservationRecorded:
    return e.ObservationRecorded(
        url=document.url,
        title=document.state.bill_id,
        structure_sha256=document.structure_sha256,
        document_sha256=document.document_sha256,
        account=document.account,
        step=1,
        latency_us=document.latency_us,
    )
