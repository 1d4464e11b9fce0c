"""Three loops that people have: no guard, the published guard, and Playwright's own locator click.

Rules: each follows the same course, thinks for the same time between look and click, and believes a green toast; none
of them knows what fault is on. The published guard is as published: the screen is captured again right before the
click and compared by an 8 x 8 dHash of the whole (stop above 10 bits) and of a crop of radius 48 px (above 8 bits), a
destructive click needs its label at the point, and an action after which the screen looks the same is a no-op.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import imagehash
from PIL import Image
from playwright.sync_api import BrowserContext, Page
from playwright.sync_api import Error as PlaywrightError

from executor.guards.frame import CROP_LIMIT_BITS, CROP_RADIUS_PX, SCREEN_LIMIT_BITS
from executor.sandbox.gauntlet.arena import WRITER, Striker
from executor.sandbox.gauntlet.course import Course, CourseStep
from executor.sandbox.gauntlet.verdicts import Said

ArmName = Literal["none", "published", "locator", "ours"]
ARMS: Final[tuple[ArmName, ...]] = ("none", "published", "locator", "ours")
MAX_TRIES: Final = 3
FIND_LIMIT_MS: Final = 2_500
"""How long a loop waits for an element or for a toast."""
OPEN_LIMIT_MS: Final = 15_000
"""How long a page may take to open: a busy machine is no fault of a loop's."""
QUIET_MS: Final = 90
"""How long a loop waits after a click, as the published settle time; not counted in its step."""
LABEL_AT: Final = "([x, y]) => (document.elementFromPoint(x, y)?.closest('button,a')?.innerText ?? '').trim()"


class Pace(Protocol):
    """How a trial runs: the model's thinking, and the faults that land meanwhile."""

    striker: Striker
    think_ms: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a loop has in mind after it looked."""

    x: float
    y: float
    frame: bytes = b""


@dataclass(slots=True)
class Tally:
    """What a trial cost so far."""

    stops: int = 0
    steps: int = 0
    step_ms: float = 0.0
    kept: dict[int, int] = field(default_factory=dict)
    """Size of each distinct frame."""

    def keep(self, frame: bytes) -> bytes:
        """Count a frame's bytes once."""
        self.kept[hash(frame)] = len(frame)
        return frame


class Loop:
    """No guard: the screen is captured, the model thinks, the mouse clicks at the remembered point."""

    name: ArmName = "none"

    def __init__(self, context: BrowserContext, origin: str, password: str) -> None:
        self._context = context
        self._origin = origin
        self._password = password
        self.page: Page = context.new_page()
        self.page.set_default_timeout(FIND_LIMIT_MS)
        self.page.set_default_navigation_timeout(OPEN_LIMIT_MS)
        self.tally = Tally()

    def log_in(self) -> None:
        """Start a session where there is none, or none any more."""
        answer = self._context.request.get(f"{self._origin}/api/me", max_redirects=0)
        if not answer.ok:
            form: dict[str, str | float | bool] = {"username": WRITER, "password": self._password}
            self._context.request.post(f"{self._origin}/login", form=form, max_redirects=0)

    def run(self, course: Course, pace: Pace) -> Said:
        """Follow the course once."""
        self.tally = Tally()
        try:
            self.page.goto(self._origin + course.start)
            note = self._follow(course, pace)
            done = not note and self._green_toast()
        except PlaywrightError as error:
            note, done = (error.message or "").splitlines()[0], False
        tally = self.tally
        return Said(
            done=done,
            stops=tally.stops,
            steps=tally.steps,
            step_ms=tally.step_ms,
            kept_bytes=sum(tally.kept.values()),
            note=note or ("" if done else "no green toast"),
        )

    def rest(self) -> None:
        """Leave the portal, so that no page polls between trials."""
        self.page.goto("about:blank")

    def _follow(self, course: Course, pace: Pace) -> str:
        """Do the steps; why it was given up, or nothing."""
        for number, step in enumerate(course.steps):
            for _ in range(MAX_TRIES):
                if not self._visible(step):
                    return f"{step.label} is not there"
                plan = self._timed_look(step)
                pace.striker.at_step(number)
                self.page.wait_for_timeout(pace.think_ms)
                if self._timed_act(step, plan):
                    break
                self.tally.stops += 1
            else:
                return f"gave {step.label} up after {MAX_TRIES} tries"
        return ""

    def _visible(self, step: CourseStep) -> bool:
        try:
            self.page.locator(step.selector).first.wait_for(state="visible", timeout=FIND_LIMIT_MS)
        except PlaywrightError:
            return False
        return True

    def _timed_look(self, step: CourseStep) -> Plan:
        began = time.perf_counter()
        plan = self.look(step)
        self.tally.step_ms += (time.perf_counter() - began) * 1000
        return plan

    def _timed_act(self, step: CourseStep, plan: Plan) -> bool:
        self.tally.steps += 1
        began = time.perf_counter()
        acted = self.act(step, plan)
        spent = time.perf_counter() - began
        if acted:
            self.page.wait_for_timeout(QUIET_MS)
            began = time.perf_counter()
            acted = self.check(plan)
            spent += time.perf_counter() - began
        self.tally.step_ms += spent * 1000
        return acted

    def _green_toast(self) -> bool:
        try:
            self.page.locator("#toast.ok").wait_for(state="visible", timeout=FIND_LIMIT_MS)
        except PlaywrightError:
            return False
        return True

    def _middle(self, step: CourseStep) -> tuple[float, float]:
        box = self.page.locator(step.selector).first.bounding_box() or {
            "x": 0,
            "y": 0,
            "width": 0,
            "height": 0,
        }
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def look(self, step: CourseStep) -> Plan:
        """Capture the screen and find the element on it."""
        frame = self.page.screenshot()
        return Plan(*self._middle(step), frame)

    def act(self, step: CourseStep, plan: Plan) -> bool:  # noqa: ARG002 - the step is for those who check it
        """Click; False if something stopped it."""
        self.page.mouse.click(plan.x, plan.y)
        return True

    def check(self, plan: Plan) -> bool:  # noqa: ARG002 - this loop believes its own hands
        """Look at what came of it; False for a no-op."""
        return True


