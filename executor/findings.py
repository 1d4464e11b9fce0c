"""Plain findings about a task: what a snapshot, an answer, a readback and a history mean, in words and verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from domain import events as e
from domain.task import TaskState
from domain.values import BusinessState, Check, Intent, Verdict
from executor.holds import HOLD
from executor.readback import ReadbackFact
from executor.runtime.jobs import Ended
from executor.runtime.streams import TaskStream

PASS = Check(guard="policy", verdict="pass")
TELLING = frozenset({"status", "ledger_lines", HOLD})
"""Differences that are named first."""
MOST_NAMED = 2
"""Differences named in a sentence; the event has them all."""
STEPS_NAMED = 5
"""Steps named when a budget stops a task; the record has them all."""
BUDGETS: frozenset[Verdict] = frozenset({"budget_exhausted", "stuck", "low_success"})
"""Verdicts by which a budget stops a run (G7)."""


def snapshot_check(snapshot: BusinessState, intent: Intent, *, starts_from: Sequence[str] = ()) -> Check:
    """Does the state before the write fit the intent, and is the effect still missing? ``pass`` if so.

    ``starts_from``: statuses that the action may start from, where the recipe names them.
    """
    if snapshot.status == intent.expected_status:
        return Check(
            guard="duplicate",
            verdict="already_in_progress",
            expected=f"a bill that is not yet {intent.expected_status}",
            found=f"{snapshot.bill_id} is {snapshot.status} already, last touched by {snapshot.last_actor or 'nobody'}",
        )
    pairs = {
        "amount_minor": (intent.amount_minor, snapshot.amount_minor),
        "currency": (intent.currency, snapshot.currency),
        "counterparty": (intent.counterparty, snapshot.counterparty),
        "month": (intent.month, snapshot.month),
    }
    for name, (wanted, found) in pairs.items():
        if wanted != found:
            return Check(
                guard="intent",
                verdict="intent_mismatch",
                expected=f"{name} {wanted}",
                found=f"{name} {found}",
            )
    if starts_from and snapshot.status not in starts_from:
        return Check(
            guard="precondition",
            verdict="precondition_failed",
            expected=f"a bill that is {' or '.join(starts_from)}",
            found=f"{snapshot.bill_id} is {snapshot.status}",
        )
    return PASS


def refused_by_target(ended: Ended) -> Check | None:
    """The finding when the target answered the write with 401 or 403."""
    requests = ended.performed.requests if ended.performed else ()
    codes = {request.rsplit(" ", 1)[-1] for request in requests}
    if "401" in codes:
        return Check(guard="auth", verdict="session_expired", found="the target answered the write with 401")
    if "403" in codes:
        return Check(guard="auth", verdict="forbidden", found="the target answered the write with 403")
    return None


def is_unchanged(state: TaskState, facts: Sequence[ReadbackFact]) -> bool:
    """True if every source that answered shows the state of the snapshot."""
    snapshot = state.compensation.snapshot if state.compensation else None
    shown = [fact.found for fact in facts if isinstance(fact, e.ReadbackMismatched)]
    return (
        snapshot is not None
        and len(shown) == len(facts)
        and all(
            found.status == snapshot.status and found.ledger_lines in {-1, snapshot.ledger_lines}
            for found in shown
        )
    )


def in_words(fact: ReadbackFact) -> str:
    """One line about a readback."""
    match fact:
        case e.ReadbackMismatched():
            names = sorted(fact.differences, key=lambda name: (name not in TELLING, name))
            what = ", ".join(f"{name} {fact.differences[name]}" for name in names[:MOST_NAMED])
            more = len(names) - MOST_NAMED
            rest = f" and {more} more fields" if more > 0 else ""
            return f"readback by {fact.source} disagrees: {what}{rest}"
        case e.ReadbackInconclusive():
            return f"readback by {fact.source} impossible: {fact.reason}"
        case e.ReadbackConfirmed():
            return f"readback by {fact.source} confirms {fact.expected_status}"


def last_toast(stream: TaskStream) -> str:
    """What the screen claimed last; empty when it claimed nothing."""
    toasts = [fact.toast for fact in stream.history() if isinstance(fact, e.ActionExecuted) and fact.toast]
    return toasts[-1] if toasts else ""


def was_denied(stream: TaskStream) -> bool:
    """True if the last word on an approval is a refusal."""
    answers = [
        fact
        for fact in stream.history()
        if isinstance(fact, e.ApprovalDenied | e.ApprovalGranted | e.ApprovalRequested)
    ]
    return bool(answers) and isinstance(answers[-1], e.ApprovalDenied)


def last_word(stream: TaskStream) -> tuple[str, str]:
    """Verdict and reason of the task's last telling event."""
    for fact in reversed(stream.history()):
        match fact:
            case e.TaskRefused() | e.TaskFailed() | e.TakeoverRequested():
                return fact.verdict, fact.reason
            case e.TaskClaimDenied():
                holder = f"{fact.holder_stream} of {fact.holder_principal}"
                return "already_in_progress", f"held by {holder}; 'proofreel tasks' says how far it is"
            case e.TaskSucceeded():
                return "pass", f"confirmed by {fact.source}"
            case e.ApprovalRequested():
                return "approval_required", fact.reason
            case _:
                continue
    return "pass", ""


def steps_in_words(facts: Sequence[e.Event]) -> str:
    """The last steps and what came of each, oldest first: what a person needs to know of a task that was stopped."""
    labels: dict[str, str] = {}
    lines: list[str] = []
    for fact in facts:
        match fact:
            case e.ActionProposed():
                labels[fact.action_id] = f"{fact.kind} {fact.label or fact.target}".strip()
            case e.ActionExecuted():
                lines.append(f"{labels.get(fact.action_id, 'step')}: done")
            case e.ActionBlocked() | e.ActionFailed():
                lines.append(f"{labels.get(fact.action_id, 'step')}: {fact.verdict}")
            case e.ActionOutcomeUnknown():
                lines.append(f"{labels.get(fact.action_id, 'step')}: unknown")
            case _:
                continue
    return "; ".join(lines[-STEPS_NAMED:])
