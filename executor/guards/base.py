"""The guards in their order, before the action: what each of them found, and which finding stops it.

Rules: scope and duplicate were judged by the router and the claim before; here follow session and rights, frame,
target, intent, label and confirmation screen; all are asked and recorded, the first decisive one that is not a pass
stops the action; the target gate and the request guard follow while it acts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import orjson

from domain.values import Check, Intent
from executor.guards.auth import ProbeAnswer, check_auth
from executor.guards.confirm import check_confirm
from executor.guards.frame import Comparison, check_frame
from executor.guards.frame import check_effect as frames_effect
from executor.guards.intent import check_intent
from executor.guards.label import check_label
from executor.guards.ocr import read_label
from executor.guards.target_gate import describe_difference
from executor.tools.base import FieldMap, Look, Step, Target


def check_target(target: Target, planned: Target | None) -> Check:
    """Is the element on top, enabled, and still the one that was planned on?"""
    if target.covered_by:
        return Check(
            guard="target",
            verdict="target_changed",
            expected=target.label,
            found=f"covered by {target.covered_by}",
        )
    if not target.enabled:
        return Check(guard="target", verdict="target_changed", expected="enabled", found="disabled")
    if planned is not None and planned.fingerprint != target.fingerprint:
        one, other = orjson.loads(planned.fingerprint), orjson.loads(target.fingerprint)
        changed = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        expected, found = describe_difference(
            {key: one.get(key, "") for key in changed}, {key: other.get(key, "") for key in changed}
        )
        return Check(guard="target", verdict="target_changed", expected=expected, found=found)
    return Check(guard="target", verdict="pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What a step is for, as far as the guards compare it."""

    intent: Intent | None = None
    """What the business wants; with ``fields``, the intent guard is asked."""
    fields: FieldMap | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    """Further form fields with values from an independent source (``counterparty_id``)."""
    account: str = ""
    """Whose session it should be."""
    probe: Callable[[], ProbeAnswer] | None = None
    """Asks the target system about the session; called only when there is reason to."""


def pre_checks(
    step: Step,
    target: Target | None,
    purpose: Purpose,
    *,
    planned: Look,
    now: Look,
    planned_target: Target | None = None,
    comparison: Comparison | None = None,
) -> tuple[Check, ...]:
    """Ask every guard that can be asked before the action.

    Args:
        step: what is about to be done.
        target: the element as it is now; ``None`` when no selector found it.
        purpose: what it is for.
        planned: the look the step was planned on.
        now: the look right before the action.
        planned_target: the element as it was planned on, when that was an earlier observation.
        comparison: of the two looks' frames, where one is under way.
    """
    auth = check_auth(now, account=purpose.account, probe=purpose.probe, missing=target is None)
    if target is None:
        return (auth,)
    comparison = comparison or Comparison(planned.frame, point=target.point, row=target.row)
    seen = comparison.with_(now.frame)
    checks = [
        auth,
        check_frame(planned.frame, now.frame, seen, row=target.row, opaque=target.opaque),
        check_target(target, planned_target),
    ]
    if purpose.intent is not None and purpose.fields is not None:
        checks.append(check_intent(purpose.intent, target, purpose.fields, known=purpose.known))
    read = partial(read_label, now.frame.data, target.box, target.point, expected=step.label)
    checks.append(check_label(step, target, read=read))
    checks.append(check_confirm(step, target, purpose.intent, now.confirm_screens))
    return tuple(checks)


def check_effect(before: Look, after: Look, *, opaque: bool = False) -> Check:
    """``noop`` when nothing of substance changed between two looks (G3), else ``pass``."""
    same = before.document_sha256 == after.document_sha256 and before.url == after.url
    return frames_effect(same_document=same, before=before.frame, after=after.frame, opaque=opaque)


def first_stop(checks: Iterable[Check]) -> Check | None:
    """The finding that stops the action, if there is one."""
    return next((check for check in checks if check.decisive and check.verdict != "pass"), None)
