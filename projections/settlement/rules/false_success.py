"""``false_success``: something said "done", and nothing was done.

Decisive: the tool's report (with the screen's claim), an independent readback that shows the state from before, and no
line in the file: then the target lied. Or a wrapped loop that declared itself done without a single write attempt:
then the loop lied. Undecidable without a readback (see completeness). Counter-evidence: a later confirming readback; a
line by anybody; a guard that saw the click go elsewhere.
"""

from __future__ import annotations

from domain import events as e
from projections.settlement.causes import Finding
from projections.settlement.rules.base import (
    Question,
    absent,
    astray,
    conclusive,
    event,
    events,
    events_of,
    looked,
    other_accounts,
)


def judge(question: Question) -> Finding | None:
    """See the module."""
    item = question.expected
    if not question.missing or item is None or item.undoing:
        return None
    if item.basis == "declared":
        return _declared(question)
    if item.basis != "refuted":
        return None
    case = item.tasks[0]
    writes = [a for _, a in question.writes() if a.executed is not None]
    readback = conclusive(case)
    if readback is None or not isinstance(readback.event, e.ReadbackMismatched):
        return None
    if not writes:
        return Finding(
            cause="missing_evidence",
            verdict="undecidable",
            amount_minor=0,
            summary="The effect is absent, and the attempt's outcome was never recorded: it may never have arrived.",
            reason="attempt_without_outcome",
            decisive=(
                *(x for _, a in question.writes() for x in events_of(a)),
                event(readback),
                absent(question),
            ),
            counter_evidence=(looked("the tool's report that it acted", "the task's stream"),),
        )
    toast = writes[-1].executed.toast if writes[-1].executed else ""
    return Finding(
        cause="false_success",
        verdict=question.strength(*item.tasks),
        amount_minor=question.remaining,
        summary="The target "
        + (f"claimed “{toast}”" if toast else "took the request")
        + f" and left the bill as it was: {readback.event.source} shows “{readback.event.found.status}”.",
        party="target_system",
        decisive=(*events_of(writes[-1]), event(readback), absent(question)),
        counter_evidence=(
            looked(
                "a later readback that confirms the effect",
                "readbacks of the bill",
                events(
                    r
                    for r in case.readbacks()
                    if isinstance(r.event, e.ReadbackConfirmed) and r.row.position > readback.row.position
                ),
            ),
            looked(
                "a guard that saw the click or the request go elsewhere",
                "judgements of the attempts",
                events(said[0] for a in writes if (said := astray(a)) is not None),
            ),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )


def _declared(question: Question) -> Finding | None:
    item = question.expected
    case = item.tasks[0] if item else None
    claim = case.fact(e.TaskDeclaredDone) if case else None
    if case is None or claim is None:
        return None
    refused = [a for a in case.attempts.values() if a.rejected]
    finding = Finding(
        cause="false_success",
        verdict=question.strength(case),
        amount_minor=question.remaining,
        summary="The loop declared itself done "
        + ("although the target had refused its request." if refused else "without attempting a write."),
        party="executor",
        responsible=(claim.envelope.principal,),
        decisive=(
            event(case.first),
            *(x for a in refused for x in events_of(a)),
            event(claim),
            absent(question),
        ),
        counter_evidence=(
            looked("a write attempt that the target did not refuse", "the task's stream"),
            looked("another operator's line on the bill", "the settlement file", other_accounts(question)),
        ),
    )
    return question.only_if_whole(finding, case)
