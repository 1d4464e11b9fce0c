"""What one action of a model means here: which step it is, what it may do, and which guards it must pass.

Rules: a click is the task's write exactly when it lies on what the recipe calls its writing step; any other click,
text or key is a step that may send nothing; a button that belongs to another business action is out of scope; for a
click, the pixels of its element (and of its row) must be those that the model saw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from domain.actions import Action
from domain.values import Box, Check
from executor.guards import texts
from executor.guards.frame import Pixels, decode
from executor.recipe import StepSection
from executor.runtime.jobs import Job
from executor.runtime.kit import Kit
from executor.tools.base import FieldMap, Frame, Look, Step, StepKind, Target

STEP_KINDS: dict[str, StepKind] = {"click": "click", "type": "fill", "key": "key"}
EDITABLE = frozenset({"textbox", "searchbox", "combobox", "spinbutton", "input", "textarea"})
"""Roles whose own pixels change by having the caret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One action as a step."""

    step: Step
    fields: FieldMap
    bound: bool
    """The element must say what the business wants (X8)."""
    objection: Check | None = None
    """Known before any guard is asked."""


def plan(kit: Kit, job: Job, action: Action, target: Target | None) -> Planned:
    """The step that the action is; labels come from the recipe where it knows the element, else from the page."""
    fields = kit.recipe.field_map()
    kind = STEP_KINDS.get(action.kind, "click")
    text = action.chord if action.kind == "key" else action.text
    label = target.label if target is not None else ""
    plain = Step(kind=kind, selectors=(action.native,), label=label, text=text)
    if action.kind != "click" or target is None:
        return Planned(step=plain, fields=fields, bound=False)
    for section in reversed(job.action.steps):
        known = _known(kit, job, section)
        if known is not None and (section.writes or section.destructive) and texts.same(known.label, label):
            return Planned(step=known, fields=kit.recipe.field_map(section), bound=section.bind)
    return Planned(step=plain, fields=fields, bound=False, objection=_foreign(kit, job, label))


def _known(kit: Kit, job: Job, section: StepSection) -> Step | None:
    if section.do != "click":
        return None
    return kit.recipe.step(section, job.intent, language=kit.language, irreversible=job.irreversible)


def _foreign(kit: Kit, job: Job, label: str) -> Check | None:
    """A finding when the button begins or ends another business action."""
    words = kit.recipe.labels[kit.language]
    for name, section in kit.recipe.actions.items():
        if name == job.intent.action:
            continue
        for step in section.steps:
            if step.label and (step.writes or step.destructive) and texts.same(words[step.label], label):
                return Check(
                    guard="scope",
                    verdict="out_of_scope",
                    expected=f"a step of {job.intent.action}",
                    found=f"“{label}”, a step of {name}",
                )
    return None


def check_pixels(action: Action, target: Target, seen: Look, now: Frame) -> Check:
    """Are the pixels that the model pointed at still there (G1, G2)?

    Unlike the published distances this is exact, and it is about the element and its row alone: a model's point has no
    other tie to what it saw.
    """
    if action.kind != "click" or target.role in EDITABLE or seen.frame.sha256 == now.sha256:
        return Check(guard="frame", verdict="pass")
    if (seen.frame.width, seen.frame.height) != (now.width, now.height):
        return Check(
            guard="frame",
            verdict="stale",
            expected=f"{seen.frame.width} x {seen.frame.height} px",
            found=f"{now.width} x {now.height} px",
        )
    boxes = [target.box]
    if target.row is not None and target.scope == "row":
        boxes.append(target.row)
    one, two = np.asarray(decode(seen.frame)), np.asarray(decode(now))
    changed = sum(_changed(one, two, box) for box in boxes)
    if not changed:
        return Check(guard="frame", verdict="pass")
    return Check(
        guard="frame",
        verdict="stale_local",
        expected=f"“{target.label}” as the model saw it",
        found=f"{changed} pixels differ",
        measures={"changed_target_px": changed},
    )


def _changed(one: Pixels, two: Pixels, box: Box) -> int:
    down = slice(max(0, box.y), max(0, box.y + box.height))
    across = slice(max(0, box.x), max(0, box.x + box.width))
    return int((one[down, across] != two[down, across]).any(axis=2).sum())
