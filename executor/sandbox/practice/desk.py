"""The practice form in memory: a page with a picture, a keyboard and a pointer, and no browser.

Rules: it is pointed at like the real page, at the same places; the production guards judge it (``pre_checks``, the
request rules); what it sends goes to the same ``Book`` as the real page's posts.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from functools import lru_cache

import orjson
from PIL import Image, ImageDraw

from domain.actions import Action
from domain.ids import Sha256
from domain.ports import Clock
from domain.values import Box, Check, Intent, Point
from executor.guards.base import Purpose, pre_checks
from executor.guards.request_rules import SeenRequest, judge_request
from executor.sandbox.practice.book import WRITER, Book, Case
from executor.tools.base import FieldMap, Frame, Look, Performed, RequestRule, Step, Target

WIDTH, HEIGHT = 1280, 800
COUNTERPARTY = Box(x=240, y=120, width=400, height=40)
ADDRESS = Box(x=240, y=180, width=400, height=40)
SUBMIT = Box(x=240, y=260, width=160, height=44)
MOVED = Box(x=700, y=600, width=160, height=44)
"""Where the button is after the ``moved`` fault."""
ORIGIN = "http://practice.test"


def middle(box: Box) -> Point:
    """Where a person would point at."""
    return Point(x=box.x + box.width // 2, y=box.y + box.height // 2)


def inside(box: Box, point: Point) -> bool:
    """Does the point lie in the box?"""
    return box.x <= point.x < box.x + box.width and box.y <= point.y < box.y + box.height


@lru_cache(maxsize=256)
def draw(heading: str, counterparty: str, address: str, button: Box, below: str) -> bytes:
    """The picture of the page."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen = ImageDraw.Draw(image)
    pen.text((40, 40), heading, fill="black")
    for label, box, value in (("Name", COUNTERPARTY, counterparty), ("Address", ADDRESS, address)):
        pen.text((40, box.y + 12), label, fill="black")
        pen.rectangle((box.x, box.y, box.x + box.width, box.y + box.height), outline="gray")
        pen.text((box.x + 8, box.y + 12), value, fill="black")
    pen.rectangle((button.x, button.y, button.x + button.width, button.y + button.height), fill="navy")
    pen.text((button.x + 50, button.y + 14), "Submit", fill="white")
    pen.text((40, 360), below, fill="black")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class PracticeDesk:
    """Implements ``executor.tools.computer_use.PointingHands``."""

    def __init__(self, book: Book, case: Case, clock: Clock) -> None:
        self.book = book
        self.case = case
        self._clock = clock
        self._values = {"counterparty": "", "address": ""}
        self._focus = ""
        self._logged_in = False
        self._button = SUBMIT
        self.done: list[str] = []
        """Kinds of the actions that were performed."""

    def log_in(self) -> None:
        """See ``Hands``."""
        self._logged_in = True

    def goto(self, url: str) -> None:
        """See ``Hands``: opening the page empties the form."""
        del url
        self._values = {"counterparty": "", "address": ""}
        self._focus, self._button = "", SUBMIT

    def page_text(self) -> str:
        """See ``PointingHands``."""
        return "\n".join((f"Change of address {self.case.reference}", self.book.injection, self.book.banner))

    def _document(self) -> str:
        parts = {**self._values, "button": self._button.x, "injection": self.book.injection}
        return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS).decode()

    def look(self) -> Look:
        """See ``Hands``."""
        heading = f"Change of address {self.case.reference}"
        below = f"{self.book.injection}  {self.book.banner}"
        data = draw(heading, self._values["counterparty"], self._values["address"], self._button, below)
        frame = Frame(
            data=data,
            sha256=Sha256(hashlib.sha256(data).hexdigest()),
            width=WIDTH,
            height=HEIGHT,
            captured_at_us=self._clock.now_us(),
        )
        return Look(
            frame=frame,
            url=f"{ORIGIN}/cases/{self.case.reference}",
            title="Practice form",
            structure_sha256=Sha256(hashlib.sha256(b"practice form").hexdigest()),
            document_sha256=Sha256(hashlib.sha256(self._document().encode()).hexdigest()),
            account=WRITER if self._logged_in else "",
            signals=() if self._logged_in else ("login_form",),
        )

    def form(self) -> dict[str, str]:
        """The form's values as they would be posted."""
        return {**self.case.values(), **self._values}

    def _target(self, name: str, box: Box, label: str, role: str) -> Target:
        return Target(
            fingerprint=orjson.dumps({"name": name, "label": label, "form": self.form()}).decode(),
            label=label,
            role=role,
            point=middle(box),
            box=box,
            scope="form",
            scope_text=f"Change of address {self.case.reference} Name Address Submit",
            form=self.form(),
            context_id=name,
        )

    def target_at(self, point: Point, fields: FieldMap) -> Target | None:
        """See ``PointingHands``."""
        del fields
        found = (
            self._target("counterparty", COUNTERPARTY, "Name", "textbox")
            if inside(COUNTERPARTY, point)
            else None
        )
        found = self._target("address", ADDRESS, "Address", "textbox") if inside(ADDRESS, point) else found
        return (
            self._target("submit", self._button, "Submit", "button") if inside(self._button, point) else found
        )

    def focused(self, fields: FieldMap) -> Target | None:
        """See ``PointingHands``."""
        box = {"counterparty": COUNTERPARTY, "address": ADDRESS}.get(self._focus)
        return self.target_at(middle(box), fields) if box is not None else None

    def takes_secret(self) -> bool:
        """See ``PointingHands``: the form has no such field."""
        return False

    def locate(self, step: Step, fields: FieldMap) -> Target | None:
        """See ``Hands``."""
        del fields
        known = "#submit" in step.selectors
        return self._target("submit", self._button, "Submit", "button") if known else None

    def judge(
        self,
        step: Step,
        target: Target,
        planned: Look,
        *,
        intent: Intent | None,
        fields: FieldMap,
        known: Mapping[str, str],
    ) -> tuple[tuple[Check, ...], Frame]:
        """See ``Hands``: the production guards."""
        now = self.look()
        purpose = Purpose(intent=intent, fields=fields, known=known, account=WRITER)
        return pre_checks(step, target, purpose, planned=planned, now=now), now.frame

    def perform(
        self, step: Step, target: Target, *, rule: RequestRule | None, intent: Intent | None
    ) -> Performed:
        """See ``Hands``: compared at the very moment, as the gate does."""
        if "moved" in self.book.faults and target.context_id == "submit":
            self._button = MOVED
        now = self.target_at(target.point, FieldMap())
        if step.kind == "click" and (now is None or now.fingerprint != target.fingerprint):
            check = Check(
                guard="gate",
                verdict="target_changed",
                expected=target.label,
                found=now.label if now is not None else "nothing",
            )
            return Performed(status="blocked", check=check, reason="the target had changed")
        self.done.append(step.kind)
        if step.kind == "click":
            return self._click(target, step, rule, intent)
        if self._focus and step.kind == "fill":
            self._values[self._focus] += step.text
        elif self._focus and step.text == "Control+a":
            self._values[self._focus] = ""  # what is typed next replaces it
        elif step.text == "Enter":
            return self._send(step, None, None)
        return Performed(status="executed", delivered_events=1)

    def _click(
        self, target: Target, step: Step, rule: RequestRule | None, intent: Intent | None
    ) -> Performed:
        if target.context_id != "submit":
            self._focus = target.context_id
            return Performed(status="executed", delivered_events=3)
        return self._send(step, rule, intent)

    def _send(self, step: Step, rule: RequestRule | None, intent: Intent | None) -> Performed:
        """Held until it agrees with the intent, as every request is."""
        path = f"/cases/{self.case.reference}/submit"
        seen = SeenRequest(
            method="POST",
            origin=ORIGIN,
            path=path,
            fields={name: (value,) for name, value in self.form().items()},
        )
        finding = judge_request(seen, rule if step.writes else None, intent, before=0)
        if finding.verdict != "pass":
            return Performed(
                status="blocked",
                check=finding,
                requests=(f"POST {path} aborted",),
                reason="the request did not agree",
            )
        toast = self.book.submit(self.form(), WRITER)
        return Performed(status="executed", requests=(f"POST {path} 200",), toast=toast, delivered_events=3)

    def act(
        self,
        action: Action,
        step: Step,
        target: Target | None,
        *,
        rule: RequestRule | None,
        intent: Intent | None,
    ) -> Performed:
        """See ``PointingHands``."""
        if target is None:
            self.done.append(action.kind)
            return Performed(status="executed")
        return self.perform(step, target, rule=rule, intent=intent)

    def trouble(self, look: Look, *, missing: bool = False) -> Check:
        """See ``Hands``."""
        del look
        if not self._logged_in:
            return Check(guard="auth", verdict="session_expired", found="the log-in page")
        return Check(guard="auth", verdict="page_changed" if missing else "pass")

    def effect(self, before: Look, after: Look) -> Check:
        """See ``Hands``: a click into a field moves the keyboard, which the document does not show."""
        same = before.document_sha256 == after.document_sha256 and not self._focus
        return Check(guard="effect", verdict="noop" if same else "pass", decisive=False)
