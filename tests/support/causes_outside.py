"""Causes outside, in time, in amounts and combined that months are made with; see ``tests.support.months``."""

# ruff: noqa: FBT001 - scenarios are all called alike
from __future__ import annotations

from domain import events as e
from domain.values import Intent
from projections.settlement.causes import Cause
from tests.support.events import PERSON, TaskBook, intent
from tests.support.months import (
    OURS,
    PEOPLE,
    Month,
    changed,
    done,
    guarded,
    loop_of,
    read_back,
    refuted,
    state,
    watched,
)


def booked_late(month: Month, _: bool) -> None:
    """Not there at the deadline, in the file all the same."""
    wanted = month.bill()
    refuted(month, wanted)
    month.pays(wanted)
    month.says(wanted, "status_mismatch", "delayed_posting")


def booked_after_the_file(month: Month, _: bool) -> None:
    """Not there at the deadline, there later, not in the file."""
    wanted = month.bill()
    task = refuted(month, wanted)
    read_back(task, "processed", phase="later")
    month.says(wanted, "missing_in_file", "delayed_posting")


def wrong_amount_ours(month: Month, withhold: bool) -> None:
    """The form carried another amount, and the loop sent it."""
    wanted, loop = month.bill(), loop_of(month)
    verdict = None if withhold else "intent_mismatch"
    watched(month, wanted, loop, verdict=verdict, guard="intent", found="amount 1.00")  # type: ignore[arg-type]
    month.pays(wanted, amount_minor=wanted.amount_minor + 1_000)
    month.says(
        wanted,
        "amount_mismatch",
        "amount_mismatch",
        decidable=not withhold,
        to_blame=() if withhold else (loop,),
    )


def wrong_amount_theirs(month: Month, _: bool) -> None:
    """The request was right, and the vendor booked something else."""
    wanted = month.bill()
    task = guarded(month, wanted)
    read_back(task, "processed")
    task.succeed()
    month.pays(wanted, amount_minor=wanted.amount_minor - 10)
    month.says(wanted, "amount_mismatch", "amount_mismatch")


def by_hand(month: Month, withhold: bool) -> None:
    """A person changes a bill that we never touched; withheld: the file doesn't say who."""
    wanted = month.bill()
    paid = month.pays(wanted, account="" if withhold else month.random.choice(PEOPLE))
    month.says(wanted, "extra_in_file", "external_change", decidable=not withhold, amount_minor=paid)


def by_hand_too(month: Month, _: bool) -> None:
    """A person does again what we have done."""
    wanted = month.bill()
    done(month, wanted)
    month.pays(wanted, account="wang.li")
    month.says(wanted, "duplicate_in_file", "external_change")


def by_hand_instead(month: Month, _: bool) -> None:
    """The vendor lied to us, and a person did it by hand."""
    wanted = month.bill()
    refuted(month, wanted)
    month.pays(wanted, account="wang.li")
    month.says(wanted, "status_mismatch", "external_change")


def shared_account(month: Month, _: bool) -> None:
    """A person uses our account: the record can't tell."""
    wanted = month.bill()
    month.pays(wanted, account=OURS)
    month.says(wanted, "extra_in_file", "manual_actor_in_shared_session", decidable=False)


def fee(month: Month, _: bool) -> None:
    """The vendor charges a fee beside our line."""
    wanted = month.bill()
    done(month, wanted)
    month.pays(wanted, kind="fee", amount_minor=-50)
    month.says(wanted, "extra_in_file", "external_change")


def booked_twice(month: Month, withhold: bool) -> None:
    """One request, two bookings; withheld: nobody looked right after it."""
    wanted = month.bill()
    task = guarded(month, wanted)
    if not withhold:
        read_back(task, "processed", lines=2)
    month.pays(wanted)
    month.pays(wanted)
    cause: Cause = "manual_actor_in_shared_session" if withhold else "external_change"
    month.says(wanted, "duplicate_in_file", cause, decidable=not withhold)