class LocatorLoop(Loop):
    """Playwright's own click: the element is found again, must be visible, still, enabled and on top."""

    name: ArmName = "locator"

    def look(self, step: CourseStep) -> Plan:
        """Nothing to remember: the locator finds the element again."""
        del step
        return Plan(0, 0)

    def act(self, step: CourseStep, plan: Plan) -> bool:
        """Click by locator."""
        del plan
        try:
            self.page.locator(step.selector).filter(has_text=step.label).click(timeout=FIND_LIMIT_MS)
        except PlaywrightError:
            return False
        return True


class PublishedLoop(Loop):
    """The published guard: capture again, compare two hashes, check the label, capture once more."""

    name: ArmName = "published"

    def look(self, step: CourseStep) -> Plan:
        """Capture and keep the frame that the plan is made on."""
        frame = self.tally.keep(self.page.screenshot())
        return Plan(*self._middle(step), frame)

    def act(self, step: CourseStep, plan: Plan) -> bool:
        """Click unless the screen is stale or the label is another."""
        now = self.tally.keep(self.page.screenshot())
        if is_stale(plan, now):
            return False
        if self.page.evaluate(LABEL_AT, [plan.x, plan.y]) != step.label:
            return False
        self.page.mouse.click(plan.x, plan.y)
        return True

    def check(self, plan: Plan) -> bool:
        """The same hash as before is a no-op."""
        after = self.tally.keep(self.page.screenshot())
        return int(imagehash.dhash(picture(plan.frame)) - imagehash.dhash(picture(after))) > 0


def picture(png: bytes) -> Image.Image:
    """A decoded capture."""
    return Image.open(io.BytesIO(png)).convert("RGB")


def is_stale(plan: Plan, now: bytes) -> bool:
    """The published comparison of two captures around a point."""
    before, after = picture(plan.frame), picture(now)
    if imagehash.dhash(before) - imagehash.dhash(after) > SCREEN_LIMIT_BITS:
        return True
    square = (
        max(0, int(plan.x) - CROP_RADIUS_PX),
        max(0, int(plan.y) - CROP_RADIUS_PX),
        min(before.width, int(plan.x) + CROP_RADIUS_PX),
        min(before.height, int(plan.y) + CROP_RADIUS_PX),
    )
    return int(imagehash.dhash(before.crop(square)) - imagehash.dhash(after.crop(square))) > CROP_LIMIT_BITS


LOOPS: Final[dict[ArmName, type[Loop]]] = {"none": Loop, "published": PublishedLoop, "locator": LocatorLoop}
"""The loops that are not ours."""
