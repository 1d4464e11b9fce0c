"""The state table of a guarded task, found by trying every command in every state that can be reached.

``python -m tests.domain.transitions`` prints it; ``domain/README.md`` holds it, and a test compares.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

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
    c.Observe(f.observed()),
    c.Propose(f.proposed()),
    c.Propose(f.proposed(writes=False)),
    c.Judge(f.judged()),
    c.Judge(f.judged("stale")),
    c.RequestApproval(f.requested()),
    c.Grant(f.granted(), at_us=f.NOW),
    c.Deny(f.denied(), at_us=f.NOW),
    c.Lapse(f.lapsed(), at_us=f.EXPIRY),
    c.RegisterCompensation(f.registered()),
    c.Attempt(f.attempted(), at_us=f.NOW),
    c.Attempt(f.attempted(key=f.UNDO_KEY), at_us=f.NOW),
    c.Attempt(f.attempted(writes=False), at_us=f.NOW),
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


def _essence(state: TaskState) -> str:
    """What can make a difference to a later decision."""
    return repr(replace(state, version=0, steps=0, blocks=0, sealed=False, request=None, takeover=None))


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
            if after.status != state.status:
                edges[state.status][after.status].add(name_of(facts[-1])[0])
            if (essence := _essence(after)) not in seen:
                seen.add(essence)
                waiting.append(after)
    return edges


def table() -> str:
    """The Markdown table, ended states in bold, statuses in the order in which they are declared."""
    order: tuple[Status, ...] = Status.__args__  # type: ignore[attr-defined]  # a Literal's members
    edges = explore()
    lines = ["| in state | an event | leads to |", "| --- | --- | --- |"]
    for status in order:
        shown = f"**{status}**" if status in TERMINAL else status
        for after in order:
            if names := edges.get(status, {}).get(after):
                lines.append(f"| {shown} | {', '.join(f'`{name}`' for name in sorted(names))} | {after} |")
                shown = ""
        if shown:
            lines.append(f"| {shown} | | |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201 - to be pasted into the README
