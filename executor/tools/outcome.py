"""What came of one action, as far as the browser can know.

Rules: ``blocked`` and ``failed`` only where certainly nothing that may write has left; anything that left without a
clear answer is ``unknown``; an answer of success is ``executed`` and still says nothing about the business.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import urlsplit

from domain.values import Check
from executor.guards.request import HoldReport, Sent
from executor.guards.target_gate import gate_check
from executor.tools.base import GateReport, NativeDialog, Performed, RequestRule, Status, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Everything the rung saw of one action."""

    gate: GateReport
    held: HoldReport = field(default_factory=HoldReport)
    failure: str = ""
    toast: str = ""
    dialogs: tuple[NativeDialog, ...] = ()
    latency_us: int = 0
    waited_us: int = 0


def conclude(
    step: Step, seen: Happened, *, rule: RequestRule | None, enforce: bool, login_path: str
) -> Performed:
    """Put the findings together; in a record-only run they are reported and do not change the status."""
    status, check, reason = _judge(step, seen, rule=rule, enforce=enforce, login_path=login_path)
    if not enforce and check is None:
        gate = gate_check(seen.gate)
        check = gate if gate.verdict != "pass" else seen.held.finding
    return Performed(
        status=status,
        check=check,
        requests=seen.held.listed,
        toast=seen.toast,
        delivered_events=len(seen.gate.delivered),
        latency_us=seen.latency_us,
        waited_us=seen.waited_us,
        reason=reason,
        dialogs=seen.dialogs,
    )


def _judge(
    step: Step, seen: Happened, *, rule: RequestRule | None, enforce: bool, login_path: str
) -> tuple[Status, Check | None, str]:
    sent = seen.held.sent
    gate = gate_check(seen.gate)
    if enforce and gate.verdict == "target_changed":
        return ("unknown" if sent else "blocked"), gate, "the target had changed"
    if enforce and seen.held.finding is not None:
        return ("unknown" if sent else "blocked"), seen.held.finding, "the request did not agree"
    if seen.failure:
        touched = bool(sent) or (step.writes and bool(seen.gate.delivered))
        return ("unknown" if touched else "failed"), None, seen.failure
    if gate.verdict == "noop":
        return "failed", gate, "no input event reached the page"
    if step.writes:
        return _judge_write(seen, rule=rule, login_path=login_path)
    return "executed", None, ""


def _judge_write(
    seen: Happened, *, rule: RequestRule | None, login_path: str
) -> tuple[Status, Check | None, str]:
    if not seen.held.sent:
        expected = f"{rule.count} {rule.method} {rule.path}" if rule is not None else "a request"
        check = Check(guard="request", verdict="noop", expected=expected, found="no request left")
        return "failed", check, "the click had no request as its effect"
    for sent in seen.held.sent:
        answer = _judge_answer(sent, login_path)
        if answer[0] != "executed":
            return answer
    return "executed", None, ""


def _judge_answer(sent: Sent, login_path: str) -> tuple[Status, Check | None, str]:
    trouble = Check(guard="auth", verdict="server_trouble", expected=f"{sent.name} 200", found=sent.text())
    if sent.failed or not sent.status:
        return "unknown", trouble, f"no answer to {sent.name}: {sent.failed or 'still waiting'}"
    if sent.status == HTTPStatus.UNAUTHORIZED:
        return "failed", replace(trouble, verdict="session_expired"), "the session had expired"
    if sent.status == HTTPStatus.FORBIDDEN:
        return "failed", replace(trouble, verdict="forbidden"), "the rights were withdrawn"
    if sent.location and urlsplit(sent.location).path == login_path:
        return "failed", replace(trouble, verdict="session_expired"), "the answer was the log-in page"
    if sent.status >= HTTPStatus.BAD_REQUEST:
        return "unknown", trouble, f"{sent.name} was answered with {sent.status}"
    return "executed", None, ""
