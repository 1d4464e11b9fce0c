"""Tasks of a wrapped loop with something odd about them, and files about the same bills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import strategies as st

from domain import events as e
from domain.envelope import Recorded
from domain.ids import ActionId, EffectKey, RunId, TaskId, run_stream, task_stream
from domain.values import Check
from projections.settlement.lines import SettlementFile
from tests.domain.facts import proposed
from tests.support.events import PERSON, SERVICE, Book, business, intent, key_of
from tests.support.examples import one_of_each
from tests.support.month_end import MONTH
from tests.support.settlement import FileLine, month_file

ORDINARY: dict[str, Any] = {
    "bill": "B1",
    "month": MONTH,
    "action": "mark_processed",
    "key": "own",
    "status": "200",
    "without": frozenset(),
    "odd": (),
}
BILLS = ("B1", "B2", "B3", "b2", "POST", "200", "单7", "L" * 41)
ACTION = ActionId("action-1")
ODD = [
    fact
    for fact in one_of_each()
    if isinstance(fact, e.TaskEvent) and not isinstance(fact, e.ActionExecuted | e.ReadbackConfirmed)
]
_others = st.sampled_from(BILLS)
oddities = st.one_of(
    st.sampled_from(ODD),
    st.builds(
        lambda verdict, found: e.GuardJudged(
            action_id=ACTION,
            phase="event",
            verdict=verdict,
            enforced=False,
            checks=(Check(guard="gate", verdict=verdict, expected="row", found=found),),
        ),
        st.sampled_from(("target_changed", "approval_required", "out_of_scope", "pass")),
        _others.map("row {}".format),
    ),
    st.builds(
        lambda bill, status: executed(f"POST /bills/{bill}/actions {status}"),
        _others,
        st.sampled_from(("200", "409")),
    ),
    st.builds(
        lambda source, phase: confirmed(source=source, phase=phase),
        st.sampled_from(("api", "settlement_file")),
        st.sampled_from(("first", "later", "compensation")),
    ),
    st.builds(
        lambda words: e.TakeoverResolved(owner=PERSON, resolution=words, note=""),
        st.sampled_from(("effect_present", "effect_absent", "done_by_hand", "undone_by_hand")),
    ),
)
tasks_made: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    bill=_others,
    month=st.sampled_from((MONTH, MONTH, MONTH, MONTH, "2026-10")),
    action=st.sampled_from(("mark_processed",) * 4 + ("refund", "undo", "unheard_of")),
    key=st.sampled_from(("own",) * 5 + ("of B1", "none of ours")),
    without=st.sets(st.integers(0, 3), max_size=2),
    status=st.sampled_from(("200", "200", "409")),
    odd=st.lists(st.tuples(st.integers(0, 4), oddities), max_size=2),
)
lines_made = st.builds(
    FileLine,
    bill=st.sampled_from((*BILLS, "B9")),
    amount_minor=st.sampled_from((12_000,) * 4 + (-12_000, 5)),
    kind=st.sampled_from(("process",) * 4 + ("refund", "undo", "fee")),
    account=st.sampled_from(("acme-bot", "acme-reader", "wang.li", "")),
    counterparty=st.sampled_from(("Northwind",) * 3 + ("Contoso", "")),
)


def executed(*requests: str) -> e.ActionExecuted:
    return e.ActionExecuted(action_id=ACTION, latency_us=1, toast="", requests=requests)


def confirmed(source: str = "api", phase: e.evidence.ReadbackPhase = "first") -> e.ReadbackConfirmed:
    return e.ReadbackConfirmed(
        source=source, phase=phase, account="acme-reader", expected_status="processed", found=business()
    )


def _facts(task: dict[str, Any]) -> list[e.Event]:
    """A task of a wrapped loop: usual facts, some of them missing, and odd ones in between."""
    wanted = replace(intent(task["bill"], action=task["action"]), month=task["month"])
    keys = {"own": key_of(wanted), "of B1": key_of(intent("B1")), "none of ours": EffectKey("x")}
    action = ActionId(f"action-{task.get('number', 1)}")
    usual: list[e.Event] = [
        proposed(action),
        e.ActionAttempted(action_id=action, writes=True, effect_key=keys[task["key"]]),
        replace(executed(f"POST /bills/{task['bill']}/actions {task['status']}"), action_id=action),
        confirmed(),
    ]
    facts = [fact for place, fact in enumerate(usual) if place not in task["without"]]
    for place, fact in task["odd"]:
        facts.insert(min(place, len(facts)), fact)
    opened = e.TaskOpened(
        intent=wanted, effect_key=keys[task["key"]], requested_by=SERVICE, mode="record_only", reference=""
    )
    return [opened, *facts]


def record_of(tasks: list[dict[str, Any]]) -> list[Recorded]:
    book = Book()
    book.run("run-1")
    for number, task in enumerate(tasks):
        for fact in _facts(task):
            book.add(fact, stream=task_stream(TaskId(f"t{number}")), run="run-1", task=f"t{number}")
    book.add(
        e.RunFinished(outcomes={}, verdicts={}, steps=1, steps_ok=1),
        stream=run_stream(RunId("run-1")),
        run="run-1",
    )
    return book.events


def file_of(
    tasks: list[dict[str, Any]], lines: list[FileLine], unbooked: set[int], missing: int
) -> SettlementFile:
    """A line for each task but one, and others; some did not take effect."""
    own = [FileLine(bill=task["bill"]) for place, task in enumerate(tasks) if place != missing]
    file = month_file(*own, *lines)
    made = tuple(
        msgspec.structs.replace(line, booked=place not in unbooked) for place, line in enumerate(file.lines)
    )
    totals = {"CNY": sum(line.amount_minor for line in made if line.booked)} if made else {}
    return replace(file, lines=made, totals=totals)


SPECIAL: tuple[e.Event, ...] = (
    *ODD,
    *(
        e.TakeoverResolved(owner=PERSON, resolution=words, note="")
        for words in ("effect_present", "effect_absent", "done_by_hand", "undone_by_hand", "nothing_to_do")
    ),
    *(
        e.GuardJudged(
            action_id=ACTION,
            phase="event",
            verdict=verdict,
            enforced=False,
            checks=(Check(guard="gate", verdict=verdict, expected="row B1", found="row B2"),),
        )
        for verdict in ("target_changed", "approval_required", "out_of_scope")
    ),
    e.ActionBlocked(action_id=ACTION, guard="gate", verdict="target_changed"),
    e.ActionFailed(action_id=ACTION, verdict="page_changed", reason="gone"),
    e.ActionOutcomeUnknown(action_id=ACTION, reason="time-out"),
    executed(),
    executed("POST /bills/B2/actions 200"),
    executed("POST /bills/B1/actions 409"),
    executed("POST /refused 409"),
    confirmed(source="settlement_file"),
    confirmed(phase="compensation"),
)
