"""All scenarios that months are made of, by name."""

from __future__ import annotations

from tests.support import causes as ours
from tests.support import causes_outside as outside
from tests.support.months import Scenario

_ALL: tuple[Scenario, ...] = (
    ours.good,
    ours.blocked,
    ours.held_by_another,
    ours.loops_twice,
    ours.loop_after_guarded,
    ours.fake_success,
    ours.declared_only,
    ours.refused_by_the_target,
    ours.stray_click,
    ours.stopped_run,
    ours.over_authority,
    ours.approval_late,
    ours.approval_never,
    ours.undone,
    outside.booked_late,
    outside.booked_after_the_file,
    outside.wrong_amount_ours,
    outside.wrong_amount_theirs,
    outside.by_hand,
    outside.by_hand_too,
    outside.by_hand_instead,
    outside.shared_account,
    outside.fee,
    outside.booked_twice,
    outside.left_out,
    outside.unreadable_row,
    outside.crashed,
    outside.clocks,
    outside.twice_and_by_hand,
    outside.wrong_amount_and_fee,
    outside.false_alarm,
    outside.legitimate_repetition,
    outside.done_again_after_undoing,
    outside.repetition_undone,
    outside.refuted_and_done_again,
    outside.one_loop_clicks_twice,
    outside.reversed_later,
    outside.stray_and_done_by_another,
    outside.read_back_after_a_crash,
    outside.on_top,
    outside.on_top,
    outside.on_top,
)
SCENARIOS: dict[str, Scenario] = {
    f"{scenario.__name__}{'' if _ALL.index(scenario) == place else f'-{place}'}": scenario
    for place, scenario in enumerate(_ALL)
}
"""By name; the combining one stands three times, so that it is chosen three times as often."""