def left_out(month: Month, withhold: bool) -> None:
    """Done and confirmed, and not in the file."""
    wanted = month.bill()
    task = guarded(month, wanted)
    if not withhold:
        read_back(task, "processed")
        task.succeed()
    cause: Cause = "missing_evidence" if withhold else "settlement_omission"
    month.says(wanted, "missing_in_file", cause, decidable=not withhold)


def unreadable_row(month: Month, _: bool) -> None:
    """The row is there and can't be read."""
    wanted = month.bill()
    task = guarded(month, wanted)
    read_back(task, "processed")
    task.succeed()
    month.pays(
        wanted, currency="??", raw_amount=f"{wanted.amount_minor // 100}.{wanted.amount_minor % 100:02d}"
    )
    month.says(wanted, "missing_in_file", "settlement_file_error")


def crashed(month: Month, _: bool) -> None:
    """The executor died in the act and nobody looked."""
    wanted = month.bill()
    watched(month, wanted, loop_of(month), outcome=False)
    month.says(wanted, "missing_in_file", "missing_evidence", decidable=False)


def clocks(month: Month, _: bool) -> None:
    """Confirmed, not in the file, and the clocks disagree about the month."""
    wanted = month.bill()
    task = guarded(month, wanted)
    read_back(task, "processed")
    task.succeed()
    month.late.add(task.task)
    month.says(wanted, "missing_in_file", "clock_skew", decidable=False)


def twice_and_by_hand(month: Month, _: bool) -> None:
    """Two loops and a person at one bill: two breaks, two causes."""
    wanted, second = month.bill(), loop_of(month)
    watched(month, wanted, loop_of(month))
    watched(month, wanted, second)
    month.pays(wanted)
    month.pays(wanted)
    month.pays(wanted, account="zhao.min")
    month.says(wanted, "duplicate_in_file", "duplicate_across_tasks", to_blame=(second,))
    month.says(wanted, "duplicate_in_file", "external_change")


def wrong_amount_and_fee(month: Month, _: bool) -> None:
    """Another amount and a fee at one bill."""
    wanted, loop = month.bill(), loop_of(month)
    watched(month, wanted, loop, verdict="request_mismatch", guard="request", found="amount 1.00")
    month.pays(wanted, amount_minor=wanted.amount_minor + 77)
    month.pays(wanted, kind="fee", amount_minor=-3)
    month.says(wanted, "amount_mismatch", "amount_mismatch", to_blame=(loop,))
    month.says(wanted, "extra_in_file", "external_change")


def false_alarm(month: Month, _: bool) -> None:
    """The guard would have objected, and the click was right all the same."""
    wanted = month.bill()
    watched(month, wanted, loop_of(month), verdict="target_changed", found="标记处理 (moved)")
    month.pays(wanted)


def legitimate_repetition(month: Month, _: bool) -> None:
    """The same action twice, named as two occurrences."""
    wanted = month.bill()
    done(month, wanted)
    done(month, changed(wanted, occurrence="2"))


def done_again_after_undoing(month: Month, _: bool) -> None:
    """Done, undone on request, and done again: three lines, nothing wrong."""
    wanted = month.bill()
    first = done(month, wanted)
    _undo(month, first, wanted)
    done(month, wanted)


def repetition_undone(month: Month, _: bool) -> None:
    """A loop did it again, and that was undone: three lines, nothing left to explain."""
    wanted = month.bill()
    done(month, wanted)
    second = watched(month, wanted, loop_of(month))
    second.add(e.CompensationRegistered(action="undo", snapshot=state(wanted, "processed"), source="api"))
    month.pays(wanted)
    _undo(month, second, wanted)


