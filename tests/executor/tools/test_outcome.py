"""What came of an action, put together without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from domain.values import Check
from executor.guards.request import HoldReport, Sent
from executor.tools.base import GateReport, Performed, RequestRule, Step
from executor.tools.outcome import Happened, conclude

READ = Step(kind="click", selectors=())
WRITE = Step(kind="click", selectors=(), writes=True)
RULE = RequestRule(path="/bills/{bill_id}/actions")
DELIVERED = GateReport(delivered=("pointerdown", "click"))
BLOCKED = GateReport(delivered=("pointerdown",), blocked=True, event="pointerdown", expected="a", found="b")
MISMATCH = Check(guard="request", verdict="request_mismatch")


def came(step: Step, *, enforce: bool = True, **seen: Any) -> Performed:  # noqa: ANN401 - fields of Happened
    happened = Happened(**{"gate": DELIVERED, **seen})
    return conclude(step, happened, rule=RULE, enforce=enforce, login_path="/login")


def held(*sent: Sent, finding: Check | None = None) -> HoldReport:
    left = tuple(s for s in sent if not s.aborted)
    return HoldReport(sent=left, listed=tuple(s.text() for s in sent), finding=finding)


def answered(status: int = 200, *, location: str = "", failed: str = "") -> Sent:
    return Sent("POST /bills/7/actions", status=status, location=location, failed=failed)


def test_a_click_that_only_reads_is_executed_when_its_events_were_seen() -> None:
    assert came(READ).status == "executed"
    silent = came(READ, gate=GateReport())
    assert silent.status == "failed"
    assert silent.check is not None
    assert silent.check.guard == "gate"
    assert came(READ, gate=GateReport(navigated=True)).status == "executed"


def test_a_blocked_event_has_no_effect_unless_something_had_left_already() -> None:
    assert came(WRITE, gate=BLOCKED).status == "blocked"
    assert came(WRITE, gate=BLOCKED, held=held(answered())).status == "unknown"


def test_a_held_request_has_no_effect_unless_another_one_left() -> None:
    aborted = Sent("POST /all", aborted=True)
    assert came(WRITE, held=held(aborted, finding=MISMATCH)).status == "blocked"
    assert came(WRITE, held=held(answered(), aborted, finding=MISMATCH)).status == "unknown"


@pytest.mark.parametrize(
    ("sent", "status", "verdict"),
    [
        (answered(200), "executed", None),
        (answered(303), "executed", None),
        (answered(302, location="/login?next=x"), "failed", "session_expired"),
        (answered(401), "failed", "session_expired"),
        (answered(403), "failed", "forbidden"),
        (answered(409), "unknown", "server_trouble"),
        (answered(504), "unknown", "server_trouble"),
        (answered(0, failed="net::ERR_CONNECTION_RESET"), "unknown", "server_trouble"),
        (answered(0), "unknown", "server_trouble"),
    ],
)
def test_the_answer_to_a_write_decides_whether_it_is_known(
    sent: Sent, status: str, verdict: str | None
) -> None:
    performed = came(WRITE, held=held(sent))
    assert performed.status == status
    assert (performed.check.verdict if performed.check else None) == verdict


def test_a_write_of_which_nothing_left_failed() -> None:
    performed = came(WRITE)
    assert performed.status == "failed"
    assert performed.check is not None
    assert performed.check.found == "no request left"


def test_a_failure_after_input_of_a_write_is_unknown_and_before_it_is_failed() -> None:
    assert came(WRITE, failure="Target closed").status == "unknown"
    assert came(WRITE, failure="Target closed", gate=GateReport()).status == "failed"
    assert came(READ, failure="Target closed").status == "failed"


def test_a_record_only_run_reports_what_it_would_have_stopped_and_keeps_the_status() -> None:
    performed = came(WRITE, enforce=False, gate=BLOCKED, held=held(answered(), finding=MISMATCH))
    assert performed.status == "executed"
    assert performed.check is not None
    assert performed.check.verdict == "target_changed"
    only_request = came(WRITE, enforce=False, held=held(answered(), finding=MISMATCH))
    assert only_request.check == MISMATCH
