"""Label, confirmation screen, session, and the guards in their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.values import Verdict
from executor.guards.auth import ProbeAnswer, check_auth
from executor.guards.base import Purpose, check_effect, first_stop, pre_checks
from executor.guards.confirm import check_confirm
from executor.guards.label import check_label
from executor.tools.base import ConfirmScreen, Look, Step
from tests.executor.guards.support import APPROVE, DIALOG, FIELDS, INTENT, KNOWN, look, target

CONFIRM = Step(kind="click", selectors=(), label="OK", writes=True, needs_confirm=True)


def test_a_destructive_step_needs_its_label_on_the_element_itself() -> None:
    assert check_label(APPROVE, target()).verdict == "pass"
    wrong = check_label(APPROVE, target(label="Reject"))
    assert (wrong.verdict, wrong.decisive) == ("precondition_failed", True)
    assert (wrong.expected, wrong.found) == ("Approve", "Reject")


def test_a_destructive_step_without_a_planned_label_is_refused() -> None:
    assert check_label(replace(APPROVE, label=""), target()).verdict == "precondition_failed"
    reading = Step(kind="click", selectors=())
    assert check_label(reading, target()).verdict == "pass"


def test_a_wrong_label_on_a_harmless_step_is_recorded_and_does_not_stop() -> None:
    reading = Step(kind="click", selectors=(), label="Details")
    check = check_label(reading, target(label="More"))
    assert (check.verdict, check.decisive) == ("precondition_failed", False)


def test_a_look_alike_label_does_not_pass() -> None:
    check = check_label(APPROVE, target(label="\u0410pprove"))
    assert check.verdict == "precondition_failed"
    assert "look-alike" in check.found


@pytest.mark.parametrize(
    ("screens", "verdict"),
    [
        ((DIALOG,), "pass"),
        ((ConfirmScreen(role="tr", text="INV-4114 sure?", verb="OK", cancel="No"),), "pass"),
        ((), "needs_confirm_screen"),
        ((replace(DIALOG, text="Approve INV-4114-A?"),), "needs_confirm_screen"),
        ((replace(DIALOG, text="Accept cookies?"),), "needs_confirm_screen"),
        ((replace(DIALOG, verb="Delete"),), "needs_confirm_screen"),
    ],
)
def test_what_needs_a_question_runs_only_on_a_question_about_its_own_bill(
    screens: tuple[ConfirmScreen, ...], verdict: Verdict
) -> None:
    pressed = target(label="OK", scope="dialog", scope_text=DIALOG.text)
    assert check_confirm(CONFIRM, pressed, INTENT, screens).verdict == verdict


def test_a_dialog_known_by_its_role_counts_if_the_target_is_in_it() -> None:
    bare = replace(DIALOG, verb="", cancel="")
    inside = target(label="Go", scope="dialog", scope_text=bare.text)
    assert check_confirm(CONFIRM, inside, INTENT, (bare,)).verdict == "pass"
    assert check_confirm(CONFIRM, target(label="Go"), INTENT, (bare,)).verdict == "needs_confirm_screen"


def test_without_an_intent_no_question_is_bound() -> None:
    assert check_confirm(CONFIRM, target(label="OK"), None, (DIALOG,)).verdict == "needs_confirm_screen"


ALIVE = ProbeAnswer(status=200, account="svc-acme")


@pytest.mark.parametrize(
    ("seen", "answer", "missing", "verdict"),
    [
        (look(signals=("login_form",)), ProbeAnswer(status=401), False, "session_expired"),
        (look(signals=("login_path",)), ProbeAnswer(status=302, location="/login"), True, "session_expired"),
        (look(), ProbeAnswer(status=401), True, "session_expired"),
        (look(account="svc-other"), replace(ALIVE, account="svc-other"), False, "session_expired"),
        (look(signals=("permission_dialog",)), ProbeAnswer(status=403), False, "forbidden"),
        (look(signals=("http_403",)), ALIVE, False, "forbidden"),
        (look(), ALIVE, True, "page_changed"),
        (look(signals=("login_form",)), ALIVE, True, "page_changed"),
        (look(signals=("http_5xx",)), ALIVE, False, "server_trouble"),
        (look(), ProbeAnswer(status=503), True, "server_trouble"),
        (look(), ProbeAnswer(error="TimeoutError"), True, "server_trouble"),
    ],
)
def test_the_probe_tells_an_ended_session_from_a_changed_page(
    seen: Look, answer: ProbeAnswer, *, missing: bool, verdict: Verdict
) -> None:
    check = check_auth(seen, account="svc-acme", probe=lambda: answer, missing=missing)
    assert check.verdict == verdict
    assert check.found
    assert check.measures["probed"] == 1


def test_a_healthy_page_is_not_probed() -> None:
    def refuse() -> ProbeAnswer:
        raise AssertionError("probed")

    assert check_auth(look(), account="svc-acme", probe=refuse).verdict == "pass"


@pytest.mark.parametrize(
    ("seen", "missing", "verdict"),
    [
        (look(signals=("http_401",)), False, "session_expired"),
        (look(signals=("permission_dialog",)), True, "forbidden"),
        (look(signals=("http_5xx",)), True, "server_trouble"),
        (look(), True, "page_changed"),
    ],
)
def test_without_a_probe_the_signs_decide(seen: Look, *, missing: bool, verdict: Verdict) -> None:
    assert check_auth(seen, account="svc-acme", probe=None, missing=missing).verdict == verdict


PURPOSE = Purpose(intent=INTENT, fields=FIELDS, known=KNOWN, account="svc-acme")


def test_all_guards_are_asked_in_their_order() -> None:
    checks = pre_checks(APPROVE, target(), PURPOSE, planned=look(), now=look())
    assert [check.guard for check in checks] == ["auth", "frame", "target", "intent", "label", "confirm"]
    assert first_stop(checks) is None


def test_the_first_decisive_finding_stops_and_the_others_are_still_recorded() -> None:
    covered = target(covered_by="div Loading", label="Reject", scope_text="INV-9999")
    checks = pre_checks(APPROVE, covered, PURPOSE, planned=look(), now=look())
    stop = first_stop(checks)
    assert stop is not None
    assert (stop.guard, stop.verdict) == ("target", "target_changed")
    assert [c.guard for c in checks if c.verdict != "pass"] == ["target", "intent", "label"]


def test_an_element_that_is_not_the_planned_one_stops_with_the_difference() -> None:
    planned = target(fingerprint='{"label":"Approve","row_key":"A1"}')
    now = target(fingerprint='{"label":"Approve","row_key":"A9"}')
    checks = pre_checks(APPROVE, now, PURPOSE, planned=look(), now=look(), planned_target=planned)
    stop = first_stop(checks)
    assert stop is not None
    assert (stop.expected, stop.found) == ("row_key=A1", "row_key=A9")


def test_a_disabled_element_stops() -> None:
    stop = first_stop(pre_checks(APPROVE, target(enabled=False), PURPOSE, planned=look(), now=look()))
    assert stop is not None
    assert stop.found == "disabled"


def test_a_missing_element_is_a_question_of_session_or_page() -> None:
    checks = pre_checks(APPROVE, None, PURPOSE, planned=look(), now=look())
    assert [(check.guard, check.verdict) for check in checks] == [("auth", "page_changed")]


def test_the_same_document_at_the_same_address_is_a_noop() -> None:
    assert check_effect(look(), look()).verdict == "noop"
    assert check_effect(look(), look(url="https://vendor.example/other")).verdict == "pass"