def _undo(month: Month, task: TaskBook, wanted: Intent) -> None:
    month.undoing.add(wanted.bill_id)
    task.add(e.CompensationStarted(action="undo", requested_by=PERSON, reason="by mistake"))
    action = task.propose(on="detail", writes=True, label="撤销")
    task.judge(action)
    task.attempt(action)
    task.execute(action)
    read_back(task, "pending", phase="compensation", lines=1, expected="pending")
    task.add(e.CompensationConfirmed(source="api", restored=state(wanted, "pending")))
    month.pays(wanted, kind="undo", amount_minor=-wanted.amount_minor)


def refuted_and_done_again(month: Month, _: bool) -> None:
    """Not there at the deadline, released by a person, done again, and then both are booked."""
    wanted = month.bill()
    task = refuted(month, wanted)
    task.add(e.TakeoverClaimed(owner=PERSON), principal=PERSON)
    task.add(
        e.TakeoverResolved(owner=PERSON, resolution="effect_absent", note="looked myself"), principal=PERSON
    )
    done(month, wanted)
    month.pays(wanted)
    month.says(wanted, "duplicate_in_file", "delayed_posting")


def one_loop_clicks_twice(month: Month, _: bool) -> None:
    """One task, two writes."""
    wanted, loop = month.bill(), loop_of(month)
    task = watched(month, wanted, loop)
    action = task.propose(writes=True)
    task.add(e.ActionAttempted(action_id=action, writes=True, effect_key=task.key), principal=loop)
    request = f"POST /bills/{wanted.bill_id}/actions 200"
    task.add(e.ActionExecuted(action_id=action, latency_us=9, requests=(request,)), principal=loop)
    month.pays(wanted)
    month.pays(wanted)
    month.says(wanted, "duplicate_in_file", "duplicate_across_tasks", to_blame=(loop,))


def reversed_later(month: Month, _: bool) -> None:
    """Confirmed, and taken back by the vendor's own rule; the file nets both."""
    wanted = month.bill()
    task = guarded(month, wanted)
    read_back(task, "processed")
    task.succeed()
    read_back(task, "pending", phase="later", lines=0, actor="system")
    month.says(wanted, "missing_in_file", "external_change")


def stray_and_done_by_another(month: Month, _: bool) -> None:
    """A loop's click went astray; the batch did the intended bill afterwards."""
    wanted, hit, loop = month.bill(), month.bill(), loop_of(month)
    watched(month, wanted, loop, verdict="target_changed", found=f"row {hit.bill_id}", sent=hit.bill_id)
    month.pays(hit)
    done(month, wanted)
    month.says(hit, "extra_in_file", "stale_frame_wrong_target", to_blame=(loop,))


def read_back_after_a_crash(month: Month, _: bool) -> None:
    """The outcome was never recorded; the readback at the next start settled it."""
    wanted = month.bill()
    task = guarded(month, wanted, outcome=False)
    read_back(task, "processed", phase="recovery")
    task.succeed()
    month.pays(wanted)


def on_top(month: Month, _: bool) -> None:
    """Something else happens to a bill that has a story already: combinations of everything with everything."""
    if not month.lines:
        return
    line = month.random.choice(month.lines)
    bill = intent(line.bill)
    how = month.random.choice(["fee", "person", "shared"])
    if how == "fee":
        paid = month.pays(bill, kind="fee", amount_minor=-month.random.randrange(100, 9_999))
        month.says(bill, "extra_in_file", "external_change", amount_minor=paid)
        return
    if any(x.bill == line.bill and x.kind == "undo" for x in month.lines) or line.bill in month.undoing:
        return
    account = OURS if how == "shared" else month.random.choice(PEOPLE)
    paid = month.pays(bill, kind="undo", amount_minor=-month.random.randrange(1, 99), account=account)
    if how == "shared":
        cause: Cause = "manual_actor_in_shared_session"
        month.says(bill, "extra_in_file", cause, decidable=False, amount_minor=paid)
    else:
        month.says(bill, "extra_in_file", "external_change", amount_minor=paid)
