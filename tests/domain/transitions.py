"""The state table of a guarded task, found by trying every command in every state that can be reached.

Its one step writes; steps that only read walk the same way. While undoing, the step walks it again and readbacks lead
back to ``compensating``: these rows would say everything twice and are left out, and so is handing over, which is
listed by itself.
``python -m tests.domain.transitions`` prints it; ``domain/README.md`` holds it, and a test compares.
"""

from __future__ import annotations

from collections import defaultdict
from typing import get_args

from domain import commands as c
from domain.errors import CommandRefused
from domain.events import name_of
from domain.task import TERMINAL, TaskState, decide, evolve
from domain.task_state import Status
from tests.domain import facts as f
from tests.support.events import PERSON

COMMANDS: tuple[c.Command, ...] = (
    c.Open(f.opened()),
    c.Refuse(f.refused()),
    c.Claim(f.claimed()),
    c.DenyClaim(f.claim_denied()),
    c.GiveBack(f.released()),
    c.Observe(f.observed()),
    c.Propose(f.proposed()),
    c.Judge(f.judged()),
    c.Judge(f.judged("stale")),
    c.RequestApproval(f.requested()),
    c.Grant(f.granted(), at_us=f.NOW),
    c.Deny(f.denied(), at_us=f.NOW),
    c.Lapse(f.lapsed(), at_us=f.EXPIRY),
    c.RegisterCompensation(f.registered()),
    c.Attempt(f.attempted(), at_us=f.NOW),
    c.Attempt(f.attempted(key=f.UNDO_KEY), at_us=f.NOW),
    c.Report(f.executed()),
    c.Report(f.blocked()),
    c.Report(f.act_failed()),
    c.Report(f.outcome_unknown()),
    c.ReadBack(f.confirmed()),
    c.ReadBack(f.confirmed("pending")),
    c.ReadBack(f.mismatched()),
    c.ReadBack(f.inconclusive()),
    c.Succeed(f.succeeded()),
    c.Fail(f.failed("forbidden")),
    c.Reopen(f.reopened()),
    c.HandOver(f.handed_over()),
    c.TakeOver(f.taken()),
    c.Resolve(f.resolved()),
    c.Compensate(f.undoing(PERSON)),
    c.ReportCompensation(f.restored()),
    c.ReportCompensation(f.not_restored()),
)
Edges = dict[Status, dict[Status, set[str]]]


def _essence(state: TaskState) -> tuple[object, ...]:
    """What can make a difference to a later decision, where there is one step and one account."""
    return (
        *(state.status, state.effect, state.own_effect, state.compensating, state.claimed, state.owner),
        *(state.approval, state.approved_digest, state.request is None, state.compensation is None),
        *(state.action is None, state.judged and state.judged.verdict, state.settled),
        *(state.open_attempt and state.open_attempt.effect_key, state.was_confirmed),
        *((word.effect, word.found and word.found.status) for word in state.seen),
    )


def explore() -> Edges:
    """Status → next status → names of the events that lead there."""
    edges: Edges = defaultdict(lambda: defaultdict(set))
    waiting, seen = [TaskState()], {_essence(TaskState())}
    while waiting:
        state = waiting.pop()
        for command in COMMANDS:
            try:
                facts = decide(command, state)
            except CommandRefused:
                continue
            after = state
            for fact in facts:
                after = evolve(after, fact)
            if after.status != state.status and (not state.compensating or state.status == "compensating"):
                edges[state.status][after.status].add(name_of(facts[-1])[0])
            if (essence := _essence(after)) not in seen:
                seen.add(essence)
                waiting.append(after)
    return edges


def table() -> str:
    """The Markdown table, ended states in bold, statuses in the order in which they are declared."""
    edges = explore()
    reached = set(edges).union(*edges.values())
    order = tuple(status for status in get_args(Status) if status in reached)
    lines = ["| in state | an event | leads to |", "| --- | --- | --- |"]
    for status in order:
        shown = f"**{status}**" if status in TERMINAL else status
        for after in order:
            names = edges.get(status, {}).get(after, set()) - {"takeover.requested"}
            if names:
                lines.append(f"| {shown} | {', '.join(f'`{name}`' for name in sorted(names))} | {after} |")
                shown = ""
        if shown:
            lines.append(f"| {shown} | | |")
    never = [status for status in order if "taken_over" not in edges.get(status, {})]
    lines += ["", f"`takeover.requested` leads to taken_over from every state but: {', '.join(never)}."]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201 - to be pasted into the README
