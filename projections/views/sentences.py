"""One plain sentence for each fact, for people who read evidence.

Rules enforced here:

* Closed over the union of events: a new fact without a sentence fails the type check.
* A sentence says what was recorded and by which words it was claimed; it never concludes. A toast "claimed", a
  tool "reported", a source "shows".
* Text that comes from the target system stands in quotation marks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from domain import events as e
from domain.values import BusinessState, Check, Intent, format_minor
from projections.views.privacy_sentences import privacy_sentence

_Ending = (
    e.TaskDeclaredDone | e.TaskSucceeded | e.TaskFailed | e.TaskReopened | e.TaskSealed | e.TaskClaimReleased
)
_Opening = e.TaskOpened | e.TaskRefused | e.TaskClaimed | e.TaskClaimDenied
_Step = (
    e.ActionProposed
    | e.GuardJudged
    | e.ActionBlocked
    | e.ActionAttempted
    | e.ActionExecuted
    | e.ActionFailed
    | e.ActionOutcomeUnknown
)
_Approval = e.ApprovalRequested | e.ApprovalGranted | e.ApprovalDenied | e.ApprovalLapsed
_Evidence = (
    e.ObservationRecorded
    | e.TraceAttached
    | e.ReadbackConfirmed
    | e.ReadbackMismatched
    | e.ReadbackInconclusive
    | e.BillListFetched
    | e.SettlementImported
    | e.EvidenceOpened
    | e.TargetAccepted
)
_Undoing = e.CompensationRegistered | e.CompensationStarted | e.CompensationConfirmed | e.CompensationFailed
_Takeover = e.TakeoverRequested | e.TakeoverClaimed | e.TakeoverResolved
_Model = e.ModelRequested | e.ModelResponded | e.SafetyAcknowledged
_Case = e.CaseOpened | e.CaseConcluded | e.CaseNoted | e.CaseSignedOff | e.CaseReopened
_Run = e.RunStarted | e.RunResumed | e.RunFinished | e.RunEscalated | e.AlertRaised


_SAYS: dict[type, Callable[[Any], str]] = {}
"""What was chosen for a kind of fact."""


def sentence(event: e.Event) -> str:
    """What the fact says, in one English sentence without a time (it stands beside it)."""
    says = _SAYS.get(type(event)) or _SAYS.setdefault(type(event), _chosen(event))
    return says(event)


def _chosen(event: e.Event) -> Callable[[Any], str]:
    """The function for a kind of fact; asked once for each kind, because asking takes longer than saying."""
    if isinstance(event, _Opening):
        return _opening
    if isinstance(event, _Ending):
        return _ending
    if isinstance(event, _Step):
        return _step
    if isinstance(event, _Approval):
        return _approval
    if isinstance(event, _Evidence):
        return _evidence
    if isinstance(event, _Undoing):
        return _undoing
    if isinstance(event, _Model):
        return _model
    if isinstance(event, _Case):
        return _case
    if isinstance(event, e.PrivacyEvent):
        return privacy_sentence
    if isinstance(event, _Takeover):
        return _takeover
    if isinstance(event, _Run):
        return _run
    assert_never(event)


def _money(intent: Intent | BusinessState) -> str:
    return f"{format_minor(intent.amount_minor, intent.currency)} {intent.currency}"


def _wanted(intent: Intent) -> str:
    return (
        f"{intent.action} on bill {intent.bill_id} ({intent.counterparty}, {_money(intent)}, {intent.month})"
    )


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _opening(event: _Opening) -> str:
    match event:
        case e.TaskOpened():
            way = "recorded only" if event.mode == "record_only" else "guarded"
            return (
                f"{event.requested_by} asked for {_wanted(event.intent)}; "
                f"the task was opened, {way}, by way of {event.rung}."
            )
        case e.TaskRefused():
            return (
                f"The router refused {_wanted(event.intent)} asked for by {event.requested_by} "
                f"({event.verdict}, rule {event.rule}){_because(event.reason)}."
            )
        case e.TaskClaimed():
            return f"The task claimed the effect {event.effect_key}; no other task may bring it about."
        case e.TaskClaimDenied():
            return (
                f"The claim was denied: {event.holder_stream} of {event.holder_principal} holds the effect "
                f"{event.effect_key}."
            )
        case _:
            assert_never(event)


def _ending(event: _Ending) -> str:
    match event:
        case e.TaskClaimReleased():
            return f"The claim on {event.effect_key} was given back{_because(event.reason)}."
        case e.TaskDeclaredDone():
            return f"The wrapped loop declared itself done (its claim, no proof): “{event.claim}”."
        case e.TaskSucceeded():
            kind = "provisionally, " if event.provisional else ""
            return f"The task succeeded, {kind}on the word of {event.source}."
        case e.TaskFailed():
            return f"The task failed without an effect ({event.verdict}){_because(event.reason)}."
        case e.TaskReopened():
            return f"The task was reopened{_because(event.reason)}."
        case e.TaskSealed():
            return f"The stream was sealed with {event.events} events."
        case _:
            assert_never(event)


def _step(event: _Step) -> str:
    match event:
        case e.ActionProposed():
            effect = ", a write that can't be undone" if event.irreversible else ", a write"
            what = f"{event.kind} on “{event.label}”" if event.label else event.kind
            return f"Proposed: {what} by way of {event.rung}{effect if event.writes else ''}."
        case e.GuardJudged():
            return _judged(event)
        case e.ActionBlocked():
            found = f": expected “{event.expected}”, found “{event.found}”" if event.expected else ""
            return f"The {event.guard} guard stopped the action ({event.verdict}){found}."
        case e.ActionAttempted():
            return f"The attempt began{f' under the key {event.effect_key}' if event.effect_key else ''}."
        case e.ActionExecuted():
            said = f"; the screen claimed “{event.toast}”" if event.toast else ""
            sent = f"; sent: {', '.join(event.requests)}" if event.requests else ""
            return f"The tool reported that it performed the action{said}{sent}."
        case e.ActionFailed():
            return f"The action failed without an effect ({event.verdict}){_because(event.reason)}."
        case e.ActionOutcomeUnknown():
            return f"Nobody knows whether the attempt took effect{_because(event.reason)}."
        case _:
            assert_never(event)


_MOMENTS = {
    "before": "before the action",
    "event": "at the click itself",
    "request": "on the request",
    "after": "after the action",
}


def _judged(event: e.GuardJudged) -> str:
    moment = _MOMENTS[event.phase]
    if event.verdict == "pass":
        checks = "1 check" if len(event.checks) == 1 else f"{len(event.checks)} checks"
        return f"The guards let it pass {moment} ({checks})."
    check = decisive_check(event)
    found = f": expected “{check.expected}”, found “{check.found}”" if check and check.expected else ""
    spoke = "The guards objected" if event.enforced else "The guards would have objected"
    return f"{spoke} {moment} ({event.verdict}){found}."


def decisive_check(event: e.GuardJudged) -> Check | None:
    """Finding that gave the judgement its verdict; None when none did."""
    return next((c for c in event.checks if c.decisive and c.verdict == event.verdict), None)


def _approval(event: _Approval) -> str:
    match event:
        case e.ApprovalRequested():
            return f"{event.requested_by} asked for approval (rule {event.rule}){_because(event.reason)}."
        case e.ApprovalGranted():
            return f"{event.approver} approved exactly this action{_because(event.note)}."
        case e.ApprovalDenied():
            return f"{event.approver} refused the approval{_because(event.note)}."
        case e.ApprovalLapsed():
            return "Nobody answered the request for approval before it expired."
        case _:
            assert_never(event)


def _evidence(event: _Evidence) -> str:
    match event:
        case e.ObservationRecorded():
            signs = f", with signs of trouble: {', '.join(event.signals)}" if event.signals else ""
            return f"The screen “{event.title}” was seen{signs}."
        case e.TraceAttached():
            places = f", {event.masked} secret places taken out" if event.masked else ""
            return f"The trace of {event.tool} was kept: {event.calls} calls{places}."
        case e.ReadbackConfirmed():
            return (
                f"Read back from {event.source} as {event.account or 'an unnamed account'}: bill "
                f"{event.found.bill_id} shows “{event.found.status}”, as intended."
            )
        case e.ReadbackMismatched():
            changes = "; ".join(f"{name} {change}" for name, change in sorted(event.differences.items()))
            return (
                f"Read back from {event.source} as {event.account or 'an unnamed account'}: bill "
                f"{event.found.bill_id} shows “{event.found.status}” where “{event.expected_status}” was "
                f"intended{f' ({changes})' if changes else ''}."
            )
        case e.ReadbackInconclusive():
            return f"{event.source} could not be read back{_because(event.reason)}."
        case e.BillListFetched():
            return f"A list of {event.rows} bills was fetched from {event.source} as {event.account}."
        case e.SettlementImported():
            return (
                f"The settlement file “{event.file_name}” of {event.month} was imported: {event.rows_read} rows, "
                f"{event.rows_accepted} accepted, {event.rows_refused} refused."
            )
        case e.EvidenceOpened():
            roles = f", as {', '.join(event.roles)}" if event.roles else ""
            return f"The {event.kind} “{event.subject}” was opened in the desk{roles}."
        case e.TargetAccepted():
            metric, bound = event.metric.replace("_", " "), event.direction.replace("_", " ")
            return (
                f"A target for {metric} was accepted: {bound} {event.target_permille} per mille; the sample showed "
                f"{event.hits} of {event.trials}{_because(event.note)}."
            )
        case _:
            assert_never(event)


def _undoing(event: _Undoing) -> str:
    match event:
        case e.CompensationRegistered():
            way = f"to get back: {event.action}" if event.action else "there is no way back"
            stays = f"; what stays: {', '.join(event.residual_effects)}" if event.residual_effects else ""
            return f"Before the write, {event.source} showed “{event.snapshot.status}”; {way}{stays}."
        case e.CompensationStarted():
            return f"{event.requested_by} asked for {event.action}{_because(event.reason)}."
        case e.CompensationConfirmed():
            return f"{event.source} shows the state before the write again: “{event.restored.status}”."
        case e.CompensationFailed():
            return f"The state before the write could not be brought back{_because(event.reason)}."
        case _:
            assert_never(event)


def _takeover(event: _Takeover) -> str:
    match event:
        case e.TakeoverRequested():
            return f"Handed over to a person ({event.verdict}, {event.severity}){_because(event.reason)}."
        case e.TakeoverClaimed():
            return f"{event.owner} took the task over."
        case e.TakeoverResolved():
            words = event.resolution.replace("_", " ")
            return f"{event.owner} resolved the takeover: {words}{_because(event.note)}."
        case _:
            assert_never(event)


def _model(event: _Model) -> str:
    match event:
        case e.ModelRequested():
            spoke = (
                f"; the page speaks to the model: “{'”, “'.join(event.page_instructions)}”"
                if event.page_instructions
                else ""
            )
            return f"Request {event.call} went to {event.model} at {event.host}{spoke}."
        case e.ModelResponded():
            wants = f", asks for {', '.join(event.actions)}" if event.actions else ""
            said = f", says “{event.said}”" if event.said else ""
            return f"Answer {event.call} of {event.model} ({event.outcome}){wants}{said}{_because(event.reason)}."
        case e.SafetyAcknowledged():
            return f"{event.by} let safety check {event.check_id} pass{_because(event.message)}."
        case _:
            assert_never(event)


def _case(event: _Case) -> str:
    match event:
        case e.CaseOpened():
            kind = event.kind.replace("_", " ")
            return f"A case was opened about bill {event.bill_id} of {event.month}: {kind}."
        case e.CaseConcluded():
            if not event.standing:
                return f"The difference is gone, by the file {event.file_sha256[:12]}… over {event.events_read} events."
            causes = ", ".join(f"{c.verdict} {c.cause.replace('_', ' ')}" for c in event.causes)
            changed = f"; changed: {', '.join(event.changes)}" if event.changes else ""
            return (
                f"The desk concluded over {event.events_read} events: a difference of "
                f"{format_minor(event.amount_minor, event.currency)} {event.currency}, {causes}{changed}."
            )
        case e.CaseNoted():
            return f"{event.by} noted: “{event.text}”."
        case e.CaseSignedOff():
            return f"{event.by} signed off the conclusion {event.digest[:12]}…{_because(event.note)}."
        case e.CaseReopened():
            return f"The case was reopened by {event.by}{_because(event.reason)}."
        case _:
            assert_never(event)


def _run(event: _Run) -> str:
    match event:
        case e.RunStarted():
            way = "recorded only" if event.mode == "record_only" else "guarded"
            return f"{event.agent} started a run, {way}, on {event.origin}: “{event.goal}”."
        case e.RunResumed():
            return f"The run was resumed with {event.unsettled} unsettled attempts."
        case e.RunFinished():
            return f"The run finished after {event.steps} steps, {event.steps_ok} of them ok."
        case e.RunEscalated():
            return f"The run was stopped after {event.steps} steps ({event.verdict}){_because(event.reason)}."
        case e.AlertRaised():
            told = ", ".join(f"{channel} {result}" for channel, result in sorted(event.delivered.items()))
            return f"Alert {event.kind} ({event.severity}): “{event.message}”; {told or 'no channel'}."
        case _:
            assert_never(event)
